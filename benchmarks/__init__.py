"""Measure hornbeam beside its peers: ``python -m benchmarks`` lists what there is.

How it is built, in reading order: ``results.py`` (what one measurement is), ``harness.py``
(how contenders are timed), ``datasets.py``, ``children/`` (what must happen in a process of
its own), ``cases/`` (one file per benchmark: adding a file adds a benchmark), ``report.py``
(JSON, the printed table, RESULTS.md).
"""

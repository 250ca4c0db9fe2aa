"""The progress bar: shown when asked for, or on a terminal when it takes long."""

from __future__ import annotations

import sys

from hornbeam import progress
from hornbeam.progress import ProgressBar


def test_long_work_shows_itself_on_a_terminal(monkeypatch, capfd):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with ProgressBar("trees", 3, None) as quick:
        quick.show(1, "loss")
        assert quick.bar is None and not quick.silent
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    with ProgressBar("trees", 3, None) as slow:
        slow.show(1, "loss 0.25")
    err = capfd.readouterr().err
    assert "trees" in err and "1/3" in err and "0.25" in err


def test_zero_is_silent_and_one_is_not(capfd):
    for verbose, said in ((0, False), (None, False), (1, True)):
        with ProgressBar("trees", 2, verbose) as bar:
            bar.show(2)
        assert bool(capfd.readouterr().err) == said

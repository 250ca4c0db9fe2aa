"""Compile time of every kernel that a first fit needs, with an empty kernel cache."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable

from benchmarks.cases.cold import chosen_fits
from benchmarks.children import ask
from benchmarks.harness import Options
from benchmarks.results import Row


def rows(options: Options) -> Iterable[Row]:
    for name, fit in chosen_fits(options):
        with tempfile.TemporaryDirectory() as cache:
            request = {"module": "hornbeam", "compile_times": True, **fit}
            answer = ask("cold", request, {"HORNBEAM_CACHE_DIR": cache})
        times: dict[str, float] = answer["compile_times"]
        for kernel, seconds in sorted(times.items(), key=lambda item: -item[1]):
            yield Row(name, "", kernel, seconds)
        yield Row(name, "", "first fit, all in all", answer["fit"])
    options.note("Kernels compiled inside another one count for both.")

"""Hashes of what some hundred fits come to, which show that a change has changed no model.

``python -m benchmarks.digests record FILE.json`` fits them all and writes a line for each;
``python -m benchmarks.digests compare FILE.json`` fits them again and names those that differ.
A fit has two hashes, one of the model and one of what it says of the rows that it has learnt
from and of strange ones. A fit that raises is kept by its error, which is behaviour too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.digest_cases import Case, all_cases
from benchmarks.digest_tables import Table
from hornbeam.data.pages import cut_at

Digest = dict[str, str]

HEX_DIGITS = 16
SENTENCE = 80  # characters of an error that are kept
METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "apply", "transform")
LEAF_METHODS = ("predict_quantiles", "predict_interval")  # of forests that keep leaf samples
ATTRIBUTES = ("feature_importances_", "oob_score_", "oob_prediction_", "oob_decision_function_")


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or compare; the exit status is 1 when anything is not as it was."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.digests", description=__doc__)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path, help="the JSON file to write or to compare with")
    parser.add_argument("--only", default="", help="only cases whose name holds this")
    help_text = "cut tables into pages at these rows (hornbeam/data/pages.py): no digest may change"
    parser.add_argument("--cuts", type=int, nargs="*", default=(), help=help_text)
    chosen = parser.parse_args(arguments)
    with cut_at(*chosen.cuts):
        digests = digests_of(case for case in all_cases() if chosen.only in case.name)
    complaints = by_threads(digests)
    if chosen.action == "record":
        lines = [f"{json.dumps(name)}: {json.dumps(digests[name])}" for name in digests]
        chosen.file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    else:
        before = json.loads(chosen.file.read_text(encoding="utf-8"))
        kept = {name: digest for name, digest in before.items() if chosen.only in name}
        complaints += differences(kept, digests)
    n_raised = sum("error" in digest for digest in digests.values())
    print(f"{len(digests)} fits, {n_raised} of them raise", *complaints, sep="\n")
    return 1 if complaints else 0


def digests_of(cases: Iterable[Case]) -> dict[str, Digest]:
    """Fit all cases, one after the other."""
    digests: dict[str, Digest] = {}
    for case in cases:
        assert case.name not in digests, f"There are two cases {case.name!r}."
        digests[case.name] = digest_of(case)
    return digests


def digest_of(case: Case) -> Digest:
    """What a fit comes to: hashes of the model and of what it says, up to the error it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        digest: Digest = {}
        try:
            table = case.read()
            model = _fitted(case.model(), table)
            digest["model"] = str(model.digest())[:HEX_DIGITS]
            digest["output"] = _output_hash(model, table)
        except Exception as error:
            digest["error"] = f"{type(error).__name__}: {str(error)[:SENTENCE]}"
        return digest


def differences(before: dict[str, Digest], after: dict[str, Digest]) -> list[str]:
    """One line for every fit that is not as it was, no longer there, or new."""
    lines = []
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            lines.append(f"{'new' if old is None else 'missing'}: {name}")
        elif old != new:
            keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
            lines.append(f"differs in {', '.join(keys)}: {name}")
    return lines


def by_threads(digests: dict[str, Digest]) -> list[str]:
    """One line for every fit that is another one on another number of threads."""
    first: dict[str, Digest] = {}
    lines = []
    for name, digest in digests.items():
        alone = re.sub(r" n_jobs=\d+", "", name)
        if alone != name and first.setdefault(alone, digest) != digest:
            lines.append(f"depends on threads: {name}")
    return lines


def _fitted(model: Any, table: Table) -> Any:
    """Fit once, or, with a warm start, half of the trees first and then the others."""
    if getattr(model, "warm_start", False):
        n_all = model.n_estimators
        model.set_params(n_estimators=n_all // 2).fit(table.X, table.y, **table.more)
        model.set_params(n_estimators=n_all)
    return model.fit(table.X, table.y, **table.more)


def _output_hash(model: Any, table: Table) -> str:
    state = hashlib.sha256()
    methods = METHODS + (LEAF_METHODS if getattr(model, "leaf_samples", False) else ())
    for name in methods:
        if hasattr(model, name):
            for X in (table.X, table.strange):
                _add(state, name, getattr(model, name)(X))
    for name in ATTRIBUTES:
        if hasattr(model, name):
            _add(state, name, getattr(model, name))
    return state.hexdigest()[:HEX_DIGITS]


def _add(state: Any, name: str, value: Any) -> None:
    """Hash an array, a sparse matrix or a list of them, with its type and shape."""
    if isinstance(value, list):
        for part in value:
            _add(state, name, part)
        return
    if scipy.sparse.issparse(value):
        _add(state, name, [value.indptr, value.indices, value.data])
        return
    array = np.ascontiguousarray(value)
    state.update(f"{name}:{array.dtype.str}:{np.shape(value)};".encode())
    state.update(repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes())


if __name__ == "__main__":
    sys.exit(main())

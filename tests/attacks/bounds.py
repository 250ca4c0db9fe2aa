"""Random fits of every family, under bounds checks, each asked about strange rows afterwards.

What is allowed is a model that answers with numbers, or a sentence that says what is wrong.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numba import types
from numba.np import arrayobj

if os.environ.get("HORNBEAM_BOUNDSCHECK", "") not in ("", "0"):
    # In a kernel an index of -1 is a mistake: behind a bare pointer it is other memory.
    arrayobj.fix_integer_index = lambda context, builder, kind, index, size: context.cast(
        builder, index, kind, types.intp
    )

from benchmarks.digest_tables import Table
from hornbeam.runtime.kernel import BOUNDS_CHECK, _user_cache_root
from tests.attacks.estimators import FAMILIES, class_of
from tests.attacks.guard import Attack, Failure, is_sentence, random_of
from tests.attacks.settings import random_settings
from tests.attacks.tables import random_table

KINDS = tuple(FAMILIES)
SILENCE_SECONDS = 300.0  # a new kind of kernel may have to be compiled, on busy cores
METHODS = ("predict", "apply", "predict_proba", "decision_function", "score_samples", "transform")
LEAF_METHODS = ("predict_quantiles", "predict_interval")


def ENVIRONMENT() -> dict[str, str]:
    """Checked code is kept apart from other code."""
    root = _user_cache_root()
    root = root if root.name == "boundscheck" else root / "boundscheck"
    return {"HORNBEAM_BOUNDSCHECK": "1", "HORNBEAM_CACHE_DIR": str(root)}


def attack(attack: Attack, number: int) -> str:
    """Fit something random to a random table, and ask it about strange rows."""
    if not BOUNDS_CHECK:
        raise Failure("Bounds are not checked: set HORNBEAM_BOUNDSCHECK=1.")
    rng = random_of(attack, number)
    name = str(rng.choice(FAMILIES[attack.kind]))
    settings = random_settings(rng, name)
    if attack.kind == "boosting" and rng.random() < 0.5:  # "auto" is rarely all of them
        settings["growth"] = ["leaf", "level", "depth", "symmetric", "alternate"][rng.integers(5)]
    if attack.kind == "isolation" and rng.random() < 0.5:
        settings["extension_level"] = int(rng.integers(1, 4))
    table = random_table(rng, name, settings)
    try:
        return fit_and_ask(class_of(name)(**settings), table)
    except Exception as error:
        if is_sentence(error):
            return "refused"
        raise Failure(f"{name} with {settings} on {describe(table)}") from error


def fit_and_ask(model: Any, table: Table) -> str:
    """Fit a model and call all that it can do with rows."""
    with np.errstate(all="ignore"):
        model.fit(table.X, table.y, **table.more)
        for rows in (table.X, table.strange):
            ask(model, rows)
    return "fitted"


def ask(model: Any, rows: Any) -> None:
    """Call all that a model can do with rows."""
    leaves = LEAF_METHODS if getattr(model, "leaf_samples", False) else ()
    # Columns that are passed through may have gaps; blocks of members are not one row each.
    odd = getattr(model, "passthrough", False) or not getattr(model, "flatten_transform", True)
    passed = ("transform",) if odd else ()
    for method in (*METHODS, *leaves):
        if method in passed or not hasattr(model, method):
            continue
        answers = getattr(model, method)(rows)
        for answer in answers if isinstance(answers, list) else [answers]:
            _check(method, answer, rows.shape[0])


def _check(method: str, answer: Any, n_rows: int) -> None:
    if answer.shape[0] != n_rows:
        raise Failure(f"{method} answers {answer.shape[0]} times for {n_rows} rows.")
    if method == "predict_proba":
        is_share = (answer >= 0.0) & (answer <= 1.0 + 1e-9)
        if not is_share.all() or not np.allclose(answer.sum(axis=1), 1.0):
            raise Failure(f"{method} gives no probabilities:\n{answer[~is_share.all(axis=1)][:3]}")
        return
    is_number = isinstance(answer, np.ndarray) and answer.dtype.kind == "f"
    if is_number and np.isnan(answer).any():
        raise Failure(f"{method} says NaN.")


def describe(table: Table) -> str:
    """What a table is like, in one line."""
    dtypes = getattr(table.X, "dtypes", None)
    kinds = sorted({str(kind) for kind in dtypes}) if dtypes is not None else table.X.dtype
    what = f"{type(table.X).__name__} {table.X.shape} of {kinds}, y {table.y.shape} {table.y[:5]}"
    return f"{what}, with {sorted(table.more)}"

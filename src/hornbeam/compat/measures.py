"""Losses of a fitted engine that nobody measured while it was fitted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hornbeam.boosting.rows import Given
from hornbeam.data.infinities import infinities_are_numbers
from hornbeam.data.reader import read_table
from hornbeam.dtypes import Array
from hornbeam.losses import total_loss
from hornbeam.tree.ensemble import Ensemble


def before_the_first_round(engine: Any) -> Any:
    """A copy of a fitted engine that has no trees yet."""
    model: Any = object.__new__(type(engine))
    start = engine.ensemble_.start
    vars(model).update(vars(engine), ensemble_=Ensemble([], [], len(start), start), n_iter_=0)
    return model


def mean_loss(engine: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """The loss before the first round, as a mean over rows."""
    start = engine.ensemble_.start
    return next(mean_losses(engine, X, y, sample_weight, [np.tile(start, (len(y), 1))]))


def mean_losses(
    engine: Any, X: Any, y: Any, sample_weight: Any, staged: Iterable[Array]
) -> Iterator[float]:
    """The loss of rows at some scores of theirs, each (n_rows, n_scores)."""
    with infinities_are_numbers():
        read = read_table(X, sample_weight, engine._name, schema=engine.schema_)
    rows = engine._read_rows(Given(X, y, sample_weight), read, vars(engine), True)
    loss, counted = engine._resolve_loss(rows, vars(engine)), read.weight > 0
    for scores in staged:
        at = scores[counted].T
        yield total_loss(loss, rows.target, rows.weight, at) / float(rows.weight.sum())

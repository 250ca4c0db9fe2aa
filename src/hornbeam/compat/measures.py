"""Losses of a fitted engine that nobody measured while it was fitted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hornbeam.boosting.engine import seed_of_tree
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


def drawn_rows(engine: Any, counted: Array, share: float) -> Iterator[Array]:
    """For each round of an engine which rows any of its trees was grown on.

    They are drawn again, as `kernels.boosting.sampling.draw_rows` drew them in the fit, among
    the rows that count.
    """
    places, limit = np.arange(int(counted.sum()), dtype=np.uint64), np.uint64(round(share * 2**31))
    number = 0
    while True:
        drawn = np.zeros(len(counted), bool)
        for which in range(engine.ensemble_.n_scores):
            seed = seed_of_tree(engine.seed_, number, which)
            drawn[counted] |= (_hashes(seed, places) >> np.uint64(33)) < limit
        yield drawn
        number += 1


def _hashes(key: int, numbers: Array) -> Array:
    """`hornbeam.runtime.random.derive` of many numbers."""
    with np.errstate(over="ignore"):
        bits = np.uint64(key) + (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))


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

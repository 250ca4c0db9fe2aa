"""How large the step of each round is: one learning rate, or a schedule of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from hornbeam.dtypes import Array

Rate = float | str | Sequence[float] | Callable[[int], float] | Array


def is_auto(learning_rate: Any) -> bool:
    """Whether the learning rate is to be found."""
    return isinstance(learning_rate, str)  # "auto" is the only text that is allowed


def is_schedule(learning_rate: Any) -> bool:
    """Whether each round has a learning rate of its own."""
    return not isinstance(learning_rate, (str, Real))


def read_schedule(learning_rate: Any, n_rounds: int) -> list[float]:
    """The learning rates of all rounds, from a sequence or a function of the round (from 0)."""
    if callable(learning_rate):
        rates = [learning_rate(number) for number in range(n_rounds)]
        what = f"learning_rate={getattr(learning_rate, '__name__', learning_rate)!r:.60} returned"
    else:
        rates, what = list(learning_rate), "learning_rate holds"
        if len(rates) != n_rounds:
            raise ValueError(
                f"learning_rate has {len(rates)} entries, but n_estimators={n_rounds}: give one "
                "for each round, or a function of the round."
            )
    for number, rate in enumerate(rates):
        number_like = isinstance(rate, (Real, np.number)) and not isinstance(rate, bool)
        if not number_like or not 0.0 < float(rate) < math.inf:
            raise ValueError(
                f"{what} {rate!r:.60} for round {number}: every learning rate must be a positive "
                "number."
            )
    return [float(rate) for rate in rates]

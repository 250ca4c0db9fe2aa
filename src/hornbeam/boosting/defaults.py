"""What ``"auto"`` stands for: settings that follow the shape of the training table.

How far a model may go before it learns noise depends on how many rows there are, and on among
how many cuts each split is chosen. The rules are all here; docs/boosting.md has them in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Auto = Literal["auto"]

FEW_ROWS = 5_000  # fewer are easily learnt by heart
LEAF_OF_FEW = 20  # rows of a leaf where rows are few, but
LARGEST_SHARE = 8  # not more than one in so many, or there were no splits
LEAF_OF_MANY = 5
FEW_CUTS = 64  # of all features together: the best of them is seldom best by chance,
ROWS_PER_CUT = 10  # if there are so many rows for each
USUAL_RATE = 0.1
LARGE_RATE = 0.15


class Shape(NamedTuple):
    """What the rules look at."""

    n_rows: int
    n_cuts: int  # in how many places the features can be cut, all together
    task: str


@dataclass(frozen=True)
class Settings:
    """The settings that may be ``"auto"``, as numbers.

    Attributes
    ----------
    learning_rate : float
    min_samples_leaf : int
    reg_lambda : float
    lambda_falls : bool
        Whether the penalty falls with the hessians, see `boosting.engine`.
    """

    learning_rate: float
    min_samples_leaf: int
    reg_lambda: float
    lambda_falls: bool


def settle(
    learning_rate: float | Auto,
    min_samples_leaf: int | Auto,
    reg_lambda: float | Auto,
    shape: Shape,
) -> Settings:
    """Keep what was given as a number, and choose the rest."""
    return Settings(
        usual_rate(shape) if learning_rate == "auto" else float(learning_rate),
        usual_leaf(shape.n_rows) if min_samples_leaf == "auto" else int(min_samples_leaf),
        1.0 if reg_lambda == "auto" else float(reg_lambda),
        reg_lambda == "auto",
    )


def usual_leaf(n_rows: int) -> int:
    """Fewest rows of a leaf: more of them where there are few rows in all."""
    if n_rows >= FEW_ROWS:
        return LEAF_OF_MANY
    return min(LEAF_OF_FEW, max(1, n_rows // LARGEST_SHARE))


def usual_rate(shape: Shape) -> float:
    """Learning rate: larger where little noise is learnt with it."""
    few_cuts = shape.n_cuts <= FEW_CUTS and shape.n_rows >= ROWS_PER_CUT * shape.n_cuts
    many_rows = shape.task == "regression" and shape.n_rows >= FEW_ROWS
    return LARGE_RATE if few_cuts or many_rows else USUAL_RATE

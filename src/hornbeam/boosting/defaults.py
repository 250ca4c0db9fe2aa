"""What ``"auto"`` stands for: settings that follow the shape of the training table.

The learning rate is not among them: it is tried out, and so is whether symmetric trees or the
share of features that nodes may ask do harm, see `boosting.trial`.

How far a model may go before it learns noise depends on how many rows there are (of each
class), and on among how many cuts each split is chosen. The rules are all here;
docs/boosting.md has them in words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, NamedTuple

from hornbeam.kernels.frontier import ORDERS

Auto = Literal["auto"]

LEAF, LEVEL, DEPTH = "leaf", "level", "depth"
SYMMETRIC, ALTERNATE = "symmetric", "alternate"  # and in every second round
GROWTHS = (*ORDERS, SYMMETRIC, ALTERNATE)

FEW_ROWS = 5_000  # fewer are easily learnt by heart
USUAL_LEAF = 5  # rows of a leaf, but
LARGEST_SHARE = 8  # not more than one in so many, or there were no splits;
LEAF_OF_CLASSES = 2  # several classes may do with fewer, down to this,
ROWS_PER_LEAF = 50  # one in so many rows of a class
FEW_CUTS = 64  # of all features together: the best of them is seldom best by chance,
ROWS_PER_CUT = 30  # if there are so many rows for each
FEW_OF_CLASS = 1_500  # rows (for each of two classes): too few for deep trees
DEPTH_OF_FEW = 4
DEPTH_OF_CLASSES = 5  # more than two of them, that have as many rows all together
DEPTH_OF_VALUES = 7
USUAL_LEVELS = 6  # of symmetric trees
MANY_CATEGORIES = 64  # more of a feature cannot be parted in one order for all nodes
USUAL_LEAVES = 31  # who allows more does not get a limit of depth
SHARE_OF_FEATURES = 0.4  # that a node may ask where rows are few, if there are
LEAST_FEATURES = 6  # enough of them to choose from;
VERY_FEW_ROWS = 800  # so few rows of classes
SHARE_OF_VERY_FEW = 0.15  # take less, but
LEAST_CHOICE = 2  # features at a node, or there were no choice
MOST_FEATURES = 400  # short trees of more would miss the few that matter
FIRST_LAMBDA = 1.0
USUAL_SMOOTH = 20.0  # rows of a category that is not rare, but
ROWS_PER_SMOOTH = 500  # not more than one in so many


class Shape(NamedTuple):
    """What the rules look at."""

    n_rows: int
    n_features: int
    n_cuts: int  # in how many places the features can be cut, all together
    task: str
    n_classes: int = 1
    n_categories: int = 0  # of the feature that has most

    @property
    def is_small(self) -> bool:
        """Whether trees of all features would learn the rows by heart."""
        return self.n_rows < FEW_ROWS and not self.has_few_cuts

    @property
    def needs_limit(self) -> bool:
        """Whether there are too few rows for deep trees, and no need to look far for features."""
        enough = FEW_OF_CLASS * min(self.n_classes, 2)
        return self.is_small and self.n_rows < enough and self.n_features <= MOST_FEATURES

    @property
    def has_few_cuts(self) -> bool:
        """Whether there are so few cuts, with many rows each, that none is best by chance."""
        return self.n_cuts <= FEW_CUTS and self.n_rows >= ROWS_PER_CUT * self.n_cuts


@dataclass(frozen=True)
class Settings:
    """The settings that may be ``"auto"``, as numbers.

    Attributes
    ----------
    growth : str
    max_depth : int or None
    levels : int or None
        The same for symmetric trees.
    min_samples_leaf : int
    reg_lambda : float
    lambda_falls : bool
        Whether the penalty falls with the hessians, see `boosting.engine`.
    colsample_bynode : float
    category_smooth : float
    """

    growth: str
    max_depth: int | None
    levels: int | None
    min_samples_leaf: int
    reg_lambda: float
    lambda_falls: bool
    colsample_bynode: float
    category_smooth: float


def settle(given: Any, shape: Shape) -> Settings:
    """Keep what an estimator was given as a number, and choose the rest."""
    depth, leaf, penalty = given.max_depth, given.min_samples_leaf, given.reg_lambda
    share, smooth = given.colsample_bynode, given.category_smooth
    return Settings(
        usual_growth(shape) if given.growth == "auto" else given.growth,
        usual_depth(shape, given.max_leaf_nodes) if depth == "auto" else depth,
        usual_levels(shape) if depth == "auto" else depth,
        usual_leaf(shape) if leaf == "auto" else rows_of(leaf, shape.n_rows),
        FIRST_LAMBDA if penalty == "auto" else float(penalty),
        penalty == "auto",
        usual_share(shape) if share == "auto" else float(share),
        usual_smooth(shape.n_rows) if smooth == "auto" else float(smooth),
    )


def rows_of(size: int | float, n_rows: int) -> int:
    """A number of rows, given as such or as a share of all."""
    return int(size) if isinstance(size, Integral) else max(1, math.ceil(size * n_rows))


def usual_depth(shape: Shape, max_leaf_nodes: int | None) -> int | None:
    """Longest way from the root: a limit where there are few rows.

    It never takes leaves from somebody who allows more than is usual.
    """
    if not shape.needs_limit:
        return None
    if max_leaf_nodes is None or max_leaf_nodes > USUAL_LEAVES:
        return None
    if shape.task == "regression":
        return DEPTH_OF_VALUES
    several = shape.n_classes > 2 and shape.n_rows >= FEW_OF_CLASS
    return DEPTH_OF_CLASSES if several else DEPTH_OF_FEW


def usual_growth(shape: Shape) -> str:
    """Trees of two kinds where there are few rows of classes: each mends what the other lacks."""
    if not shape.is_small or shape.task != "classification":
        return LEAF
    return ALTERNATE if shape.n_categories <= MANY_CATEGORIES else LEAF


def usual_levels(shape: Shape) -> int:
    """Questions of a symmetric tree: fewer where there are few rows of classes to be told apart."""
    if not shape.needs_limit or shape.task != "classification":
        return USUAL_LEVELS
    return DEPTH_OF_CLASSES if shape.n_classes > 2 else DEPTH_OF_FEW


def usual_leaf(shape: Shape) -> int:
    """Fewest rows of a leaf: fewer where each of several classes has few rows of its own."""
    least = min(USUAL_LEAF, max(1, shape.n_rows // LARGEST_SHARE))
    if shape.n_classes <= 2:
        return least
    return min(least, max(LEAF_OF_CLASSES, shape.n_rows // shape.n_classes // ROWS_PER_LEAF))


def usual_share(shape: Shape) -> float:
    """Share of the features that a node may ask: trees of few rows should not be all alike.

    Where few features of many matter that does harm: see `boosting.trial`, which then takes all.
    """
    if not shape.is_small or shape.n_features < LEAST_FEATURES:
        return 1.0
    very_few = shape.task == "classification" and shape.n_rows < VERY_FEW_ROWS
    least = LEAST_CHOICE / shape.n_features
    return max(SHARE_OF_VERY_FEW, least) if very_few else SHARE_OF_FEATURES


def usual_smooth(n_rows: int) -> float:
    """How many rows make a category believable: fewer where there are few rows in all."""
    return min(USUAL_SMOOTH, n_rows / ROWS_PER_SMOOTH)

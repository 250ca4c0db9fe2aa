"""The parameters of growing boosted trees, resolved to numbers, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from hornbeam.boosting.sampling import ALL_ROWS, RowSampling
from hornbeam.dtypes import Array


@dataclass(frozen=True)
class BoostRules:
    """The parameters of growing, resolved to numbers."""

    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    levels: int | None = None  # the depth of symmetric trees
    min_samples_leaf: int = 5
    min_child_weight: float = 1e-3
    min_split_gain: float = 0.0
    reg_lambda: float = 1.0
    lambda_falls: bool = False  # with the hessians, see `boosting.engine`
    reg_alpha: float = 0.0
    max_delta_step: float = 0.0
    growth: str = "leaf"
    sampling: RowSampling = ALL_ROWS
    colsample_bytree: float = 1.0
    colsample_bylevel: float = 1.0
    colsample_bynode: float = 1.0
    category_split: str = "subset"
    category_smooth: float = 10.0
    category_l2: float = 10.0
    category_limit: int | None = None
    category_rows: int = 0
    monotone: Array | None = None
    groups: Array | None = None  # interaction constraints: bool (n_groups, n_features)
    draw_number: Array | None = None  # by which each feature is drawn; None: its place
    split: str = "histogram"
    candidates: str = "global"  # of split="approximate"
    eps: float = 0.03
    feature_weight: Array | None = None  # how likely each feature is drawn; None: all alike
    ahead: int = 0  # nodes that are counted together ahead of their turn; 0: none is


def most_leaves(rules: BoostRules, n_rows: int) -> int:
    """How many leaves a tree can have."""
    most = max(2, n_rows // max(1, rules.min_samples_leaf))
    if rules.max_depth is not None and rules.max_depth < 31:
        most = min(most, 2**rules.max_depth)
    if rules.max_leaf_nodes is not None:
        most = min(most, rules.max_leaf_nodes)
    return max(2, most)


def is_plain(rules: BoostRules) -> bool:
    """Whether nothing binds the values of leaves but lambda."""
    return rules.monotone is None and not rules.reg_alpha and not rules.max_delta_step


def draws_all(rules: BoostRules) -> bool:
    """Whether no features are drawn, neither for trees nor for levels or nodes."""
    shares = (rules.colsample_bytree, rules.colsample_bylevel, rules.colsample_bynode)
    return min(shares) == 1.0


def draws_features(rules: BoostRules) -> bool:
    """Whether nodes of a tree may ask different features."""
    return min(rules.colsample_bylevel, rules.colsample_bynode) < 1.0 or rules.groups is not None

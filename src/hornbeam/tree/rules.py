"""The parameters of growing a tree."""

from __future__ import annotations

from dataclasses import dataclass

from hornbeam.dtypes import Array

# Categories are ordered by their target only where they differ by more than chance, or never.
WARY = ("cautious", "random")
# Sets of features with more categories are lists of those that a node has, which are few. As bits
# for all of them, the sets of all nodes together would grow with the square of the table.
LIST_FROM = 1 << 12


@dataclass(frozen=True)
class GrowthRules:
    """The parameters of growing, resolved to numbers."""

    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    max_features: int | None = None
    growth: str = "depth"
    random_cuts: bool = False
    category_split: str = "subset"
    count_constant: bool = False
    random_ties: bool = False  # for trees that one thread grows
    list_sets: bool = False  # sets of very many categories list those that a node has
    monotone: Array | None = None
    seed: int = 0

    def draws(self, n_features: int) -> bool:
        """Whether a node looks at some of the features only."""
        return self.max_features is not None and self.max_features < n_features

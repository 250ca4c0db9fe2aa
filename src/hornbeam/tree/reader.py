"""What CART and its forests grow from, read from the user's table and parameters."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from hornbeam.criteria import resolve
from hornbeam.data.coding import Codes, encode_bins, encode_ranks
from hornbeam.data.folding import warn_of_folding
from hornbeam.data.reader import TrainingTable, read_table
from hornbeam.data.schema import Schema
from hornbeam.data.target import (
    Classes,
    check_length,
    read_classes,
    read_values,
    read_weights,
    warn_weightless,
    weigh_classes,
)
from hornbeam.dtypes import Array
from hornbeam.kernels.frontier import ORDERS
from hornbeam.runtime.companion import begin
from hornbeam.tree.constraints import read_monotone
from hornbeam.tree.grower import Target
from hornbeam.tree.rules import GrowthRules
from hornbeam.tree.scaling import Scaling
from hornbeam.tree.steps import category_kernels, usual_kernels
from hornbeam.tree.task import Task

_TELL_ALL_APART = "finder='exact' tells all of them apart."
WIDE_RANDOM_CUTS = 0.5  # random cuts are drawn from the range of a column (see `encode_bins`)


class CartReader:
    """Reads the data of a tree, or of a forest of such trees.

    Parameters
    ----------
    tree : CartTree
        Its parameters say how.
    name : str
        Who asks, for errors.
    deal_rare, wide_cuts
        As in `encode_bins`; a forest may want them otherwise than a tree.
    orders : bool
        Whether what has more categories than bins is put in order later: nothing is folded then.
    """

    def __init__(
        self,
        tree: Any,
        name: str,
        deal_rare: bool = False,
        wide_cuts: float = 0.0,
        orders: bool = False,
    ) -> None:
        self.orders = orders
        self.tree, self.name = tree, name
        self.classifies = is_classifier(tree)
        self.random_cuts = tree.splitter == "random"
        self.deal_rare = deal_rare
        self.wide_cuts = WIDE_RANDOM_CUTS if self.random_cuts else wide_cuts

    def read(
        self, X: Any, sample_weight: Any, held_out: Array | None = None
    ) -> tuple[TrainingTable, dict[str, Any]]:
        """The table, and the fitted attributes that it gives; rows held out weigh nothing."""
        tree = self.tree
        draws = tree.max_features is not None
        begin(usual_kernels(tree.finder != "exact", self.classifies, draws, self.random_cuts))
        table = read_table(X, sample_weight, self.name, tree.categorical_features, tree.unseen)
        if table.schema.is_category.any() and not self.deal_rare:  # cautious forests have their own
            begin(category_kernels(self.random_cuts, tree.category_split))
        fitted = table.attributes()
        fitted["max_features_"] = count_features(tree.max_features, table.schema.n_features)
        if held_out is not None:
            check_length(held_out, table.n_rows)
            weight = np.where(held_out, 0.0, table.weight)
            table = TrainingTable(table.schema, table.matrix, weight)
        return table, fitted

    def task(self, table: TrainingTable, y: Any, fitted: dict[str, Any]) -> Task:
        """What is to be grown; notes what was learnt about y in ``fitted``."""
        schema, matrix = table.schema, table.matrix
        target, scaling = self.target(y, table.weight, fitted)
        rules = self.rules(schema, target.weight, fitted["max_features_"], scaling)
        codes = self.encode(schema, matrix)
        if not self.orders:
            warn_of_folding(codes, matrix, schema.feature_names, self.deal_rare, _TELL_ALL_APART)
        criterion = resolve(
            self.tree.criterion, classification=self.classifies, n_outputs=target.n_outputs
        )
        return Task(matrix, codes, target, criterion, rules, scaling)

    def target(self, y: Any, weight: Array, fitted: dict[str, Any]) -> tuple[Target, Scaling]:
        """Read y, and note what was learnt about it in ``fitted``."""
        return (self._classes if self.classifies else self._values)(y, weight, fitted)

    def weigh(self, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Weight of each row, and its class (all alike if there is no one class)."""
        if not self.classifies:
            n_rows = len(read_values(y, self.name))
            return read_weights(sample_weight, n_rows), np.zeros(n_rows, np.int64)
        classes = read_classes(y, self.name)
        weight = read_weights(sample_weight, len(classes.labels))
        single = len(classes.names) == 1
        groups = classes.labels[:, 0] if single else np.zeros(len(weight), np.int64)
        return weigh_classes(weight, self.tree.class_weight, y, classes), groups

    def encode(self, schema: Schema, matrix: Any) -> Codes:
        """The columns as codes."""
        tree, kinds = self.tree, (matrix, schema.is_category, schema.n_categories)
        if tree.finder == "histogram":
            return encode_bins(
                *kinds,
                max_bins=tree.max_bins,
                n_jobs=tree.n_jobs,
                wide=self.wide_cuts,
                deal_rare=self.deal_rare,
            )
        return encode_ranks(*kinds, n_jobs=tree.n_jobs, with_values=self.random_cuts)

    def rules(
        self, schema: Schema, weight: Array, max_features: int, scaling: Scaling, seed: Any = None
    ) -> GrowthRules:
        """The parameters of growing as numbers; ``seed`` takes the place of a random state."""
        tree, n_rows = self.tree, len(weight)
        limited, order = tree.max_leaf_nodes is not None, ORDERS.get(tree.growth)
        if limited and order is not None and not order.by_gain:
            raise ValueError(
                f"max_leaf_nodes={tree.max_leaf_nodes} needs growth='leaf' (best-first), not "
                f"growth={tree.growth!r}: other orders would spend the leaves on one corner."
            )
        min_leaf = _count(tree.min_samples_leaf, n_rows)
        min_split = max(2, _count(tree.min_samples_split, n_rows), 2 * min_leaf)
        random = check_random_state(tree.random_state if seed is None else seed)
        return GrowthRules(
            max_depth=_at_most(tree.max_depth, 2**31 - 1),
            min_samples_split=min_split,
            min_samples_leaf=min_leaf,
            min_weight_leaf=tree.min_weight_fraction_leaf * float(weight.sum()),
            max_leaf_nodes=_at_most(tree.max_leaf_nodes, 2**31 - 1),
            min_impurity_decrease=scaling.impurity(tree.min_impurity_decrease),
            max_features=max_features,
            growth=tree.growth or ("leaf" if limited else "depth"),
            random_cuts=self.random_cuts,
            category_split=tree.category_split,
            list_sets=True,
            monotone=read_monotone(tree.monotonic_cst, schema),
            seed=int(random.randint(2**31 - 1)),
        )

    def _classes(self, y: Any, weight: Array, fitted: dict[str, Any]) -> tuple[Target, Scaling]:
        classes = read_classes(y, self.name)
        check_length(classes.labels, len(weight))
        weight = weigh_classes(weight, self.tree.class_weight, y, classes)
        warn_weightless(weight, classes)
        single = len(classes.names) == 1
        fitted["n_outputs_"] = len(classes.names)
        fitted["classes_"] = classes.names[0] if single else classes.names
        fitted["n_classes_"] = classes.counts[0] if single else np.array(classes.counts)
        if self.tree.monotonic_cst is not None:
            _check_order(classes)
        target = Target(weight, labels=classes.labels, class_start=classes.start)
        return target, Scaling(np.zeros(len(classes.names)))

    def _values(self, y: Any, weight: Array, fitted: dict[str, Any]) -> tuple[Target, Scaling]:
        values, criterion = read_values(y, self.name), self.tree.criterion
        check_length(values, len(weight))
        fitted["n_outputs_"] = values.shape[1]
        if values.shape[1] > 1 and self.tree.monotonic_cst is not None:
            raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
        if criterion == "poisson":
            _check_counts(values)
        if callable(criterion):  # a user's own criterion sees the targets as they are
            scaling = Scaling(np.zeros(values.shape[1]))
        else:
            degree = 1 if criterion in ("absolute_error", "poisson") else 2
            scaling = Scaling.of(values, degree, may_shift=criterion != "poisson")
        return Target(weight, values=scaling.apply(values)), scaling


def count_features(max_features: int | float | str | None, n_features: int) -> int:
    """How many features ``max_features`` stands for."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(math.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(math.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    return max(1, int(float(max_features) * n_features))


def _at_most(value: int | None, most: int) -> int | None:
    return None if value is None else min(int(value), most)


def _count(value: int | float, n_rows: int) -> int:
    """A number of rows, given as such or as a share."""
    if isinstance(value, Integral):
        return min(int(value), 2**31 - 1)
    return max(1, math.ceil(float(value) * n_rows))


def _check_order(classes: Classes) -> None:
    """Only the share of one of two classes can rise or fall with a feature."""
    if len(classes.names) > 1:
        raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
    if classes.counts[0] > 2:
        raise ValueError(
            "Monotonicity constraints are not supported with multiclass classification: "
            f"y has {classes.counts[0]} classes."
        )


def _check_counts(values: Array) -> None:
    if (values < 0).any():
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson regression: "
            f"{values.min()}."
        )
    if (values.sum(axis=0) <= 0).any():
        raise ValueError(
            "Sum of y is not strictly positive which is necessary for Poisson regression."
        )

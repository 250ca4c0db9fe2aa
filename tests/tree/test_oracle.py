"""Hornbeam's trees against the brute-force CART of oracle.py, node by node."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tree import oracle

import hornbeam as hb
from hornbeam.dtypes import THRESHOLD

CLASSIFICATION = ("gini", "entropy", "misclassification")
REGRESSION = ("squared_error", "absolute_error", "friedman_mse", "poisson")
FINDERS = ("exact", "histogram")
CLOSE = 1e-9  # of the node's impurity: rounding of sums, nothing more
ROUNDING = 1e-14
CLEARLY = 1e-7  # a best split that leads by this much is the only best


# --- random small data sets -----------------------------------------------------------


def random_numbers(rng, n):
    """A column of numbers: ties, floats of several scales, or small floats that repeat."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(0, rng.integers(2, 8), n).astype(float)
    if kind == 1:
        return rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)
    if kind == 2:
        return rng.choice(rng.normal(size=5), n)
    return rng.permutation(n) - n / 2


def random_categories(rng, n, most):
    """A column of categories: strings, or a pandas categorical with unused ones."""
    k = int(rng.integers(1, most + 1))
    numbers = rng.integers(0, k, n)
    names = np.array([f"c{i}" for i in range(most + 2)])[numbers].astype(object)
    if rng.random() < 0.5:
        return names
    return pd.Categorical(names, categories=[f"c{i}" for i in rng.permutation(most + 2)])


def random_table(rng, n, n_categories=0, missing=False):
    columns = {}
    for j in range(int(rng.integers(1, 6))):
        if n_categories and rng.random() < 0.6:
            column = pd.Series(random_categories(rng, n, n_categories))
        else:
            column = pd.Series(random_numbers(rng, n))
        if missing and rng.random() < 0.7:
            column[rng.random(n) < rng.uniform(0.05, 0.7)] = None
        columns[f"f{j}"] = column
    return pd.DataFrame(columns)


def random_weights(rng, n):
    """None, whole numbers with zeros, or reals; never all zero."""
    kind = rng.integers(3)
    if kind == 0:
        return None
    weights = rng.integers(0, 4, n).astype(float) if kind == 1 else rng.uniform(0.1, 3.0, n)
    weights[rng.integers(n)] = 1.0
    return weights


def random_classes(rng, n, most=4):
    return rng.integers(0, rng.integers(2, most + 1), n)


def random_target(rng, n, criterion):
    """Ties in y are as likely as none."""
    if criterion == "poisson":
        y = rng.poisson(1.5, n).astype(float)
        y[rng.integers(n)] += 1.0
        return y
    if rng.random() < 0.5:
        return rng.integers(0, 5, n).astype(float)
    return rng.normal(size=n) * 10.0 ** rng.integers(-2, 3)


# --- the comparison ---------------------------------------------------------------------


class Comparison:
    """A fitted tree beside the data it was grown on, as the oracle sees it."""

    def __init__(self, estimator, X, y, weight, rules=None):
        self.tree = estimator.tree_
        self.criterion = estimator.criterion
        self.exact_thresholds = estimator.finder == "exact"
        self.rules = rules or oracle.Rules()
        self.one_vs_rest = estimator.category_split == "one_vs_rest"
        self.is_category = estimator.schema_.is_category
        w = np.ones(len(y)) if weight is None else weight
        kept = w > 0
        self.matrix = np.asarray(estimator.schema_.read(X, ""), float)[kept]
        self.y, self.w = np.asarray(y).reshape(len(y), -1)[kept], w[kept]
        self.classes = getattr(estimator, "classes_", None)
        self.rows = oracle.rows_of_nodes(self.tree, self.matrix)

    def check(self, may_miss_the_best=False):
        """Every node is what brute force would make of it."""
        for node, rows in enumerate(self.rows):
            self.check_summary(node, rows)
            if self.tree.is_leaf[node]:
                self.check_leaf(node, rows)
            else:
                self.check_split(node, rows, may_miss_the_best)

    def check_summary(self, node, rows):
        y, w = self.y[rows], self.w[rows]
        impurity = oracle.impurity(self.criterion, y, w)
        assert self.tree.n_samples[node] == len(rows)
        assert self.tree.weight[node] == pytest.approx(w.sum(), rel=1e-12)
        scale = max(impurity, self.scale())
        assert self.tree.impurity[node] == pytest.approx(impurity, abs=CLOSE * scale)
        assert self.tree.value[node] == pytest.approx(self.value(y, w), rel=1e-9, abs=1e-9)

    def scale(self):
        return 1.0 if self.classes is not None else np.mean(self.y.astype(float) ** 2)

    def value(self, y, w):
        if self.classes is not None:
            return [w[y[:, 0] == k].sum() / w.sum() for k in self.classes]
        if self.criterion == "absolute_error":
            return [oracle.weighted_median(column, w) for column in y.T]
        return [(w * column).sum() / w.sum() for column in y.T]

    def candidates(self, rows):
        return oracle.candidates(
            self.criterion,
            self.matrix,
            rows,
            self.y[rows],
            self.w[rows],
            self.is_category,
            self.one_vs_rest,
            self.rules,
        )

    def check_leaf(self, node, rows):
        """A leaf is pure, or no split is allowed, or none gains more than rounding takes.

        That splits without a gain are taken is shown by test_growth.py.
        """
        if self.tree.impurity[node] > CLOSE * self.scale():
            best = max(self.candidates(rows).values(), default=0.0)
            assert best <= ROUNDING * self.scale(), "a leaf that could be split"

    def check_split(self, node, rows, may_miss_the_best):
        left = np.isin(rows, self.rows[self.tree.first_child[node]])
        gains = self.candidates(rows)
        chosen = oracle.partition(left)
        assert chosen in gains, "not a valid split"
        ranking = sorted(gains.values(), reverse=True)
        scale = self.tree.impurity[node]
        if not may_miss_the_best:
            assert gains[chosen] == pytest.approx(ranking[0], abs=CLOSE * scale)
            if len(ranking) == 1 or ranking[0] - ranking[1] > CLEARLY * scale:
                assert gains[chosen] == ranking[0], "another partition than the only best"
        self.check_question(node, rows, left)

    def check_question(self, node, rows, left):
        """Thresholds lie in the middle; a side without missing values is the larger one."""
        values = self.matrix[rows, self.tree.feature[node]]
        known = ~np.isnan(values)
        if known.all():
            assert self.tree.missing_branch[node] == (0 if 2 * left.sum() > len(rows) else 1)
        if self.tree.kind[node] != THRESHOLD:
            return
        if not (known & ~left).any():
            assert self.tree.threshold[node] == np.inf
            return
        low, high = values[known & left].max(), values[known & ~left].min()
        assert low <= self.tree.threshold[node] < high
        if self.exact_thresholds:
            assert self.tree.threshold[node] == pytest.approx(low / 2 + high / 2)


def compare(estimator, X, y, weight, rules=None, may_miss_the_best=False):
    estimator.fit(X, y, sample_weight=weight)
    Comparison(estimator, X, y, weight, rules).check(may_miss_the_best)


def each_seed(check, count, start=0):
    """Run a check for many seeds; a failure names its seed."""
    for seed in range(start, start + count):
        try:
            check(np.random.default_rng(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def draw_rows(rng, most=40):
    return int(rng.integers(2, most + 1))


# --- a taste of everything ------------------------------------------------------------------


@pytest.mark.mission("T4")
@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("criterion", CLASSIFICATION)
def test_a_few_tables_with_everything_in_them(criterion, finder):
    def check(rng):
        n = draw_rows(rng, 20)
        X = random_table(rng, n, n_categories=4, missing=True)
        tree = hb.DecisionTreeClassifier(criterion=criterion, finder=finder)
        compare(tree, X, random_classes(rng, n), random_weights(rng, n))

    each_seed(check, 4, start=1000)


# --- numbers ------------------------------------------------------------------------------


@pytest.mark.mission("T4")
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("criterion", CLASSIFICATION)
def test_classifier_takes_the_best_cut(criterion, finder):
    def check(rng):
        n = draw_rows(rng)
        X, y = random_table(rng, n, missing=rng.random() < 0.5), random_classes(rng, n)
        tree = hb.DecisionTreeClassifier(criterion=criterion, finder=finder)
        compare(tree, X, y, random_weights(rng, n))

    each_seed(check, 30)


@pytest.mark.mission("T5")
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("criterion", REGRESSION)
def test_regressor_takes_the_best_cut(criterion, finder):
    def check(rng):
        n = draw_rows(rng, 30)
        X, y = random_table(rng, n, missing=rng.random() < 0.5), random_target(rng, n, criterion)
        tree = hb.DecisionTreeRegressor(criterion=criterion, finder=finder)
        weight = random_weights(rng, n)
        if criterion == "poisson" and weight is not None:
            weight[np.argmax(y)] = 1.0  # the sum of y must be positive
        compare(tree, X, y, weight)

    each_seed(check, 30)


@pytest.mark.mission("T8")
@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_best_allowed_cut_with_limits_on_the_leaves(criterion):
    def check(rng):
        n = draw_rows(rng)
        X, weight = random_table(rng, n, missing=rng.random() < 0.5), random_weights(rng, n)
        least, share = int(rng.integers(1, 5)), rng.uniform(0.0, 0.3)
        limits = {"min_samples_leaf": least, "min_weight_fraction_leaf": share}
        total = n if weight is None else weight.sum()
        rules = oracle.Rules(least, share * total)
        if criterion == "gini":
            tree, y = hb.DecisionTreeClassifier(**limits), random_classes(rng, n)
        else:
            tree = hb.DecisionTreeRegressor(criterion=criterion, **limits)
            y = random_target(rng, n, criterion)
        compare(tree, X, y, weight, rules)

    each_seed(check, 40)


# --- categories -----------------------------------------------------------------------------


@pytest.mark.mission("T4")
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("category_split", ["subset", "one_vs_rest"])
@pytest.mark.parametrize("criterion", CLASSIFICATION)
def test_classifier_parts_categories_best(criterion, category_split, finder):
    def check(rng):
        n = draw_rows(rng, 30)
        X = random_table(rng, n, n_categories=6, missing=rng.random() < 0.5)
        tree = hb.DecisionTreeClassifier(
            criterion=criterion, finder=finder, category_split=category_split
        )
        compare(tree, X, random_classes(rng, n), random_weights(rng, n))

    each_seed(check, 20)


@pytest.mark.mission("T5")
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("category_split", ["subset", "one_vs_rest"])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "friedman_mse"])
def test_regressor_parts_categories_best(criterion, category_split, finder):
    def check(rng):
        n = draw_rows(rng, 25)
        X = random_table(rng, n, n_categories=6, missing=rng.random() < 0.5)
        tree = hb.DecisionTreeRegressor(
            criterion=criterion, finder=finder, category_split=category_split
        )
        compare(tree, X, random_target(rng, n, criterion), random_weights(rng, n))

    each_seed(check, 20)


@pytest.mark.mission("T5")
@pytest.mark.parametrize("category_split", ["subset", "one_vs_rest"])
def test_poisson_parts_categories_best(category_split):
    """Counts from 1 up: a child without events is not allowed, and what is forbidden breaks
    the theorem that the best subset is a prefix of the categories ordered by their means."""

    def check(rng):
        n = draw_rows(rng, 25)
        X = random_table(rng, n, n_categories=6, missing=rng.random() < 0.5)
        tree = hb.DecisionTreeRegressor(criterion="poisson", category_split=category_split)
        y = 1.0 + rng.poisson(2.0, n)
        compare(tree, X, y, random_weights(rng, n))

    each_seed(check, 30)


@pytest.mark.mission("T4")
@pytest.mark.parametrize("criterion", CLASSIFICATION)
def test_two_classes_and_twelve_categories_are_exact(criterion):
    def check(rng):
        n = draw_rows(rng, 40)
        X = random_table(rng, n, n_categories=12, missing=rng.random() < 0.3).iloc[:, :1]
        tree = hb.DecisionTreeClassifier(criterion=criterion, max_depth=1)
        compare_root(tree, X, rng.integers(0, 2, n), random_weights(rng, n))

    each_seed(check, 15)


def compare_root(tree, X, y, weight):
    """Only the root: its children are leaves because of max_depth=1."""
    tree.fit(X, y, sample_weight=weight)
    comparison = Comparison(tree, X, y, weight)
    if not tree.tree_.is_leaf[0]:
        comparison.check_split(0, comparison.rows[0], False)


@pytest.mark.mission("T4")
@pytest.mark.parametrize("criterion", [*CLASSIFICATION, "absolute_error"])
def test_up_to_eight_categories_are_exact_for_any_target(criterion):
    """No ordering of the categories is exact here, so every subset has to be tried."""

    def check(rng):
        X = pd.DataFrame({"c": rng.choice(list("abcdefg"), 60)})
        if criterion == "absolute_error":
            tree = hb.DecisionTreeRegressor(criterion=criterion, max_depth=1)
            y = rng.exponential(size=60) ** 3
        else:
            tree = hb.DecisionTreeClassifier(criterion=criterion, max_depth=1)
            y = rng.integers(0, 5, 60)
        compare_root(tree, X, y, None)

    each_seed(check, 12)


@pytest.mark.mission("T4")
def test_many_classes_and_many_categories_are_valid_and_never_beat_brute_force():
    """Beyond eight categories and two classes the search is a heuristic."""

    def check(rng):
        n = draw_rows(rng, 40)
        X = pd.DataFrame({"a": random_categories(rng, n, 11), "b": random_numbers(rng, n)})
        tree = hb.DecisionTreeClassifier(max_depth=2)
        y = rng.integers(0, 5, n)
        tree.fit(X, y)
        comparison = Comparison(tree, X, y, None)
        for node in np.flatnonzero(~tree.tree_.is_leaf):
            comparison.check_split(node, comparison.rows[node], may_miss_the_best=True)

    each_seed(check, 15)


@pytest.mark.mission("T8")
def test_limits_on_the_leaves_hold_for_category_splits():
    """With limits the best allowed subset need not be a prefix, so only validity is asked."""

    def check(rng):
        n = draw_rows(rng)
        X, least = random_table(rng, n, n_categories=5), int(rng.integers(2, 5))
        tree = hb.DecisionTreeClassifier(min_samples_leaf=least).fit(X, random_classes(rng, n))
        assert tree.tree_.n_samples[tree.tree_.is_leaf].min() >= min(least, n)

    each_seed(check, 30)


# --- several outputs --------------------------------------------------------------------


@pytest.mark.mission("T5")
@pytest.mark.parametrize("criterion", REGRESSION)
def test_regressor_with_three_outputs_takes_the_best_cut(criterion):
    def check(rng):
        n = draw_rows(rng, 25)
        X = random_table(rng, n, n_categories=4 * int(rng.random() < 0.5), missing=True)
        y = np.column_stack([random_target(rng, n, criterion) for _ in range(3)])
        if criterion == "poisson":
            y += 1.0
        compare(hb.DecisionTreeRegressor(criterion=criterion), X, y, random_weights(rng, n))

    each_seed(check, 20)

"""Boosted trees against a plain NumPy tree grown from the same codes and slopes, node by node."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam import losses
from hornbeam.boosting.defaults import Shape, settle
from hornbeam.boosting.rows import heaviest, weighs_too_much
from hornbeam.boosting.rules import BoostRules
from hornbeam.data.coding import encode_bins
from hornbeam.dtypes import THRESHOLD
from hornbeam.kernels.boosting.state import FLUSH_ROWS

MISSING = 255
FEW_CATEGORIES = 4  # up to this many need no smoothing and no extra penalty

# --- the oracle: one boosted tree, row by row ---------------------------------------------


def unit(largest: float, bits: int) -> float:
    """The power of two that brings the largest number just below ``2**bits``."""
    return 2.0 ** (math.frexp(largest)[1] - bits) if largest > 0 else 1.0


def bits(n_rows: int, equal: bool) -> tuple[int, int]:
    """Bits of a gradient and of a hessian: sums of a tile's rows must fit into 64 bits."""
    row_bits = min(n_rows, FLUSH_ROWS).bit_length()
    spare = 62 - 2 * row_bits
    of_hessian = 1 if equal else max(15, spare // 2 - 1)
    return min(30, spare - of_hessian), of_hessian


@dataclass(eq=False)
class Node:
    """A set of rows, and the best way to part it (None: no way is allowed)."""

    rows: Any
    depth: int
    age: int
    value: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf
    least_rows: float = 0.0
    groups: Any = None
    split: Any = None
    children: Any = None


class Oracle:
    """Grow one tree; every sum is made from the rows of the node, nothing is kept."""

    def __init__(
        self, codes: Any, slopes: Any, rules: BoostRules, equal: bool, counted: bool = False
    ):
        self.codes, self.rules, self.counted = codes, rules, counted
        gradient, hessian = np.asarray(slopes, float).T
        of_gradient, of_hessian = bits(len(slopes), equal)
        largest = hessian.max()
        self.units = (
            unit(np.abs(gradient).max(), of_gradient),
            largest if equal else unit(largest, of_hessian),
        )
        self.gradient = np.rint(gradient / self.units[0]).astype(int)
        self.hessian = np.maximum(np.rint(hessian / self.units[1]).astype(int), 1)
        self.plain = rules.monotone is None and not rules.reg_alpha and not rules.max_delta_step
        n_features = len(codes.n_codes)
        self.monotone = np.zeros(n_features) if rules.monotone is None else rules.monotone
        self.groups = np.ones((1, n_features), bool) if rules.groups is None else rules.groups
        self.root = self.grow(np.arange(len(slopes)))

    # formulas

    def sums(self, rows: Any) -> tuple[float, float]:
        return self.units[0] * self.gradient[rows].sum(), self.units[1] * self.hessian[rows].sum()

    def weight(self, rows: Any, penalty: float, node: Node) -> float:
        """Minus T(G) / (H + lambda), within the step limit and the bounds."""
        g, h = self.sums(rows)
        shrunk = math.copysign(max(abs(g) - self.rules.reg_alpha, 0.0), g)
        w = -shrunk / (h + penalty) if h + penalty > 0 else 0.0
        step = self.rules.max_delta_step or math.inf
        return min(max(min(max(w, -step), step), node.lower), node.upper)

    def lowers(self, rows: Any, penalty: float, w: float) -> float:
        """Twice by how much a leaf of this weight lowers the objective."""
        g, h = self.sums(rows)
        return -(2.0 * g * w + (h + penalty) * w * w + 2.0 * self.rules.reg_alpha * abs(w))

    def gain(self, left: Any, right: Any, penalty: float, node: Node) -> float:
        """(G_L^2 / (H_L + lambda) + G_R^2 / (H_R + lambda) - G^2 / (H + lambda)) / 2."""
        if self.plain:
            (gl, hl), (gr, hr) = self.sums(left), self.sums(right)
            after = gl * gl / (hl + penalty) + gr * gr / (hr + penalty)
        else:
            after = sum(
                self.lowers(s, penalty, self.weight(s, penalty, node)) for s in (left, right)
            )
        return 0.5 * (after - self.own(node))

    def own(self, node: Node) -> float:
        lam = self.rules.reg_lambda
        return self.lowers(node.rows, lam, self.weight(node.rows, lam, node))

    # which partitions there are, in the order in which they are tried

    def partitions(self, feature: int, rows: Any) -> Any:
        """(codes that go left, side of missing, extra penalty); missing is in the codes too."""
        code = self.codes.columns[feature][rows]
        if self.codes.is_category[feature]:
            yield from self.category_sets(code, rows)
            return
        known, some = np.unique(code[code != MISSING]), (code == MISSING).any()
        for cut in known if some else known[:-1]:  # missing on the right: all known may go left
            yield set(range(cut + 1)), (0 if some else None), 0.0
        for cut in known[:-1] if some else []:
            yield set(range(cut + 1)) | {MISSING}, 1, 0.0

    def category_sets(self, code: Any, rows: Any) -> Any:
        one_by_one = self.rules.category_split == "one_vs_rest"
        present = np.unique(code)  # missing is a category, the last one
        gentle = len(present) <= FEW_CATEGORIES or one_by_one
        smooth = 0.0 if gentle else self.rules.category_smooth
        total = self.hessian[rows].sum()
        seem = {c: self.hessian[rows[code == c]].sum() * (len(rows) / total) for c in present}
        if self.counted:
            seem = {c: (code == c).sum() for c in present}
        common = np.array([c for c in present if seem[c] >= smooth], int)  # others go right
        sums = [self.sums(rows[code == c]) for c in common]
        keys = np.array([g / (h + smooth) for g, h in sums])
        order = common[np.argsort(keys, kind="stable")]
        some = MISSING in present
        all_sorted = len(common) == len(present) and not one_by_one
        passed, n_left = 0.0, 0.0
        for place in range(len(order) - 1 if all_sorted else len(order)):
            left = set(order[place : place + 1] if one_by_one else order[: place + 1])
            passed, n_left = passed + seem[order[place]], n_left + seem[order[place]]
            if not gentle and passed < self.rules.category_rows:
                continue
            passed = 0.0
            if not gentle and self.breaks_limits(
                len(left), len(present), sum(seem.values()) - n_left
            ):
                continue
            side = int(MISSING in left) if some else None
            yield left, side, 0.0 if gentle else self.rules.category_l2

    def breaks_limits(self, n_left: int, n_present: int, rows_right: float) -> bool:
        limit = self.rules.category_limit
        too_many = limit is not None and min(n_left, n_present - n_left) > limit
        return too_many or rows_right < self.rules.category_rows

    # growing

    def large_enough(self, side: Any, node: Node) -> bool:
        """Rows are judged by their share of the hessian, unless one row outweighs them."""
        h, whole = self.hessian[side].sum(), max(1, self.hessian[node.rows].sum())
        least = max(1, math.ceil(self.rules.min_child_weight / self.units[1]))
        if self.counted:
            return h >= least and len(side) >= self.rules.min_samples_leaf
        return h >= least and h * (len(node.rows) / whole) >= node.least_rows

    def least_rows(self) -> float:
        """Rows a side must seem to have; a cell that is not empty has one, whatever it seems."""
        least = self.rules.min_samples_leaf
        return least * (1.0 - 2.0**-20) if least > 1 else 0.0  # but for rounding errors

    def search(self, node: Node) -> None:
        """Take the first partition of the largest gain, feature by feature."""
        best = max(self.rules.min_split_gain, 2.0**-40 * abs(self.own(node)))
        node.split = None
        for feature in np.flatnonzero((self.groups & node.groups[:, None]).any(axis=0)):
            code = self.codes.columns[feature][node.rows]
            for codes, missing_left, extra in self.partitions(feature, node.rows):
                goes = np.isin(code, list(codes))
                left, right = node.rows[goes], node.rows[~goes]
                if not self.large_enough(left, node) or not self.large_enough(right, node):
                    continue
                penalty = self.rules.reg_lambda + extra
                values = self.weight(left, penalty, node), self.weight(right, penalty, node)
                if (values[0] - values[1]) * self.monotone[feature] > 0:
                    continue
                gain = self.gain(left, right, penalty, node)
                if gain > best:
                    best = gain
                    node.split = gain, int(feature), codes, missing_left, left, right, values

    def may_split(self, node: Node, n_leaves: int) -> bool:
        rules = self.rules
        return (
            (rules.max_depth is None or node.depth < rules.max_depth)
            and (rules.max_leaf_nodes is None or n_leaves < rules.max_leaf_nodes)
            and len(node.rows) >= max(2, 2 * rules.min_samples_leaf)
            and self.sums(node.rows)[1] >= 2 * rules.min_child_weight
        )

    def comes_first(self, node: Node) -> tuple[float, int]:
        key = {"leaf": -node.split[0], "depth": -node.depth, "level": 0}[self.rules.growth]
        return key, node.age

    def grow(self, rows: Any) -> Node:
        root = Node(
            rows, 0, 0, least_rows=self.least_rows(), groups=np.ones(len(self.groups), bool)
        )
        root.value = self.weight(rows, self.rules.reg_lambda, root)
        frontier, n_leaves, n_nodes = [], 1, 1
        new = [root]
        while True:
            for node in new:
                if self.may_split(node, n_leaves):
                    self.search(node)
                    frontier += [node] if node.split else []
            if not frontier or n_leaves == self.rules.max_leaf_nodes:
                return root
            node = min(frontier, key=self.comes_first)
            frontier.remove(node)
            *_, left, right, _ = node.split
            if min(len(left), len(right)) < self.rules.min_samples_leaf:
                few = min(left, right, key=len)  # the hessians were misleading: ask for more
                share = len(node.rows) / self.hessian[node.rows].sum()
                node.least_rows *= self.hessian[few].sum() * share / len(few)
                new = [node]
                continue
            new = node.children = self.part(node, n_nodes)
            n_leaves, n_nodes = n_leaves + 1, n_nodes + 2

    def part(self, node: Node, n_nodes: int) -> list[Node]:
        _, feature, _, _, left, right, values = node.split
        direction, border = self.monotone[feature], 0.5 * (values[0] + values[1])
        children = []
        for side, rows in enumerate((left, right)):
            child = replace(
                node,
                rows=rows,
                depth=node.depth + 1,
                age=n_nodes + side,
                value=values[side],
                least_rows=self.least_rows(),
                groups=node.groups & self.groups[:, feature],
                split=None,
            )
            if direction:
                which = "upper" if (direction > 0) == (side == 0) else "lower"
                setattr(child, which, border)
            children.append(child)
        return children


# --- the comparison ---------------------------------------------------------------------------


def compare_nodes(tree: Any, number: int, node: Node, oracle: Oracle) -> None:
    """The stored node is the oracle's, and so is everything below it."""
    codes = oracle.codes
    assert tree.n_samples[number] == len(node.rows)
    assert tree.weight[number] == oracle.sums(node.rows)[1]
    assert tree.value[number, 0] == node.value
    assert bool(tree.is_leaf[number]) == (node.children is None)
    if node.children is None:
        return
    _, feature, left_codes, missing_left, left, right, _ = node.split
    assert tree.feature[number] == feature
    if missing_left is None:  # none in training: where most rows go
        missing_left = int(len(left) >= len(right))
    assert tree.missing_branch[number] == 1 - missing_left
    if tree.kind[number] == THRESHOLD:
        edges = codes.edges[codes.edge_start[feature] : codes.edge_start[feature + 1]]
        cut = max(left_codes - {MISSING})
        assert tree.threshold[number] == (edges[cut] if cut < len(edges) else np.inf)
    else:
        present = set(codes.columns[feature][node.rows].tolist())
        absent = set(range(codes.n_codes[feature])) - present
        hessians = oracle.hessian[left].sum(), oracle.hessian[node.rows].sum()
        expected = left_codes - {MISSING} | (absent if 2 * hessians[0] >= hessians[1] else set())
        assert set(tree.category_set(number).tolist()) == expected
    for side, child in enumerate(node.children):
        compare_nodes(tree, int(tree.first_child[number]) + side, child, oracle)


def compare(model: Any, X: Any, y: Any, weight: Any = None, init_score: Any = None) -> Oracle:
    """Fit one tree and grow it by hand."""
    model.set_params(n_estimators=1, learning_rate=1.0)
    model.fit(X, y, sample_weight=weight, init_score=init_score)
    classes = getattr(model, "n_classes_", 0)
    task = "classification" if classes else "regression"
    loss = losses.resolve(model.loss, task=task, n_classes=classes)
    w = np.ones(len(y)) if weight is None else weight
    kept = w > 0  # rows without weight have no part in anything
    score = np.full(len(y), model.ensemble_.start[0]) if init_score is None else init_score
    w, score, y = w[kept], score[kept], np.asarray(y, float)[kept]
    slopes, _ = losses.slopes_of(loss, y, w, score, model.order)
    equal = bool((w == w[0]).all()) and (loss.constant_hessian or model.order == 1)
    schema = model.schema_
    codes = encode_bins(
        schema.read(X, "")[kept], schema.is_category, schema.n_categories, max_bins=model.max_bins
    )
    n_cuts = int((codes.n_codes - 1).sum())
    shape = Shape(int(kept.sum()), len(codes.n_codes), n_cuts, model._task, max(1, classes))
    settings = settle(model, shape)
    rules = model._rules(schema, loss, settings)
    least = rules.min_samples_leaf
    counted = least > 1 and weighs_too_much(heaviest(w), len(w), least)
    oracle = Oracle(codes, slopes[0], rules, equal, counted)
    compare_nodes(model.trees_[0], 0, oracle.root, oracle)
    return oracle


# --- random small data sets -------------------------------------------------------------------


def random_table(rng: Any, n: int, n_categories: int = 0, missing: bool = True) -> pd.DataFrame:
    """Columns full of ties, some with missing values, some of categories."""
    columns = {}
    for j in range(int(rng.integers(1, 5))):
        if n_categories and rng.random() < 0.6:
            names = np.array([f"c{i}" for i in range(n_categories)])
            column = pd.Series(names[rng.integers(0, rng.integers(1, n_categories + 1), n)])
        elif rng.random() < 0.5:
            column = pd.Series(rng.integers(0, rng.integers(2, 8), n).astype(float))
        else:
            column = pd.Series(rng.normal(size=n))
        if missing and rng.random() < 0.6:
            column[rng.random(n) < rng.uniform(0.05, 0.6)] = None
        columns[f"f{j}"] = column
    return pd.DataFrame(columns)


def random_target(rng: Any, n: int) -> Any:
    return rng.integers(0, 5, n) / 1.0 if rng.random() < 0.5 else rng.normal(size=n)


def random_weights(rng: Any, n: int) -> Any:
    """None, whole numbers with zeros, or reals."""
    kind = rng.integers(3)
    if kind == 0:
        return None
    weight = rng.integers(0, 4, n).astype(float) if kind == 1 else rng.uniform(0.1, 3.0, n)
    weight[rng.integers(n)] = 1.0
    return weight


def random_rules(rng: Any) -> dict[str, Any]:
    rules: dict[str, Any] = {
        "growth": str(rng.choice(["leaf", "level", "depth"])),
        "max_leaf_nodes": int(rng.integers(2, 12)) if rng.random() < 0.6 else None,
        "max_depth": int(rng.integers(1, 6)) if rng.random() < 0.5 else None,
        "min_samples_leaf": int(rng.integers(1, 6)),
        "min_child_weight": float(rng.choice([0.0, 1e-3, 1.0, 2.5])),
        "reg_lambda": float(rng.choice([0.0, 1.0, 0.3])),
    }
    if rng.random() < 0.3:
        rules["min_split_gain"] = float(rng.uniform(0.0, 1.0))
    if rng.random() < 0.3:
        rules["reg_alpha"] = float(rng.uniform(0.0, 1.0))
    if rng.random() < 0.2:
        rules["max_delta_step"] = float(rng.uniform(0.1, 1.0))
    return rules


def each_seed(check: Any, count: int, start: int = 0) -> None:
    """Run a check for many seeds; a failure names its seed."""
    for seed in range(start, start + count):
        try:
            check(np.random.default_rng(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def regressor(**rules: Any) -> Any:
    return hb.GradientBoostingRegressor(n_jobs=1, **rules)


# --- the tests --------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.mission("X1")
def test_a_few_tables_with_everything_in_them() -> None:
    def check(rng: Any) -> None:
        n = int(rng.integers(5, 40))
        X = random_table(rng, n, n_categories=7)
        compare(regressor(**random_rules(rng)), X, random_target(rng, n), random_weights(rng, n))

    each_seed(check, 12, start=900)


@pytest.mark.mission("X1")
@pytest.mark.mission("L1")
@pytest.mark.mission("X5")
def test_numbers_with_equal_hessians() -> None:
    def check(rng: Any) -> None:
        n = int(rng.integers(5, 60))
        X = random_table(rng, n, missing=rng.random() < 0.7)
        compare(regressor(**random_rules(rng)), X, random_target(rng, n))

    each_seed(check, 100)


@pytest.mark.mission("X1")
def test_numbers_with_weights() -> None:
    def check(rng: Any) -> None:
        n = int(rng.integers(5, 60))
        X = random_table(rng, n, missing=rng.random() < 0.7)
        compare(regressor(**random_rules(rng)), X, random_target(rng, n), random_weights(rng, n))

    each_seed(check, 100)


@pytest.mark.mission("X1")
def test_logistic_hessians_of_all_sizes() -> None:
    """Scores that differ make hessians that differ: rows are judged by their hessians."""

    def check(rng: Any) -> None:
        n = int(rng.integers(8, 80))
        X = random_table(rng, n, n_categories=6)
        y = np.r_[0, 1, rng.integers(0, 2, n - 2)]
        init = rng.normal(size=n) * rng.choice([0.0, 1.0, 2.0])
        model = hb.GradientBoostingClassifier(n_jobs=1, **random_rules(rng))
        compare(model, X, y, random_weights(rng, n), init)

    each_seed(check, 100)


@pytest.mark.mission("X1")
@pytest.mark.mission("L6")
@pytest.mark.parametrize("category_split", ["subset", "one_vs_rest"])
def test_categories(category_split: str) -> None:
    def check(rng: Any) -> None:
        n = int(rng.integers(5, 80))
        X = random_table(rng, n, n_categories=int(rng.integers(2, 12)))
        model = regressor(
            category_split=category_split,
            category_smooth=float(rng.choice([0.0, 2.0, 10.0])),
            category_l2=float(rng.choice([0.0, 1.0, 10.0])),
            category_limit=rng.choice([None, 1, 2, 3]),
            category_rows=int(rng.choice([0, 0, 3, 9])),
            **random_rules(rng),
        )
        compare(model, X, random_target(rng, n), random_weights(rng, n))

    each_seed(check, 80)


@pytest.mark.mission("G5")
def test_constraints() -> None:
    def check(rng: Any) -> None:
        n = int(rng.integers(8, 60))
        X = random_table(rng, n)
        k = X.shape[1]
        rules = random_rules(rng)
        if rng.random() < 0.7:
            rules["monotonic_cst"] = rng.integers(-1, 2, k).tolist()
        if rng.random() < 0.7:
            rules["interaction_constraints"] = [
                np.flatnonzero(rng.random(k) < 0.6).tolist() for _ in range(2)
            ]
        compare(regressor(**rules), X, random_target(rng, n), random_weights(rng, n))

    each_seed(check, 100)


@pytest.mark.mission("L3")
@pytest.mark.mission("X11")
def test_orders_of_growth_spend_their_leaves_differently() -> None:
    differ = []

    def check(rng: Any) -> None:
        X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
        depths = []
        for growth in ("leaf", "level", "depth"):
            model = regressor(growth=growth, max_leaf_nodes=6, max_depth=4, min_samples_leaf=2)
            compare(model, X, y)
            tree = model.trees_[0]
            assert tree.n_leaves == 6 and tree.max_depth <= 4
            depths.append(tree.depth[tree.is_leaf].mean())
        differ.append(depths[1] < depths[2])  # level-wise trees are the flattest

    each_seed(check, 10)
    assert sum(differ) >= 6


def test_the_oracle_is_reached_by_splits_that_had_to_be_searched_again() -> None:
    """Weights that differ three hundredfold: some best split leaves too few rows."""
    searched_again = []

    def check(rng: Any) -> None:
        X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
        weight = np.where(rng.random(40) < 0.2, 30.0, 0.1)
        model = regressor(min_samples_leaf=5, min_child_weight=0.0)
        oracle = compare(model, X, y, weight)
        nodes = [oracle.root]
        for node in nodes:
            nodes += node.children or []
            searched_again.append(node.least_rows > 5)

    each_seed(check, 30)
    assert sum(searched_again) > 10


def test_rows_are_counted_where_some_outweigh_the_others() -> None:
    def check(rng: Any) -> None:
        n = int(rng.integers(20, 80))
        X = random_table(rng, n, n_categories=6, missing=rng.random() < 0.5)
        weight = np.where(rng.random(n) < 0.1, 1e4, 1.0)
        weight[:2] = 1e4, 1.0
        rules = {**random_rules(rng), "min_samples_leaf": int(rng.integers(2, 6))}
        oracle = compare(regressor(**rules), X, random_target(rng, n), weight)
        assert oracle.counted

    each_seed(check, 60)


@pytest.mark.quick
@pytest.mark.mission("X1")
def test_the_formulas_by_hand() -> None:
    """Four rows, gradients -1 -1 1 3 around the start 0, one cut that is best."""
    X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 1.0, -1.0, -3.0]
    model = regressor(
        n_estimators=1, learning_rate=1.0, min_samples_leaf=1, reg_lambda=1.0, max_leaf_nodes=2
    )
    tree = model.fit(X, y, init_score=np.zeros(4)).trees_[0]
    # left: G = -2, H = 2; right: G = 4, H = 2; together: G = 2, H = 4; lambda = 1
    gains = [
        (1 / 2 + 9 / 4 - 4 / 5) / 2,
        (4 / 3 + 16 / 3 - 4 / 5) / 2,
        (1 / 4 + 9 / 2 - 4 / 5) / 2,
    ]
    assert np.argmax(gains) == 1
    assert tree.threshold[0] == 1.5
    assert tree.value.ravel() == pytest.approx([-2 / 5, 2 / 3, -4 / 3], rel=1e-8)
    objective = tree.impurity * tree.weight  # -G^2 / (H + lambda) / 2
    assert objective[0] - objective[1] - objective[2] == pytest.approx(gains[1], rel=1e-8)
    # gamma just above the gain forbids the split, just below it does not
    for gamma, n_leaves in ((gains[1] + 1e-6, 1), (gains[1] - 1e-6, 2)):
        model.set_params(min_split_gain=gamma).fit(X, y, init_score=np.zeros(4))
        assert model.trees_[0].n_leaves == n_leaves
    # alpha moves every G towards zero: -2 becomes -1.5, 4 becomes 3.5
    model.set_params(min_split_gain=0.0, reg_alpha=0.5).fit(X, y, init_score=np.zeros(4))
    assert model.trees_[0].value.ravel()[1:] == pytest.approx([1.5 / 3, -3.5 / 3], rel=1e-8)
    # a child must have a hessian of 3: no cut leaves that on both sides
    model.set_params(reg_alpha=0.0, min_child_weight=2.5).fit(X, y, init_score=np.zeros(4))
    assert model.trees_[0].n_leaves == 1
    # the step limit
    model.set_params(min_child_weight=0.0, max_delta_step=0.5).fit(X, y, init_score=np.zeros(4))
    assert model.trees_[0].value.ravel()[1:].tolist() == [0.5, -0.5]

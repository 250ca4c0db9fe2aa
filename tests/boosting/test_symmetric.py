"""Symmetric trees against a plain NumPy oracle: one question per level, gains added up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import hornbeam as hb
from hornbeam import losses
from hornbeam.boosting.defaults import Shape, settle
from hornbeam.data.coding import encode_bins
from hornbeam.dtypes import LEAF, THRESHOLD

MISSING = 255
FEW_CATEGORIES = 4
RNG = np.random.default_rng(7)


def unit(largest: float) -> float:
    return 2.0 ** (math.frexp(largest)[1] - 30) if largest > 0 else 1.0


class Oracle:
    """Grow the trees of all scores; every sum is made from the rows, nothing is kept."""

    def __init__(self, codes: Any, slopes: Any, rules: Any, equal: bool) -> None:
        self.codes, self.rules = codes, rules
        g, h = np.moveaxis(np.asarray(slopes, float), 2, 0)  # (scores, rows) each
        units = unit(np.abs(g).max()), h.max() if equal else unit(h.max())
        self.g = np.rint(g / units[0]) * units[0]
        self.h = np.maximum(np.rint(h / units[1]), 1) * units[1]
        self.monotone = np.zeros(len(codes.n_codes)) if rules.monotone is None else rules.monotone
        self.groups = rules.groups
        self.grow()

    def weights(self, rows: Any, penalty: float, node: dict[str, Any]) -> Any:
        """-T(G) / (H + lambda) of each score."""
        g, h = self.g[:, rows].sum(axis=1), self.h[:, rows].sum(axis=1)
        shrunk = np.sign(g) * np.maximum(np.abs(g) - self.rules.reg_alpha, 0.0)
        step = self.rules.max_delta_step or np.inf
        w = np.clip(-shrunk / (h + penalty), -step, step)
        return np.clip(w, node["lower"], node["upper"])

    def lowers(self, rows: Any, penalty: float, w: Any) -> float:
        """Twice by how much these weights lower the objective."""
        g, h = self.g[:, rows].sum(axis=1), self.h[:, rows].sum(axis=1)
        return float(-(2 * g * w + (h + penalty) * w * w + 2 * self.rules.reg_alpha * abs(w)).sum())

    def gain(self, node: dict[str, Any], goes: Any, extra: float, direction: float) -> Any:
        """What a node gains; None if it takes no part."""
        rows, rules = node["rows"], self.rules
        sides = rows[goes[rows]], rows[~goes[rows]]
        if min(map(len, sides)) < rules.min_samples_leaf:
            return None
        if min(self.h[:, side].sum() for side in sides) < rules.min_child_weight:
            return None
        penalty = rules.reg_lambda + extra
        left, right = (self.weights(side, penalty, node) for side in sides)
        if ((left - right) * direction > 0).any():
            return None
        before = self.lowers(rows, rules.reg_lambda, self.weights(rows, rules.reg_lambda, node))
        after = self.lowers(sides[0], penalty, left) + self.lowers(sides[1], penalty, right)
        return 0.5 * (after - before) - rules.min_split_gain

    def questions(self, feature: int, open_nodes: list[dict[str, Any]]) -> Any:
        """(rows that go left, what tells it, extra penalty)."""
        code = self.codes.columns[feature]
        rows = np.concatenate([node["rows"] for node in open_nodes])
        present, counts = np.unique(code[rows], return_counts=True)
        if not self.codes.is_category[feature]:
            some = MISSING in present
            for cut in range(self.codes.n_codes[feature] if some else max(0, len(present) - 1)):
                yield code <= (cut if some else present[cut]), 0.0
            for cut in range(self.codes.n_codes[feature] if some else 0):
                yield (code <= cut) | (code == MISSING), 0.0
            return
        alone = self.rules.category_split == "one_vs_rest"
        gentle = len(present) <= FEW_CATEGORIES or alone
        smooth = 0.0 if gentle else self.rules.category_smooth
        sums = [
            [slope[:, rows[code[rows] == c]].sum(axis=1) for slope in (self.g, self.h)]
            for c in present
        ]
        spread = np.sum([g * g / (h + smooth) for g, h in sums], axis=0)
        score = int(np.argmax(spread))
        common = [i for i, n in enumerate(counts) if n >= smooth]
        keys = [sums[i][0][score] / (sums[i][1][score] + smooth) for i in common]
        order = present[np.array(common, int)[np.argsort(keys, kind="stable")]]
        limit, passed, n_left = self.rules.category_limit or math.inf, 0, 0
        for place in range(len(order)):
            left = order[place : place + 1] if alone else order[: place + 1]
            here = counts[present == order[place]][0]
            passed, n_left = passed + here, n_left + here
            if not gentle and passed < self.rules.category_rows:
                continue
            passed, smaller = 0, min(len(left), len(present) - len(left))
            too_few = counts.sum() - n_left < self.rules.category_rows
            if not gentle and (smaller > limit or too_few):
                continue
            yield np.isin(code, left), 0.0 if gentle else self.rules.category_l2

    def grow(self) -> None:
        n_rows = self.g.shape[1]
        root = {"rows": np.arange(n_rows), "lower": -np.inf, "upper": np.inf, "children": None}
        root["value"] = self.weights(root["rows"], self.rules.reg_lambda, root)
        self.root, leaves, level, asked = root, [root], 0, []
        most = self.rules.max_leaf_nodes or math.inf
        while level < (self.rules.levels or math.inf) and len(leaves) < most:
            fewest = max(2, 2 * self.rules.min_samples_leaf)
            open_nodes = [node for node in leaves if len(node["rows"]) >= fewest]
            best, chosen = 1e-9, None
            for feature in range(len(self.codes.n_codes)) if open_nodes else []:
                if self.groups is not None and not self.groups[:, [*asked, feature]].all(1).any():
                    continue
                for goes, extra in self.questions(feature, open_nodes):
                    gains = [
                        self.gain(node, goes, extra, self.monotone[feature]) for node in open_nodes
                    ]
                    total = sum(gain for gain in gains if gain is not None)
                    if total > best * (1 + 1e-9):
                        best, chosen = total, (feature, goes, extra, gains)
            if chosen is None:
                return
            self.ask(leaves, open_nodes, chosen, most)
            asked.append(chosen[0])
            level += 1

    def ask(self, leaves: Any, open_nodes: Any, chosen: Any, most: float) -> None:
        feature, goes, extra, gains = chosen
        takers = [i for i, gain in enumerate(gains) if gain is not None]
        room = most - len(leaves)
        if len(takers) > room:
            takers = sorted(takers, key=lambda i: -gains[i])[: int(room)]
        for i in takers:
            node = open_nodes[i]
            children = []
            for side in (True, False):
                child = {**node, "children": None}
                child["rows"] = node["rows"][goes[node["rows"]] == side]
                child["value"] = self.weights(child["rows"], self.rules.reg_lambda + extra, node)
                children.append(child)
            if self.monotone[feature]:
                border = 0.5 * (children[0]["value"] + children[1]["value"])
                low, high = children if self.monotone[feature] > 0 else children[::-1]
                low["upper"] = high["lower"] = border
            node["children"], node["feature"] = children, feature
            leaves[:] = [leaf for leaf in leaves if leaf is not node] + children


def compare_nodes(tree: Any, number: int, node: dict[str, Any], score: int) -> None:
    assert tree.n_samples[number] == len(node["rows"])
    assert tree.value[number, 0] == pytest.approx(node["value"][score], rel=1e-6, abs=1e-9)
    assert bool(tree.kind[number] == LEAF) == (node["children"] is None)
    for side, child in enumerate(node["children"] or []):
        assert tree.feature[number] == node["feature"]
        compare_nodes(tree, int(tree.first_child[number]) + side, child, score)


def compare(model: Any, X: Any, y: Any, weight: Any = None) -> None:
    """Fit one round and grow it by hand."""
    model.set_params(n_estimators=1, learning_rate=1.0, growth="symmetric")
    model.fit(X, y, sample_weight=weight)
    classes = getattr(model, "n_classes_", 0)
    loss = losses.resolve(
        model.loss, task="classification" if classes else "regression", n_classes=classes
    )
    w = np.ones(len(y)) if weight is None else weight
    scores = np.repeat(model.ensemble_.start, len(y))
    slopes, _ = losses.slopes_of(loss, np.asarray(y, float), w, scores, 2)
    schema = model.schema_
    codes = encode_bins(schema.read(X, ""), schema.is_category, schema.n_categories)
    n_cuts = int((codes.n_codes - 1).sum())
    shape = Shape(len(y), len(codes.n_codes), n_cuts, model._task, max(1, classes))
    rules = model._rules(schema, loss, settle(model, shape))
    equal = bool((w == w[0]).all()) and loss.constant_hessian
    oracle = Oracle(codes, slopes, rules, equal)
    for score, tree in enumerate(model.trees_):
        compare_nodes(tree, 0, oracle.root, score)


def table(rng: Any, n: int, categories: int) -> pd.DataFrame:
    """Two numbers, one of them with missing values, and perhaps categories."""
    columns: dict[str, Any] = {
        "a": rng.normal(size=n),
        "b": np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 6, n)),
    }
    if categories:
        words = np.array([f"c{i}" for i in range(categories)], dtype=object)
        columns["c"] = pd.Series(words[rng.integers(0, categories, n)])
        columns["c"][rng.random(n) < 0.1] = None
    return pd.DataFrame(columns)


def rules_of(rng: Any) -> dict[str, Any]:
    return {
        "max_depth": int(rng.integers(1, 5)),
        "max_leaf_nodes": int(rng.integers(3, 12)) if rng.random() < 0.5 else None,
        "min_samples_leaf": int(rng.integers(1, 6)),
        "min_child_weight": float(rng.choice([0.0, 1e-3, 1.0])),
        "min_split_gain": float(rng.choice([0.0, 0.0, 0.2])),
        "reg_lambda": float(rng.choice([0.5, 1.0, 3.0])),
        "category_smooth": float(rng.choice([0.0, 2.0, 5.0])),
        "category_limit": rng.choice([None, 1, 2, 3]),
        "category_rows": int(rng.choice([0, 0, 3, 9])),
        "category_split": str(rng.choice(["subset", "one_vs_rest"])),
        "colsample_bynode": 1.0,
        "n_jobs": 1,
    }


@pytest.mark.quick
@pytest.mark.mission("X1")
@pytest.mark.mission("L6")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_trees_are_those_of_the_formulas(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(100 * n_classes + seed)
    n = int(rng.integers(20, 90))
    X = table(rng, n, int(rng.choice([0, 3, 9])))
    y = rng.normal(size=n) + X["a"].to_numpy()
    model: Any = hb.GradientBoostingRegressor(**rules_of(rng))
    if n_classes:
        y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
        y = np.where((X["a"] > 0.5) & (np.arange(n) >= n_classes), 1, y)
        model = hb.GradientBoostingClassifier(**rules_of(rng))
    weight = rng.uniform(0.5, 2.0, n) if seed % 2 else None
    compare(model, X, y, weight)


@pytest.mark.mission("G5")
@pytest.mark.parametrize("seed", range(6))
def test_limits_and_constraints_are_those_of_the_formulas(seed: int) -> None:
    rng = np.random.default_rng(500 + seed)
    n = int(rng.integers(30, 80))
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    y = X["a"] - X["b"] + rng.normal(size=n)
    model = hb.GradientBoostingRegressor(
        **{**rules_of(rng), "min_samples_leaf": 2, "max_leaf_nodes": None},
        reg_alpha=float(rng.choice([0.0, 0.5])),
        max_delta_step=float(rng.choice([0.0, 0.7])),
        monotonic_cst={"a": 1, "b": -1, "c": 1},
        interaction_constraints=[["a", "b"], ["b", "c", "d"]] if seed % 2 else None,
    )
    compare(model, X, y.to_numpy())
    assert model.trees_[0].node_count > 1
    assert hb.check_constraints(model) == []


# --- one rulebook ----------------------------------------------------------------------------

N = 400
FRAME = table(RNG, N, 30)
LABEL = (FRAME["a"] + FRAME["b"].fillna(2.0) / 3 + RNG.normal(size=N) > 1).astype(int).to_numpy()
LABELS = LABEL + (RNG.random(N) < 0.3)


def fitted(X: Any = FRAME, y: Any = LABELS, **settings: Any) -> Any:
    usual = {"growth": "symmetric", "n_estimators": 6, "learning_rate": 0.3, "random_state": 0}
    return hb.GradientBoostingClassifier(**{**usual, **settings}).fit(X, y)


@pytest.mark.mission("X8")
@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize("growth", ["symmetric", "alternate"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"subsample": 0.6},
        {"colsample_bytree": 0.7, "colsample_bylevel": 0.7, "colsample_bynode": 0.7},
        {"order": 1},
        {"drop_rate": 0.3},
        {"category_split": "one_vs_rest"},
    ],
)
def test_threads_do_not_change_the_model(growth: str, settings: dict[str, Any]) -> None:
    digests = {fitted(growth=growth, n_jobs=n, **settings).digest() for n in (1, 2, 4)}
    assert len(digests) == 1


def test_all_nodes_of_a_level_ask_the_same_question_in_all_trees_of_a_round() -> None:
    model = fitted(min_samples_leaf=1, max_depth=3, min_child_weight=0.0)
    for first in range(0, len(model.trees_), 3):
        trees = model.trees_[first : first + 3]
        assert all(np.array_equal(tree.feature, trees[0].feature) for tree in trees)
        assert all(
            np.array_equal(tree.threshold, trees[0].threshold, equal_nan=True) for tree in trees
        )
        tree, level = trees[0], [0]
        while level:
            asked = {
                (tree.feature[n], str(tree.threshold[n])) for n in level if tree.kind[n] != LEAF
            }
            assert len(asked) <= 1 or any(tree.n_samples[n] < 4 for n in level)
            level = [
                int(tree.first_child[n]) + side
                for n in level
                if tree.kind[n] != LEAF
                for side in (0, 1)
            ]
    assert not np.array_equal(model.trees_[0].value, model.trees_[1].value)


def test_alternate_takes_turns() -> None:
    """The first round is that of symmetric trees; the second one does not share questions."""
    both, alone = fitted(growth="alternate", n_estimators=2), fitted(n_estimators=1)
    for one, two in zip(both.trees_[:3], alone.trees_, strict=True):
        assert one.digest() == two.digest()
    shared = [tree.feature.tolist() for tree in both.trees_[3:]]
    assert not shared[0] == shared[1] == shared[2]


@pytest.mark.parametrize("growth", ["symmetric", "alternate"])
def test_warm_start_is_training_in_one_go(growth: str) -> None:
    half = fitted(growth=growth, n_estimators=3, warm_start=True)
    half.set_params(n_estimators=6).fit(FRAME, LABELS)
    assert half.digest() == fitted(growth=growth).digest()


@pytest.mark.mission("X5")
def test_sparse_is_dense() -> None:
    stored = scipy.sparse.random(300, 30, 0.15, random_state=0, format="csr", dtype=np.float64)
    y = np.asarray(stored.sum(axis=1)).ravel() > 2.2
    dense = fitted(stored.toarray(), y, min_samples_leaf=3)
    assert fitted(stored, y, min_samples_leaf=3).digest() == dense.digest()
    assert any(tree.node_count > 3 for tree in dense.trees_)


@pytest.mark.mission("L5")
def test_bundles_change_nothing() -> None:
    """Exclusive columns share one; the oracle looks at each by itself."""
    words = RNG.integers(0, 12, N)
    dummies = np.eye(12)[words]
    y = np.isin(words, [1, 4, 7]) ^ (RNG.random(N) < 0.1)
    model = fitted(dummies, y, min_samples_leaf=3)
    oracle = hb.GradientBoostingClassifier(
        min_samples_leaf=3, reg_lambda=1.0, colsample_bynode=1.0, max_depth=3
    )
    compare(oracle, dummies, y.astype(int))
    assert model.score(dummies, y) > 0.8


@pytest.mark.mission("T13")
def test_a_weight_of_two_is_the_row_twice() -> None:
    weight = RNG.integers(1, 3, N).astype(float)
    twice = np.repeat(np.arange(N), weight.astype(int))
    one = hb.GradientBoostingClassifier(
        growth="symmetric",
        n_estimators=4,
        learning_rate=0.3,
        min_samples_leaf=1,
        max_depth=4,
        colsample_bynode=1.0,
    )
    two = hb.GradientBoostingClassifier(**one.get_params())
    X = FRAME[["a", "b"]].round(1)  # few values, so that rows that are there twice move no bin
    one.fit(X, LABEL, sample_weight=weight)
    two.fit(X.iloc[twice].reset_index(drop=True), LABEL[twice])
    assert one.predict_proba(X) == pytest.approx(two.predict_proba(X), abs=1e-6)


def test_missing_values_first_seen_later_go_with_most_rows() -> None:
    X = np.r_[np.zeros(30), np.ones(70)][:, None]
    model = hb.GradientBoostingRegressor(growth="symmetric", n_estimators=1, learning_rate=1.0)
    model.fit(X, X[:, 0])
    assert model.predict([[np.nan]]) == model.predict([[1.0]])


def test_categories_first_seen_later_in_a_level_go_with_most_rows() -> None:
    words = pd.Series(["x"] * 30 + ["y"] * 70 + ["z"] * 2, dtype="category")
    frame = pd.DataFrame({"word": words})[:100]
    model = hb.GradientBoostingRegressor(growth="symmetric", n_estimators=1, learning_rate=1.0)
    model.fit(frame, (frame["word"] == "y").astype(float))
    later = pd.DataFrame({"word": words[-1:]})
    assert model.predict(later) == model.predict(pd.DataFrame({"word": words[40:41]}))


@pytest.mark.parametrize("category_split", ["subset", "one_vs_rest"])
def test_a_missing_category_first_seen_later_goes_with_most_rows(category_split: str) -> None:
    """Whichever side most of them are on."""
    for common, rare in ("xy", "yx"):
        frame = pd.DataFrame({"word": [rare] * 30 + [common] * 70})
        for largest in (common, rare):
            model = hb.GradientBoostingRegressor(
                growth="symmetric",
                n_estimators=1,
                learning_rate=1.0,
                category_split=category_split,
            )
            model.fit(frame, (frame["word"] == largest).astype(float))
            gone = pd.DataFrame({"word": pd.Series([None], dtype=object)})
            assert model.predict(gone) == model.predict(frame[-1:])


def test_importances_files_and_staged_predictions_work_as_for_other_trees(tmp_path: Any) -> None:
    model = fitted(growth="alternate", y=LABEL)
    assert model.importances("gain").sum() == pytest.approx(1.0)
    model.save(tmp_path / "model.hornbeam")
    same = hb.load(tmp_path / "model.hornbeam")
    assert same.digest() == model.digest() and same.growth_ == "alternate"
    *_, last = model.staged_predict_proba(FRAME)
    assert (last == model.predict_proba(FRAME)).all()
    assert model.tree(0).tree_.kind[0] == THRESHOLD or model.tree(0).tree_.node_count > 1


@pytest.mark.mission("X1")
@pytest.mark.parametrize("growth", ["symmetric", "alternate"])
def test_the_loss_falls_every_round(growth: str) -> None:
    model = hb.GradientBoostingClassifier(growth=growth, n_estimators=30, learning_rate=0.1)
    model.fit(FRAME, LABELS, X_val=FRAME, y_val=LABELS)
    assert (np.diff(model.history_["validation"]) < 0.0).all()


# --- what "auto" stands for --------------------------------------------------------------------


def test_small_tables_of_classes_alternate_and_others_do_not() -> None:
    classifier = hb.GradientBoostingClassifier(n_estimators=2).fit(FRAME, LABELS)
    assert classifier.growth_ == "alternate"
    given = hb.GradientBoostingClassifier(n_estimators=2, learning_rate=0.1).fit(FRAME, LABELS)
    assert given.growth_ == "leaf"  # nothing was tried
    values = hb.GradientBoostingRegressor(n_estimators=2).fit(FRAME, FRAME["a"])
    assert values.growth_ == "leaf"
    many = FRAME.assign(ticket=pd.Categorical(np.arange(N) % 65))
    assert hb.GradientBoostingClassifier(n_estimators=2).fit(many, LABELS).growth_ == "leaf"
    few = hb.GradientBoostingClassifier(n_estimators=2).fit(FRAME[:60], LABELS[:60])
    assert few.growth_ == "leaf" and few.learning_rate_ == 0.1


def test_a_trial_that_speaks_against_it_is_heard(monkeypatch: Any) -> None:
    from hornbeam.boosting import base

    def losses(course: Any, rules: Any, *_: Any) -> Any:
        return np.array([2.0, 1.0]) if rules.growth == "leaf" else np.array([2.0, 1.5])

    monkeypatch.setattr(base, "watched_losses", losses)
    model = hb.GradientBoostingClassifier(n_estimators=2).fit(FRAME, LABELS)
    assert model.growth_ == "leaf"

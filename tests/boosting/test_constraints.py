"""Monotone and interaction constraints hold on the fitted trees, and the checker sees if not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.tree.ensemble import Ensemble

Regressor, Classifier = hb.GradientBoostingRegressor, hb.GradientBoostingClassifier

rng = np.random.default_rng(0)
N = 400
X = rng.normal(size=(N, 4))
X[rng.random((N, 4)) < 0.05] = np.nan
LEVEL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(0, 0.5, N)


def small(model: type, **params: Any) -> Any:
    return model(n_estimators=20, min_samples_leaf=5, random_state=0, **params)


def along(model: Any, feature: int) -> np.ndarray:
    """Scores of some rows (rows x steps) while one feature rises."""
    steps = np.linspace(-4, 4, 60)
    rows = np.repeat(X[:40], len(steps), axis=0)
    rows[:, feature] = np.tile(steps, 40)
    scores = model.decision_function if isinstance(model, Classifier) else model.predict
    return scores(rows).reshape(40, -1)


def check_monotone(model: Any, directions: list[int]) -> None:
    assert hb.check_constraints(model) == []
    for feature, direction in enumerate(directions):
        if direction:
            change = direction * np.diff(along(model, feature), axis=1)
            assert change.min() >= -1e-12, feature


@pytest.mark.mission("G5")
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**16),
    directions=st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4),
    growth=st.sampled_from(["leaf", "level", "depth"]),
    penalty=st.sampled_from([0.0, 1.0]),
)
def test_any_directions_hold(seed: int, directions: list[int], growth: str, penalty: float) -> None:
    random = np.random.default_rng(seed)
    model = Regressor(
        n_estimators=5,
        learning_rate=0.5,
        min_samples_leaf=3,
        growth=growth,
        reg_alpha=penalty,
        monotonic_cst=directions,
    )
    model.fit(X, LEVEL + random.normal(size=N), random.uniform(0.5, 2.0, N))
    check_monotone(model, directions)


LOSSES: list[dict[str, Any]] = [
    {},
    {"order": 1},
    {"loss": "absolute_error"},
    {"loss": "quantile", "quantile": 0.8},
    {"loss": "huber"},
    {"loss": "huber", "order": 1},
    {"loss": "log_cosh"},
    {"loss": "sqrt_absolute", "order": 1},
    {"loss": "poisson"},
    {"subsample": 0.5},
    {"drop_rate": 0.3, "skip_drop": 0.0},
]


@pytest.mark.mission("G5")
@pytest.mark.parametrize("params", LOSSES, ids=repr)
def test_every_loss_and_step_keeps_the_directions(params: dict[str, Any]) -> None:
    """Leaves whose values are chosen anew must stay within their bounds too."""
    y = np.abs(LEVEL) if params.get("loss") == "poisson" else LEVEL
    directions = [1, -1, 0, 1]
    check_monotone(small(Regressor, monotonic_cst=directions, **params).fit(X, y), directions)


@pytest.mark.parametrize(
    "params",
    [
        *LOSSES[:6],
        {"loss": "absolute_error", "growth": "symmetric"},
        {"loss": "quantile", "quantile": 0.2, "growth": "symmetric"},
    ],
    ids=repr,
)
def test_constraints_do_not_depend_on_the_units_of_y(params: dict[str, Any]) -> None:
    """Leaves that are chosen anew are in the units of y, the slopes of a tree need not be."""
    model = small(Regressor, monotonic_cst=[1, -1, 0, 1], **params)
    expected = model.fit(X, LEVEL).predict(X)
    for exponent in (-14, 14):
        found = model.fit(X, np.ldexp(LEVEL, exponent)).predict(X)
        np.testing.assert_allclose(np.ldexp(found, -exponent), expected, rtol=1e-5, atol=1e-6)
        assert hb.check_constraints(model) == []


@pytest.mark.mission("G5")
def test_names_and_two_classes() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = small(Classifier, monotonic_cst={"a": 1, "c": -1}).fit(frame, LEVEL > 0.5)
    assert hb.check_constraints(model) == []
    free = small(Classifier).fit(frame, LEVEL > 0.5).set_params(monotonic_cst={"b": 1})
    found = hb.check_constraints(free)  # b is squared: it falls and rises
    assert found and all("rise with 'b'" in sentence for sentence in found)


@pytest.mark.mission("G5")
@pytest.mark.parametrize("groups", [[[0, 1], [2, 3]], [["a", "b"], [2]], [[0], ["b", "c", 0]]])
def test_features_on_a_path_are_in_one_group(groups: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    y = LEVEL + 2.0 * np.nan_to_num(X[:, 2] * X[:, 3] + X[:, 0] * X[:, 3])
    model = small(Regressor, interaction_constraints=groups).fit(frame, y)
    assert hb.check_constraints(model) == []
    numbers = [{"abcd".index(m) if isinstance(m, str) else m for m in group} for group in groups]
    numbers.append(set(range(4)) - set().union(*numbers))
    for tree in model.trees_:
        for leaf in np.flatnonzero(tree.is_leaf):
            asked, node = set(), leaf
            while node > 0:
                node = tree.parent[node]
                asked.add(int(tree.feature[node]))
            assert any(asked <= group for group in numbers)
    free = small(Regressor).fit(frame, y).set_params(interaction_constraints=groups)
    assert any("in no group with" in sentence for sentence in hb.check_constraints(free))


@pytest.mark.mission("G5")
def test_features_that_may_not_meet_add_up() -> None:
    """With a group for each feature the model has no interactions at all."""
    model = small(Regressor, interaction_constraints=[[0], [1], [2], [3]]).fit(X, LEVEL)
    a, b = np.nan_to_num(X[:30]), np.nan_to_num(X[30:60])
    for feature in range(4):
        mixed_a, mixed_b = a.copy(), b.copy()
        mixed_a[:, feature], mixed_b[:, feature] = b[:, feature], a[:, feature]
        together = model.predict(a) + model.predict(b)
        assert model.predict(mixed_a) + model.predict(mixed_b) == pytest.approx(together)


# --- planted violations -----------------------------------------------------------------------


def with_tree(model: Any, number: int, **arrays: Any) -> Any:
    trees = list(model.ensemble_.trees)
    trees[number] = replace(trees[number], **arrays)
    old = model.ensemble_
    model.ensemble_ = Ensemble(trees, np.zeros(len(trees), int), 1, old.start)
    return model


@pytest.mark.mission("G5")
def test_a_planted_violation_is_found() -> None:
    params = {"monotonic_cst": [1, 0, 0, 0], "interaction_constraints": [[0, 1], [2, 3]]}
    model = small(Regressor, **params).fit(X, LEVEL)
    assert hb.check_constraints(model) == []
    number, tree = next((i, t) for i, t in enumerate(model.trees_) if t.feature[0] == 0)
    value = tree.value.copy()
    value[-1 if tree.is_leaf[-1] else -2] = value.min() - 100.0
    found = hb.check_constraints(with_tree(model, number, value=value))
    assert found and all(sentence.startswith(f"Tree {number}, node") for sentence in found)
    model = small(Regressor, **params).fit(X, LEVEL)
    inner = np.flatnonzero(~tree.is_leaf)
    feature = tree.feature.copy()
    feature[inner[-1]] = 2
    found = hb.check_constraints(with_tree(model, number, feature=feature))
    assert any("is in no group with" in sentence for sentence in found)


# --- refusals -----------------------------------------------------------------------------------


def test_constraints_that_cannot_be() -> None:
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=rng.choice(["u", "v"], N))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"monotonic_cst": {"kind": 1}}, "constrains 'kind', which is a category"),
        ({"monotonic_cst": [0, 0, 0, 0, -1]}, "constrains 'kind', which is a category"),
        ({"monotonic_cst": {"z": 1}}, "names 'z', which is not a column"),
        ({"monotonic_cst": [1]}, r"has shape 1 but the input data X has 5 features"),
        ({"monotonic_cst": [2, 0, 0, 0, 0]}, "-1, 0 or 1, but got"),
        ({"interaction_constraints": [["z"]]}, "names 'z', which is not a column of X"),
        ({"interaction_constraints": [[9]]}, "names 9, which is not a column of X"),
        ({"interaction_constraints": [[-1]]}, "names -1, which is not a column of X"),
        ({"interaction_constraints": [0.5]}, "interaction_constraints"),
        ({"interaction_constraints": "ab"}, "interaction_constraints"),
    ]
    for params, words in cases:
        with pytest.raises(ValueError, match=words):
            small(Regressor, **params).fit(frame, LEVEL)
    with pytest.raises(ValueError, match="needs one score per row, but the loss 'log_loss' has 3"):
        small(Classifier, monotonic_cst=[1, 0, 0, 0]).fit(X, np.digitize(LEVEL, [0, 1]))

"""scikit-learn's constructors, with hornbeam's engine behind them."""

from __future__ import annotations

import importlib.util
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.neighbors
import sklearn.tree
from sklearn.datasets import make_classification, make_regression

import hornbeam as hb
import hornbeam.compat.sklearn as compat
from hornbeam.compat.measures import drawn_rows

REGRESSION = make_regression(200, 5, noise=5.0, random_state=0)
CLASSES = make_classification(200, 5, n_informative=4, n_redundant=0, random_state=0)
PAIRS = [
    (compat.HistGradientBoostingRegressor, REGRESSION),
    (compat.HistGradientBoostingClassifier, CLASSES),
]
THREE = make_classification(200, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
GRADIENT = [
    (compat.GradientBoostingRegressor, {}, REGRESSION),
    (compat.GradientBoostingClassifier, {}, CLASSES),
    (compat.GradientBoostingClassifier, {"loss": "exponential"}, CLASSES),
    (compat.GradientBoostingClassifier, {}, THREE),
]


@pytest.mark.quick
@pytest.mark.skipif(
    importlib.util.find_spec("sklearn.callback") is None,
    reason="constructors are those of 1.9",
)
@pytest.mark.parametrize("translation", compat.TRANSLATIONS, ids=lambda t: t.theirs)
def test_constructors_are_those_of_the_peer(translation):
    theirs = inspect.signature(getattr(sklearn.ensemble, translation.theirs)).parameters
    ours = inspect.signature(getattr(compat, translation.theirs)).parameters
    assert list(ours) == list(theirs)
    for name, parameter in theirs.items():
        assert (ours[name].kind, ours[name].default) == (parameter.kind, parameter.default)


@pytest.mark.quick
def test_whatever_has_the_peers_name_can_be_imported():
    for name in set(compat.__all__) - {"tree_arrays"}:
        assert getattr(compat, name).__name__ == name
        assert any(
            hasattr(importlib.import_module(f"sklearn.{room}"), name)
            for room in ("ensemble", "tree")
        )


@pytest.mark.parametrize("cls, data", PAIRS)
def test_histogram_boosting_predicts_as_the_peer_does(cls, data):
    """Equal trees wherever gains are not almost equal, so nearly equal predictions."""
    X, y = data
    ours = cls(max_iter=10).fit(X, y)
    theirs = getattr(sklearn.ensemble, cls.__name__)(max_iter=10).fit(X, y)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.02)
    first = [model.set_params(max_iter=1).fit(X, y) for model in (ours, theirs)]
    score = [getattr(m, "decision_function", m.predict)(X) for m in first]
    np.testing.assert_allclose(*score, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("cls, data", PAIRS)
@pytest.mark.parametrize("fraction", [0.2, None])
def test_histogram_boosting_stops_by_the_peers_rule(cls, data, fraction):
    X, y = data
    params = {
        "early_stopping": True,
        "validation_fraction": fraction,
        "n_iter_no_change": 4,
        "tol": 0.01,
        "random_state": 0,
    }
    ours = cls(**params).fit(X, y)
    scores = ours.train_score_ if fraction is None else ours.validation_score_
    assert len(scores) == ours.n_iter_ + 1 == len(ours.train_score_)
    stopped = [
        n for n in range(5, len(scores) + 1) if max(scores[n - 4 : n]) <= scores[n - 5] + 0.01
    ]
    assert stopped == ([len(scores)] if ours.n_iter_ < 100 else [])
    theirs = getattr(sklearn.ensemble, cls.__name__)(**params).fit(X, y)
    np.testing.assert_allclose(ours.train_score_[:2], theirs.train_score_[:2], rtol=1e-3)
    np.testing.assert_allclose(ours.validation_score_[:2], theirs.validation_score_[:2], rtol=1e-3)


@pytest.mark.parametrize("cls, data", PAIRS)
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_histogram_boosting_stops_by_scores(cls, data, scoring):
    X, y = data
    params = {"early_stopping": True, "scoring": scoring, "max_iter": 8, "random_state": 0}
    ours = cls(**params).fit(X, y)
    theirs = getattr(sklearn.ensemble, cls.__name__)(**params).fit(X, y)
    for name in ("train_score_", "validation_score_"):
        assert len(getattr(ours, name)) == ours.n_iter_ + 1
        np.testing.assert_allclose(getattr(ours, name)[:2], getattr(theirs, name)[:2], rtol=1e-3)
    without = {**params, "validation_fraction": None}
    assert len(cls(**without).fit(X, y).train_score_) == 9


@pytest.mark.parametrize("cls, data", PAIRS)
def test_models_go_on_and_survive_pickling_and_saving(cls, data, tmp_path):
    X, y = data
    whole = cls(max_iter=6).fit(X, y)
    part = cls(max_iter=3, warm_start=True).fit(X, y)
    assert part.n_iter_ == 3
    assert part.set_params(max_iter=6).fit(X, y).digest() == whole.digest()
    with pytest.raises(ValueError, match="max_iter=2 must be larger than or equal to n_iter_=6"):
        part.set_params(max_iter=2).fit(X, y)
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    whole.save(tmp_path / "model.hornbeam")
    np.testing.assert_array_equal(hb.load(tmp_path / "model.hornbeam").predict(X), whole.predict(X))


@pytest.mark.parametrize("cls, data", PAIRS)
def test_errors_name_the_class_that_the_user_wrote(cls, data):
    X, y = data
    with pytest.raises(ValueError, match=f"{cls.__name__} is expecting 5 features"):
        cls(max_iter=1).fit(X, y).predict(X[:, :2])
    with pytest.raises(ValueError, match="The 'max_iter' parameter of " + cls.__name__):
        cls(max_iter=0).fit(X, y)


def peer_of(cls):
    return getattr(sklearn.ensemble, cls.__name__)


@pytest.mark.parametrize("cls, params, data", GRADIENT)
def test_gradient_boosting_takes_the_steps_of_the_peer(cls, params, data):
    """The first rounds are the same; later ones part where gains are almost equal."""
    X, y = data
    chosen = {
        "n_estimators": 2,
        "min_samples_leaf": 0.02,
        "min_weight_fraction_leaf": 0.03,
        "min_impurity_decrease": 1e-3,
        "max_depth": 2,
        **params,
    }
    ours, theirs = cls(**chosen).fit(X, y), peer_of(cls)(**chosen).fit(X, y)
    scores = [getattr(model, "decision_function", model.predict)(X) for model in (ours, theirs)]
    np.testing.assert_allclose(*scores, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-4)
    assert ours.estimators_.shape == theirs.estimators_.shape
    tree, peer = compat.tree_arrays(ours.estimators_[0, 0]), theirs.estimators_[0, 0].tree_
    assert (tree.node_count, tree.max_depth) == (peer.node_count, peer.max_depth)
    np.testing.assert_allclose(
        np.sort(tree.value.ravel()[tree.feature < 0]),
        np.sort(peer.value.ravel()[peer.feature < 0]),
        rtol=1e-4,
    )
    assert ours.apply(X).shape == theirs.apply(X).shape
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=0.02)


@pytest.mark.parametrize(
    "params", [{"loss": "absolute_error"}, {"loss": "huber"}, {"loss": "quantile", "alpha": 0.7}]
)
def test_other_losses_fall_as_those_of_the_peer(params):
    """Which of two middle values is the median is a matter of taste."""
    X, y = REGRESSION
    ours = compat.GradientBoostingRegressor(**params, n_estimators=30).fit(X, y)
    theirs = sklearn.ensemble.GradientBoostingRegressor(**params, n_estimators=30).fit(X, y)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=0.1)


@pytest.mark.parametrize("cls, data", [(c, d) for c, p, d in GRADIENT if not p])
def test_rows_out_of_the_bag_are_scored(cls, data):
    X, y = data
    model = cls(subsample=0.5, n_estimators=12, random_state=0, warm_start=True).fit(X, y)
    assert model.oob_scores_.shape == model.oob_improvement_.shape == (12,)
    assert model.oob_score_ == model.oob_scores_[-1]
    falls = -np.diff(model.oob_scores_)
    np.testing.assert_allclose(model.oob_improvement_[1:], falls)
    assert model.oob_improvement_[0] > 0 and model.oob_scores_[-1] < model.oob_scores_[0]
    part = cls(subsample=0.5, n_estimators=5, random_state=0, warm_start=True).fit(X, y)
    part.set_params(n_estimators=12).fit(X, y)
    np.testing.assert_allclose(part.oob_scores_, model.oob_scores_)
    assert not hasattr(cls(n_estimators=2).fit(X, y), "oob_scores_")


def test_rows_out_of_the_bag_are_those_that_trees_have_not_seen():
    """A tree without a limit knows the rows that it was grown on by heart."""
    X, y = np.arange(80.0).reshape(-1, 1), np.arange(80.0) % 7
    weight = np.where(np.arange(80) % 5 == 0, 0.0, 1.0)
    params = {"max_depth": None, "learning_rate": 1.0, "subsample": 0.5, "random_state": 3}
    model = compat.GradientBoostingRegressor(n_estimators=1, **params).fit(X, y, weight)
    drawn = next(drawn_rows(model.engine_, weight > 0, 0.5))
    assert 20 < drawn.sum() < 45 and not drawn[weight == 0].any()
    np.testing.assert_allclose(model.predict(X[drawn]), y[drawn])
    assert model.train_score_[0] < 1e-6 < model.oob_score_


@pytest.mark.parametrize("cls, data", [(c, d) for c, p, d in GRADIENT if not p])
def test_scores_can_start_from_an_estimator(cls, data):
    X, y = data
    init = sklearn.tree.DecisionTreeClassifier(max_depth=1, random_state=0)
    if cls is compat.GradientBoostingRegressor:
        init = sklearn.tree.DecisionTreeRegressor(max_depth=1, random_state=0)
    for chosen in (init, "zero"):
        models = [
            maker(init=chosen, n_estimators=2, max_depth=1).fit(X, y)
            for maker in (cls, peer_of(cls))
        ]
        scores = [getattr(model, "decision_function", model.predict)(X) for model in models]
        np.testing.assert_allclose(*scores, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(list(models[0].staged_predict(X))[-1], models[0].predict(X))
    without = compat.GradientBoostingRegressor(init=sklearn.neighbors.KNeighborsRegressor())
    with pytest.raises(ValueError, match="KNeighborsRegressor does not support sample weights"):
        without.fit(X, y, np.ones(len(y)))


def test_gradient_boosting_stops_and_asks_its_monitor():
    X, y = CLASSES
    seen = []

    def monitor(number, estimator, facts):
        seen.append((number, type(estimator), facts["report"].number))
        return number == 4

    model = compat.GradientBoostingClassifier().fit(X, y, monitor=monitor)
    assert model.n_estimators_ == len(model.train_score_) == len(seen) == 5
    assert seen[0] == (0, compat.GradientBoostingClassifier, 1)
    params = {"n_iter_no_change": 3, "random_state": 0, "tol": 0.01, "validation_fraction": 0.3}
    ours = compat.GradientBoostingClassifier(**params).fit(X, y)
    theirs = sklearn.ensemble.GradientBoostingClassifier(**params).fit(X, y)
    assert abs(ours.n_estimators_ - theirs.n_estimators_) <= 3 < ours.n_estimators_ < 100


def test_trees_of_a_warm_start_know_what_they_were_grown_with():
    X, y = REGRESSION
    model = compat.GradientBoostingRegressor(n_estimators=2, max_depth=1, warm_start=True)
    model.fit(X, y).set_params(n_estimators=3, max_depth=2).fit(X, y)
    assert [tree.max_depth for tree in model.estimators_[:, 0]] == [1, 1, 2]
    assert [tree.get_depth() for tree in model.estimators_[:, 0]] == [1, 1, 2]


@pytest.mark.parametrize(
    "params, message",
    [
        ({"ccp_alpha": 0.1}, r"ccp_alpha=0.1\).*write max_leaf_nodes"),
        ({"min_samples_split": 9}, r"min_samples_split=9\).*write min_samples_leaf"),
        ({"n_estimators": 0}, "The 'n_estimators' parameter of GradientBoostingRegressor"),
    ],
)
def test_what_gradient_boosting_cannot_do_is_said(params, message):
    with pytest.raises(ValueError, match=message):
        compat.GradientBoostingRegressor(**params).fit(*REGRESSION)
    allowed = {"min_samples_split": 8, "min_samples_leaf": 4, "n_estimators": 1}
    compat.GradientBoostingRegressor(**allowed).fit(*REGRESSION)


def test_one_class_and_negative_codes_are_taken_by_histogram_boosting():
    X = np.column_stack([np.arange(60) % 3 - 1, np.arange(60)]).astype(float)
    one = compat.HistGradientBoostingClassifier(max_iter=2).fit(X, np.full(60, "a"))
    assert one.predict(X[:2]).tolist() == ["a", "a"]
    np.testing.assert_allclose(one.predict_proba(X[:2])[:, 0], 1.0)
    y = (X[:, 0] < 0).astype(float)
    for table in (X, pd.DataFrame(X, columns=["code", "number"])):
        chosen = {"categorical_features": [0], "max_iter": 3}
        model = compat.HistGradientBoostingRegressor(**chosen).fit(table, y)
        assert model.engine_.schema_.columns[0].categories == (0, 1)
        assert model.is_categorical_.tolist() == [True, False]
        for unknown in (-1.0, 17.0, np.nan):
            new = np.array([[unknown, 3.0]])
            new = new if table is X else pd.DataFrame(new, columns=table.columns)
            assert model.predict(new) == model.predict(table[:1]), unknown


def test_trees_in_the_arrays_and_words_of_the_peer():
    X, y = THREE
    both = np.column_stack([y, y > 0])
    for target in (y, both):
        ours = compat.DecisionTreeClassifier(max_depth=2).fit(X, target)
        theirs = sklearn.tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, target)
        arrays = compat.tree_arrays(ours)
        assert arrays.value.shape == theirs.tree_.value.shape
        assert sorted(arrays.feature) == sorted(theirs.tree_.feature)
        np.testing.assert_allclose(np.sort(arrays.threshold), np.sort(theirs.tree_.threshold), 1e-6)
        shares = arrays.compute_feature_importances()
        np.testing.assert_allclose(shares, theirs.feature_importances_, atol=1e-12)
        assert compat.export_text(ours) == sklearn.tree.export_text(theirs)
        lengths = len(compat.export_graphviz(ours)), len(sklearn.tree.export_graphviz(theirs, None))
        assert abs(lengths[0] - lengths[1]) < 10  # nodes are numbered level by level here
    words = pd.DataFrame({"color": ["red", "blue", "red", "green"]})
    tree = compat.DecisionTreeClassifier().fit(words, [1, 0, 1, 0])
    assert "color" in compat.export_text(tree) and "red" in compat.export_graphviz(tree)
    with pytest.raises(ValueError, match="parts categories"):
        compat.tree_arrays(tree)

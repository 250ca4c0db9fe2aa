"""Bagging comes back from files and pickles with all its members, or a sentence says why not."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from model.test_modelfile import (
    array_changes,
    check_bit_flips,
    check_truncations,
    forged,
    header_of,
    replaced_integers,
)
from safetensors.numpy import load as load_arrays
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import hornbeam as hb
from hornbeam.data.sampling import SampleSize
from hornbeam.errors import ModelFileError, UnavailableFunctionError
from hornbeam.model.modelfile import load_model_bytes, model_bytes

Classifier, Regressor = hb.BaggingClassifier, hb.BaggingRegressor
rng = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {
        "age": np.where(rng.random(N) < 0.2, np.nan, rng.normal(40, 15, N)),
        "size": rng.normal(size=N),
        "color": rng.choice(["red", "green", "blue"], N),
        "kind": pd.Categorical(rng.choice(["a", "b"], N)),
    }
)
FRAME.loc[::9, "color"] = None
NUMBERS = rng.normal(size=(N, 5))
NUMBERS[::8, 2] = np.nan
LEVEL = NUMBERS[:, 0] + FRAME["size"].to_numpy() + 2 * (FRAME["color"] == "red").to_numpy()
LABEL = np.array(["no", "perhaps", "yes"])[np.digitize(LEVEL, [0.0, 1.0])]
YES = LABEL == "yes"
RANKS = FRAME[["age", "size"]].assign(query=np.arange(N) // 10)
WEIGHT = rng.uniform(0, 2, N)
few: dict[str, Any] = {"n_estimators": 2}
boost: dict[str, Any] = {"n_estimators": 3, "max_leaf_nodes": 4, "learning_rate": 0.3}


def own_criterion(counts: Any, weight: Any) -> Any:
    return 1.0 - counts[0] / weight


# name -> the ensemble, its table, its target and what else `fit` gets
CASES: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "tree classifier": (Classifier(), FRAME, LABEL, {}),
    "tree regressor": (Regressor(), FRAME, LEVEL, {}),
    "id3": (Classifier(hb.ID3Classifier()), FRAME[["color", "kind"]], LABEL, {}),
    "c45": (Classifier(hb.C45Classifier(), kind="pasting"), FRAME, LABEL, {}),
    "forest classifier": (Classifier(hb.RandomForestClassifier(**few)), FRAME, LABEL, {}),
    "forest regressor": (
        Regressor(hb.RandomForestRegressor(leaf_samples=True, **few)),
        FRAME,
        LEVEL,
        {},
    ),
    "extra classifier": (Classifier(hb.ExtraTreesClassifier(**few)), FRAME, LABEL, {}),
    "extra regressor": (Regressor(hb.ExtraTreesRegressor(**few)), FRAME, LEVEL, {}),
    "boosted classes": (Classifier(hb.GradientBoostingClassifier(**boost)), FRAME, LABEL, {}),
    "boosted values": (Regressor(hb.GradientBoostingRegressor(**boost)), FRAME, LEVEL, {}),
    "quantiles": (
        Regressor(
            hb.GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9], **boost),
            kind="patches",
        ),
        NUMBERS,
        LEVEL,
        {},
    ),
    "ranker": (
        Regressor(hb.GradientBoostingRanker(query="query", **boost)),
        RANKS,
        np.digitize(LEVEL, [0.0, 1.0]),
        {},
    ),
    "isolation": (Regressor(hb.IsolationForest(**few)), FRAME, LEVEL, {}),
    "classes as numbers": (Regressor(hb.DecisionTreeClassifier(max_depth=3)), FRAME, YES * 1.0, {}),
    "bags of trees": (
        Classifier(Classifier(max_samples=0.7, **few), kind="subspaces"),
        FRAME,
        LABEL,
        {},
    ),
    "bags of bags of boosters": (
        Regressor(Regressor(Regressor(hb.GradientBoostingRegressor(**boost), **few), **few)),
        FRAME,
        LEVEL,
        {},
    ),
    "two outputs": (Regressor(kind="patches"), FRAME, np.column_stack([LEVEL, -LEVEL]), {}),
    "patches": (Classifier(kind="patches", oob_score=True), FRAME, YES, {}),
    "columns twice": (Classifier(bootstrap_features=True, oob_score=True), NUMBERS, LABEL, {}),
    "weights": (
        Classifier(oob_score=True, voting="hard"),
        FRAME,
        LABEL,
        {"sample_weight": WEIGHT},
    ),
    "weighted patches": (
        Regressor(kind="patches", oob_score=True),
        FRAME,
        LEVEL,
        {"sample_weight": WEIGHT},
    ),
    "two outputs out of the bag": (
        Regressor(oob_score=True),
        NUMBERS,
        np.column_stack([LEVEL, -LEVEL]),
        {},
    ),
    "rare class": (Classifier(max_samples=20), FRAME, np.where(np.arange(N) < 3, 7, 3), {}),
    "nameless frame": (Classifier(kind="patches"), pd.DataFrame(NUMBERS), LABEL, {}),
    "polars": (Classifier(kind="patches"), pl.from_pandas(FRAME), LABEL, {}),
    "sparse": (Classifier(kind="patches"), scipy.sparse.csr_array(np.nan_to_num(NUMBERS)), YES, {}),
    "own criterion": (
        Classifier(hb.DecisionTreeClassifier(criterion=own_criterion, max_depth=2)),
        FRAME,
        YES,
        {},
    ),
}
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


def fitted(name: str, **params: Any) -> Any:
    model, X, y, more = CASES[name]
    model = copy.deepcopy(model).set_params(n_estimators=3, random_state=0).set_params(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows that all members have seen
        return model.fit(X, y, **more)


@functools.cache
def trained(name: str) -> Any:
    return fitted(name)


def check_same(one: Any, other: Any, X: Any) -> None:
    """All that two ensembles say is the same, bit for bit."""
    assert type(one) is type(other) and one.digest() == other.digest()
    assert repr(one.get_params()) == repr(other.get_params())
    for method in METHODS:
        assert hasattr(one, method) == hasattr(other, method)
        if hasattr(one, method):
            with np.errstate(divide="ignore"):
                found, expected = getattr(one, method)(X), getattr(other, method)(X)
            assert found.dtype == expected.dtype and np.array_equal(found, expected)
    assert vars(one).keys() == vars(other).keys()
    assert np.array_equal(one.estimators_samples_, other.estimators_samples_)
    assert np.array_equal(one.estimators_features_, other.estimators_features_)
    for key in ("oob_score_", "oob_prediction_", "oob_decision_function_", "feature_names_in_"):
        if hasattr(other, key):
            found, expected = getattr(one, key), getattr(other, key)
            assert np.array_equal(found, expected, equal_nan=key.startswith("oob"))


@pytest.mark.parametrize("name", CASES)
def test_the_same_ensemble_comes_back(name: str, tmp_path: Path) -> None:
    model, X = trained(name), CASES[name][1]
    model.save(tmp_path / "model")
    loaded = hb.load(tmp_path / "model")
    for member in loaded.estimators_:
        assert type(member) is type(model.estimators_[0])
    for again in (loaded, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        if again is loaded and name == "own criterion":  # of which only the name is kept
            assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
            assert again.digest() == model.digest()
        else:
            check_same(again, model, X)
    assert model_bytes(loaded) == model_bytes(model) == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("name", ["tree classifier", "weighted patches", "bags of trees"])
def test_a_loaded_ensemble_goes_on(name: str) -> None:
    _, X, y, more = CASES[name]
    half = fitted(name, n_estimators=2, warm_start=True)
    loaded = load_model_bytes(model_bytes(half))
    first = list(loaded.estimators_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded.set_params(n_estimators=4).fit(X, y, **more)
    assert loaded.estimators_[:2] == first
    check_same(loaded, fitted(name, n_estimators=4, warm_start=True), X)


def test_what_cannot_go_on_says_why() -> None:
    loaded = load_model_bytes(model_bytes(fitted("own criterion", warm_start=True)))
    with pytest.raises(UnavailableFunctionError, match="'own_criterion' was given to the model"):
        loaded.set_params(n_estimators=4).fit(FRAME, YES)
    loaded = load_model_bytes(model_bytes(fitted("patches", warm_start=True)))
    with pytest.raises(ValueError, match="warm_start=True goes on with an ensemble whose n_rows"):
        loaded.set_params(n_estimators=4).fit(FRAME[:50], YES[:50])


# --- digests ------------------------------------------------------------------------------------


def test_the_digest_does_not_depend_on_the_number_of_jobs() -> None:
    for name in ("patches", "weights", "bags of trees", "forest classifier"):
        assert {fitted(name, n_jobs=n).digest() for n in (None, 1, 2)} == {trained(name).digest()}


def test_other_models_have_other_digests() -> None:
    table = [fitted("patches", random_state=seed).digest() for seed in range(3)]
    table += [fitted("weights").digest(), fitted("tree classifier").digest()]
    model = trained("columns twice")
    for change in (
        {"estimators_": model.estimators_[::-1]},
        {"estimators_features_": [features[::-1] for features in model.estimators_features_]},
        {"seed_": 5},
        {"classes_": np.array(["a", "b", "c"])},
        {"_weight": np.ones(N)},
    ):
        table.append(tampered(model, **change).digest())
    table.append(model.digest())
    assert len(set(table)) == len(table)


# --- damage and hostile files -------------------------------------------------------------------


@functools.cache
def tiny() -> Any:
    """A bag of boosters whose file is small enough for every damage to be tried."""
    inner = hb.GradientBoostingClassifier(
        n_estimators=1, max_leaf_nodes=2, min_samples_leaf=1, learning_rate=0.5
    )
    table = [["a", 1.0], ["b", 5.0], ["a", 2.0], ["b", 3.0]] * 2
    model = Classifier(inner, 2, kind="pasting", random_state=0, max_samples=6)
    return model.fit(table, [0, 1, 0, 1] * 2)


ROWS: list[Any] = [["a", 1.0], ["c", 9.0], [None, np.nan]]


def test_every_truncation_of_a_bag_of_boosters_is_noticed() -> None:
    check_truncations(model_bytes(tiny()))


def test_every_flipped_bit_of_a_bag_of_boosters_is_noticed() -> None:
    check_bit_flips(model_bytes(tiny()))


def test_no_damaged_array_reaches_a_kernel() -> None:
    """Whatever is written into an array: an error, or an ensemble that answers."""
    data, outcomes = model_bytes(tiny()), []
    for arrays in array_changes(data):
        try:
            loaded = load_model_bytes(forged(data, arrays=arrays))
        except ModelFileError:
            outcomes.append("refused")
        else:
            outcomes.append("answered")
            assert np.isfinite(loaded.predict_proba(ROWS)).all()
    assert outcomes.count("refused") > len(outcomes) / 2


def test_no_integer_of_the_header_does_harm() -> None:
    data, refused = model_bytes(tiny()), 0
    for header in replaced_integers(header_of(data)):
        try:
            loaded = load_model_bytes(forged(data, **header))
        except ModelFileError:
            refused += 1
        else:
            assert np.isfinite(loaded.predict_proba(ROWS)).all()
    assert refused > 50


def tampered(model: Any, **changes: Any) -> Any:
    """A model with other attributes, which nobody has checked."""
    other = object.__new__(type(model))
    vars(other).update({**vars(model), **changes})
    return other


def members(name: str) -> list[Any]:
    return list(trained(name).estimators_)


def same_for_all(*columns: Any) -> dict[str, Any]:
    """Every member has the same columns."""
    return {"estimators_features_": [np.array(columns)] * 3}


numbers = functools.partial(np.zeros, dtype=float)
NO_SAMPLE = "not those of a sample"
UNFIT: list[tuple[str, Callable[[Any], dict[str, Any]], str]] = [
    # ensemble, its changes, the sentence
    ("weights", lambda m: {"estimators_": members("tree regressor")}, "not a classifier"),
    ("weights", lambda m: {"estimators_": members("isolation")}, "Forest, not a classifier"),
    ("weights", lambda m: {"estimators_": members("bags of bags of boosters")}, "not a classifier"),
    ("patches", lambda m: {"estimators_": members("tree classifier")}, "4 columns, and gets 2"),
    ("patches", lambda m: {"estimators_": m.estimators_[:2]}, "2 members do not fit 3 samples"),
    ("patches", lambda m: {"estimators_": []}, "has no members"),
    ("patches", lambda m: {"estimators_": m.estimators_[1:] * 2}, "4 members do not fit 3"),
    ("patches", lambda m: {"estimators_": [1, 2, 3]}, "int that cannot predict|is a builtins.int"),
    ("patches", lambda m: {"estimators_": [hb.DecisionTreeClassifier()] * 3}, "cannot|not fitted"),
    ("patches", lambda m: same_for_all(0, 0), NO_SAMPLE),
    ("patches", lambda m: same_for_all(1, 4), NO_SAMPLE),
    ("patches", lambda m: same_for_all(-1, 1), NO_SAMPLE),
    ("patches", lambda m: same_for_all(0, 1, 2), NO_SAMPLE),
    ("patches", lambda m: same_for_all([0, 1]), "dimensions|has a shape"),
    ("patches", lambda m: {"estimators_features_": m.estimators_features_[::-1]}, "other columns"),
    ("patches", lambda m: {"feature_names_in_": m.feature_names_in_[::-1]}, "other columns"),
    ("patches", lambda m: {"feature_names_in_": m.feature_names_in_[:3]}, "does not name 4"),
    ("patches", lambda m: {"feature_names_in_": np.arange(4)}, "does not name 4"),
    ("patches", lambda m: {"classes_": np.array([0, 1])}, "not among"),
    ("patches", lambda m: {"classes_": np.array(["a", "b"])}, "not among"),
    ("patches", lambda m: {"classes_": np.array([True, False])}, "ascending"),
    ("patches", lambda m: {"classes_": np.array([True]), "n_classes_": 1}, "oob_|not among"),
    ("patches", lambda m: {"oob_decision_function_": numbers((N, 3))}, "must be an array of"),
    ("patches", lambda m: {"oob_decision_function_": numbers(N)}, "dimensions"),
    ("patches", lambda m: {"n_rows_in_": N - 1}, "must be an array of|from 1 to"),
    ("patches", lambda m: {"n_rows_in_": 0}, "n_rows_in_ cannot be 0"),
    ("patches", lambda m: {"seed_": -1}, "seed_ cannot be -1"),
    ("patches", lambda m: {"size_": SampleSize(N + 1, 2, False)}, "n_rows cannot be 121"),
    ("patches", lambda m: {"size_": SampleSize(9, 3, False)}, "not those of a sample"),
    ("patches", lambda m: {"_weight": -np.ones(N)}, "_weight is not a finite weight"),
    ("patches", lambda m: {"_weight": np.ones(5)}, "_weight is not a finite weight"),
    ("patches", lambda m: {"n_estimators": 0}, "parameter that cannot be"),
    ("weighted patches", lambda m: {"estimators_": members("two outputs")}, "2 outputs, not 1"),
    ("weighted patches", lambda m: {"n_outputs_": 2}, "dimensions|1 outputs, not 2"),
    ("weighted patches", lambda m: {"oob_prediction_": numbers(5)}, "must be an array of"),
    ("tree regressor", lambda m: {"estimators_": members("forest classifier")}, "are no numbers"),
    ("bags of trees", lambda m: {"estimators_": members("c45")}, "knows 4 columns, and gets 2"),
    (
        "quantiles",
        lambda m: {"estimators_": [*m.estimators_[:2], _one_quantile(m)]},
        r"predict \[1, 2\] numbers",
    ),
]  # fmt: skip


def _one_quantile(model: Any) -> Any:
    X = NUMBERS[:, model.estimators_features_[2]]
    return hb.GradientBoostingRegressor(loss="quantile", quantile=0.5, **boost).fit(X, LEVEL)


@pytest.mark.parametrize(("name", "change", "sentence"), UNFIT)
def test_what_does_not_fit_is_refused(name: str, change: Any, sentence: str) -> None:
    """The same sentence for a file and for a pickle."""
    model = trained(name)
    model = tampered(model, **change(model))
    for write, read in ((model_bytes, load_model_bytes), (pickle.dumps, pickle.loads)):
        with pytest.raises((ModelFileError, TypeError, AttributeError), match=sentence) as caught:
            read(write(model))
        assert caught.type is ModelFileError or write is model_bytes


def test_two_outputs_are_no_classifier_of_a_bag() -> None:
    two = hb.DecisionTreeClassifier(max_depth=2).fit(FRAME, np.column_stack([LABEL, LABEL]))
    model = tampered(trained("tree classifier"), estimators_=[two] * 3)
    with pytest.raises(ModelFileError, match="it has 2 outputs, not 1"):
        load_model_bytes(model_bytes(model))


def moved(arrays: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """The arrays under one prefix have another."""
    return {
        new + name.removeprefix(old) if name.startswith(old) else name: array
        for name, array in arrays.items()
    }


def test_members_that_are_missing_too_many_or_elsewhere() -> None:
    data = model_bytes(tiny())
    header, arrays = header_of(data), load_arrays(data)
    one, two = header["members"]
    tree = header_of(model_bytes(hb.DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0])))
    part = {key: tree[key] for key in ("estimator", "model", "members")}
    for changes, sentence in (
        ({"members": [one]}, "1 members do not fit 2 samples"),
        ({"members": []}, "The ensemble has no members"),
        ({"members": [one, two, two]}, "Member 2: The file lacks the array"),
        ({"members": {"0": one, "1": two}}, "entries it should have"),
        ({"members": [{}] * 1000}, "1000 members cannot have"),
        ({"members": None}, "entries it should have"),
        ({"members": [one, None]}, "Member 1: The model has not the entries"),
        ({"members": [one, {**two, "more": 1}]}, "Member 1: The model has not the entries"),
        ({"members": [one, {**two, "estimator": "Oak"}]}, "Member 1: The file holds a 'Oak'"),
        ({"members": [one, {**two, "members": [one]}]}, "Member 1: A Gradient.* has no members"),
        ({"members": [one, {**two, "model": {**two["model"], "x": 1}}]}, "Member 1: .*entry .*'x'"),
        ({"members": [one, part]}, "Member 1: "),
        ({"members": [one, {"estimator": "DecisionTreeRegressor"}]}, "has not the entries"),
        ({"arrays": {**arrays, "members.0.spy": numbers(1)}}, "Member 0: .*array too many: 'spy'"),
        ({"arrays": {**arrays, "spy": numbers(1)}}, "array too many: 'spy'"),
        ({"arrays": {**arrays, "members.2.start": numbers(1)}}, "too many: 'members.2.start'"),
        ({"arrays": {**arrays, "members.": numbers(1)}}, "too many: 'members.'"),
        ({"arrays": {**arrays, "members.0": numbers(1)}}, "too many: 'members.0'"),
        ({"arrays": {**arrays, "members.0.": numbers(1)}}, "Member 0: .*too many: ''"),
        ({"arrays": {**arrays, "members.-1.start": numbers(1)}}, "too many: 'members.-1.start'"),
        ({"arrays": {**arrays, "members.1e0.start": numbers(1)}}, "too many: 'members.1e0"),
        ({"arrays": {**arrays, "members.²x.start": numbers(1)}}, "too many: 'members.²x"),
        ({"arrays": {**arrays, "members.0.members.0.a": numbers(1)}}, "too many: 'members.0.a'"),
        ({"arrays": moved(arrays, "members.1.", "members.01.")}, "Member 1: .*lacks the array"),
        ({"arrays": moved(arrays, "members.1.", "members.\u0661.")}, "Member 1: .*lacks the array"),
        ({"arrays": moved(arrays, "members.1.", "members.1")}, "Member 1: .*lacks the array"),
        ({"arrays": moved(arrays, "members.1.", "Members.1.")}, "Member 1: .*lacks the array"),
        ({"arrays": moved(arrays, "members.1.", "members.0.members.1.")}, "too many|lacks"),
        ({"arrays": {k: v for k, v in arrays.items() if k != "features"}}, "lacks .*'features'"),
    ):  # fmt: skip
        with pytest.raises(ModelFileError, match=sentence):
            load_model_bytes(forged(data, **changes))
    exchanged = moved(moved(moved(arrays, "members.0.", "x."), "members.1.", "members.0."),
                      "x.", "members.1.")  # fmt: skip
    again = load_model_bytes(forged(data, members=[two, one], arrays=exchanged))
    assert again.digest() == tampered(tiny(), estimators_=tiny().estimators_[::-1]).digest()


ALL = {"n_rows": 6, "n_features": 2, "bootstrap": False, "bootstrap_features": False}


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("params", {"estimator": 3}, "parameter that cannot be"),
        ("params", {"estimator": {"$estimator": ["RandomTreesEmbedding", {}]}}, "parameter that"),
        ("params", {"estimator": {"$estimator": ["Oak", {}]}}, "holds a 'Oak'"),
        ("params", {"kind": "boosting"}, "parameter that cannot be"),
        ("n_features_in", 1, "n_features cannot be 2"),
        ("n_features_in", 2.0, "is a float, not int"),
        ("feature_names_in", ["a"], "does not name 2 columns"),
        ("feature_names_in", ["a", ["b"]], "does not name 2 columns"),
        ("feature_names_in", ["a", 5], "does not name 2 columns"),
        ("n_outputs", 2, "has one output, and no more"),
        ("classes", None, "do not fit the estimator"),
        ("classes", [0, 1], "do not fit the outputs"),
        ("seed", 2**40, "seed_ cannot be"),
        ("size", {}, "lacks the entry 'n_rows'"),
        ("size", {**ALL, "bootstrap": 0}, "is a int, not bool"),
        ("size", {**ALL, "n_rows": 9}, "n_rows cannot be 9"),
        ("size", {**ALL, "more": 9}, "an entry too many: 'more'"),
        ("oob_score", 0.5, "belong together"),
        ("oob_score", "good", "is a str, not float"),
        ("spy", 1, "an entry too many: 'spy'"),
    ],
)  # fmt: skip
def test_hostile_entries(key: str, value: Any, sentence: str) -> None:
    data = model_bytes(tiny())
    with pytest.raises(ModelFileError, match=sentence):
        load_model_bytes(forged(data, model={**header_of(data)["model"], key: value}))


def nested(depth: int) -> Any:
    model: Any = hb.DecisionTreeClassifier(max_depth=1)
    for _ in range(depth):
        model = Classifier(model, 1)
    return model.fit([[1.0], [2.0], [3.0], [4.0]] * 3, [0, 0, 1, 1] * 3)


def test_bags_of_bags_up_to_a_depth(tmp_path: Path) -> None:
    deep = nested(8)
    loaded = load_model_bytes(model_bytes(deep))
    assert loaded.digest() == deep.digest()
    with pytest.raises(ValueError, match="lies in more than 8 models"):
        nested(9).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    data = model_bytes(deep)
    for more in (1, 5, 200, 5000):
        header, arrays = header_of(data), moved(load_arrays(data), "", "members.0." * more)
        members = [{key: header[key] for key in ("estimator", "model", "members")}]
        for _ in range(more - 1):
            members = [{"estimator": "BaggingClassifier", "model": {}, "members": members}]
        with pytest.raises((ModelFileError, RecursionError)) as caught:
            load_model_bytes(forged(data, members=members, arrays=arrays))
        assert caught.type is ModelFileError or more == 5000  # too deep for the forger


# --- estimators of other libraries --------------------------------------------------------------


class OwnTree(hb.DecisionTreeClassifier):
    """Made from one of hornbeam's, and no longer hornbeam's."""


FOREIGN: dict[str, tuple[Any, Any]] = {
    "classifier": (Classifier(GaussianNB(), oob_score=True), LABEL),
    "decisions": (Classifier(LogisticRegression(), kind="patches"), LABEL),
    "regressor": (Regressor(Ridge()), np.column_stack([LEVEL, LEVEL])),
    "pipeline": (
        Classifier(make_pipeline(StandardScaler(), hb.DecisionTreeClassifier(max_depth=2))),
        LABEL,
    ),
    "nested": (Classifier(Classifier(GaussianNB(), 2)), YES),
    "own tree": (Classifier(OwnTree(max_depth=2)), YES),
}
DENSE = np.nan_to_num(NUMBERS)


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_members_are_pickled_only_when_both_sides_allow_it(
    name: str, tmp_path: Path
) -> None:
    model, y = FOREIGN[name]
    model.set_params(n_estimators=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(DENSE, y)
    path = tmp_path / "model"
    trained("patches").save(path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match=r"one of hornbeam's estimators.*allow_pickle=True"):
        model.save(path)
    assert path.read_bytes() == before
    model.save(path, allow_pickle=True)
    with pytest.raises(ModelFileError, match=r"runs whatever code it names.*allow_pickle=True"):
        hb.load(path)
    loaded = hb.load(path, allow_pickle=True)
    for method in METHODS:
        if hasattr(model, method):
            assert np.array_equal(getattr(loaded, method)(DENSE), getattr(model, method)(DENSE))
    assert vars(loaded).keys() == vars(model).keys()
    assert np.array_equal(loaded.estimators_samples_, model.estimators_samples_)
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert repr(loaded.estimator_.get_params()) == repr(model.estimator_.get_params())
    loaded.set_params(n_estimators=6, warm_start=True, oob_score=False).fit(DENSE, y)
    model.set_params(n_estimators=6, warm_start=True, oob_score=False).fit(DENSE, y)
    assert np.array_equal(loaded.predict(DENSE), model.predict(DENSE))
    if name != "nested":
        with pytest.raises(TypeError, match=r"Member 0 is a .*has no digest"):
            model.digest()


def test_hornbeams_own_need_no_pickle_even_if_it_is_allowed() -> None:
    model = trained("bags of trees")
    data = model_bytes(model)
    assert model_bytes(model, allow_pickle=True) == data
    assert load_model_bytes(data, allow_pickle=True).digest() == model.digest()


def test_ensembles_of_both_kinds() -> None:
    """A warm start may go on with another estimator."""
    model = Classifier(None, 2, warm_start=True, random_state=0).fit(DENSE, YES)
    model.set_params(estimator=GaussianNB(), n_estimators=4).fit(DENSE, YES)
    loaded = load_model_bytes(model_bytes(model, allow_pickle=True), allow_pickle=True)
    assert [type(member).__name__ for member in loaded] == [
        *["DecisionTreeClassifier"] * 2,
        *["GaussianNB"] * 2,
    ]
    assert np.array_equal(loaded.predict_proba(DENSE), model.predict_proba(DENSE))


RAN: list[str] = []


def run(word: str) -> str:
    RAN.append(word)
    return word


class Bomb(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A member that does something when it is unpickled."""

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[0], len(X))

    def __getstate__(self) -> Any:
        return {**vars(self), "trigger": Trigger()}


class Trigger:
    def __reduce__(self) -> Any:
        return run, ("bang",)


def test_nothing_is_unpickled_unless_it_is_allowed(tmp_path: Path) -> None:
    model = Classifier(Bomb(), 2).fit(DENSE, LABEL)
    data = model_bytes(model, allow_pickle=True)
    header, arrays = header_of(data), load_arrays(data)
    pickled = {"$pickle": header["members"][0]["$pickle"]}
    plain = model_bytes(trained("patches"))
    own = header_of(plain)
    (tmp_path / "model").write_bytes(data)
    RAN.clear()
    with pytest.raises(ModelFileError, match="Bomb, and reading a pickle runs"):
        hb.load(tmp_path / "model")
    for entry in ("params", "classes", "size", "n_features_in", "feature_names_in", "spy"):
        model_entries = {**own["model"], entry: pickled}
        everywhere = {**load_arrays(plain), "pickle.0": arrays["members.0.pickle.0"]}
        with pytest.raises(ModelFileError, match="holds a pickled"):
            load_model_bytes(forged(plain, model=model_entries, arrays=everywhere))
    assert RAN == []
    assert load_model_bytes(data, allow_pickle=True).predict(DENSE).tolist() == ["no"] * N
    assert RAN and set(RAN) == {"bang"}


def test_pickles_that_lie() -> None:
    model = Classifier(GaussianNB(), 2, random_state=0).fit(DENSE, LABEL)
    data = model_bytes(model, allow_pickle=True)
    header, arrays = header_of(data), load_arrays(data)
    one, two = header["members"]
    name = one["$pickle"][0]
    other = np.frombuffer(pickle.dumps(LinearRegression()), np.uint8)
    narrow = GaussianNB().fit(DENSE[:, :2], LABEL)
    stranger = GaussianNB().fit(DENSE, np.where(YES, "up", "down"))
    for changes, sentence in (
        ({"members": [one, {"$pickle": [name, 1]}]}, "Member 1: .*lacks the array 'pickle.1'"),
        ({"members": [one, {"$pickle": [name, True]}]}, "wrong form"),
        ({"members": [one, {"$pickle": name}]}, "wrong form"),
        ({"members": [one, {"$pickle": [None, 0]}]}, "wrong form"),
        ({"members": [one, {**two, "more": 1}]}, "not the entries"),
        ({"members": [one, {"$pickle": ["a.B", 0]}]}, "The pickled a.B is a sklearn"),
        ({"members": [one, {"$function": "f"}]}, "not the entries"),
        ({"estimator": {"$pickle": [name, 0]}}, "does not say which estimator"),
        ({"arrays": {**arrays, "members.1.pickle.0": other}}, "is a sklearn.* after all"),
        ({"arrays": {**arrays, "members.1.pickle.0": other[:9]}}, "cannot be read"),
        ({"arrays": {**arrays, "members.1.pickle.0": other.astype(np.int8)}}, "has dtype int8"),
        ({"arrays": {**arrays, "members.1.pickle.1": other}}, "Member 1: .*array too many"),
        ({"arrays": {**arrays, "pickle.1": other}}, "array too many: 'pickle.1'"),
        ({"arrays": {**arrays, **pickle_of(narrow)}}, "knows 2 columns, and gets 5"),
        ({"arrays": {**arrays, **pickle_of(stranger)}}, "not among those of the ensemble"),
    ):  # fmt: skip
        with pytest.raises(ModelFileError, match=sentence):
            load_model_bytes(forged(data, **changes), allow_pickle=True)
    twice = {**header["model"], "spy": header["model"]["params"]["estimator"]}
    with pytest.raises(ModelFileError, match=r"lacks the array 'pickle\.0'"):
        load_model_bytes(forged(data, model=twice), allow_pickle=True)


def pickle_of(member: Any) -> dict[str, Any]:
    return {"members.1.pickle.0": np.frombuffer(pickle.dumps(member), np.uint8)}


def test_what_cannot_be_pickled_says_so(tmp_path: Path) -> None:
    inner = make_pipeline(FunctionTransformer(lambda X: X), GaussianNB())
    model = Classifier(inner, 2).fit(DENSE, LABEL)
    with pytest.raises(TypeError, match=r"Pipeline that cannot be pickled \("):
        model.save(tmp_path / "model", allow_pickle=True)
    assert not list(tmp_path.iterdir())


# --- what goes into a bag -----------------------------------------------------------------------


def test_a_bag_of_classifiers_takes_no_regressor_of_hornbeams() -> None:
    for inner in (hb.DecisionTreeRegressor(), hb.IsolationForest(), Regressor()):
        with pytest.raises(ValueError, match=r"needs a classifier, but estimator is a .*Choose"):
            Classifier(inner).fit(DENSE, YES)

"""What categories explain by chance: nobody is worse off for a column that means nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.chance import are_many, chance_share, clear_share, identifies_rows


def explained(groups: np.ndarray, y: np.ndarray) -> float:
    """The share of the squares that the means of groups explain."""
    means = pd.Series(y).groupby(groups).transform("mean").to_numpy()
    return float(((means - y.mean()) ** 2).sum() / ((y - y.mean()) ** 2).sum())


@pytest.mark.parametrize(("n_groups", "n_rows"), [(12, 60), (40, 60), (40, 400)])
@pytest.mark.parametrize("rare", [False, True])
def test_random_groups_explain_what_they_owe_and_hardly_ever_more(
    n_groups: int, n_rows: int, rare: bool
) -> None:
    """Whatever the target is and however unequal the groups are."""
    rng = np.random.default_rng(0)
    y = (rng.random(n_rows) < 0.1).astype(float) if rare else rng.normal(size=n_rows)
    y[0] = 1.0
    sizes = np.concatenate([np.arange(n_groups), (n_groups * rng.random(n_rows) ** 3).astype(int)])
    groups = sizes[:n_rows]
    shares = np.array([explained(groups, rng.permutation(y)) for _ in range(300)])
    expected = (n_groups - 1) / (n_rows - 1)
    assert shares.mean() == pytest.approx(expected, abs=4 * shares.std() / np.sqrt(300))
    assert 0.0 <= expected - chance_share(n_groups, n_rows) <= 1 / (n_rows - 2)
    assert np.mean(shares > clear_share(n_groups, n_rows)) < 0.02


def test_two_groups_owe_nothing_and_a_group_per_row_owes_everything() -> None:
    assert chance_share(2, 10) == clear_share(2, 10) == 0.0
    assert chance_share(10, 10) == clear_share(10, 10) == clear_share(11, 10.5) == 1.0


@pytest.mark.parametrize("n_rows", [1, 2, 7, 8, 9, 1000, 1024])
def test_many_categories_offer_more_questions_than_a_number(n_rows: int) -> None:
    for n_categories in range(1, 14):
        n_questions = 2 ** (n_categories - 1) - 1
        assert are_many(n_categories, n_rows) == (n_questions > n_rows - 1)


def test_an_identity_has_a_value_of_its_own_in_nearly_every_row() -> None:
    assert identifies_rows(3178, 3190) and identifies_rows(50, 50)
    assert not identifies_rows(49, 49)  # of few rows each may have its own
    assert not identifies_rows(929, 1309) and not identifies_rows(0, 0)


# --- every estimator ----------------------------------------------------------------------------

CLASSIFIERS: dict[str, Any] = {
    "exact tree": lambda: hb.DecisionTreeClassifier(),
    "histogram tree": lambda: hb.DecisionTreeClassifier(finder="histogram"),
    "entropy tree": lambda: hb.DecisionTreeClassifier(criterion="entropy"),
    "C4.5": lambda: hb.C45Classifier(),
    "C4.5 with groups": lambda: hb.C45Classifier(grouping=True),
    "bagging": lambda: hb.BaggingClassifier(n_estimators=5, random_state=0),
    "forest": lambda: hb.RandomForestClassifier(n_estimators=20, random_state=0),
    "extra trees": lambda: hb.ExtraTreesClassifier(n_estimators=20, random_state=0),
    "boosting": lambda: hb.GradientBoostingClassifier(n_estimators=20, random_state=0),
}
REGRESSORS: dict[str, Any] = {
    "exact tree": lambda: hb.DecisionTreeRegressor(),
    "histogram tree": lambda: hb.DecisionTreeRegressor(finder="histogram"),
    "absolute error": lambda: hb.DecisionTreeRegressor(criterion="absolute_error"),
    "friedman": lambda: hb.DecisionTreeRegressor(criterion="friedman_mse"),
    "poisson": lambda: hb.DecisionTreeRegressor(criterion="poisson"),
    "bagging": lambda: hb.BaggingRegressor(n_estimators=5, random_state=0),
    "forest": lambda: hb.RandomForestRegressor(
        n_estimators=20, max_features=None, min_samples_split=5, random_state=0
    ),
    "boosting": lambda: hb.GradientBoostingRegressor(random_state=0),
}
BOTH = [
    *(pytest.param(make, True, id=f"{name}, classes") for name, make in CLASSIFIERS.items()),
    *(pytest.param(make, False, id=f"{name}, values") for name, make in REGRESSORS.items()),
]
N_ROWS = 600


def make_rows(classes: bool, effect: float, names: Any) -> tuple[pd.DataFrame, Any]:
    """Two numbers that matter and a name; 1,000 rows, of which the first are for training."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.normal(size=(1600, 2)), columns=["a", "b"])
    codes = names(rng)
    X.insert(0, "name", [f"n{code}" for code in codes])
    score = X["a"] + X["b"] + effect * rng.normal(size=1600)[codes] + 0.3 * rng.normal(size=1600)
    return X, (score > 0).astype(int) if classes else np.exp(0.5 * score)


def scores(make: Any, X: pd.DataFrame, y: Any) -> list[float]:
    """On the other rows: with the column of names, and without it."""
    found = []
    for table in (X, X[["a", "b"]]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = make().fit(table[:N_ROWS], y[:N_ROWS])
        found.append(model.score(table[N_ROWS:], y[N_ROWS:]))
    return found


@pytest.mark.parametrize(("make", "classes"), BOTH)
def test_a_column_that_identifies_rows_costs_nothing(make: Any, classes: bool) -> None:
    X, y = make_rows(classes, 0.0, lambda rng: rng.permutation(1600))
    with_names, without = scores(make, X, y)
    assert with_names >= without - 0.02


@pytest.mark.parametrize(("make", "classes"), BOTH)
def test_names_that_mean_nothing_cost_little(make: Any, classes: bool) -> None:
    """Five rows of each in training."""
    X, y = make_rows(classes, 0.0, lambda rng: rng.integers(0, 120, 1600))
    with_names, without = scores(make, X, y)
    assert with_names >= without - 0.05


SINGLE = ("exact tree", "histogram tree", "entropy tree", "absolute error", "friedman", "bagging")


@pytest.mark.parametrize(
    ("make", "classes"), [case for case in BOTH if str(case.id).split(",")[0] in SINGLE]
)
def test_names_that_mean_something_are_learnt(make: Any, classes: bool) -> None:
    X, y = make_rows(classes, 1.5, lambda rng: rng.integers(0, 60, 1600))
    with_names, without = scores(make, X, y)
    assert with_names >= without + 0.1


def test_two_categories_are_asked_as_a_number_is() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 6)).astype(float)
    y = rng.normal(size=200)
    by_number = hb.DecisionTreeRegressor().fit(X, y)
    by_category = hb.DecisionTreeRegressor(categorical_features=range(6)).fit(X, y)
    np.testing.assert_array_equal(by_number.predict(X), by_category.predict(X))


def make_parity() -> tuple[pd.DataFrame, Any]:
    """Two columns of 14 categories that tell nothing but together."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 14, (2400, 2))
    odd = rng.permutation(14) % 2
    X = pd.DataFrame({name: [f"c{c:02}" for c in codes[:, k]] for k, name in enumerate("ab")})
    return X, odd[codes[:, 0]] ^ odd[codes[:, 1]]


TOGETHER = ("exact tree", "histogram tree", "entropy tree", "C4.5", "friedman", "poisson")


@pytest.mark.parametrize(
    ("make", "classes"), [case for case in BOTH if str(case.id).split(",")[0] in TOGETHER]
)
def test_what_columns_say_only_together_is_learnt(make: Any, classes: bool) -> None:
    X, y = make_parity()
    model = make().fit(X[:1600], y[:1600] if classes else 1.0 + y[:1600])
    assert model.score(X[1600:], y[1600:] if classes else 1.0 + y[1600:]) > 0.95


def test_categories_that_prove_nothing_are_cut_in_their_order() -> None:
    X, y = make_parity()
    tree = hb.DecisionTreeClassifier(max_depth=1).fit(X, y).tree_
    left = tree.category_set(0)
    assert 0 < len(left) < 14 and np.ptp(left) == len(left) - 1
    assert left.min() in (0, 14 - len(left))


def test_few_rows_of_each_category_are_not_cut_at_all() -> None:
    """There is no row for every pair of them, so that some order would fit by chance."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": [f"n{i}" for i in rng.integers(0, 40, 400)]})
    y = rng.integers(0, 2, 400)
    for make in (hb.DecisionTreeClassifier, hb.C45Classifier):
        assert make().fit(X, y).tree_.node_count == 1


def test_what_is_missing_still_tells() -> None:
    """The names mean nothing; that there is none does."""
    rng = np.random.default_rng(0)
    names = pd.Series([f"n{i}" for i in rng.integers(0, 90, 200)])
    names[rng.random(200) < 0.4] = None
    tree = hb.DecisionTreeClassifier().fit(names.to_frame(), names.isna())
    assert tree.score(names.to_frame(), names.isna()) == 1.0
    assert tree.tree_.node_count == 3


def test_copies_of_a_row_are_no_witnesses() -> None:
    """Rows that weigh more than others do not make their categories believable."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": [f"n{i}" for i in rng.permutation(40)], "a": rng.normal(size=40)})
    weight = rng.integers(1, 4, 40).astype(float)
    tree = hb.DecisionTreeClassifier().fit(X, rng.integers(0, 2, 40), sample_weight=weight)
    assert 0 not in tree.tree_.feature


# --- the warning ----------------------------------------------------------------------------------


def warned(fit: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(w.message) for w in caught if "identifies rows" in str(w.message)]


EVERYONE: dict[str, Any] = {
    **CLASSIFIERS,
    "regressor": lambda: hb.DecisionTreeRegressor(),
    "ID3": lambda: hb.ID3Classifier(numeric="categories"),
    "isolation": lambda: hb.IsolationForest(n_estimators=5, random_state=0),
    "embedding": lambda: hb.RandomTreesEmbedding(n_estimators=5, random_state=0),
    "bagged forests": lambda: hb.BaggingClassifier(
        hb.RandomForestClassifier(n_estimators=2), n_estimators=2
    ),
}


@pytest.mark.parametrize("name", EVERYONE)
def test_an_identity_is_named_in_one_warning(name: str) -> None:
    make = EVERYONE[name]
    X, y = make_rows(True, 0.0, lambda rng: rng.permutation(1600))
    X, y = X[:100].round(1), y[:100]
    [message] = warned(lambda: make().fit(X, y))
    assert message.startswith("Column 'name' has 100 different values in 100 rows")
    assert warned(lambda: make().fit(X[["a", "b"]], y)) == []


def test_the_choice_of_pruning_warns_once() -> None:
    X, y = make_rows(True, 0.0, lambda rng: rng.permutation(1600))
    tree = hb.DecisionTreeClassifier()
    assert len(warned(lambda: hb.choose_ccp_alpha(tree, X[:200], y[:200]))) == 1


def test_the_warning_points_to_the_caller_of_fit() -> None:
    X, y = make_rows(True, 0.0, lambda rng: rng.permutation(1600))
    for make in (hb.DecisionTreeClassifier, hb.GradientBoostingClassifier, hb.BaggingClassifier):
        with pytest.warns(UserWarning, match="identifies rows") as caught:
            make(**({"n_estimators": 2} if make is not hb.DecisionTreeClassifier else {})).fit(X, y)
        assert {w.filename for w in caught if "identifies" in str(w.message)} == {__file__}


def test_few_rows_numbers_and_common_names_are_no_identities() -> None:
    rng = np.random.default_rng(0)
    few = pd.DataFrame({"name": [f"n{i}" for i in range(14)]})
    numbers = pd.DataFrame({"x": rng.normal(size=500)})
    towns = pd.DataFrame({"town": [f"t{i}" for i in rng.integers(0, 300, 500)]})
    for X in (few, numbers, towns):
        y = np.arange(len(X)) % 2
        assert warned(lambda X=X, y=y: hb.DecisionTreeClassifier().fit(X, y)) == []


def test_id3_takes_an_identity_as_published_but_says_so() -> None:
    X = pd.DataFrame({"day": [f"D{i}" for i in range(60)], "wind": ["weak", "strong"] * 30})
    y = np.random.default_rng(0).integers(0, 2, 60)
    with pytest.warns(UserWarning, match="Column 'day' has 60 different values"):
        tree = hb.ID3Classifier().fit(X, y)
    assert tree.tree_.feature[0] == 0 and tree.score(X, y) == 1.0

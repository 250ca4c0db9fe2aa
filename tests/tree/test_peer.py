"""Hornbeam's trees against scikit-learn's, node by node (see peer.py).

All X are float32, which is what scikit-learn makes of any X. Sums of classes and of whole
numbers are compared bit for bit. Sums of reals are compared to 1e-12: scikit-learn's
partition does not keep the order of the rows, so it adds them up in another order.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import datasets
from sklearn import tree as peer_tree
from tree.peer import walk_together

import hornbeam as hb

EXACT, REALS = 0.0, 1e-12
PAIRS = {
    "classifier": (hb.DecisionTreeClassifier, peer_tree.DecisionTreeClassifier),
    "regressor": (hb.DecisionTreeRegressor, peer_tree.DecisionTreeRegressor),
}

pytestmark = pytest.mark.filterwarnings("ignore:.*friedman_mse.*")


def fit_both(task, X, y, weight=None, **params):
    ours, theirs = PAIRS[task]
    X = X.astype(np.float32)
    mine = ours(**params).fit(X, y, sample_weight=weight)
    return mine, theirs(**params, random_state=0).fit(X, y, sample_weight=weight)


def assert_same_tree(task, X, y, weight=None, rel=EXACT, **params):
    """Not one tie, not one difference; returns both estimators."""
    mine, other = fit_both(task, X, y, weight, **params)
    seen = walk_together(mine, other, rel)
    assert seen.ties == []
    assert seen.compared == mine.tree_.node_count == other.tree_.node_count > 1
    return mine, other


def assert_same_up_to_ties(task, X, y, weight=None, rel=EXACT, **params):
    mine, other = fit_both(task, X, y, weight, **params)
    walk_together(mine, other, rel)
    return mine, other


def smooth(n=1500, n_features=5, seed=0):
    """Numbers without ties in X, and real targets: no two features split equally well while
    a node has more than a handful of rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).astype(np.float32)
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    return X, y


def noisy_classes(n=1500, seed=0):
    X, y = smooth(n, seed=seed)
    return X, np.digitize(y, [-1.5, 1.5])


def uneven(n, seed=2):
    """Whole weights, no two rows alike: class counts tie easily, their weighted sums do not,
    and they are still added exactly."""
    return np.random.default_rng(seed).integers(500, 1500, n).astype(float)


def either(task):
    """Data without ties for either task: X, y, weights and the tolerance of its sums."""
    if task == "classifier":
        X, y = noisy_classes()
        return X, y, uneven(len(y)), EXACT
    return *smooth(), None, REALS


def with_holes(X, share=0.2, seed=1):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


# --- trees without ties: everything is equal --------------------------------------------


@pytest.mark.mission("T5")
@pytest.mark.quick
@pytest.mark.parametrize("criterion", ["squared_error", "friedman_mse", "poisson"])
def test_regression_tree_is_the_same(criterion):
    X, y = smooth()
    y = np.exp(y / 4) if criterion == "poisson" else y
    assert_same_tree("regressor", X, y, rel=REALS, criterion=criterion, min_samples_leaf=10)


@pytest.mark.mission("T5")
def test_regression_tree_on_whole_numbers_is_the_same_bit_for_bit():
    X, y = smooth()
    assert_same_tree("regressor", X, np.round(100 * y), min_samples_leaf=10)


@pytest.mark.mission("T5")
def test_absolute_error_tree_is_the_same():
    X, y = smooth(600)
    assert_same_tree("regressor", X, y, rel=REALS, criterion="absolute_error", min_samples_leaf=10)


@pytest.mark.mission("T5")
def test_absolute_error_tree_with_weights_is_the_same():
    X, y = smooth(600)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    assert_same_tree(
        "regressor", X, y, weight, REALS, criterion="absolute_error", min_samples_leaf=10
    )


@pytest.mark.mission("T4")
@pytest.mark.quick
@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_classification_tree_is_the_same_bit_for_bit(criterion):
    X, y = noisy_classes(seed=43)  # one of the few seeds without any ties
    assert_same_tree("classifier", X, y, criterion=criterion, min_samples_leaf=25)


@pytest.mark.mission("T4")
@pytest.mark.parametrize("task", ["classifier", "regressor"])
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "diabetes"])
def test_one_feature_leaves_no_ties(task, name):
    """Ties between features are the only freedom; with one feature nothing is left of it."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    y = np.round(y / 60) if name == "diabetes" else y
    for feature in range(X.shape[1]):
        assert_same_tree(task, X[:, [feature]], y)


@pytest.mark.mission("T4")
@pytest.mark.parametrize("name", ["iris", "diabetes"])
def test_one_feature_with_missing_values_leaves_no_ties(name):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    y = (y > np.median(y)).astype(int)
    X = with_holes(X)
    for feature in range(X.shape[1]):
        assert_same_tree("classifier", X[:, [feature]], y)


# --- missing values ----------------------------------------------------------------------


@pytest.mark.mission("T4")
@pytest.mark.quick
def test_classification_tree_with_missing_values_is_the_same():
    X, y = noisy_classes()
    weight = uneven(len(y))
    mine, other = assert_same_tree("classifier", with_holes(X), y, weight, min_samples_leaf=25)
    unknown = np.full((1, X.shape[1]), np.nan, np.float32)
    assert mine.predict_proba(unknown) == pytest.approx(other.predict_proba(unknown), abs=0)


@pytest.mark.mission("T5")
def test_regression_tree_with_missing_values_is_the_same():
    X, y = smooth()
    assert_same_tree("regressor", with_holes(X), y, rel=REALS, min_samples_leaf=10)


def test_missing_values_first_seen_in_predict_go_the_same_way():
    X, y = noisy_classes()
    mine, other = assert_same_tree("classifier", X, y, uneven(len(y)), min_samples_leaf=25)
    holes = with_holes(X, 0.5)
    np.testing.assert_array_equal(mine.predict_proba(holes), other.predict_proba(holes))


# --- real data: equal up to ties ------------------------------------------------------------


@pytest.mark.mission("T4")
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_bundled_classification_data(name, criterion):
    """Many nodes here are split equally well by several features, so the trees differ below
    them; with every row in a pure leaf both still say the same about the training rows."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    mine, other = assert_same_up_to_ties("classifier", X, y, criterion=criterion)
    X = X.astype(np.float32)
    np.testing.assert_array_equal(mine.predict(X), other.predict(X))


@pytest.mark.mission("T5")
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_bundled_regression_data(criterion):
    X, y = datasets.load_diabetes(return_X_y=True)
    mine, other = assert_same_up_to_ties("regressor", X, y, rel=REALS, criterion=criterion)
    X = X.astype(np.float32)
    assert mine.predict(X) == pytest.approx(other.predict(X))


@pytest.mark.mission("T4")
def test_covtype(shared_data):
    frame = pd.read_parquet(shared_data / "covtype" / "data.parquet").sample(5000, random_state=0)
    X, y = frame.drop(columns="Cover_Type").to_numpy(), frame["Cover_Type"].to_numpy()
    assert_same_up_to_ties("classifier", X, y)
    assert_same_up_to_ties("classifier", X, y, min_samples_leaf=30)


@pytest.mark.mission("T4")
def test_letter(shared_data):
    frame = pd.read_csv(shared_data / "letter" / "data.csv.gz").iloc[:5000]
    y = frame.select_dtypes(exclude="number").iloc[:, 0].to_numpy().astype(str)
    X = frame.select_dtypes("number").to_numpy()
    mine, other = assert_same_up_to_ties("classifier", X, y)
    np.testing.assert_array_equal(mine.classes_, other.classes_)


@pytest.mark.mission("T5")
def test_california(shared_data):
    frame = pd.read_csv(shared_data / "california_housing" / "data.csv.gz").iloc[:5000]
    frame = frame.select_dtypes("number")
    X, y = frame.iloc[:, :-1].to_numpy(), frame.iloc[:, -1].to_numpy()
    assert_same_up_to_ties("regressor", X, y, rel=REALS, min_samples_leaf=5)


# --- weights -------------------------------------------------------------------------------


@pytest.mark.mission("T13")
def test_whole_weights_bit_for_bit():
    X, y = noisy_classes()
    assert_same_tree("classifier", X, y, uneven(len(y)), min_samples_leaf=25)


@pytest.mark.mission("T13")
@pytest.mark.parametrize("task", ["classifier", "regressor"])
def test_real_weights(task):
    X, y = noisy_classes() if task == "classifier" else smooth()
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    assert_same_tree(task, X, y, weight, REALS, min_samples_leaf=25)


@pytest.mark.mission("T13")
@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 5.0, 2: 0.5}])
def test_class_weight(class_weight):
    X, y = noisy_classes()
    weight = uneven(len(y))
    assert_same_tree(
        "classifier", X, y, weight, REALS, class_weight=class_weight, min_samples_leaf=25
    )


# --- pre-pruning ---------------------------------------------------------------------------


@pytest.mark.mission("T8")
@pytest.mark.quick
@pytest.mark.parametrize(
    "params",
    [
        {"max_depth": 4},
        {"min_samples_split": 100},
        {"min_samples_split": 0.07, "min_samples_leaf": 20},
        {"min_samples_leaf": 0.0301},
        {"min_weight_fraction_leaf": 0.04},
        {"min_impurity_decrease": 0.005},
        {"max_leaf_nodes": 17},
        {"max_leaf_nodes": 30, "max_depth": 5, "min_samples_leaf": 10},
        {"max_leaf_nodes": 30, "min_impurity_decrease": 0.01},
    ],
    ids=str,
)
@pytest.mark.parametrize("task", ["classifier", "regressor"])
def test_pre_pruning_stops_at_the_same_nodes(task, params):
    X, y, weight, rel = either(task)
    assert_same_tree(task, X, y, weight, rel, **{"min_samples_leaf": 10, **params})


# --- pruning and importances ---------------------------------------------------------------


@pytest.mark.mission("T9")
@pytest.mark.quick
@pytest.mark.parametrize("task", ["classifier", "regressor"])
def test_pruning_path_is_the_same(task):
    X, y, weight, rel = either(task)
    mine, other = assert_same_tree(task, X, y, weight, rel, min_samples_leaf=25)
    path, expected = (
        tree.cost_complexity_pruning_path(X, y, sample_weight=weight) for tree in (mine, other)
    )
    assert path.ccp_alphas == pytest.approx(expected.ccp_alphas, rel=1e-9, abs=1e-15)
    assert path.impurities == pytest.approx(expected.impurities, rel=1e-9)


@pytest.mark.mission("T9")
@pytest.mark.parametrize("task", ["classifier", "regressor"])
def test_pruned_trees_are_the_same_all_along_the_path(task):
    X, y, weight, rel = either(task)
    tree = PAIRS[task][0](min_samples_leaf=25)
    alphas = tree.cost_complexity_pruning_path(X, y, weight).ccp_alphas
    between = (alphas[:-1] + alphas[1:])[:-1] / 2  # on a step itself rounding would decide
    for alpha in between[between > 0][::6]:
        assert_same_tree(task, X, y, weight, rel, min_samples_leaf=25, ccp_alpha=alpha)


@pytest.mark.mission("T11")
@pytest.mark.parametrize("task", ["classifier", "regressor"])
def test_importances_are_the_same(task):
    X, y, weight, rel = either(task)
    mine, other = assert_same_tree(task, X, y, weight, rel, min_samples_leaf=25)
    assert mine.feature_importances_ == pytest.approx(other.feature_importances_, rel=1e-12)
    assert mine.feature_importances_.sum() == pytest.approx(1.0)


# --- what can be asked of a fitted tree ------------------------------------------------------


@pytest.mark.mission("T4")
@pytest.mark.quick
def test_probabilities_of_new_rows_are_the_same():
    X, y = noisy_classes()
    mine, other = assert_same_tree("classifier", X, y, uneven(len(y)), min_samples_leaf=25)
    new, _ = noisy_classes(seed=9)
    np.testing.assert_array_equal(mine.predict(new), other.predict(new))
    np.testing.assert_array_equal(mine.predict_proba(new), other.predict_proba(new))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(mine.predict_log_proba(new), other.predict_log_proba(new))


def test_leaves_and_paths_of_new_rows_are_the_same():
    X, y = smooth()
    mine, other = assert_same_tree("regressor", X, y, rel=REALS, min_samples_leaf=10)
    new, _ = smooth(seed=9)
    leaves, expected = mine.apply(new), other.apply(new)
    together = np.unique(np.column_stack([leaves, expected]), axis=0)
    assert len(together) == len(np.unique(leaves)) == len(np.unique(expected))
    path, expected_path = mine.decision_path(new), other.decision_path(new)
    np.testing.assert_array_equal(path.sum(axis=1), expected_path.sum(axis=1))
    assert path[np.arange(len(new)), leaves].all()


def test_depth_and_leaves_are_the_same():
    X, y = noisy_classes()
    mine, other = assert_same_tree("classifier", X, y, uneven(len(y)), min_samples_leaf=25)
    assert (mine.get_depth(), mine.get_n_leaves()) == (other.get_depth(), other.get_n_leaves())
    assert mine.tree_.max_depth == other.tree_.max_depth


def test_sparse_table_gives_the_same_tree():
    X, y = noisy_classes()
    X[np.abs(X) < 0.8] = 0.0
    X = scipy.sparse.csr_array(X)
    weight = uneven(len(y))
    mine = hb.DecisionTreeClassifier(min_samples_leaf=25).fit(X, y, weight)
    other = peer_tree.DecisionTreeClassifier(min_samples_leaf=25, random_state=0)
    other.fit(X, y, weight)
    assert walk_together(mine, other).ties == []
    np.testing.assert_array_equal(mine.predict_proba(X), other.predict_proba(X))


# --- monotone constraints -------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classifier", "regressor"])
@pytest.mark.parametrize("max_leaf_nodes", [None, 25])
def test_constrained_trees_are_the_same(task, max_leaf_nodes):
    """To 1e-12 for classes too: scikit-learn bounds the share of class 0, hornbeam that of
    class 1, and 1 - (1 - p) is not always p."""
    X, y = smooth()
    y = (y > 0).astype(int) if task == "classifier" else y
    assert_same_tree(
        task, X, y, uneven(len(y)), REALS,
        monotonic_cst=[1, 0, -1, 0, 0], min_samples_leaf=25, max_leaf_nodes=max_leaf_nodes,
    )  # fmt: skip


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("direction", [1, -1])
def test_predictions_follow_the_constraint(criterion, direction):
    X, y = smooth(500)
    y = np.exp(y / 4)
    tree = hb.DecisionTreeRegressor(criterion=criterion, monotonic_cst=[direction, 0, 0, 0, 0])
    tree.fit(X, y**direction)
    assert_monotone(tree.predict, X, direction)


@pytest.mark.parametrize("direction", [1, -1])
def test_probabilities_follow_the_constraint(direction):
    X, y = smooth(500)
    tree = hb.DecisionTreeClassifier(monotonic_cst=[direction, 0, 0, 0, 0])
    tree.fit(X, direction * y > 0)
    assert_monotone(lambda rows: tree.predict_proba(rows)[:, 1], X, direction)


def assert_monotone(predict, X, direction):
    """Move the first feature of every row along a grid, all others fixed."""
    lines = np.repeat(X[:100], 50, axis=0)
    lines[:, 0] = np.tile(np.linspace(-4, 4, 50, dtype=np.float32), 100)
    steps = np.diff(predict(lines).reshape(100, 50), axis=1)
    assert (direction * steps >= 0).all()
    assert steps.any()


# --- several outputs ------------------------------------------------------------------------


@pytest.mark.mission("T4")
def test_classification_of_three_outputs_is_the_same():
    X, y = noisy_classes()
    y = np.column_stack([y, X[:, 0] * X[:, 3] > 0, np.digitize(X[:, 4], [-1, 0, 1])])
    mine, other = assert_same_tree("classifier", X, y, uneven(len(y)), min_samples_leaf=25)
    np.testing.assert_array_equal(mine.n_classes_, other.n_classes_)
    np.testing.assert_array_equal(mine.predict(X), other.predict(X))
    for ours, theirs in zip(mine.predict_proba(X), other.predict_proba(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.mission("T5")
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_regression_of_two_outputs_is_the_same(criterion):
    """Not friedman_mse, which means the squared error to newer versions of scikit-learn:
    with one output the two are the same, with two they are not (see test_oracle.py)."""
    X, y = smooth(600)
    y = np.column_stack([y, X[:, 3] ** 2 - X[:, 0]])
    mine, other = assert_same_tree(
        "regressor", X, y, rel=REALS, criterion=criterion, min_samples_leaf=10
    )
    assert mine.predict(X) == pytest.approx(other.predict(X), rel=1e-12, abs=1e-12)

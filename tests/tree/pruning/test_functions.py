"""Pruning of fitted estimators: what it promises, and that the result is an ordinary tree."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from tree.test_oracle import random_table, random_weights

import hornbeam as hb

Classifier, Regressor = hb.DecisionTreeClassifier, hb.DecisionTreeRegressor


def data(seed, n=90, task="classifier", n_outputs=1):
    rng = np.random.default_rng(seed)
    X = random_table(rng, n, n_categories=5, missing=True)
    y = (
        rng.integers(0, 3, (n, n_outputs))
        if task == "classifier"
        else rng.normal(size=(n, n_outputs))
    )
    return X, y[:, 0] if n_outputs == 1 else y, random_weights(rng, n)


def loss(model, X, y, weight):
    """What reduced-error pruning promises not to raise, row by row."""
    predicted = model.predict(X).reshape(len(X), -1)
    y = np.asarray(y).reshape(len(X), -1)
    weight = np.ones(len(X)) if weight is None else weight
    wrong = predicted != y if isinstance(model, Classifier) else (predicted - y) ** 2
    return float((weight[:, None] * wrong).sum())


def all_prunings(tree):
    """Every set of inner nodes that can be made leaves, as the trees they give."""
    if tree.is_leaf[0]:
        return [frozenset()]
    found = []

    def choices(node):
        if tree.is_leaf[node]:
            return [frozenset()]
        kept = [frozenset()]
        first = int(tree.first_child[node])
        for child in range(first, first + int(tree.n_branches[node])):
            kept = [one | two for one in kept for two in choices(child)]
        return [*kept, frozenset([node])]

    found = choices(0)
    return found


# --- reduced error ------------------------------------------------------------------------------


@pytest.mark.mission("T10")
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("task", ["classifier", "regressor"])
def test_reduced_error_pruning_never_raises_the_validation_error(task, n_outputs):
    tree = Classifier if task == "classifier" else Regressor
    for seed in range(25):
        X, y, weight = data(seed, task=task, n_outputs=n_outputs)
        grown = tree().fit(X[:50], y[:50], None if weight is None else weight[:50] + 0.1)
        rest = (X[50:], y[50:], None if weight is None else weight[50:] + 0.1)
        pruned = hb.prune_reduced_error(grown, *rest)
        assert loss(pruned, *rest) <= loss(grown, *rest) + 1e-9
        assert pruned.get_n_leaves() <= grown.get_n_leaves()
        pruned._check_state(dict(vars(pruned)))


@pytest.mark.mission("T10")
@pytest.mark.parametrize("task", ["classifier", "regressor"])
def test_no_subtree_is_better_on_the_validation_rows(task):
    """Of all subtrees it has the least error, and the fewest leaves of those."""
    from hornbeam.tree.pruning.cost import cut_below
    from hornbeam.tree.pruning.functions import with_tree

    for seed in range(8):
        X, y, _ = data(seed, n=40, task=task)
        tree = Classifier if task == "classifier" else Regressor
        grown = tree(max_depth=3).fit(X[:20], y[:20])
        rest = (X[20:], y[20:], None)
        found = []
        for cut in all_prunings(grown.tree_):
            mask = np.isin(np.arange(grown.tree_.node_count), list(cut))
            other = with_tree(grown, cut_below(grown.tree_, mask | grown.tree_.is_leaf))
            found.append((round(loss(other, *rest), 9), other.get_n_leaves()))
        pruned = hb.prune_reduced_error(grown, *rest)
        assert (round(loss(pruned, *rest), 9), pruned.get_n_leaves()) == min(found)


@pytest.mark.mission("T10")
@pytest.mark.quick
def test_new_classes_new_categories_and_missing_values():
    X = [["a", 1.0], ["b", 2.0], ["a", 3.0], ["b", 4.0]]
    tree = Classifier().fit(X, ["x", "y", "x", "z"])
    rows = [["c", None], ["a", 1.0], ["b", None], [None, 4.0]]
    pruned = hb.prune_reduced_error(tree, rows, ["new", "x", "y", "z"])
    assert pruned.score(rows, ["new", "x", "y", "z"]) >= tree.score(rows, ["new", "x", "y", "z"])


@pytest.mark.mission("T10")
@pytest.mark.quick
def test_weights_are_repetitions():
    X, y, _ = data(3)
    grown = Classifier().fit(X[:50], y[:50])
    weight = np.random.default_rng(0).integers(0, 4, 40)
    rows = np.repeat(np.arange(50, 90), weight)
    weighted = hb.prune_reduced_error(grown, X[50:], y[50:], weight)
    repeated = hb.prune_reduced_error(grown, X.iloc[rows], y[rows])
    assert weighted.digest() == repeated.digest()


@pytest.mark.mission("T10")
@pytest.mark.quick
@pytest.mark.parametrize("tree", [Classifier, Regressor])
def test_as_a_parameter_of_fit(tree):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    full = tree(random_state=0).fit(X, y)
    pruned = tree(pruning="reduced_error", random_state=0).fit(X, y)
    assert pruned.tree_.n_samples[0] == 320
    assert 1 < pruned.get_n_leaves() < full.get_n_leaves() / 2
    again = tree(pruning="reduced_error", random_state=0, n_jobs=2).fit(X, y)
    assert again.digest() == pruned.digest()
    half = tree(pruning="reduced_error", validation_fraction=0.5, random_state=0).fit(X, y)
    assert half.tree_.n_samples[0] == 200
    with pytest.raises(ValueError, match=r"holds out 0 of n_samples=2 rows. Choose another"):
        tree(pruning="reduced_error", validation_fraction=0.1).fit(X[:2], [0, 1])


@pytest.mark.mission("T10")
@pytest.mark.quick
def test_classes_are_held_out_in_their_proportions():
    y = np.repeat([0, 1, 2], [100, 50, 10])
    held = Classifier(random_state=1)._hold_out(y, None).held
    assert np.bincount(y[held]).tolist() == [20, 10, 2]
    weight = np.where(np.arange(160) < 50, 0.0, 1.0)  # rows of weight 0 are nowhere
    held = Classifier(random_state=1)._hold_out(y, weight).held
    assert np.bincount(y[held]).tolist() == [10, 10, 2] and not held[:50].any()


# --- all methods --------------------------------------------------------------------------------


@pytest.mark.mission("T9")
@pytest.mark.quick
def test_cost_complexity_is_ccp_alpha():
    X, y, weight = data(1)
    for alpha in (0.0, 0.005, 0.02, 1.0):
        grown = Classifier().fit(X, y, weight)
        fitted = Classifier(ccp_alpha=alpha).fit(X, y, weight)
        assert hb.prune_cost_complexity(grown, alpha).tree_.digest() == fitted.tree_.digest()


@pytest.mark.mission("T10")
@pytest.mark.quick
def test_pessimistic_is_the_parameter():
    X, y, weight = data(1)
    for confidence in (0.05, 0.25, 0.5):
        grown = Classifier().fit(X, y, weight)
        fitted = Classifier(pruning="pessimistic", confidence=confidence).fit(X, y, weight)
        pruned = hb.prune_pessimistic(grown, confidence)
        assert pruned.tree_.digest() == fitted.tree_.digest()
        assert pruned.get_n_leaves() < grown.get_n_leaves()


@pytest.mark.mission("T9")
@pytest.mark.mission("T10")
@pytest.mark.quick
@pytest.mark.parametrize(
    "prune",
    [
        lambda model, X, y: hb.prune_cost_complexity(model, 0.01),
        lambda model, X, y: hb.prune_reduced_error(model, X, y),
        lambda model, X, y: hb.prune_pessimistic(model),
    ],
    ids=["cost_complexity", "reduced_error", "pessimistic"],
)
def test_a_pruned_tree_is_an_ordinary_tree(prune, tmp_path):
    X, y, _ = data(2, n=150)
    grown = Classifier(max_depth=6).fit(X[:100], y[:100])
    before = grown.digest()
    pruned = prune(grown, X[100:], y[100:])
    assert grown.digest() == before, "the original must not change"
    assert type(pruned) is Classifier and pruned.get_params() == grown.get_params()
    assert pruned.get_n_leaves() < grown.get_n_leaves()
    tree = pruned.tree_
    assert (np.diff(tree.depth) >= 0).all()  # level by level
    assert tree.n_samples[tree.is_leaf].sum() == 100
    path = tmp_path / "pruned.hornbeam"
    pruned.save(path)
    assert hb.load(path).digest() == pruned.digest()
    assert pickle.loads(pickle.dumps(pruned)).digest() == pruned.digest()
    leaves = pruned.apply(X)
    assert tree.is_leaf[leaves].all()
    assert (pruned.predict_proba(X) == tree.value[leaves]).all()
    assert hb.export_text(pruned).count("\n") < hb.export_text(grown).count("\n")
    assert pruned.feature_importances_.sum() == pytest.approx(1.0)
    assert clone(pruned).fit(X[:100], y[:100]).digest() == before


@pytest.mark.quick
def test_what_cannot_be_pruned_says_why():
    X, y, _ = data(0)
    fitted = Regressor().fit(X, y)
    with pytest.raises(TypeError, match="counts wrong classes, and DecisionTreeRegressor predicts"):
        hb.prune_pessimistic(fitted)
    with pytest.raises(ValueError, match="'pruning' parameter of DecisionTreeRegressor must be"):
        Regressor(pruning="pessimistic").fit(X, y)
    with pytest.raises(NotFittedError):
        hb.prune_cost_complexity(Classifier(), 0.1)
    with pytest.raises(ValueError, match=r"ccp_alpha is -1; a leaf must cost 0 or more"):
        hb.prune_cost_complexity(fitted, -1)
    model = Classifier().fit(X, y)
    for confidence in (0.0, 0.6, float("nan")):
        with pytest.raises(ValueError, match=r"confidence is .* above 0 and at most 0.5"):
            hb.prune_pessimistic(model, confidence)
    with pytest.raises(ValueError, match="y has 2 outputs, but"):
        hb.prune_reduced_error(model, X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        hb.prune_reduced_error(model, X, y[:5])
    from sklearn.tree import DecisionTreeClassifier

    with pytest.raises(TypeError, match="is not an estimator of one tree"):
        hb.prune_cost_complexity(DecisionTreeClassifier().fit([[0], [1]], [0, 1]), 0.1)


def _expected(model):
    """Rows are held out by number, so a weight of 2 is not the row twice."""
    if model.pruning != "reduced_error":
        return {}
    reason = "other rows are held out"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [Classifier(pruning="pessimistic"), Classifier(pruning="reduced_error", random_state=0),
     Regressor(pruning="reduced_error", random_state=0)],
    expected_failed_checks=_expected,
)  # fmt: skip
def test_yielded_check(estimator, check):
    check(estimator)

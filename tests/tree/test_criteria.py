"""The user's own criterion: the same tree as the built-in twin, and sentences for errors."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys

import numba
import numpy as np
import pytest
from tree.test_oracle import random_table

import hornbeam as hb
from hornbeam.runtime.kernel import cache_directory


def my_gini(counts, weight):
    impurity = 1.0
    for count in counts:
        impurity -= (count / weight) ** 2
    return impurity


def my_entropy(counts, weight):
    bits = 0.0
    for count in counts:
        if count > 0:
            bits -= count / weight * math.log2(count / weight)
    return bits


def my_error(counts, weight):
    return 1.0 - counts.max() / weight


def my_variance(weight, total, squares):
    return squares / weight - (total / weight) ** 2


CLASS_TWINS = {"gini": my_gini, "entropy": my_entropy, "misclassification": my_error}


def table(seed=0, n=200):
    """Real weights keep two different splits from being equally good by accident."""
    rng = np.random.default_rng(seed)
    X = random_table(rng, n, n_categories=5, missing=True)
    return X, rng.integers(0, 2, n), rng.normal(size=n), rng.uniform(0.5, 2.0, n)


def assert_same_questions(one, other):
    for name in ("first_child", "feature", "kind", "threshold", "set_words", "n_samples"):
        ours, theirs = getattr(one.tree_, name), getattr(other.tree_, name)
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    np.testing.assert_array_equal(one.tree_.value, other.tree_.value)
    assert one.tree_.impurity == pytest.approx(other.tree_.impurity, abs=1e-12)


@pytest.mark.mission("T14")
@pytest.mark.parametrize("finder", ["exact", "histogram"])
@pytest.mark.parametrize("name", CLASS_TWINS)
def test_classification_twin_grows_the_same_tree(name, finder):
    X, y, _, weight = table()
    params = {"finder": finder, "min_samples_leaf": 5}
    own = hb.DecisionTreeClassifier(criterion=CLASS_TWINS[name], **params).fit(X, y, weight)
    built_in = hb.DecisionTreeClassifier(criterion=name, **params).fit(X, y, weight)
    assert_same_questions(own, built_in)


@pytest.mark.mission("T14")
@pytest.mark.parametrize("finder", ["exact", "histogram"])
def test_regression_twin_grows_the_same_tree(finder):
    X, _, y, weight = table()
    params = {"finder": finder, "min_samples_leaf": 5}
    own = hb.DecisionTreeRegressor(criterion=my_variance, **params).fit(X, y, weight)
    assert_same_questions(own, hb.DecisionTreeRegressor(**params).fit(X, y, weight))


@pytest.mark.mission("T14")
@pytest.mark.parametrize("name", ["gini", "entropy", "misclassification"])
def test_public_formulas_can_be_passed_as_they_are(name):
    X, y, _, weight = table()
    own = hb.DecisionTreeClassifier(criterion=getattr(hb.criteria, name)).fit(X, y, weight)
    assert own.digest() == hb.DecisionTreeClassifier(criterion=name).fit(X, y, weight).digest()


@pytest.mark.mission("T14")
def test_several_outputs_share_the_users_criterion():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.integers(0, 3, (150, 2))
    weight = rng.uniform(0.5, 2.0, 150)
    params = {"min_samples_leaf": 5}
    own = hb.DecisionTreeClassifier(criterion=my_gini, **params).fit(X, y, weight)
    assert_same_questions(own, hb.DecisionTreeClassifier(**params).fit(X, y, weight))


@pytest.mark.mission("T14")
def test_functions_may_comprehend_lists_and_compute_with_arrays():
    def by_list(counts, weight):
        return 1.0 - sum([(count / weight) ** 2 for count in counts])

    def by_array(counts, weight):
        shares = counts / weight
        return 1.0 - (shares * shares).sum()

    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 3
    built_in = hb.DecisionTreeClassifier(random_state=0).fit(X, y)
    for own in (by_list, by_array):
        model = hb.DecisionTreeClassifier(criterion=own, random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.apply(X), built_in.apply(X))


def test_compiled_functions_are_accepted():
    X, y, _, weight = table()
    compiled = hb.DecisionTreeClassifier(criterion=numba.njit(my_gini)).fit(X, y, weight)
    plain = hb.DecisionTreeClassifier(criterion=my_gini).fit(X, y, weight)
    assert compiled.digest() == plain.digest()


@pytest.mark.mission("T14")
def test_functions_with_a_closure_are_not_mixed_up():
    """Two functions with the same code and another enclosed value are two criteria."""
    X, y, _, weight = table()

    def power(exponent):
        def impurity(counts, weight):
            total = 1.0
            for count in counts:
                total -= (count / weight) ** exponent
            return total

        return impurity

    trees = [
        hb.DecisionTreeClassifier(criterion=power(exponent)).fit(X, y, weight)
        for exponent in (2.0, 6.0)
    ]
    gini = hb.DecisionTreeClassifier().fit(X, y, weight)
    assert_same_questions(trees[0], gini)
    assert trees[1].tree_.impurity[0] > gini.tree_.impurity[0] + 0.1


@pytest.mark.mission("T14")
def test_functions_with_another_default_are_not_mixed_up():
    X, y, _, _ = table()

    def make(default):
        def impurity(counts, weight, scale=default):
            return scale * (1.0 - counts.max() / weight)

        return impurity

    one, ten = (hb.DecisionTreeClassifier(criterion=make(s)).fit(X, y) for s in (1.0, 10.0))
    assert ten.tree_.impurity[0] == pytest.approx(10 * one.tree_.impurity[0])


@pytest.mark.mission("T14")
@pytest.mark.parametrize(
    "bad",
    [
        lambda counts, weight: sorted(vars(counts)),
        lambda counts, weight: "impure",
        lambda counts: 0.0,
        lambda counts, weight: counts.no_such_thing,
    ],
    ids=["calls what Numba does not know", "returns a string", "takes one argument", "attribute"],
)
def test_a_function_that_cannot_be_compiled_gets_a_sentence(bad):
    X, y, _, _ = table()
    with pytest.raises(TypeError, match=r"could not be compiled: .*\. It must be a function"):
        hb.DecisionTreeClassifier(criterion=bad).fit(X, y)


@pytest.mark.mission("T14")
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_impurity_that_is_no_number_ends_in_a_leaf(value):
    X, y, numbers, _ = table()
    classes = hb.DecisionTreeClassifier(criterion=lambda counts, weight: value).fit(X, y)
    values = hb.DecisionTreeRegressor(criterion=lambda weight, total, squares: value)
    assert classes.get_n_leaves() >= 1
    np.testing.assert_allclose(classes.predict_proba(X).sum(axis=1), 1.0)
    assert np.isfinite(values.fit(X, numbers).predict(X)).all()
    if math.isnan(value):
        assert classes.get_n_leaves() == values.get_n_leaves() == 1


@pytest.mark.mission("T14")
def test_a_criterion_that_sometimes_is_no_number_still_splits():
    """NaN for nodes that hold one class only: those cuts are passed over."""

    def picky(counts, weight):
        return math.nan if counts.max() == weight else my_gini_compiled(counts, weight)

    my_gini_compiled = numba.njit(my_gini)
    X, y, _, _ = table()
    tree = hb.DecisionTreeClassifier(criterion=picky).fit(X, y).tree_
    assert tree.n_leaves > 1
    assert (tree.value.max(axis=1) < 1.0).all()


SCRIPT = """
import sys
import hornbeam as hb

def squares(counts, weight):
    impurity = 1.0
    for count in counts:
        impurity -= (count / weight) ** 2
    return impurity

def fourths(counts, weight):
    impurity = 1.0
    for count in counts:
        impurity -= (count / weight) ** 4
    return impurity

for name in sys.argv[1:]:
    tree = hb.DecisionTreeClassifier(criterion=globals().get(name, name))
    print(tree.fit([[0.0], [1.0]], [0, 1]).tree_.impurity[0])
"""


def root_impurities(folder, *criteria):
    """Impurities of a node with one row of each class, computed by a process of its own."""
    environment = {**os.environ, "HORNBEAM_CACHE_DIR": str(folder), "HORNBEAM_QUIET": "1"}
    command = [sys.executable, str(folder / "script.py"), *criteria]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.split()]


@pytest.mark.mission("T14")
def test_criteria_compiled_by_different_processes_are_not_mixed_up(tmp_path):
    """Each process numbers its functions from 0; code on disk must not meet under one name."""
    hb.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])  # what is common is compiled now
    if cache_directory() is not None:
        shutil.copytree(cache_directory(), tmp_path / cache_directory().name)
    (tmp_path / "script.py").write_text(SCRIPT)
    for alone, impurity in (("squares", 0.5), ("fourths", 0.875), ("entropy", 1.0)):
        assert root_impurities(tmp_path, alone) == [impurity]
    assert root_impurities(tmp_path, "squares", "fourths", "entropy") == [0.5, 0.875, 1.0]
    assert root_impurities(tmp_path, "entropy", "fourths", "squares") == [1.0, 0.875, 0.5]

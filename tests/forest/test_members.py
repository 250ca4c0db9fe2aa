"""Forests as sequences of their trees, with what scikit-learn's have."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification

import hornbeam as hb

X, Y = make_classification(60, 4, random_state=0)


def test_a_forest_is_a_sequence_of_trees():
    forest = hb.RandomForestClassifier(4, random_state=0, min_samples_split=2).fit(X, Y)
    assert len(forest) == 4 == len(list(forest))
    assert forest[1].digest() == forest.estimators_[1].digest() == list(forest)[1].digest()
    assert forest[-1].digest() == forest[3].digest()
    assert not hasattr(forest.estimator_, "tree_")
    assert type(forest.estimator_) is hb.DecisionTreeClassifier
    with pytest.raises(ValueError, match="not fitted"):
        len(hb.RandomForestClassifier())


@pytest.mark.parametrize("maker", [hb.ExtraTreesRegressor, hb.RandomForestClassifier])
def test_rows_of_each_tree_grow_that_tree(maker):
    forest = maker(3, bootstrap=True, min_samples_split=2, random_state=0).fit(X, Y)
    samples = forest.estimators_samples_
    assert len(samples) == 3 and len(samples[:2]) == 2 and "3 trees" in repr(samples)
    for tree, rows in zip(forest, samples, strict=True):
        assert len(rows) == 60 and rows.dtype == np.int32
        assert len(np.unique(rows)) == tree.tree_.n_samples[0]
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(again.estimators_samples_[1], samples[1])
    whole = maker(2, bootstrap=False, min_samples_split=2).fit(X, Y)
    np.testing.assert_array_equal(whole.estimators_samples_[1], np.arange(60))


def test_rows_cannot_be_drawn_again_from_a_file(tmp_path):
    hb.RandomForestClassifier(2, min_samples_split=2).fit(X, Y).save(tmp_path / "forest")
    with pytest.raises(AttributeError, match="comes from a model file"):
        _ = hb.load(tmp_path / "forest").estimators_samples_


def test_outputs_of_equally_many_classes_are_stacked_out_of_the_bag():
    forest = hb.RandomForestClassifier(20, oob_score=True, random_state=0, min_samples_split=2)
    both = np.column_stack([Y, 1 - Y])
    assert forest.fit(X, both).oob_decision_function_.shape == (60, 2, 2)
    uneven = np.column_stack([Y, np.arange(60) % 3])
    found = forest.fit(X, uneven).oob_decision_function_
    assert [block.shape for block in found] == [(60, 2), (60, 3)]


def test_trees_of_an_isolation_forest_tell_path_lengths():
    forest = hb.IsolationForest(n_estimators=7, random_state=0, verbose=0).fit(X)
    lengths = [tree.predict(X) for tree in forest.estimators_]
    np.testing.assert_allclose(np.mean(lengths, axis=0), forest.path_length(X))
    tree = forest.estimators_[0]
    path = tree.decision_path(X)
    assert path.shape == (60, tree.tree_.node_count)
    np.testing.assert_array_equal(path.toarray()[np.arange(60), tree.apply(X)], 1)

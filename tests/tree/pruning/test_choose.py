"""Choosing ccp_alpha: the same scores as cross-validating each alpha, and the rules of choice."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, cross_val_score

import hornbeam as hb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
NOISY = (X[:, 0] + 0.8 * RNG.normal(size=150) > 0).astype(int)


@pytest.mark.mission("T9")
@pytest.mark.quick
@pytest.mark.parametrize("tree", [hb.DecisionTreeClassifier, hb.DecisionTreeRegressor])
def test_scores_are_those_of_cross_validating_each_alpha(tree):
    choice = hb.choose_ccp_alpha(tree(), X, NOISY, cv=KFold(3), max_alphas=8)
    assert len(choice.ccp_alphas) == choice.scores.shape[1] <= 8
    for alpha, scores, leaves in zip(
        choice.ccp_alphas, choice.scores.T, choice.n_leaves, strict=True
    ):
        assert scores == pytest.approx(
            cross_val_score(tree(ccp_alpha=alpha), X, NOISY, cv=KFold(3))
        )
        assert tree(ccp_alpha=alpha).fit(X, NOISY).get_n_leaves() == leaves


@pytest.mark.mission("T9")
@pytest.mark.quick
def test_the_choice():
    tree = hb.DecisionTreeClassifier()
    best = hb.choose_ccp_alpha(tree, X, NOISY, cv=KFold(5))
    mean = best.mean_scores
    chosen = list(best.ccp_alphas).index(best.ccp_alpha)
    assert mean[chosen] == mean.max() and best.best_alpha == best.ccp_alpha
    assert (mean[chosen + 1 :] < mean.max()).all(), "of equal scores the smaller tree"
    rule = hb.choose_ccp_alpha(tree, X, NOISY, cv=KFold(5), one_standard_error=True)
    slack = rule.standard_errors[chosen]
    place = list(rule.ccp_alphas).index(rule.ccp_alpha)
    assert rule.best_alpha == best.best_alpha <= rule.ccp_alpha
    assert mean[place] >= mean.max() - slack - 1e-12
    assert (mean[place + 1 :] < mean.max() - slack).all()
    assert slack == pytest.approx(rule.scores[:, chosen].std(ddof=1) / np.sqrt(5))
    fitted = hb.DecisionTreeClassifier(ccp_alpha=rule.ccp_alpha).fit(X, NOISY)
    assert rule.estimator.digest() == fitted.digest()
    assert rule.estimator.get_params() == fitted.get_params()
    assert not hasattr(tree, "tree_") and tree.ccp_alpha == 0.0


@pytest.mark.mission("T9")
@pytest.mark.quick
def test_tables_weights_and_scoring():
    table = pd.DataFrame({"n": X[:, 0], "c": np.where(X[:, 1] > 0, "a", "b")})
    weight = np.where(NOISY == 1, 2.0, 1.0)
    choice = hb.choose_ccp_alpha(
        hb.DecisionTreeClassifier(), table, NOISY, weight, cv=3, scoring="neg_log_loss"
    )
    assert choice.scores.shape[0] == 3 and (choice.scores <= 0).all()
    assert choice.estimator.tree_.weight[0] == weight.sum()


@pytest.mark.quick
def test_a_number_of_folds_keeps_the_shares_of_the_classes_and_is_always_the_same():
    rare = np.sort((np.arange(150) < 15).astype(int))  # in order, and 15 of the last class
    tree = hb.DecisionTreeClassifier()
    choices = [hb.choose_ccp_alpha(tree, X, rare, cv=5, scoring=_count_rare) for _ in range(2)]
    assert np.array_equal(choices[0].scores, choices[1].scores)
    assert (choices[0].scores == 3).all()


def _count_rare(model, X_test, y_test):
    return float(np.sum(y_test))


@pytest.mark.quick
def test_folds_respect_groups_and_time():
    """A column with the number of the group gives the answer to whoever has seen the group."""
    group = np.arange(150) // 5
    answer = np.random.default_rng(3).integers(2, size=30)[group]
    table = group[:, None].astype(float)
    tree = hb.DecisionTreeClassifier()
    leaking = hb.choose_ccp_alpha(tree, table, answer)
    assert leaking.mean_scores[0] == 1.0
    kept_apart = hb.choose_ccp_alpha(tree, table, answer, groups=group)
    assert kept_apart.mean_scores[0] < 0.75
    seen: list = []

    def note(model, X_test, y_test):
        seen.append((model, X_test[:, 0]))
        return 0.0

    hb.choose_ccp_alpha(tree, table, answer, time=group, cv=3, scoring=note)
    for model, held in seen:
        cuts = model.tree_.threshold[model.tree_.feature == 0]
        assert (cuts < held.min()).all()  # nothing was learnt of what came later
    with pytest.raises(ValueError, match="whose group is also among the rows"):
        hb.choose_ccp_alpha(tree, table, answer, groups=np.arange(150) % 2, cv=KFold(3))
    with pytest.raises(ValueError, match="need as many groups, but there are 3"):
        hb.choose_ccp_alpha(tree, table, answer, groups=np.arange(150) % 3)


@pytest.mark.quick
def test_the_drawing():
    mpl.use("Agg")
    choice = hb.choose_ccp_alpha(hb.DecisionTreeClassifier(), X, NOISY, cv=3, max_alphas=5)
    axes = choice.plot()
    assert axes.get_xlabel() == "ccp_alpha"
    assert any(f"{choice.ccp_alpha:.4g}" in text.get_text() for text in axes.get_legend().texts)


@pytest.mark.quick
def test_what_cannot_be_chosen():
    with pytest.raises(ValueError, match="max_alphas is 1"):
        hb.choose_ccp_alpha(hb.DecisionTreeClassifier(), X, NOISY, max_alphas=1)
    with pytest.raises(TypeError, match="has no parameter ccp_alpha"):
        hb.choose_ccp_alpha(hb.GradientBoostingClassifier(), X, NOISY)

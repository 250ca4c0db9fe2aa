"""What an unknown name may have meant: the right parameter, or no hint at all."""

from __future__ import annotations

import inspect

import pytest

import hornbeam as hb
from hornbeam import hints

ESTIMATORS = [
    thing for name in hb.__all__
    if inspect.isclass(thing := getattr(hb, name)) and not issubclass(thing, Exception)
]  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize(
    ("maker", "theirs", "words"),
    [
        (hb.GradientBoostingRegressor, "alpha", "`quantile` with loss='quantile'.*`reg_alpha`"),
        (hb.GradientBoostingRegressor, "max_features", "'colsample_bynode'. It is a share"),
        (hb.GradientBoostingRegressor, "gamma", "'min_split_gain'. Give half of it"),
        (hb.GradientBoostingClassifier, "min_samples_split", "`min_samples_leaf` bounds"),
        (hb.GradientBoostingClassifier, "scale_pos_weight", "'class_weight'. Give {0: 1, 1: "),
        (hb.GradientBoostingClassifier, "grow_policy", "'growth'. 'depthwise' is 'level'"),
        (hb.GradientBoostingRanker, "monotonic_constraints", "'monotonic_cst'"),
        (hb.RandomForestRegressor, "colsample_bynode", "'max_features'"),
        (hb.RandomForestClassifier, "subsample", "'max_samples'"),
        (hb.RandomForestClassifier, "n_estimator", "'n_estimators'"),
        (hb.RandomForestClassifier, "alpha", "; it has n_estimators, "),
        (hb.DecisionTreeClassifier, "num_leaves", "'max_leaf_nodes'. None means"),
        (hb.DecisionTreeClassifier, "learning_rate", "; it has criterion, "),
    ],
)
def test_what_was_meant(maker: type, theirs: str, words: str) -> None:
    with pytest.raises(TypeError, match=f"has no parameter '{theirs}'.*{words}"):
        maker(**{theirs: 1})


@pytest.mark.quick
def test_hints_name_parameters_that_there_are() -> None:
    known = {name for maker in ESTIMATORS for name in inspect.signature(maker).parameters}
    named = {ours.name for several in hints.OTHER_NAMES.values() for ours in several}
    assert named <= known
    boosting = inspect.signature(hb.GradientBoostingClassifier).parameters
    assert not set(hints.NOT_IN_BOOSTING) & set(boosting)
    assert not set(hints.NOT_IN_BOOSTING) & set(hints.OTHER_NAMES)


@pytest.mark.quick
def test_a_name_of_another_library_gets_no_near_miss() -> None:
    """`max_features` is nothing like `categorical_features`, however close the letters are."""
    for theirs in hints.OTHER_NAMES:
        words = hints.unknown_parameter("Own", ["first", theirs + "s"], theirs)
        assert "did you mean" not in words or hints.OTHER_NAMES[theirs][0].name == theirs + "s"

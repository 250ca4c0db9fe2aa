"""When to stop early: what ``early_stopping`` and ``n_iter_no_change`` say together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.stopping import patience_of

MAKERS = [
    (hb.GradientBoostingRegressor, 10),
    (hb.GradientBoostingClassifier, 10),
    (hb.GradientBoostingRanker, 10),
    (hb.RandomForestRegressor, 5),
    (hb.ExtraTreesClassifier, 5),
    (hb.AdaBoostRegressor, 20),
    (hb.AdaBoostClassifier, 20),
]


@pytest.mark.quick
@pytest.mark.parametrize(("maker", "usual"), MAKERS)
def test_a_number_of_rounds_switches_it_on(maker: Any, usual: int) -> None:
    cases: list[tuple[dict[str, Any], int | None]] = [
        ({}, None),
        ({"n_iter_no_change": 3}, 3),
        ({"early_stopping": True}, usual),
        ({"early_stopping": True, "n_iter_no_change": 3}, 3),
        ({"early_stopping": False, "n_iter_no_change": 3}, None),
    ]
    for params, expected in cases:
        assert patience_of(maker(**params), usual) == expected


@pytest.mark.parametrize(
    "maker", [hb.GradientBoostingRegressor, hb.RandomForestRegressor, hb.AdaBoostRegressor]
)
def test_a_fit_stops_by_a_number_alone(maker: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=200)
    model = maker(n_estimators=300, n_iter_no_change=3, random_state=0)
    rounds = lambda fitted: getattr(fitted, "n_iter_", None) or len(fitted.estimators_)  # noqa: E731
    stopped = rounds(model.fit(X, y))
    assert stopped < 300
    assert rounds(model.set_params(early_stopping=True).fit(X, y)) == stopped


@pytest.mark.parametrize(("maker", "usual"), MAKERS)
def test_values_that_mean_nothing(maker: Any, usual: int) -> None:
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    for params in ({"early_stopping": "yes"}, {"n_iter_no_change": 0}, {"n_iter_no_change": 0.5}):
        with pytest.raises(ValueError, match=f"The '{next(iter(params))}' parameter of"):
            maker(**params).fit(X, y, **({"group": [3]} if "Ranker" in maker.__name__ else {}))

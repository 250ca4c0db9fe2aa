"""Random legal parameters of any estimator, out of what it declares that they may be."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, Options, StrOptions

import hornbeam as hb
from benchmarks.digest_cases import own_impurity, own_log_loss, own_loss, own_spread
from benchmarks.digest_tables import Random, Settings
from hornbeam.params import constraints_of

SMALL = {
    "n_estimators": 5,
    "n_iter_no_change": 3,
    "max_samples": 500,
    "max_features": 300,
}  # a few of these are as good as many
FIXED: Settings = {"verbose": 0}
HUGE = (1_000, 2**31, 10**12)
OWN = {
    "DecisionTreeClassifier": {"criterion": own_impurity},
    "DecisionTreeRegressor": {"criterion": own_spread},
    "GradientBoostingRegressor": {"loss": own_loss},
    "GradientBoostingClassifier": {"loss": own_log_loss},
}
LOSSES = {
    "GradientBoostingRegressor": hb.losses.names("regression"),
    "GradientBoostingClassifier": ["log_loss", "log_loss_k1", "exponential"],
}


def random_settings(rng: Random, name: str) -> Settings:
    """A few parameters that are not as usual."""
    declared = constraints_of(getattr(hb, name))
    settings: Settings = {key: value for key, value in FIXED.items() if key in declared}
    if "random_state" in declared:
        settings["random_state"] = int(rng.integers(1000))
    if "n_estimators" in declared:
        settings["n_estimators"] = int(rng.integers(1, 1 + SMALL["n_estimators"]))
    others = [key for key in declared if key not in (*settings, "warm_start")]
    share = rng.choice([0.0, 0.1, 0.3])
    for key in others:
        if rng.random() < share:
            value = _random_value(rng, name, key, declared[key])
            if value is not ...:
                settings[key] = value
    if name in OWN and rng.random() < 0.03:
        settings |= OWN[name]
    return settings


def _random_value(rng: Random, name: str, key: str, constraints: list[Any]) -> Any:
    """A value that one of the constraints allows; ... where none of them says what to write."""
    if key == "loss":
        return str(rng.choice(LOSSES[name])) if name in LOSSES else ...
    if key == "class_weight":
        return "balanced"
    if key == "estimator":
        return _member(rng, name)
    if key == "quantile":
        return [0.5, 0.01, [0.1, 0.9], [0.2, 0.5, 0.8]][rng.integers(4)]
    constraint = constraints[rng.integers(len(constraints))]
    if isinstance(constraint, Interval):
        return _number(rng, constraint, SMALL.get(key), name.startswith("Bagging"))
    if isinstance(constraint, (StrOptions, Options)):
        return sorted(constraint.options)[rng.integers(len(constraint.options))]
    if constraint == "boolean":
        return bool(rng.integers(2))
    return None if constraint is None else ...


def _number(rng: Random, interval: Interval, most: int | None, is_bagging: bool) -> Any:
    """A number within the limits, at times at or near one of them, at times huge."""
    low, high = interval.left, interval.right
    if interval.type is Integral:
        if low is None:
            return int(high) - int(rng.integers(2))
        if is_bagging and rng.random() < 0.1:
            return HUGE[2]  # which must be refused
        top = most or (HUGE[rng.integers(3)] if rng.random() < 0.1 else low + 30)
        drawn = low + int((top - low) * rng.random() ** 2)
        return int(drawn if high is None else min(drawn, high))
    left = 0.0 if low is None else float(low)
    right = float(high) if high is not None else float(rng.choice([left + 1.0, 10.0, 1e6]))
    value = left + (right - left) * rng.random() ** 2
    if rng.random() < 0.1:
        value = left if interval.closed in ("left", "both") else np.nextafter(left, right)
    elif rng.random() < 0.1:
        value = right if interval.closed in ("right", "both") else np.nextafter(right, left)
    return float(value)


def _member(rng: Random, name: str) -> Any:
    """What to bag: something small of the same sort."""
    end = "Classifier" if name.endswith("Classifier") else "Regressor"
    kinds = ["DecisionTree", "GradientBoosting", "ExtraTrees"]
    if end == "Classifier":
        kinds.append("C45")
    kind = f"{rng.choice(kinds)}{end}"
    few = {} if kind[0] in "DC" else {"n_estimators": 2, "verbose": 0}
    return getattr(hb, kind)(**few)

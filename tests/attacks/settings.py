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
from tests.attacks.estimators import (
    ADAPTERS,
    class_of,
    few_of,
    is_adapter,
    random_member,
    random_members,
)

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
    if is_adapter(name):
        return _random_adapter(rng, name)
    declared = constraints_of(class_of(name))
    settings: Settings = {key: value for key, value in FIXED.items() if key in declared}
    if "random_state" in declared:
        settings["random_state"] = int(rng.integers(1000))
    if "n_estimators" in declared:
        settings["n_estimators"] = int(rng.integers(1, 1 + SMALL["n_estimators"]))
    if "estimators" in declared:
        settings["estimators"] = random_members(rng, name)
    others = [key for key in declared if key not in (*settings, "warm_start", "prefit")]
    share = rng.choice([0.0, 0.1, 0.3])
    for key in others:
        if rng.random() < share:
            value = _random_value(rng, name, key, declared[key])
            if value is not ...:
                settings[key] = value
    if name in OWN and rng.random() < 0.03:
        settings |= OWN[name]
    return settings


def _random_adapter(rng: Random, name: str) -> Settings:
    """A few parameters of another library."""
    start = next(start for start in ADAPTERS if name.startswith(start))
    settings = {**few_of(name), "random_state": int(rng.integers(1000))}
    share = rng.choice([0.0, 0.1, 0.3])
    for key, values in ADAPTERS[start].items():
        if rng.random() < share and key in class_of(name)._get_param_names():
            settings[key] = values[rng.integers(len(values))]
    return settings


def _random_value(rng: Random, name: str, key: str, constraints: list[Any]) -> Any:
    """A value that one of the constraints allows; ... where none of them says what to write."""
    if key == "loss":
        return str(rng.choice(LOSSES[name])) if name in LOSSES else ...
    if key == "class_weight":
        return "balanced"
    if key == "estimator":
        return random_member(rng, name)
    if key == "final_estimator":
        return [None, "greedy", random_member(rng, name)][rng.integers(3)]
    if key == "cv":
        return int(rng.integers(2, 5))
    if key == "weights":
        return "held_out"
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

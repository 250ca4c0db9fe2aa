"""The parameters that only bagging has, declared as in `hornbeam.params`."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from hornbeam.params import COUNT, PARAMETERS, Parameter

# What the published kinds of bagging draw, where nothing else is said.
KINDS: dict[str, dict[str, Any]] = {
    # Breiman 1996: as many rows as there are, with replacement
    "bagging": {
        "max_samples": 1.0,
        "max_features": 1.0,
        "bootstrap": True,
        "bootstrap_features": False,
    },
    # Breiman 1999: some of the rows
    "pasting": {
        "max_samples": 0.5,
        "max_features": 1.0,
        "bootstrap": False,
        "bootstrap_features": False,
    },
    # Ho 1998: half of the columns
    "subspaces": {
        "max_samples": 1.0,
        "max_features": 0.5,
        "bootstrap": False,
        "bootstrap_features": False,
    },
    # Louppe and Geurts 2012: some of both
    "patches": {
        "max_samples": 0.5,
        "max_features": 0.5,
        "bootstrap": False,
        "bootstrap_features": False,
    },
}
_SHARE = Interval(RealNotInt, 0.0, 1.0, closed="right")

PARAMETERS.update(
    {
        "bagging_estimator": Parameter(
            "estimator or None",
            "What is fitted many times; None: hornbeam's decision tree.",
            [HasMethods(["fit", "predict"]), None],
        ),
        "bagging_members": Parameter("int", "How many times it is fitted.", [COUNT]),
        "bagging_kind": Parameter(
            "{'bagging', 'pasting', 'subspaces', 'patches'}",
            "What the next four parameters are where they are None: as many rows as there are, "
            "with replacement; half of the rows; half of the columns; half of both.",
            [StrOptions(set(KINDS))],
        ),
        "bagging_samples": Parameter(
            "int, float or None",
            "Rows of a sample; a float is a share of all rows.",
            [COUNT, _SHARE, None],
        ),
        "bagging_features": Parameter(
            "int, float or None",
            "Columns of a sample; a float is a share of all columns.",
            [COUNT, _SHARE, None],
        ),
        "bagging_bootstrap": Parameter(
            "bool or None", "Draw rows with replacement.", ["boolean", None]
        ),
        "bagging_bootstrap_features": Parameter(
            "bool or None", "Draw columns with replacement.", ["boolean", None]
        ),
        "bagging_voting": Parameter(
            "{'soft', 'hard'}",
            "Average the probabilities of the members (where they have any), or count votes.",
            [StrOptions({"soft", "hard"})],
        ),
        "bagging_oob": Parameter(
            "bool or function",
            "Predict every row by the members that have not seen it, and score that; a function "
            "``f(y, predicted)`` is the score.",
            ["boolean", callable],
        ),
        "bagging_warm_start": Parameter(
            "bool",
            "Keep the members of the last `fit` and add some up to `n_estimators`; the same as "
            "fitting them all at once.",
            ["boolean"],
        ),
        "bagging_jobs": Parameter(
            "int or None",
            "Members that are fitted at a time, each on one thread; None: one at a time, on as "
            "many threads as it likes, -1: one per core. The result does not depend on it.",
            [Interval(Integral, None, -1, closed="right"), COUNT, None],
        ),
        "bagging_random_state": Parameter(
            "int, RandomState instance or None",
            "Seed of the samples and of the members.",
            ["random_state"],
        ),
        "bagging_verbose": Parameter(
            "int or None",
            "1: show a progress bar; 0: never; None: on a terminal, when it takes long.",
            [Interval(Integral, 0, None, closed="left"), None],
        ),
    }
)

"""The parameters that only AdaBoost has, declared as in `hornbeam.params`."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from hornbeam.params import COUNT, PARAMETERS, Parameter
from hornbeam.stopping import patience_parameter, stopping_parameter

USUAL_PATIENCE = 20

PARAMETERS.update(
    {
        "adaboost_classifier": Parameter(
            "estimator or None",
            "What is fitted in each round; None: hornbeam's stump, "
            "`DecisionTreeClassifier(max_depth=1)`. It must take `sample_weight`.",
            [HasMethods(["fit", "predict"]), None],
        ),
        "adaboost_regressor": Parameter(
            "estimator or None",
            "What is fitted in each round; None: `hornbeam.DecisionTreeRegressor(max_depth=3)`.",
            [HasMethods(["fit", "predict"]), None],
        ),
        "adaboost_rounds": Parameter("int", "Rounds, if boosting does not end before.", [COUNT]),
        "adaboost_rate": Parameter(
            "float",
            "What the weights of members are multiplied with; less needs more rounds.",
            [Interval(Real, 0.0, None, closed="neither")],
        ),
        "adaboost_algorithm": Parameter(
            "{'SAMME', 'SAMME.R'}",
            "Boost by what members predict, or by their probabilities (docs/adaboost.md has the "
            "limits of the latter). With two classes 'SAMME' is discrete AdaBoost.",
            [StrOptions({"SAMME", "SAMME.R"})],
        ),
        "adaboost_loss": Parameter(
            "{'linear', 'square', 'exponential'}",
            "How the relative errors of rows count.",
            [StrOptions({"linear", "square", "exponential"})],
        ),
        "adaboost_resample": Parameter(
            "bool",
            "Fit each member to rows drawn by their weights, as Drucker (1997) and scikit-learn "
            "do; False: to all rows with their weights, where nothing is left to chance.",
            ["boolean"],
        ),
        "adaboost_stopping": stopping_parameter(
            "Find out on held-out rows after how many rounds to stop; then boost so long on all "
            "rows."
        ),
        "adaboost_fraction": Parameter(
            "float",
            "Share of the rows (of each class) held out for early stopping and for `calibrate`.",
            [Interval(Real, 0.0, 1.0, closed="neither")],
        ),
        "adaboost_patience": patience_parameter(
            "Rounds without improvement after which early stopping stops.", USUAL_PATIENCE
        ),
        "adaboost_calibrate": Parameter(
            "bool",
            "Find out on held-out rows how much to trust the votes: one factor, which changes "
            "probabilities, but not which class is the most probable.",
            ["boolean"],
        ),
        "adaboost_jobs": Parameter(
            "int or None",
            "Threads for members that are hornbeam's trees; None: as many as pay, -1: all cores. "
            "The result does not depend on it. Other members have parameters of their own.",
            [Interval(Integral, None, -1, closed="right"), COUNT, None],
        ),
        "adaboost_random_state": Parameter(
            "int, RandomState instance or None",
            "Seed of the members, of the rows drawn for them, and of what is held out.",
            ["random_state"],
        ),
        "adaboost_verbose": Parameter(
            "int or None",
            "1: show a progress bar; 0: never; None: on a terminal, when it takes long.",
            [Interval(Integral, 0, None, closed="left"), None],
        ),
    }
)

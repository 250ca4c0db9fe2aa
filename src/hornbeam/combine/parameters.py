"""The parameters that voting, stacking and blending have, declared as in `hornbeam.params`."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from hornbeam.combine.outputs import METHODS
from hornbeam.params import COUNT, PARAMETERS, Parameter

HELD_OUT, GREEDY, PREFIT = "held_out", "greedy", "prefit"

PARAMETERS.update(
    {
        "named_estimators": Parameter(
            "list of (str, estimator)",
            "The members and their names; ``'drop'`` in place of an estimator leaves it out.",
            [list],
        ),
        "named_jobs": Parameter(
            "int or None",
            "Models that are fitted at a time, each on one thread; None: one at a time, on as "
            "many threads as it likes, -1: one per core. The result does not depend on it.",
            [Interval(Integral, None, -1, closed="right"), COUNT, None],
        ),
        "named_verbose": Parameter(
            "bool, int or None",
            "1: show a progress bar; 0: never; None: on a terminal, when it takes long.",
            ["boolean", Interval(Integral, 0, None, closed="left"), None],
        ),
        "named_random_state": Parameter(
            "int, RandomState instance or None",
            "Seed of the folds, and of the members whose own `random_state` is None.",
            ["random_state"],
        ),
        "named_cv": Parameter(
            "int, splitter, iterable or None",
            "Folds: how many (None: 5), a splitter of scikit-learn's kind, or pairs of row "
            "numbers.",
            ["cv_object"],
        ),
        "voting_voting": Parameter(
            "{'hard', 'soft'}",
            "Count votes, or average probabilities.",
            [StrOptions({"hard", "soft"})],
        ),
        "voting_weights": Parameter(
            "array-like, 'held_out' or None",
            "What the members count, in the order of `estimators`; 'held_out' finds it by "
            "greedy selection on what they predict for rows that they have not seen.",
            [StrOptions({HELD_OUT}), "array-like", None],
        ),
        "voting_flatten": Parameter(
            "bool",
            "Whether `transform` of soft votes has a column for each member and class, or an "
            "array of three dimensions.",
            ["boolean"],
        ),
        "voting_prefit": Parameter(
            "bool",
            "Take the members as they are, fitted. The rows of `fit` then only find weights, if "
            "they are 'held_out': the members must not have seen them.",
            ["boolean"],
        ),
        "stacking_final": Parameter(
            "estimator, 'greedy' or None",
            "What learns from the predictions of the members. 'greedy' selects members by their "
            "held-out predictions, again and again with replacement, and averages. None: 'greedy'.",
            [HasMethods(["fit", "predict"]), StrOptions({GREEDY}), None],
        ),
        "stacking_cv": Parameter(
            "int, splitter, iterable, 'prefit' or None",
            "Folds: how many (None: 5), a splitter of scikit-learn's kind, or pairs of row "
            "numbers. 'prefit' takes the members as they are, fitted; they must not have seen the "
            "rows of `fit`.",
            ["cv_object", StrOptions({PREFIT})],
        ),
        "stacking_method": Parameter(
            "{'auto', 'predict_proba', 'decision_function', 'predict'}",
            "What members are asked; 'auto': the first of these that they have (with 'greedy' "
            "no decision function).",
            [StrOptions({"auto", *METHODS})],
        ),
        "stacking_passthrough": Parameter(
            "bool",
            "Whether the final estimator sees the table as well.",
            ["boolean"],
        ),
        "stacking_refit": Parameter(
            "{'fold_mean', 'refit'}",
            "Predict new rows by each member fitted once more on all rows ('refit'), or by the "
            "mean of the models of all folds, which saves one fit of each.",
            [StrOptions({"fold_mean", "refit"})],
        ),
        "blending_refit": Parameter(
            "bool",
            "Whether members are fitted once more, on all rows, to predict new ones.",
            ["boolean"],
        ),
        "blending_fraction": Parameter(
            "float",
            "Share of the rows (of each class, of the groups, or the latest) that members do not "
            "see, and that the final estimator learns from.",
            [Interval(Real, 0.0, 1.0, closed="neither")],
        ),
    }
)

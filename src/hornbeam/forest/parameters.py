"""The parameters that only forests have, declared as in `hornbeam.params`."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from hornbeam.params import COUNT, PARAMETERS, Parameter
from hornbeam.stopping import patience_parameter, stopping_parameter

USUAL_PATIENCE = 5

PARAMETERS.update(
    {
        "forest_trees": Parameter("int", "Number of trees.", [COUNT]),
        "forest_split_size": Parameter(
            "int, float or 'auto'",
            "Rows a node needs to be split; a float is a share of all rows. 'auto': 2, or 10, 20, "
            "50 or 100 where a few trees of half of the rows show that the others are predicted "
            "better so (see docs/forest.md).",
            [
                Interval(Integral, 2, None, closed="left"),
                Interval(RealNotInt, 0.0, 1.0, closed="right"),
                StrOptions({"auto"}),
            ],
        ),
        "forest_features": Parameter(
            "int, float, {'auto', 'sqrt', 'log2'} or None",
            "Features drawn at each node; a float is a share, None means all. Features that are "
            "constant in the node do not count. 'auto': 0.7, in extra trees 0.9, or all where a "
            "few trees of half of the rows show that the others are predicted much better so "
            "(see docs/forest.md).",
            [
                COUNT,
                Interval(RealNotInt, 0.0, 1.0, closed="right"),
                StrOptions({"auto", "sqrt", "log2"}),
                None,
            ],
        ),
        "forest_bootstrap": Parameter(
            "bool",
            "Draw the rows of each tree with replacement; False: each tree gets all rows.",
            ["boolean"],
        ),
        "forest_oob_score": Parameter(
            "bool or function",
            "Score the forest on the rows that each tree has not seen; a function "
            "score(y, prediction) instead of the accuracy or R2.",
            ["boolean", callable],
        ),
        "forest_samples": Parameter(
            "int, float or None",
            "Rows drawn for each tree with ``bootstrap=True``; a float is a share (above 1: more "
            "rows than there are), None means as many as there are.",
            [COUNT, Interval(RealNotInt, 0.0, None, closed="neither"), None],
        ),
        "forest_class_weight": Parameter(
            "dict, list of dict, 'balanced', 'balanced_subsample' or None",
            "Weight of each class, multiplied with the sample weights; 'balanced_subsample' "
            "balances the rows drawn for each tree.",
            [dict, list, StrOptions({"balanced", "balanced_subsample"}), None],
        ),
        "forest_voting": Parameter(
            "{'soft', 'hard'}",
            "Average the class shares of the leaves, or count each tree's most probable class "
            "(Breiman).",
            [StrOptions({"soft", "hard"})],
        ),
        "constant_features": Parameter(
            "{'skip', 'count'}",
            "Whether a drawn feature that is constant in the node is replaced by another one, or "
            "counts towards `max_features` as in scikit-learn.",
            [StrOptions({"skip", "count"})],
        ),
        "forest_category_split": Parameter(
            "{'auto', 'cautious', 'random', 'subset', 'one_vs_rest'}",
            "Part the categories into the best two sets, or one against the others. 'cautious' "
            "is 'subset', but where the categories of a node differ no more than chance makes "
            "them, the best two sets would be learnt by heart: they are cut in a random order "
            "there. 'random' does that everywhere. 'auto' is 'cautious', unless the trial of "
            "``max_features='auto'`` has found that few features are needed together and "
            "'random' is better then.",
            [StrOptions({"auto", "cautious", "random", "subset", "one_vs_rest"})],
        ),
        "forest_stopping": stopping_parameter(
            "Stop adding trees when the score on the rows out of the bag no longer gets better; "
            "`n_estimators` is the most there can be."
        ),
        "forest_patience": patience_parameter(
            "How many times in a row ten more trees may fail to raise the score by `tol`.",
            USUAL_PATIENCE,
        ),
        "forest_tol": Parameter(
            "float",
            "Where forests stop early: the smallest improvement of the score that counts.",
            [Interval(Real, 0.0, None, closed="left")],
        ),
        "leaf_samples": Parameter(
            "bool",
            "Keep which training rows are in which leaf, for `predict_quantiles` and "
            "`predict_interval`.",
            ["boolean"],
        ),
        "forest_calibrate": Parameter(
            "bool",
            "Let quantiles and intervals hold for new rows, by the rows out of the bag; with "
            "``bootstrap=False`` by 5 to 10 more fits, each without some of the rows. Needs "
            "``leaf_samples=True``.",
            ["boolean"],
        ),
        "forest_verbose": Parameter(
            "int or None",
            "1: show a progress bar; 0: never; None: on a terminal, when it takes long.",
            [Interval(Integral, 0, None, closed="left"), None],
        ),
        "forest_warm_start": Parameter(
            "bool",
            "Whether another fit keeps the trees and adds those that `n_estimators` asks for.",
            ["boolean"],
        ),
        "sparse_output": Parameter(
            "bool", "Return a sparse matrix instead of an array.", ["boolean"]
        ),
    }
)

# Which of these declarations a parameter of a forest has.
FOREST_NAMES = {
    "n_estimators": "forest_trees",
    "bootstrap": "forest_bootstrap",
    "oob_score": "forest_oob_score",
    "max_samples": "forest_samples",
    "category_split": "forest_category_split",
    "voting": "forest_voting",
    "early_stopping": "forest_stopping",
    "n_iter_no_change": "forest_patience",
    "tol": "forest_tol",
    "calibrate": "forest_calibrate",
    "verbose": "forest_verbose",
    "warm_start": "forest_warm_start",
}

"""The parameters that only boosting has, declared as in `hornbeam.params`."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, Options, RealNotInt, StrOptions

from hornbeam.boosting.defaults import GROWTHS
from hornbeam.boosting.sampling import SAMPLINGS
from hornbeam.dtypes import MAX_BINS
from hornbeam.kernels.frontier import list_orders
from hornbeam.losses import OwnLoss, list_names
from hornbeam.params import COUNT, PARAMETERS, Parameter
from hornbeam.stopping import patience_parameter, stopping_parameter

_AUTO = StrOptions({"auto"})
_SHARE = Interval(Real, 0.0, 1.0, closed="right")
USUAL_PATIENCE = 10

PARAMETERS.update(
    {
        "regression_loss": Parameter(
            "str, function or OwnLoss",
            f"What is minimised: {list_names('regression')}, or your own: a function "
            "value(y, score) or an `hb.losses.OwnLoss`.",
            [str, callable, OwnLoss],
        ),
        "classification_loss": Parameter(
            "str, function or OwnLoss",
            f"What is minimised: {list_names('classification')}, or your own for two classes.",
            [str, callable, OwnLoss],
        ),
        "ranking_loss": Parameter(
            "str", "What is minimised: 'lambdamart' (NDCG).", [StrOptions({"lambdamart"})]
        ),
        "quantile": Parameter(
            "float or list of floats",
            "Which quantile ``loss='quantile'`` predicts; several are predicted by one model and "
            "never cross. Of new rows fewer lie between two of them than the numbers say, unless "
            "``calibrate=True``.",
            [Interval(Real, 0.0, 1.0, closed="neither"), "array-like"],
        ),
        "calibrate": Parameter(
            "bool",
            "Move the quantiles of ``loss='quantile'`` to where they hold for new rows. Models of "
            "the other rows predict each fold of the rows, which takes 5 to 10 more fits (fewer "
            "from 20,000 rows on); the model that is kept learns from all.",
            ["boolean"],
        ),
        "huber_quantile": Parameter(
            "float",
            "Share of the targets that ``loss='huber'`` treats with squares.",
            [Interval(Real, 0.0, 1.0, closed="neither")],
        ),
        "tweedie_power": Parameter(
            "float",
            "Power of ``loss='tweedie'``: between 1 (Poisson) and 2 (gamma).",
            [Interval(Real, 1.0, 2.0, closed="both")],
        ),
        "booster": Parameter(
            "{'trees', 'linear'}",
            "What each round adds: a tree, or a step of a linear model with the penalties "
            "`reg_lambda` and `reg_alpha` (coordinate descent); parameters of trees are not read "
            "then.",
            [StrOptions({"trees", "linear"})],
        ),
        "n_estimators": Parameter("int", "Rounds of boosting.", [COUNT]),
        "learning_rate": Parameter(
            "float, 'auto', list of floats or function",
            "Share of each tree's step that is taken (shrinkage). 'auto': 0.06 to 0.2, as a trial "
            "on half of the rows (at most 20,000) suggests; 0.1 with fewer than 100 rows, for "
            "ranking, and where rounds are dropped. A list holds one for each of `n_estimators` "
            "rounds, a function returns that of the round it is given, counted from 0.",
            [Interval(Real, 0.0, None, closed="neither"), _AUTO, "array-like", callable],
        ),
        "boosting_leaves": Parameter(
            "int or None",
            "Most leaves of a tree; None: no limit.",
            [Interval(Integral, 2, None, closed="left"), None],
        ),
        "boosting_depth": Parameter(
            "int, None or 'auto'",
            "Longest path from the root; None: no limit. 'auto': 4 (regression: 7; more than two "
            "classes of 1,500 rows together: 5) if there are fewer than 5,000 rows and 1,500 per "
            "class, at most 400 features, and at most 31 leaves are allowed; else no limit. Of "
            "symmetric trees: 4 (more than two classes: 5) for classes of fewer than 5,000 rows "
            "and at most 400 features, else 6.",
            [COUNT, None, _AUTO],
        ),
        "boosting_samples_leaf": Parameter(
            "int, float or 'auto'",
            "Fewest rows in a leaf; a float is a share of all rows. 'auto': 5, but not more than "
            "one row in eight.",
            [COUNT, Interval(RealNotInt, 0.0, 1.0, closed="neither"), _AUTO],
        ),
        "min_child_weight": Parameter(
            "float",
            "Smallest sum of hessians in a leaf.",
            [Interval(Real, 0.0, None, closed="left")],
        ),
        "min_split_gain": Parameter(
            "float",
            "Gamma: how much a split must lower the objective.",
            [Interval(Real, 0.0, None, closed="left")],
        ),
        "reg_lambda": Parameter(
            "float or 'auto'",
            "L2 penalty on leaf weights: w = -G / (H + lambda). 'auto': 1, times the share of "
            "their first sum that the hessians of all rows still have.",
            [Interval(Real, 0.0, None, closed="left"), _AUTO],
        ),
        "reg_alpha": Parameter(
            "float", "L1 penalty on leaf weights.", [Interval(Real, 0.0, None, closed="left")]
        ),
        "max_delta_step": Parameter(
            "float",
            "Largest leaf weight before shrinkage; 0: no limit.",
            [Interval(Real, 0.0, None, closed="left")],
        ),
        "boosting_growth": Parameter(
            f"{{{', '.join(map(repr, ('auto', *GROWTHS)))}}}",
            f"Which node is split next: {list_orders()}. 'symmetric': all nodes of a level at "
            "once, by one question, which the trees of all classes share. 'alternate': symmetric "
            "trees in every second round. 'auto': "
            "'alternate' for classes of fewer than 5,000 rows, if no feature has more than 64 "
            "categories and the trial of the learning rate does not speak against it; else 'leaf'.",
            [StrOptions({"auto", *GROWTHS})],
        ),
        "order": Parameter(
            "{2, 1}",
            "2: Newton steps; 1: gradient steps with a line search per leaf (Friedman).",
            [Options(Integral, {1, 2})],
        ),
        "subsample": Parameter(
            "float",
            "Share of the rows drawn for each tree, without replacement.",
            [_SHARE],
        ),
        "sampling": Parameter(
            f"{{{', '.join(map(repr, SAMPLINGS))}}}",
            "How rows are drawn for each tree. 'uniform': ``subsample`` of them, all alike. 'goss' "
            "(gradient-based one-side sampling): ``top_rate`` of all rows, those with the largest "
            "gradients, and ``other_rate`` of all rows from the rest, which weigh (1 - top_rate) / "
            "other_rate. 'mvs' (minimal variance sampling): ``subsample`` of them, with "
            "probabilities that go with the length of gradient and hessian, and weights of one "
            "over these.",
            [StrOptions(set(SAMPLINGS))],
        ),
        "top_rate": Parameter(
            "float",
            "Share of the rows that ``sampling='goss'`` takes for the size of their gradients "
            "(times hessians).",
            [Interval(Real, 0.0, 1.0, closed="left")],
        ),
        "other_rate": Parameter(
            "float",
            "Share of the rows that ``sampling='goss'`` draws from the others.",
            [_SHARE],
        ),
        "colsample_bytree": Parameter(
            "float", "Share of the features drawn for each tree.", [_SHARE]
        ),
        "colsample_bylevel": Parameter(
            "float", "Share of the tree's features drawn for each level.", [_SHARE]
        ),
        "colsample_bynode": Parameter(
            "float or 'auto'",
            "Share of the level's features drawn for each node. 'auto': 0.4 if there are fewer "
            "than 5,000 rows and at least 6 features, unless a trial finds 1 better; else 1.",
            [_SHARE, _AUTO],
        ),
        "feature_weights": Parameter(
            "array-like or dict or None",
            "How likely each feature is drawn where features are (``colsample_*`` below 1), in "
            "proportion; a dict names some, the others have 1. Features of weight 0 are never "
            "asked.",
            ["array-like", dict, None],
        ),
        "boosting_bins": Parameter(
            "int", "Bins per feature.", [Interval(Integral, 2, MAX_BINS, closed="both")]
        ),
        "boosting_split": Parameter(
            "{'histogram', 'exact', 'approximate'}",
            "Where numbers may be cut. 'histogram': between bins, which are made once. 'exact': "
            "between any two values, along sorted lists of the rows. 'approximate': at candidates "
            "between which little of the hessian lies, see ``candidates`` and ``eps``.",
            [StrOptions({"histogram", "exact", "approximate"})],
        ),
        "candidates": Parameter(
            "{'global', 'local'}",
            "Of ``split='approximate'``: proposed for each tree, or for each node anew.",
            [StrOptions({"global", "local"})],
        ),
        "eps": Parameter(
            "float",
            "Of ``split='approximate'``: share of the hessian that may lie between two candidates, "
            "so that there are about 1 / eps.",
            [Interval(Real, 0.0, 1.0, closed="neither")],
        ),
        "bundle_features": Parameter(
            "bool",
            "Count features together that hardly ever differ from their most frequent value, and "
            "never two of them in the same row (exclusive feature bundling). The model stays the "
            "same.",
            ["boolean"],
        ),
        "max_conflict_rate": Parameter(
            "float",
            "Share of the rows in which features that are bundled may differ together, which is "
            "seen of one of them only: more features can be bundled, and the model is another one.",
            [Interval(Real, 0.0, 1.0, closed="left")],
        ),
        "category_smooth": Parameter(
            "float or 'auto'",
            "Hessian added to each category's before categories are sorted by gradient; those that "
            "seem to have fewer rows are not sorted. 'auto': 20, but not more than one row in 500.",
            [Interval(Real, 0.0, None, closed="left"), _AUTO],
        ),
        "category_l2": Parameter(
            "float",
            "L2 penalty added where a split parts sorted categories.",
            [Interval(Real, 0.0, None, closed="left")],
        ),
        "category_limit": Parameter(
            "int or None",
            "Most categories on the smaller side of a split of sorted categories; None: any "
            "number.",
            [Interval(Integral, 1, None, closed="left"), None],
        ),
        "category_rows": Parameter(
            "int",
            "Rows that must seem to lie between two cuts of sorted categories, and behind the last "
            "one.",
            [Interval(Integral, 0, None, closed="left")],
        ),
        "interaction_constraints": Parameter(
            "list of lists or None",
            "Groups of features, by name or position: the features on a way from the root to a "
            "leaf must all be in one group. Features in no group are one more group.",
            ["array-like", None],
        ),
        "drop_rate": Parameter(
            "float",
            "DART: probability that an earlier round is left out while the next is learnt.",
            [Interval(Real, 0.0, 1.0, closed="both")],
        ),
        "skip_drop": Parameter(
            "float",
            "DART: probability that a round drops nothing.",
            [Interval(Real, 0.0, 1.0, closed="both")],
        ),
        "early_stopping": stopping_parameter(
            "Stop when the loss on validation rows does not improve, and keep the best model."
        ),
        "validation_fraction": Parameter(
            "float",
            "Share of the rows (of each class, but never all of it) held out for early stopping, "
            "unless `fit` is given others.",
            [Interval(Real, 0.0, 1.0, closed="neither")],
        ),
        "n_iter_no_change": patience_parameter(
            "Rounds without improvement after which early stopping stops.", USUAL_PATIENCE
        ),
        "tol": Parameter(
            "float",
            "Least improvement of the validation loss that counts, as a share of it.",
            [Interval(Real, 0.0, None, closed="left")],
        ),
        "scoring": Parameter(
            "str, function, None or list",
            "What is watched on validation rows besides the loss: names of scikit-learn's scorers, "
            "functions ``score(estimator, X, y)``, or None for the estimator's own `score`. Early "
            "stopping goes by the first one.",
            [str, callable, list, tuple, None],
        ),
        "ranking_scoring": Parameter(
            "'loss', function or list",
            "What is watched on validation rows besides 1 - NDCG: functions ``score(estimator, X, "
            "y, group)``, which get the rows query by query, and how many each has. Early "
            "stopping goes by the first one.",
            [StrOptions({"loss"}), callable, list, tuple],
        ),
        "warm_start": Parameter(
            "bool",
            "Keep the trees of the last `fit` and add rounds up to `n_estimators`; the same as "
            "boosting them all at once.",
            ["boolean"],
        ),
        "verbose": Parameter(
            "int or None",
            "1: show a progress bar; 0: never; None: on a terminal, when it takes long; a larger "
            "number: print a line after every so many rounds.",
            [Interval(Integral, 0, None, closed="left"), None],
        ),
        "query": Parameter(
            "str, int or None",
            "Column of X that holds the query of each row; it is not learnt from.",
            [str, Integral, None],
        ),
    }
)

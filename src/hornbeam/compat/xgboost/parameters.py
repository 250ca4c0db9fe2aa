"""What the parameters of XGBoost's estimators mean here."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hornbeam.compat.translation import (
    Known,
    Ours,
    Row,
    Translation,
    absent,
    apart,
    chosen,
    converted,
    refuse,
    unneeded,
)

_OWN_LOSS = (
    "a loss of your own is a function of one row: hb.GradientBoosting*(loss=function) with "
    "function(y, score), as docs/boosting.md shows."
)
_RANDOM_FOREST = "take hornbeam.RandomForestClassifier or RandomForestRegressor."

# Other names that XGBoost itself takes for its parameters.
ALIASES = {
    "eta": "learning_rate",
    "min_split_loss": "gamma",
    "lambda": "reg_lambda",
    "alpha": "reg_alpha",
    "seed": "random_state",
    "nthread": "n_jobs",
    "num_boost_round": "n_estimators",
}

REGRESSION = {
    "reg:squarederror": "squared_error",
    "reg:absoluteerror": "absolute_error",
    "reg:quantileerror": "quantile",
    "reg:gamma": "gamma",
    "reg:tweedie": "tweedie",
    "count:poisson": "poisson",
}
CLASSIFICATION = {
    "binary:logistic": "log_loss",
    "multi:softprob": "log_loss",
    "multi:softmax": "log_loss",
    None: "log_loss",
}
RANKING = {"rank:ndcg": "lambdamart"}


def softmax_ratio(known: Known) -> float:
    """By how much hessians of several classes are larger in XGBoost: 2 p (1 - p).

    Here they are K / (K - 1) p (1 - p). A larger hessian is a smaller step, and all that is
    compared with hessians is smaller.
    """
    n_classes = known.get("n_classes", 2)
    return 2.0 * (n_classes - 1) / n_classes if n_classes > 2 else 1.0


def or_usual(theirs: str, ours: str, usual: Any, says: str = "") -> Row:
    """A parameter whose None is XGBoost's default."""
    says = says or (f"`{ours}`" if theirs != ours else "the same")
    return converted(
        theirs, f"{says}; None: {usual}", ours, lambda v, known: usual if v is None else v
    )


def scaled(theirs: str, ours: str, usual: float, says: str, by: Callable[[Known], float]) -> Row:
    """A number whose None is XGBoost's default, and which counts on another scale."""
    return converted(
        theirs,
        f"`{ours}`{says}; None: {usual}",
        ours,
        lambda v, known: (usual if v is None else float(v)) * by(known),
    )


def no_limit(theirs: str, ours: str, usual: int | None) -> Row:
    """A number that 0 switches off."""
    return converted(
        theirs,
        f"`{ours}`; 0: no limit; None: {usual if usual else 'no limit'}",
        ours,
        lambda v, known: (usual if v is None else int(v)) or None,
    )


def _written(value: Any) -> Any:
    """What a text says in Python's notation, as XGBoost takes some parameters."""
    return ast.literal_eval(value) if isinstance(value, str) else value


def _directions(value: Any, known: Known) -> Any:
    value = _written(value)
    return value if value is None or isinstance(value, dict) else [int(v) for v in value]


def _groups(value: Any, known: Known) -> Any:
    value = _written(value)
    return None if value is None else [list(group) for group in value]


def _categories(value: Any, known: Known) -> Any:
    if value is None:
        return "from_dtype"
    return [place for place, kind in enumerate(value) if kind == "c"]


def _missing(value: Any, known: Known) -> Ours:
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return {}
    raise refuse(
        "missing", f"replace it by NaN first: X = np.where(X == {value!r}, np.nan, X).", value,
        known,
    )  # fmt: skip


def _class_weight(value: Any, known: Known) -> Any:
    if value is None or value == 1 or len(known["classes"]) != 2:
        return None
    return dict(zip(known["classes"], (1.0, float(value)), strict=True))


def _seed(value: Any, known: Known) -> Any:
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**31 - 1))
    return 0 if value is None else value


def is_linear(known: Known) -> bool:
    """Whether a linear model is asked for, whose penalties are per weight of the rows there."""
    return bool(known["booster"] == "gblinear")


def _rate(value: Any, known: Known) -> float:
    if is_linear(known):
        return 0.5 if value is None else float(value)
    return (0.3 if value is None else float(value)) / softmax_ratio(known)


def _lambda(value: Any, known: Known) -> float:
    if is_linear(known):
        return (0.0 if value is None else float(value)) * float(known.get("weight", 1.0))
    return (1.0 if value is None else float(value)) / softmax_ratio(known)


def _alpha(value: Any, known: Known) -> float:
    times = float(known.get("weight", 1.0)) if is_linear(known) else 1.0
    return (0.0 if value is None else float(value)) * times


def _largest_step(value: Any, known: Known) -> float:
    usual = 0.7 if known["objective"] == "count:poisson" and not is_linear(known) else 0.0
    return (usual if value is None else float(value)) * softmax_ratio(known)


def _dart(theirs: str, usual: float) -> Row:
    ours = {"rate_drop": "drop_rate", "skip_drop": "skip_drop"}[theirs]
    return converted(
        theirs,
        f"`{ours}` with `booster='dart'`; None: {usual}",
        ours,
        lambda v, known: (usual if v is None else v) if known["booster"] == "dart" else usual,
    )


_SPLITS = {
    None: "histogram", "auto": "histogram", "hist": "histogram", "exact": "exact",
    "approx": "approximate",
}  # fmt: skip


def _tree_method() -> Row:
    """Their way to find splits; 'approx' has as many candidates as they have bins."""
    row = chosen("tree_method", "split", _SPLITS, "take tree_method='hist'.")

    def to(value: Any, known: Known) -> Ours:
        ours = row.to(value, known)
        bins = known["max_bin"] or 256
        return ours | ({"eps": 1.0 / bins} if value == "approx" else {})

    return Row("tree_method", f"{row.says} `'approx'`: `eps` is one over `max_bin`", to)


def _sampling(value: Any, known: Known) -> Ours:
    if value not in (None, "uniform", "gradient_based"):
        raise refuse("sampling_method", "choose 'uniform' or 'gradient_based'.", value, known)
    draws = value == "gradient_based" and known["subsample"] not in (None, 1)
    return {"sampling": "mvs" if draws else "uniform"}


# The parameters that the three share, in the order of XGBoost's page.
_SHARED: tuple[Row, ...] = (
    or_usual("n_estimators", "n_estimators", 100),
    no_limit("max_depth", "max_depth", 6),
    no_limit("max_leaves", "max_leaf_nodes", None),
    converted(
        "max_bin", "`max_bins`, at most 255; None: 255", "max_bins",
        lambda v, known: 255 if v is None else min(int(v), 255),
    ),
    chosen("grow_policy", "growth", {None: "level", "depthwise": "level", "lossguide": "leaf"},
        "choose one of these."),
    converted("learning_rate", "the same (of several classes K / (2 (K - 1)) of it); None: 0.3, "
        "with `booster='gblinear'` 0.5", "learning_rate", _rate),
    unneeded("verbosity", "warnings are Python's, and progress is what fit(verbose=) shows"),
    chosen("booster", "booster", {None: "trees", "gbtree": "trees", "dart": "trees",
        "gblinear": "linear"}, "choose one of these."),
    _dart("rate_drop", 0.0),
    _dart("skip_drop", 0.0),
    _tree_method(),
    converted("n_jobs", "the same; 0: all cores", "n_jobs", lambda v, known: v or None),
    scaled("gamma", "min_split_gain", 0.0, ", half of it, since gains have the 1/2 of the "
        "objective here", lambda known: 0.5 * softmax_ratio(known)),
    scaled("min_child_weight", "min_child_weight", 1.0, "",
        lambda known: 1.0 / softmax_ratio(known)),
    converted("max_delta_step", "the same; None: 0, of Poisson 0.7", "max_delta_step",
        _largest_step),
    or_usual("subsample", "subsample", 1.0),
    Row("sampling_method", "`sampling` (`None`, `'uniform'`, and `'gradient_based'`, which is "
        "`'mvs'`, whose lambda follows from the slopes); else an error", _sampling),
    or_usual("colsample_bytree", "colsample_bytree", 1.0),
    or_usual("colsample_bylevel", "colsample_bylevel", 1.0),
    or_usual("colsample_bynode", "colsample_bynode", 1.0),
    converted("reg_alpha", "the same; None: 0. With `booster='gblinear'` times the weight of all "
        "rows, as there", "reg_alpha", _alpha),
    converted("reg_lambda", "the same; None: 1. With `booster='gblinear'` times the weight of all "
        "rows, as there, and None: 0", "reg_lambda", _lambda),
    absent("base_score", (None,), "pass start scores to fit, base_margin=np.full(len(y), score); "
        "without them boosting starts at the best constant."),
    converted("random_state", "the same; None: 0", "random_state", _seed),
    Row("missing", "NaN only; else an error: replace it by NaN first", _missing),
    absent("num_parallel_tree", (None, 1), _RANDOM_FOREST),
    converted("monotone_constraints", "`monotonic_cst`; text is read as Python", "monotonic_cst",
        _directions),
    converted("interaction_constraints", "the same; text is read as Python",
        "interaction_constraints", _groups),
    apart("importance_type", "the same: what `feature_importances_` counts; None: `'gain'`"),
    absent("device", (None, "cpu"), "the work is done by processor cores: device='cpu'."),
    unneeded("validate_parameters", "parameters are always checked"),
    unneeded("enable_categorical", "text, bools and categoricals are categories anyway"),
    converted("feature_types", "`categorical_features`: the columns of type `'c'`",
        "categorical_features", _categories),
    converted("feature_weights", "the same; those that are given to `fit` go first",
        "feature_weights", lambda v, known: v),
    absent("max_cat_to_onehot", (None,), "categories are parted into the best two sets."),
    absent("max_cat_threshold", (None,), "categories are parted into the best two sets."),
    absent("multi_strategy", (None, "one_output_per_tree"), "fit one model per output, with "
        "sklearn.multioutput.MultiOutputRegressor."),
    apart("eval_metric", "the same names, or functions `metric(y_true, y_pred)`"),
    apart("early_stopping_rounds", "the same; the rounds after the best one are dropped"),
    apart("callbacks", "the same: of `hornbeam.compat.xgboost.callback`, or your own"),
    unneeded("use_label_encoder", "classes may be of any type"),
    unneeded("predictor", "there is one"),
)  # fmt: skip
_ALIASES = tuple(apart(theirs, f"another name of `{ours}`") for theirs, ours in ALIASES.items())
_WEIGHT = converted(
    "scale_pos_weight", "`class_weight` of the second of two classes", "class_weight", _class_weight
)
_NO_WEIGHT = absent("scale_pos_weight", (None, 1), "pass sample_weight to fit.")

# What XGBoost does whatever is asked for.
_FIXED = {"order": 2, "min_samples_leaf": 1}

_FIT = {
    "X, y, sample_weight": "the same; classes may be of any type",
    "base_margin": "`init_score`",
    "eval_set": "rows to measure `eval_metric` on; they are called validation_0, validation_1, ...",
    "sample_weight_eval_set": "the same",
    "base_margin_eval_set": "None only; else an error",
    "verbose": "the same: True prints a line per round, a number one per so many, False none",
    "xgb_model": "a fitted estimator of the same class to go on from",
    "feature_weights": "the same",
}
_RANKER_FIT = {
    "group, qid": "the same; rows of a query need not be neighbours. A column `qid` of a "
    "data frame is taken, too",
    "eval_group, eval_qid": "the same",
}
_ATTRIBUTES = {
    "engine_": "the fitted estimator of ours, with all that it can do",
    "evals_result()": "the same",
    "best_iteration, best_score": "the same, with early stopping",
    "feature_importances_": "the same",
    "coef_, intercept_": "the same, with `booster='gblinear'`",
    "get_booster()": "the same few things that scripts ask of a booster: `get_score`, "
    "`feature_names`, `num_boosted_rounds()`, `num_features()`, `save_model`",
    "save_model(), load_model()": "hornbeam's own file, whatever it is called",
    "n_features_in_, feature_names_in_": "the same",
}
_CLASSES = {"classes_, n_classes_": "the same"}

REGRESSOR = Translation(
    "XGBoost",
    "XGBRegressor",
    "GradientBoostingRegressor",
    (
        chosen("objective", "loss", {None: "squared_error", **REGRESSION}, _OWN_LOSS),
        converted("quantile_alpha", "`quantile`; None: 0.5", "quantile",
            lambda v, known: 0.5 if v is None else v),
        or_usual("tweedie_variance_power", "tweedie_power", 1.5),
        *_SHARED, _NO_WEIGHT, *_ALIASES,
    ),
    _FIXED, _FIT, _ATTRIBUTES,
)  # fmt: skip
CLASSIFIER = Translation(
    "XGBoost",
    "XGBClassifier",
    "GradientBoostingClassifier",
    (chosen("objective", "loss", CLASSIFICATION, _OWN_LOSS), *_SHARED, _WEIGHT, *_ALIASES),
    _FIXED, _FIT, {**_ATTRIBUTES, **_CLASSES},
)  # fmt: skip
RANKER = Translation(
    "XGBoost",
    "XGBRanker",
    "GradientBoostingRanker",
    (
        chosen("objective", "loss", {None: "lambdamart", **RANKING},
            "take objective='rank:ndcg', which aims at NDCG."),
        *_SHARED, _NO_WEIGHT, *_ALIASES,
    ),
    _FIXED, {**_FIT, **_RANKER_FIT}, _ATTRIBUTES,
)  # fmt: skip

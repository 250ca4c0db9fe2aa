"""What the parameters of LightGBM's estimators mean here."""

from __future__ import annotations

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
    renamed,
    same,
    unneeded,
)

_OWN_LOSS = (
    "a loss of your own is a function of one row: hb.GradientBoosting*(loss=function) with "
    "function(y, score), as docs/boosting.md shows."
)

# Other names that LightGBM itself takes for its parameters, by the name of the constructor.
_NAMES = {
    "boosting_type": ("boosting", "boost"),
    "num_leaves": ("max_leaf", "num_leaf", "max_leaves", "max_leaf_nodes"),
    "learning_rate": ("eta", "shrinkage_rate"),
    "n_estimators": ("num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees",
        "num_round", "num_rounds", "nrounds", "num_boost_round", "max_iter"),
    "subsample_for_bin": ("bin_construct_sample_cnt",),
    "objective": ("objective_type", "app", "application", "loss"),
    "min_split_gain": ("min_gain_to_split",),
    "min_child_weight": ("min_sum_hessian_in_leaf", "min_sum_hessian_per_leaf",
        "min_sum_hessian", "min_hessian"),
    "min_child_samples": ("min_data_in_leaf", "min_data_per_leaf", "min_data",
        "min_samples_leaf"),
    "subsample": ("bagging_fraction", "sub_row", "bagging"),
    "subsample_freq": ("bagging_freq",),
    "colsample_bytree": ("feature_fraction", "sub_feature"),
    "colsample_bynode": ("feature_fraction_bynode", "sub_feature_bynode"),
    "reg_alpha": ("lambda_l1", "l1_regularization"),
    "reg_lambda": ("lambda_l2", "lambda", "l2_regularization"),
    "random_state": ("seed", "random_seed"),
    "n_jobs": ("num_threads", "num_thread", "nthread", "nthreads"),
    "max_bin": ("max_bins",),
    "monotone_constraints": ("mc", "monotone_constraint", "monotonic_cst"),
    "drop_rate": ("rate_drop",),
    "verbose": ("verbosity",),
    "metric": ("metrics", "metric_types"),
    "early_stopping_round": ("early_stopping_rounds", "early_stopping", "n_iter_no_change"),
    "is_unbalance": ("unbalance", "unbalanced_sets"),
    "max_delta_step": ("max_leaf_output", "max_tree_output"),
    "device_type": ("device",),
    "extra_trees": ("extra_tree",),
    "linear_tree": ("linear_trees",),
    "enable_bundle": ("is_enable_bundle", "bundle"),
    "num_class": ("num_classes",),
    "eval_at": ("ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at"),
    "monotone_constraints_method": ("monotone_constraining_method", "mc_method"),
    "histogram_pool_size": ("hist_pool_size",),
}  # fmt: skip
ALIASES = {other: name for name, others in _NAMES.items() for other in others}

_SQUARED = ("regression", "regression_l2", "l2", "mean_squared_error", "mse", "l2_root",
    "root_mean_squared_error", "rmse")  # fmt: skip
_ABSOLUTE = ("regression_l1", "l1", "mean_absolute_error", "mae")
REGRESSION: dict[str | None, str] = {
    None: "squared_error",
    **dict.fromkeys(_SQUARED, "squared_error"),
    **dict.fromkeys(_ABSOLUTE, "absolute_error"),
    **{name: name for name in ("poisson", "quantile", "gamma", "tweedie")},
}
_HUBER = (
    "LightGBM's huber parts errors at a distance: hb.GradientBoostingRegressor(loss='huber', "
    "huber_quantile=0.9) at a share of them. For others: " + _OWN_LOSS
)
CLASSIFICATION: dict[str | None, str] = dict.fromkeys(
    (None, "binary", "multiclass", "softmax"), "log_loss"
)
RANKING: dict[str | None, str] = dict.fromkeys((None, "lambdarank"), "lambdamart")


def _or(usual: Any) -> Any:
    return lambda value, known: usual if value is None else value


def _is_goss(known: Known) -> bool:
    return "goss" in (known["boosting_type"], known["data_sample_strategy"])


def _drawn(value: Any, known: Known) -> Any:
    return value if (known["subsample_freq"] or 0) > 0 and not _is_goss(known) else 1.0


def _sampling(value: Any, known: Known) -> Ours:
    if value not in (None, "bagging", "goss"):
        instead = "choose 'bagging' or 'goss'."
        raise refuse("data_sample_strategy", instead, value, known)
    return {"sampling": "goss" if _is_goss(known) else "uniform"}


def _class_weight(value: Any, known: Known) -> Any:
    """One of the three ways to weigh classes."""
    classes, counts = known.get("classes", []), known.get("counts", [])
    if value is not None or len(classes) != 2:
        return value
    if known["scale_pos_weight"] not in (None, 1):
        return {classes[0]: 1.0, classes[1]: float(known["scale_pos_weight"])}
    if not known["is_unbalance"]:
        return None
    return dict(zip(classes, (max(counts) / count for count in counts), strict=True))


def _groups(value: Any, known: Known) -> Any:
    return None if value is None else [list(group) for group in value]


def _seed(value: Any, known: Known) -> Any:
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**31 - 1))
    return 0 if value is None else value


def _only_dart(usual: float) -> Any:
    def convert(value: Any, known: Known) -> float:
        if known["boosting_type"] != "dart":
            return 0.0
        return usual if value is None else float(value)

    return convert


_SEEDS = ("bagging_seed", "feature_fraction_seed", "data_random_seed", "drop_seed",
    "extra_seed", "objective_seed")  # fmt: skip
_SHARED: tuple[Row, ...] = (
    absent("boosting_type", ("gbdt", "gbrt", "dart", "goss"), "for 'rf' take "
        "hornbeam.RandomForest*."),
    renamed("num_leaves", "max_leaf_nodes"),
    converted("max_depth", "the same; 0 and less: no limit", "max_depth",
        lambda value, known: value if value is not None and value > 0 else None),
    *same("learning_rate", "n_estimators"),
    unneeded("subsample_for_bin", "all rows are looked at"),
    converted("min_split_gain", "half of it, since gains have the 1/2 of the objective here",
        "min_split_gain", lambda value, known: 0.5 * value),
    *same("min_child_weight"),
    renamed("min_child_samples", "min_samples_leaf"),
    converted("subsample", "the same, if `subsample_freq` is not 0 and 'goss' does not draw rows",
        "subsample", _drawn),
    apart("subsample_freq", "0 switches `subsample` off, as in LightGBM; otherwise each tree draws "
        "its own rows"),
    *same("colsample_bytree", "reg_alpha", "reg_lambda"),
    converted("random_state", "the same; None: 0", "random_state", _seed),
    converted("n_jobs", "the same; 0: as many as pay", "n_jobs", lambda v, known: v or None),
    apart("importance_type", "the same: what `feature_importances_` counts"),
    converted("colsample_bynode", "the same; None: 1", "colsample_bynode", _or(1.0)),
    converted("max_bin", "`max_bins`, at most 255; None: 255", "max_bins",
        lambda value, known: 255 if value is None else min(int(value), 255)),
    converted("max_delta_step", "the same; 0 and less: no limit", "max_delta_step",
        lambda value, known: max(0.0, value or 0.0)),
    converted("enable_bundle", "`bundle_features`; None: True", "bundle_features",
        lambda value, known: value is None or bool(value)),
    converted("max_conflict_rate", "the same; None: 0", "max_conflict_rate", _or(0.0)),
    renamed("monotone_constraints", "monotonic_cst"),
    converted("interaction_constraints", "the same", "interaction_constraints", _groups),
    converted("drop_rate", "the same with `boosting_type='dart'`; None: 0.1", "drop_rate",
        _only_dart(0.1)),
    converted("skip_drop", "the same; None: 0.5", "skip_drop", _or(0.5)),
    absent("max_drop", (None, 50, -1), "set drop_rate to less."),
    unneeded("uniform_drop", "rounds are dropped evenly"),
    absent("xgboost_dart_mode", (None, False), "leave it away."),
    converted("cat_smooth", "`category_smooth`; None: 10", "category_smooth", _or(10.0)),
    converted("cat_l2", "`category_l2`; None: 10", "category_l2", _or(10.0)),
    absent("max_cat_to_onehot", (None, 4), "categories are parted into the best two sets."),
    absent("max_cat_threshold", (None, 32), "categories are parted into the best two sets."),
    absent("min_data_per_group", (None, 100), "set cat_smooth, which does the same for rare "
        "categories."),
    absent("min_data_in_bin", (None, 3), "set max_bin to less."),
    absent("extra_trees", (None, False), "take hornbeam.ExtraTrees*, or set subsample."),
    absent("linear_tree", (None, False), "leaves hold constants here."),
    absent("path_smooth", (None, 0, 0.0), "set reg_lambda or min_child_samples to more."),
    Row("data_sample_strategy", "`sampling` (`None`, `'bagging'` are `'uniform'`, `'goss'`, which "
        "is also `boosting_type='goss'`, draws from the first round on); else an error", _sampling),
    converted("top_rate", "the same; None: 0.2", "top_rate", _or(0.2)),
    converted("other_rate", "the same; None: 0.1", "other_rate", _or(0.1)),
    absent("boost_from_average", (None, True), "pass init_score to fit: np.zeros(len(y))."),
    absent("device_type", (None, "cpu"), "the work is done by processor cores."),
    absent("lambdarank_truncation_level", (None, 30), "pairs count down to place 30."),
    absent("label_gain", (None,), "gains are 2^relevance - 1."),
    apart("first_metric_only", "the same, for `early_stopping_round`"),
    apart("metric", "the same names as in `eval_metric` of fit, measured besides those"),
    apart("early_stopping_round", "the same; the rounds after the best one are dropped"),
    apart("eval_at", "the same: places for `ndcg` and `map`"),
    unneeded("verbose", "progress is what the callback log_evaluation prints"),
    unneeded("monotone_constraints_method", "there is one"),
    unneeded("num_class", "it is counted"),
    unneeded("deterministic", "models never depend on threads"),
    *(unneeded(name, "the trees are the same ones") for name in ("force_col_wise",
        "force_row_wise", "histogram_pool_size", "feature_pre_filter")),
    *(unneeded(name, "all draws follow from random_state") for name in _SEEDS),
)  # fmt: skip
_ALIASES = tuple(apart(other, f"another name of `{name}`") for other, name in ALIASES.items())
_NO_WEIGHTS = (
    absent("class_weight", (None,), "pass sample_weight to fit."),
    absent("is_unbalance", (None, False), "pass sample_weight to fit."),
    absent("scale_pos_weight", (None, 1, 1.0), "pass sample_weight to fit."),
)
_WEIGHTS = (
    converted("class_weight", "the same", "class_weight", _class_weight),
    apart("is_unbalance", "`class_weight`: classes weigh the same, the larger one as it is"),
    apart("scale_pos_weight", "`class_weight` of the second of two classes"),
)

# What LightGBM does whatever is asked for.
_FIXED = {"order": 2, "growth": "leaf"}

_FIT = {
    "X, y, sample_weight, init_score": "the same",
    "eval_set": "rows to measure `eval_metric` on; they are called valid_0, valid_1, ..., and "
    "those that are learnt from `training`",
    "eval_X, eval_y": "the same, as two tuples",
    "eval_names, eval_sample_weight": "the same",
    "eval_init_score": "None only; else an error",
    "eval_metric": "the same names, or functions `metric(y_true, y_pred)` that return "
    "(name, value, is_higher_better)",
    "feature_name": "`'auto'`, or what `feature_name_` says",
    "categorical_feature": "`'auto'`, or `categorical_features`",
    "callbacks": "`early_stopping`, `log_evaluation` and `record_evaluation` of "
    "`hornbeam.compat.lightgbm`, and your own functions of an env; those to be called before a "
    "round are an error",
    "init_model": "a fitted estimator of the same class to go on from",
}
_RANKER_FIT = {
    "group, eval_group": "the same",
    "eval_at": "the same: places for `ndcg` and `map`",
}
_ATTRIBUTES = {
    "engine_": "the fitted estimator of ours, with all that it can do",
    "evals_result_": "the same",
    "best_iteration_, best_score_": "the same",
    "n_iter_, n_estimators_": "rounds in the model",
    "feature_importances_": "the same: number of splits, or with `importance_type='gain'` their "
    "gain",
    "feature_name_, n_features_, n_features_in_, feature_names_in_": "the same",
    "objective_": "the same",
    "booster_": "the same few things that scripts ask of a booster: `feature_importance`, "
    "`feature_name`, `num_trees`, `current_iteration`, `num_feature`, `best_iteration`, `predict`, "
    "`save_model` (hornbeam's own file)",
}
_CLASSES = {"classes_, n_classes_": "the same"}

REGRESSOR = Translation(
    "LightGBM",
    "LGBMRegressor",
    "GradientBoostingRegressor",
    (
        chosen("objective", "loss", REGRESSION, _HUBER),
        converted("alpha", "`quantile` with `objective='quantile'`; None: 0.9", "quantile",
            _or(0.9)),
        converted("tweedie_variance_power", "`tweedie_power`; None: 1.5", "tweedie_power",
            _or(1.5)),
        *_SHARED, *_NO_WEIGHTS, *_ALIASES,
    ),
    _FIXED, _FIT, _ATTRIBUTES,
)  # fmt: skip
CLASSIFIER = Translation(
    "LightGBM",
    "LGBMClassifier",
    "GradientBoostingClassifier",
    (
        chosen("objective", "loss", CLASSIFICATION, "take 'binary' or 'multiclass', or None."),
        *_SHARED, *_WEIGHTS, *_ALIASES,
    ),
    _FIXED, {**_FIT, "eval_class_weight": "the same"}, {**_ATTRIBUTES, **_CLASSES},
)  # fmt: skip
RANKER = Translation(
    "LightGBM",
    "LGBMRanker",
    "GradientBoostingRanker",
    (
        chosen("objective", "loss", RANKING, "take objective='lambdarank'."),
        *_SHARED, *_NO_WEIGHTS, *_ALIASES,
    ),
    _FIXED, {**_FIT, **_RANKER_FIT}, _ATTRIBUTES,
)  # fmt: skip

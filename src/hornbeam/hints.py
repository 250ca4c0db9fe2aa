"""What other libraries call our parameters, and what an unknown name may have meant.

A hint must not lead to another model without a word: where a name means something else there,
or counts on another scale, it says so; a name that we have nothing for gets no near miss.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

_LIKELY_TYPO = 0.85
_OF_BOOSTING = "min_split_gain"  # no other estimator has it


class Ours(NamedTuple):
    """One of our parameters, and what is to be known by who is used to another name."""

    name: str
    note: str = ""


_LEAVES = Ours("max_leaf_nodes", "None means no limit.")
_GAIN = Ours("min_split_gain", "Give half of it: gains keep the 1/2 of the objective here.")
_SHARE_OF_ROWS = Ours("subsample", "It is the share of the rows for each tree.")
_SHARE_OF_NODE = Ours("colsample_bynode", "It is a share of the features.")
_PATIENCE = Ours("n_iter_no_change", "A number switches early stopping on.")
_DIRECTIONS = Ours("monotonic_cst")
_CATEGORIES = Ours("categorical_features")
_BALANCED = Ours("class_weight", "'balanced' gives each class the same weight.")
_DROP = Ours("drop_rate", "Above 0 it is DART.")

# Names of XGBoost, LightGBM, CatBoost and scikit-learn. Of several the first one that an
# estimator has counts, but where more than one is in question: `alpha`.
OTHER_NAMES: dict[str, tuple[Ours, ...]] = {
    "num_leaves": (_LEAVES,),
    "max_leaves": (_LEAVES,),
    "depth": (Ours("max_depth"),),
    "num_boost_round": (Ours("n_estimators"),),
    "num_iterations": (Ours("n_estimators"),),
    "num_round": (Ours("n_estimators"),),
    "iterations": (Ours("n_estimators"),),
    "max_iter": (Ours("n_estimators"),),
    "eta": (Ours("learning_rate"),),
    "shrinkage_rate": (Ours("learning_rate"),),
    "min_data_in_leaf": (Ours("min_samples_leaf"),),
    "min_child_samples": (Ours("min_samples_leaf"),),
    "min_sum_hessian_in_leaf": (Ours("min_child_weight"),),
    "gamma": (_GAIN,),
    "min_split_loss": (_GAIN,),
    "min_gain_to_split": (_GAIN,),
    "lambda_l1": (Ours("reg_alpha"),),
    "lambda_l2": (Ours("reg_lambda"),),
    "lambda": (Ours("reg_lambda"),),
    "l2_regularization": (Ours("reg_lambda"),),
    "l2_leaf_reg": (Ours("reg_lambda"),),
    "bagging_fraction": (_SHARE_OF_ROWS, Ours("max_samples")),
    "max_samples": (_SHARE_OF_ROWS,),
    "subsample": (Ours("max_samples", "It is the share of the rows for each tree."),),
    "feature_fraction": (Ours("colsample_bytree"),),
    "colsample": (Ours("colsample_bytree"),),
    "feature_fraction_bynode": (Ours("colsample_bynode"), Ours("max_features")),
    "max_features": (_SHARE_OF_NODE,),
    "rsm": (Ours("colsample_bylevel"),),
    "colsample_bynode": (Ours("max_features"),),
    "max_bin": (Ours("max_bins"),),
    "border_count": (Ours("max_bins"),),
    "monotone_constraints": (_DIRECTIONS,),
    "monotonic_constraints": (_DIRECTIONS,),
    "interaction_cst": (Ours("interaction_constraints"),),
    "grow_policy": (Ours("growth", "'depthwise' is 'level', and 'lossguide' is 'leaf'."),),
    "objective": (Ours("loss"),),
    "loss_function": (Ours("loss"),),
    "eval_metric": (Ours("scoring"),),
    "metric": (Ours("scoring"),),
    "early_stopping_rounds": (_PATIENCE,),
    "early_stopping_round": (_PATIENCE,),
    "seed": (Ours("random_state"),),
    "random_seed": (Ours("random_state"),),
    "nthread": (Ours("n_jobs"),),
    "num_threads": (Ours("n_jobs"),),
    "thread_count": (Ours("n_jobs"),),
    "categorical_feature": (_CATEGORIES,),
    "cat_features": (_CATEGORIES,),
    "cat_smooth": (Ours("category_smooth"),),
    "cat_l2": (Ours("category_l2"),),
    "max_cat_threshold": (Ours("category_limit"),),
    "min_data_per_group": (Ours("category_rows"),),
    "rate_drop": (_DROP,),
    "dropout_rate": (_DROP,),
    "verbosity": (Ours("verbose"),),
    "is_unbalance": (_BALANCED,),
    "auto_class_weights": (_BALANCED,),
    "class_weights": (Ours("class_weight"),),
    "scale_pos_weight": (Ours("class_weight", "Give {0: 1, 1: scale_pos_weight}."),),
    "tweedie_variance_power": (Ours("tweedie_power"),),
    "huber_slope": (Ours("huber_quantile", "It is a share of the targets, not a distance."),),
    "quantile_alpha": (Ours("quantile"),),
    "criterion": (Ours("loss", "Splits follow from the loss here."),),
    "base_estimator": (Ours("estimator"),),
}

# What has no parameter in boosting, though the name looks like one of ours.
NOT_IN_BOOSTING = {
    "alpha": "scikit-learn's alpha is `quantile` with loss='quantile' and `huber_quantile` with "
    "loss='huber'; XGBoost's is `reg_alpha`.",
    "min_samples_split": "`min_samples_leaf` bounds what a split leaves, and `min_split_gain` what "
    "it must bring.",
    "min_impurity_decrease": "`min_split_gain` is how much a split must lower the objective, "
    "which is not divided by the number of rows.",
    "min_weight_fraction_leaf": "`min_child_weight` bounds the hessians of a leaf.",
    "ccp_alpha": "Boosted trees are not pruned; `min_split_gain` keeps them small.",
    "init": "Pass start scores as `init_score` to fit.",
    "base_score": "Boosting starts at the best constant; pass other start scores as `init_score` "
    "to fit.",
    "importance_type": "Ask the fitted model: importances('gain') or importances('split').",
    "boosting_type": "'gbdt' is how it is; for 'dart' set `drop_rate`, for 'rf' take a random "
    "forest, for 'goss' set `sampling`.",
    "tree_method": "`split` says where numbers may be cut: 'histogram', 'exact' or 'approximate'.",
    "bootstrap": "`subsample` draws rows for each tree, without replacement.",
    "data_sample_strategy": "`sampling` is 'uniform', 'goss' or 'mvs'.",
    "sampling_method": "`sampling` is 'uniform', 'goss' or, for 'gradient_based', 'mvs'.",
    "bootstrap_type": "`sampling` is 'uniform', 'goss' or 'mvs'.",
    "subsample_freq": "`subsample` draws rows for every tree.",
    "bagging_freq": "`subsample` draws rows for every tree.",
    "device": "The work is done by processor cores; `n_jobs` says how many.",
    "enable_categorical": "Text, bools and categoricals are categories anyway; "
    "`categorical_features` names further columns.",
}


def unknown_parameter(owner: str, known: Iterable[str], name: str) -> str:
    """A sentence about a parameter that an estimator does not have."""
    names = list(known)
    start = f"{owner} has no parameter {name!r}"
    for ours in OTHER_NAMES.get(name, ()):
        if ours.name in names:
            return f"{start}: did you mean {ours.name!r}? {ours.note}".rstrip()
    if name in NOT_IN_BOOSTING and _OF_BOOSTING in names:
        return f"{start}. {NOT_IN_BOOSTING[name]}"
    close = () if name in OTHER_NAMES else difflib.get_close_matches(name, names, 1, _LIKELY_TYPO)
    if close:
        return f"{start}: did you mean {close[0]!r}?"
    return f"{start}; it has {', '.join(names)}."

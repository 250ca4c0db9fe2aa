"""The published algorithms as settings of the one engine."""

from __future__ import annotations

from typing import Any

# Friedman (2001): gradient steps, small trees grown to a number of leaves, no penalties.
# Chen and Guestrin (2016): Newton steps, level-wise, lambda 1; gains count half there too.
# Ke et al. (2017): Newton steps, leaf-wise.
# Prokhorenkova et al. (2018): oblivious trees, each level of which asks one question. Its ordered
# boosting and its statistics of categories are not among the settings here.
# What the papers leave open is as their libraries have it. docs/boosting.md has all of it in a
# table, setting by setting.
PRESETS: dict[str, dict[str, Any]] = {
    "friedman": {
        "learning_rate": 0.1,
        "order": 1,
        "growth": "leaf",
        "max_leaf_nodes": 8,
        "max_depth": None,
        "min_samples_leaf": 1,
        "min_child_weight": 0.0,
        "reg_lambda": 0.0,
        "colsample_bynode": 1.0,
    },
    "xgboost": {
        "order": 2,
        "growth": "level",
        "max_leaf_nodes": None,
        "max_depth": 6,
        "min_samples_leaf": 1,
        "min_child_weight": 1.0,
        "reg_lambda": 1.0,
        "colsample_bynode": 1.0,
        "learning_rate": 0.3,
    },
    "lightgbm": {
        "learning_rate": 0.1,
        "order": 2,
        "growth": "leaf",
        "max_leaf_nodes": 31,
        "max_depth": None,
        "min_samples_leaf": 20,
        "min_child_weight": 1e-3,
        "reg_lambda": 0.0,
        "colsample_bynode": 1.0,
    },
    "catboost": {
        "n_estimators": 1000,
        "learning_rate": 0.03,
        "order": 2,
        "growth": "symmetric",
        "max_leaf_nodes": None,
        "max_depth": 6,
        "min_samples_leaf": 1,
        "min_child_weight": 0.0,
        "reg_lambda": 3.0,
        "colsample_bynode": 1.0,
        "max_bins": 254,
    },
}


def preset_parameters(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a preset, with some of them changed."""
    if name not in PRESETS:
        raise ValueError(f"There is no preset {name!r}; there are {', '.join(map(repr, PRESETS))}.")
    return {**PRESETS[name], **changes}

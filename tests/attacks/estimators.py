"""Who is attacked: hornbeam's estimators by name, and its classes for scripts of other libraries.

A class of another library is named as ``xgboost.XGBClassifier``. The ensembles of anything have
small members here.
"""

from __future__ import annotations

import importlib
from typing import Any

import hornbeam as hb
from benchmarks.digest_tables import Random, Settings

FAMILIES = {
    "cart": (
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
    ),
    "forests": (
        "RandomForestClassifier",
        "RandomForestRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomTreesEmbedding",
    ),
    "boosting": (
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
        "GradientBoostingRanker",
    ),
    "quinlan": ("C45Classifier", "ID3Classifier"),
    "isolation": ("IsolationForest",),
    "bagging": ("BaggingClassifier", "BaggingRegressor"),
    "adaboost": ("AdaBoostClassifier", "AdaBoostRegressor"),
    "stacks": (
        "VotingClassifier",
        "VotingRegressor",
        "StackingClassifier",
        "StackingRegressor",
        "BlendingClassifier",
        "BlendingRegressor",
    ),
    "adapters": (
        "sklearn.GradientBoostingClassifier",
        "sklearn.GradientBoostingRegressor",
        "sklearn.HistGradientBoostingClassifier",
        "sklearn.HistGradientBoostingRegressor",
        "xgboost.XGBClassifier",
        "xgboost.XGBRegressor",
        "xgboost.XGBRanker",
        "lightgbm.LGBMClassifier",
        "lightgbm.LGBMRegressor",
        "lightgbm.LGBMRanker",
    ),
}
NAMES = tuple(name for family in FAMILIES.values() for name in family)

ADAPTERS: dict[str, dict[str, list[Any]]] = {
    "sklearn.G": {
        "learning_rate": [0.01, 0.5, 1.0],
        "max_depth": [None, 1, 5],
        "max_leaf_nodes": [None, 2, 9],
        "min_samples_leaf": [1, 7, 0.1],
        "min_samples_split": [2, 9, 0.5],
        "min_impurity_decrease": [0.0, 0.1],
        "max_features": [None, 1, "sqrt", 0.5],
        "subsample": [0.3, 1.0],
        "n_iter_no_change": [None, 1, 3],
        "ccp_alpha": [0.0],
    },
    "sklearn.H": {
        "learning_rate": [0.01, 0.5, 1.0],
        "max_depth": [None, 1, 5],
        "max_leaf_nodes": [None, 2, 9],
        "min_samples_leaf": [1, 7, 60],
        "l2_regularization": [0.0, 1e-3, 1e6],
        "max_features": [1.0, 0.3],
        "max_bins": [2, 17, 255],
        "early_stopping": [True, False],
        "categorical_features": [None, "from_dtype"],
    },
    "xgboost": {
        "learning_rate": [0.01, 0.5, 1.0],
        "max_depth": [0, 1, 5],
        "max_leaves": [0, 2, 9],
        "grow_policy": ["depthwise", "lossguide"],
        "gamma": [0.0, 0.5],
        "reg_alpha": [0.0, 0.5],
        "reg_lambda": [0.0, 1.0, 1e6],
        "min_child_weight": [0.0, 1.0, 9.0],
        "max_bin": [2, 17, 255],
        "subsample": [0.3, 1.0],
        "colsample_bytree": [0.3, 1.0],
        "colsample_bynode": [0.3, 1.0],
        "enable_categorical": [True],
        "max_delta_step": [0.0, 0.7],
    },
    "lightgbm": {
        "learning_rate": [0.01, 0.5, 1.0],
        "boosting_type": ["gbdt", "goss", "dart", "rf"],
        "max_depth": [-1, 1, 5],
        "num_leaves": [2, 9, 31],
        "min_split_gain": [0.0, 0.5],
        "reg_alpha": [0.0, 0.5],
        "reg_lambda": [0.0, 1.0, 1e6],
        "min_child_samples": [1, 20],
        "min_child_weight": [0.0, 1.0],
        "subsample": [0.3, 1.0],
        "subsample_freq": [0, 1],
        "colsample_bytree": [0.3, 1.0],
    },
}  # values to choose from: what another library allows is not declared by us


def class_of(name: str) -> Any:
    """The class of this name."""
    if "." not in name:
        return getattr(hb, name)
    library, own = name.split(".")
    return getattr(importlib.import_module(f"hornbeam.compat.{library}"), own)


def is_adapter(name: str) -> bool:
    """Whether it stands for a class of another library."""
    return "." in name


def few_of(name: str) -> Settings:
    """Settings that make a quick model that does not talk, and members for what needs them."""
    cls = class_of(name)
    few: Settings = {"n_estimators": 3, "max_iter": 3, "random_state": 0, "verbose": 0}
    if name.startswith("xgboost"):
        few["enable_categorical"] = True
    if name.startswith("lightgbm"):
        few |= {"verbosity": -1, "min_child_samples": 3}
    known = cls._get_param_names()
    few = {key: few[key] for key in few if key in known}
    if "estimators" in known:
        few["estimators"] = [("tree", member(name, "DecisionTree")), ("few", member(name, "B"))]
    if "final_estimator" in known:
        few["final_estimator"] = member(name, "DecisionTree")
    if "cv" in known:
        few["cv"] = 3
    return few


def member(name: str, kind: str) -> Any:
    """A small estimator of the sort that an ensemble of this name is made of."""
    end = "Classifier" if name.endswith("Classifier") else "Regressor"
    if kind == "C45":
        return hb.C45Classifier() if end == "Classifier" else hb.DecisionTreeRegressor()
    full = {"B": "GradientBoosting"}.get(kind, kind)
    few = {} if full == "DecisionTree" else {"n_estimators": 2, "verbose": 0}
    return getattr(hb, f"{full}{end}")(random_state=0, **few)


def random_member(rng: Random, name: str) -> Any:
    """One of them."""
    kinds = ("DecisionTree", "B", "ExtraTrees", "C45", "AdaBoost")
    return member(name, str(rng.choice(kinds)))


def random_members(rng: Random, name: str) -> list[Any]:
    """One to three of them with names; at times one is left out."""
    named: list[Any] = [(f"m{i}", random_member(rng, name)) for i in range(rng.integers(1, 4))]
    if rng.random() < 0.1:
        named.append(("out", "drop"))
    return named

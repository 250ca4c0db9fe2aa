"""Mutated model files and pickles: each must be refused in words, or be a model that answers.

A file that was damaged blindly must be refused or be the same model. One that was made with
care can be another model, which no check can tell from one that somebody has trained: it must
answer every question, be saved, and come back. Bounds are checked meanwhile.
"""

from __future__ import annotations

import copy
import pickle
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

import hornbeam as hb
from benchmarks.digest_tables import Table, made
from hornbeam.model.modelfile import load_model_bytes, model_bytes
from tests.attacks import bounds
from tests.attacks.estimators import class_of, few_of
from tests.attacks.guard import Attack, Failure, is_sentence, random_of
from tests.attacks.hostile import change_inside, damaged_file, hostile_file, object_places

ENVIRONMENT, SILENCE_SECONDS = bounds.ENVIRONMENT, bounds.SILENCE_SECONDS
MOST_BYTES: int | None = 8 * 2**30  # of memory, which no small file may ask for

MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tree": ("DecisionTreeClassifier", "mixed three", {"max_depth": 5}),
    "outputs": ("DecisionTreeRegressor", "numbers vector", {"max_depth": 4}),
    "forest": ("RandomForestClassifier", "mixed three", {"max_depth": 4, "oob_score": True}),
    "samples": ("RandomForestRegressor", "mixed real", {"leaf_samples": True, "max_depth": 4}),
    "embedding": ("RandomTreesEmbedding", "mixed", {}),
    "booster": ("GradientBoostingClassifier", "mixed three", {"max_leaf_nodes": 6}),
    "calibrated": (
        "GradientBoostingRegressor",
        "mixed real",
        {"loss": "quantile", "quantile": [0.1, 0.9], "calibrate": True, "max_leaf_nodes": 6},
    ),
    "codes": ("GradientBoostingRegressor", "mixed real", {"max_bins": 4, "max_leaf_nodes": 6}),
    "ranker": ("GradientBoostingRanker", "gaps grades", {"max_leaf_nodes": 6}),
    "isolation": ("IsolationForest", "mixed", {"max_samples": 32}),
    "planes": ("IsolationForest", "gaps", {"extension_level": 2, "max_samples": 32}),
    "c45": ("C45Classifier", "mixed three", {}),
    "id3": ("ID3Classifier", "words three", {"max_depth": 3}),
    "predictor": ("GradientBoostingRegressor", "mixed real", {"max_leaf_nodes": 6}),
    "bagging": ("BaggingClassifier", "mixed three", {}),
    "adaboost": ("AdaBoostClassifier", "mixed three", {"algorithm": "SAMME.R"}),
    "numbers": ("AdaBoostRegressor", "mixed real", {}),
    "voting": ("VotingClassifier", "gaps three", {"weights": [1.0, 2.0]}),
    "average": ("VotingRegressor", "gaps real", {}),
    "stacking": ("StackingClassifier", "gaps three", {"refit": "fold_mean"}),
    "greedy": ("StackingRegressor", "gaps real", {"final_estimator": "greedy"}),
    "blending": ("BlendingClassifier", "numbers three", {"passthrough": True}),
    "hist": ("sklearn.HistGradientBoostingClassifier", "gaps three", {}),
    "gradient": ("sklearn.GradientBoostingRegressor", "numbers real", {}),
    "xgboost": ("xgboost.XGBClassifier", "gaps three", {"n_estimators": 3}),
    "lightgbm": ("lightgbm.LGBMRegressor", "gaps real", {"n_estimators": 3}),
}
# These have no file of their own, only a pickle: adapters save their engine.
NOT_SAVED = ("predictor", "hist", "gradient", "xgboost", "lightgbm")
KINDS = tuple(
    f"{how} {name}"
    for how in ("damaged", "hostile", "pickled")
    for name in MODELS
    if how == "pickled" or name not in NOT_SAVED
)


@lru_cache(maxsize=1)
def _model(name: str) -> tuple[Any, Table]:
    estimator, spec, settings = MODELS[name]
    table = made(spec, n_group=10 if estimator.endswith("Ranker") else 0)
    model = class_of(estimator)(**{**few_of(estimator), **settings}).fit(
        table.X, table.y, **table.more
    )
    if name == "predictor":
        model, table = (
            model.predictor(),
            Table(_as_numbers(table.X), None, _as_numbers(table.strange)),
        )
    if MOST_BYTES is not None:
        import resource  # Windows has none

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    return model, table


def _as_numbers(X: Any) -> Any:
    """Rows for a predictor: categories by numbers, some of which it does not know."""
    return np.column_stack(
        [X[name] if X[name].dtype.kind == "f" else pd.factorize(X[name])[0] for name in X]
    ).astype(float)


def attack(attack: Attack, number: int) -> str:
    """Change a model from outside, and try to use it."""
    rng = random_of(attack, number)
    how, name = attack.kind.split()
    model, table = _model(name)
    if how == "pickled":
        forged = copy.deepcopy(model)
        for _ in range(1 + int(rng.integers(2))):
            change_inside(rng, vars(forged), object_places)
        try:
            data = pickle.dumps(forged)
        except Exception:
            return "not to be pickled"
        load, errors = pickle.loads, (ValueError, TypeError)
    else:
        change = damaged_file if how == "damaged" else hostile_file
        data = change(rng, model_bytes(model))
        load, errors = load_model_bytes, (hb.ModelFileError,)
    try:
        loaded = load(data)
    except Exception as error:
        if isinstance(error, errors) and is_sentence(error):
            return "refused"
        raise
    return _compared(loaded, model, table, how)


def _compared(loaded: Any, model: Any, table: Table, how: str) -> str:
    """The outcome for something that could be loaded."""
    if how != "pickled" and loaded.digest() == model.digest():
        return "the same"
    if how == "damaged":
        raise Failure("A damaged file is taken for another model.")
    for rows in (table.X, table.strange):
        try:
            loaded(rows) if callable(loaded) else bounds.ask(loaded, rows)
        except Exception as error:
            if not is_sentence(error):
                raise
            return "another, which says why it cannot answer"
    _described(loaded)
    if how == "hostile":
        again = load_model_bytes(model_bytes(loaded))
        if again.digest() != loaded.digest():
            raise Failure("A model that was loaded comes back as another one.")
    return "another that answers"


def _described(model: Any) -> None:
    """What reads a model besides prediction; sums of huge impurities may be infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        _describe(model)


def _describe(model: Any) -> None:
    if hasattr(model, "tree_"):
        hb.export_text(model)
        hb.export_rules(model)
    for attribute in ("feature_importances_", "estimators_", "trees_"):
        getattr(model, attribute, None)
    if hasattr(model, "digest"):
        model.digest()

"""The fits of `benchmarks.digests`: which estimator, on which table, with which settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import hornbeam as hb
from benchmarks import shared
from benchmarks.digest_tables import TARGETS, WEIGHTS, Settings, Table, made, of_shared
from hornbeam.boosting.presets import PRESETS

# Settings that every case has unless it says otherwise: few trees, and always the same.
USUAL: dict[str, Settings] = {
    "DecisionTree": {"random_state": 0},
    "RandomForest": {"random_state": 0, "n_estimators": 5},
    "ExtraTrees": {"random_state": 0, "n_estimators": 5},
    "RandomTreesEmbedding": {"random_state": 0, "n_estimators": 5},
    "IsolationForest": {"random_state": 0, "n_estimators": 8},
    "Bagging": {"random_state": 0, "n_estimators": 4},
    "GradientBoosting": {"random_state": 0, "n_estimators": 8},
}
TARGET_OF = {"Classifier": "three", "Regressor": "real", "Ranker": "grades"}  # if none is named


# --- what a user would write ---------------------------------------------------------------


def own_impurity(counts, weight):
    """Gini with the cubes of the shares."""
    impurity = 1.0
    for count in counts:
        impurity -= (count / weight) ** 3
    return impurity


def own_spread(weight, total, squares):
    """Variance, a little dearer in small nodes."""
    return (squares - total * total / weight) / (weight + 1.0)


def own_loss(y, score):
    """Squares, three times as dear where the score is too low."""
    return (3.0 if score < y else 1.0) * (y - score) ** 2


def own_log_loss(y, score):
    """Log loss of two classes, from its definition."""
    return np.log(1.0 + np.exp(score)) - y * score


# --- cases -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One fit: which estimator, on which table, with which settings."""

    estimator: str
    table: str  # words of a made table, or the name of a shared set
    settings: Settings = field(default_factory=dict)
    is_shared: bool = False

    @property
    def name(self) -> str:
        """All of it in one line, without spaces inside the settings."""
        said = [f"{key}={_short(value)}" for key, value in self.settings.items()]
        return " | ".join([self.estimator, self.table, " ".join(said)]).strip(" |")

    def read(self) -> Table:
        """The table to learn from."""
        if self.is_shared:
            return of_shared(self.table)
        wanted = next((TARGET_OF[end] for end in TARGET_OF if self.estimator.endswith(end)), "")
        named = any(word in TARGETS for word in self.table.split())
        return made(
            self.table if named else f"{self.table} {wanted}".strip(),
            n_group=10 if self.estimator.endswith("Ranker") else 0,
        )

    def model(self) -> Any:
        """The estimator, not yet fitted."""
        usual = next((USUAL[start] for start in USUAL if self.estimator.startswith(start)), {})
        return getattr(hb, self.estimator)(**{**usual, **self.settings})


def _short(value: Any) -> str:
    if hasattr(value, "get_params"):
        changed = [f"{k}={v}" for k, v in value.get_params().items() if k in ("max_depth", "loss")]
        return f"{type(value).__name__}({','.join(changed)})"
    return getattr(value, "__name__", str(value)).replace(" ", "")


def each(**options: Sequence[Any]) -> list[Settings]:
    """Every combination of the options."""
    return [dict(zip(options, chosen, strict=True)) for chosen in product(*options.values())]


def across(estimators: str, tables: str, settings: Sequence[Settings] = ({},)) -> Iterator[Case]:
    """Every one of the estimators on every one of the tables with all settings."""
    for estimator, table, chosen in product(estimators.split(), tables.split(", "), settings):
        yield Case(estimator, table, chosen)


# --- the list ----------------------------------------------------------------------------------

FINDERS = each(finder=("exact", "histogram"))
EXACT, HISTOGRAM = [FINDERS[0]], [FINDERS[1]]
THREADS = each(n_jobs=(1, 2))
CLASS_CRITERIA = ("gini", "entropy", "misclassification", own_impurity)
VALUE_CRITERIA = ("squared_error", "absolute_error", "friedman_mse", "poisson", own_spread)
GROWTHS = ("leaf", "level", "depth", "symmetric", "alternate")
RISING = [1, -1, 0, 0, 1, 0, 0, 0]  # of the columns of "numbers"
RISING_BY_NAME = {"size": 1, "age": -1}  # of "mixed"
GROUPS = [[0, 1, 2], [2, 3], [4, 5, 6, 7]]  # of "numbers"
ODD = "tiny2, tiny5, tiny20, block64, ties, constant, column, giant, wide"
LARGE = "large, large mixed, huge"
WEIGHTED = ", ".join(f"mixed {weights}" for weights in WEIGHTS)

TREE_SETTINGS: list[Settings] = [
    {"splitter": "random"},
    {"splitter": "random", "finder": "histogram"},
    {"max_depth": 4, "growth": "level"},
    {"max_leaf_nodes": 12},
    {"max_leaf_nodes": 12, "growth": "level"},  # raises
    {"max_depth": 6, "growth": "leaf", "finder": "histogram"},
    {"max_features": 0.5, "growth": "level", "finder": "histogram"},
    {"max_features": "sqrt"},
    {"max_features": 2, "finder": "histogram", "max_bins": 16},
    {"min_samples_leaf": 7, "min_samples_split": 0.05},
    {"min_weight_fraction_leaf": 0.03},
    {"min_impurity_decrease": 0.004},
    {"ccp_alpha": 0.004},
    {"pruning": "reduced_error"},
    {"category_split": "one_vs_rest", "unseen": "other"},
]
FOREST_SETTINGS: list[Settings] = [
    {"finder": "exact"},
    {"finder": "exact", "max_features": 0.5, "min_samples_split": 2},
    {"max_features": None, "constant_features": "count"},
    {"max_features": "log2", "max_leaf_nodes": 15},
    {"bootstrap": True, "oob_score": True, "max_samples": 0.6, "n_estimators": 12},
    {"bootstrap": False, "growth": "level", "max_depth": 6},
    {"min_weight_fraction_leaf": 0.02, "min_impurity_decrease": 0.001},
    {"ccp_alpha": 0.003, "max_bins": 20},
    {"warm_start": True},
]
FOREST_SUBSETS: list[Settings] = [
    {"category_split": "cautious"},
    {"category_split": "random"},
    {"category_split": "subset", "unseen": "other"},
    {"category_split": "one_vs_rest"},
]
BOOSTING_SETTINGS: list[Settings] = [
    {"order": 1, "max_depth": 3},
    {"max_leaf_nodes": None, "max_depth": 4, "min_samples_leaf": 3},
    {"reg_alpha": 0.5, "reg_lambda": 3.0, "min_split_gain": 0.05},
    {"max_delta_step": 0.3, "min_child_weight": 2.0, "max_bins": 30},
    {"subsample": 0.6, "learning_rate": 0.2},
    {"sampling": "goss", "learning_rate": 0.2},
    {"sampling": "mvs", "subsample": 0.4, "growth": "level"},
    {"colsample_bytree": 0.6, "colsample_bylevel": 0.7, "colsample_bynode": 0.8},
    {"growth": "symmetric", "subsample": 0.7, "colsample_bylevel": 0.5},
    {"drop_rate": 0.4, "skip_drop": 0.2},
    {"early_stopping": True, "n_iter_no_change": 2, "n_estimators": 20},
    {"warm_start": True},
    {"category_split": "one_vs_rest", "unseen": "other"},
    {"category_smooth": 1.0, "category_l2": 0.0, "growth": "level"},
]


def all_cases() -> Iterator[Case]:
    """Every fit; those on the shared sets come last, and only where these are at hand."""
    yield from _trees()
    yield from _forests()
    yield from _boosting()
    yield from _quinlan()
    yield from _isolation_and_bagging()
    for name in shared.names():
        yield from _of_shared(name)


def _trees() -> Iterator[Case]:
    tree, values = "DecisionTreeClassifier", "DecisionTreeRegressor"
    both, finders = f"{tree} {values}", ("exact", "histogram")
    classes = each(criterion=CLASS_CRITERIA, finder=finders)
    moments = each(criterion=VALUE_CRITERIA, finder=finders)
    yield from across(tree, "gaps, mixed", classes)
    yield from across(values, "gaps counts, mixed counts", moments)
    yield from across(tree, "mixed", TREE_SETTINGS)
    yield from across(values, "numbers", TREE_SETTINGS)
    yield from across(tree, f"{ODD}, thin csr, onehot", EXACT)
    yield from across(values, f"{ODD}, thin csr, onehot", HISTOGRAM)
    yield from across(tree, WEIGHTED, FINDERS)
    yield from across(values, WEIGHTED, HISTOGRAM)
    yield from across(tree, "mixed letters, numbers pair, streets two", FINDERS)
    yield from across(values, "numbers vector, streets, numbers vast", FINDERS)
    yield from across(tree, "wider, thin csc, mixed named, numbers float32, numbers fortran")
    yield from across(both, "large, large mixed", THREADS)
    yield from across(both, "huge", each(finder=["histogram"], n_jobs=(1, 2)))
    yield from across(tree, "mixed", [{"pruning": "pessimistic"}, {"unseen": "error"}])
    yield from across(tree, "mixed rare", each(class_weight=("balanced", {0: 5})))
    yield from across(tree, "mixed real-weights", [{"min_weight_fraction_leaf": 0.02}])
    yield from across(tree, "numbers two", each(monotonic_cst=[RISING], finder=finders))
    yield from across(values, "mixed", each(monotonic_cst=[RISING_BY_NAME], finder=finders))
    yield from across(values, "ties, mixed real-weights, large", each(criterion=["absolute_error"]))


def _forests() -> Iterator[Case]:
    forest, values = "RandomForestClassifier", "RandomForestRegressor"
    extra, extra_values = "ExtraTreesClassifier", "ExtraTreesRegressor"
    of_classes, of_values = f"{forest} {extra}", f"{values} {extra_values}"
    by_leaves = each(leaf_samples=[True], calibrate=(False, True))
    yield from across(f"{forest} {extra_values}", "mixed", FOREST_SETTINGS + FOREST_SUBSETS)
    yield from across(f"{values} {extra}", "gaps", FOREST_SETTINGS)
    yield from across(f"{extra} {extra_values}", "numbers, onehot", FINDERS)
    yield from across(f"{forest} {values}", "tiny2, tiny20, constant, thin csr, wide")
    yield from across(f"{extra} {extra_values}", "tiny5, column, ties, thin csc, streets")
    yield from across(f"{forest} {values}", "streets, mixed whole-weights, mixed zero-weights")
    yield from across(of_classes, "mixed letters, numbers pair, numbers two")
    yield from across(of_classes, "mixed rare", each(class_weight=("balanced", {1: 9})))
    yield from across(forest, "mixed rare", [{"class_weight": "balanced_subsample"}])
    yield from across(forest, "mixed", [{"voting": "hard", "max_depth": 4}])
    yield from across(of_classes, "gaps", each(criterion=CLASS_CRITERIA[1:]))
    yield from across(of_values, "mixed counts", each(criterion=VALUE_CRITERIA[1:]))
    yield from across(of_values, "numbers vector", FINDERS)
    yield from across(values, "mixed", by_leaves)
    yield from across(extra_values, "gaps", by_leaves)
    yield from across(forest, "numbers", [{"early_stopping": True, "n_estimators": 60}])
    yield from across(f"{forest} {values}", "numbers two", [{"monotonic_cst": RISING}])
    yield from across(f"{forest} {extra_values}", LARGE, THREADS)
    yield from across("RandomTreesEmbedding", "mixed, gaps, thin csr", FINDERS)


def _boosting() -> Iterator[Case]:
    boosted, values = "GradientBoostingClassifier", "GradientBoostingRegressor"
    ranker, both = "GradientBoostingRanker", f"{boosted} {values}"
    losses = (*hb.losses.names("regression"), own_loss)
    slow = each(loss=("absolute_error", "gamma", "sqrt_absolute"), order=[1])
    bands = each(loss=["quantile"], quantile=(0.2, [0.1, 0.9]), calibrate=(False, True))
    two = each(loss=("log_loss", "exponential", own_log_loss), order=(1, 2))
    yield from across(values, "mixed positive", each(loss=losses) + slow)
    yield from across(values, "gaps", [{"loss": "huber", "huber_quantile": 0.6}, *bands])
    yield from across(values, "gaps counts", each(loss=["tweedie"], tweedie_power=(1.0, 1.2)))
    yield from across(boosted, "mixed two", two)
    yield from across(boosted, "mixed", each(loss=("log_loss", "log_loss_k1"), order=(1, 2)))
    yield from across(both, "onehot", each(growth=GROWTHS))
    yield from across(boosted, "mixed two", each(growth=GROWTHS))
    yield from across(both, "mixed", BOOSTING_SETTINGS)
    yield from across(values, "mixed", list(PRESETS.values()))
    yield from across(boosted, ODD)
    yield from across(values, f"tiny2, tiny20, ties, {WEIGHTED}")
    yield from across(boosted, WEIGHTED.replace("mixed", "mixed two"))
    yield from across(boosted, "mixed letters, numbers named, streets two, wider two")
    yield from across(boosted, "mixed rare", [{"class_weight": "balanced"}])
    yield from across(values, "thin csr, thin csc, streets, numbers float32, numbers vast")
    yield from across(values, "numbers started, numbers real validated")
    yield from across(boosted, "numbers two started")
    yield from across(boosted, "numbers three validated", [{"early_stopping": True}])
    yield from across(values, "thin csr", [{"growth": "symmetric"}])
    yield from across(values, "numbers", each(monotonic_cst=[RISING], growth=GROWTHS))
    yield from across(boosted, "numbers", each(interaction_constraints=[GROUPS], growth=GROWTHS))
    yield from across(both, f"{LARGE}, large onehot", THREADS)
    yield from across(ranker, "numbers, mixed, gaps", each(growth=("leaf", "symmetric")))
    yield from across(ranker, "mixed", [{"early_stopping": True}, {"subsample": 0.7}])
    yield from across(ranker, "large", THREADS)


def _quinlan() -> Iterator[Case]:
    c45: list[Settings] = [
        {},
        {"grouping": True},
        {"pruning": None, "mdl_correction": False},
        {"raising": False, "confidence": 0.1, "min_samples_leaf": 5},
        {"class_weight": "balanced", "max_depth": 4},
    ]
    small: Settings = {"min_impurity_decrease": 0.01, "max_depth": 3}
    missing = each(missing=("category", "fractions"))
    yield from across("C45Classifier", "mixed, gaps", c45)
    yield from across("C45Classifier", "tiny2, tiny5, tiny20, ties, words letters, streets")
    yield from across("C45Classifier", WEIGHTED)
    yield from across("C45Classifier", "large mixed", THREADS)
    yield from across("ID3Classifier", "words, words letters", missing)
    yield from across("ID3Classifier", "numbers, words", [small])  # numbers raise
    yield from across("ID3Classifier", "ties, mixed real-weights", [{"numeric": "categories"}])


def _isolation_and_bagging() -> Iterator[Case]:
    planes: list[Settings] = [
        *each(extension_level=(0, 1)),
        {"extension_level": 3, "max_samples": 0.5},  # raises where there are fewer numbers
        {"bootstrap": True, "max_features": 0.5, "contamination": 0.1},
        {"warm_start": True},
    ]
    few_rounds = hb.GradientBoostingRegressor(n_estimators=3, max_depth=3)
    quinlan: Settings = {"estimator": hb.C45Classifier(max_depth=3), "oob_score": True}
    kinds = each(kind=("bagging", "pasting", "subspaces", "patches"))
    yield from across("IsolationForest", "numbers, mixed", planes)
    yield from across("IsolationForest", "tiny2, constant, thin csr, gaps real-weights")
    yield from across("IsolationForest", "huge", THREADS)
    yield from across("BaggingClassifier BaggingRegressor", "mixed", kinds)
    yield from across("BaggingClassifier", "gaps", [quinlan, {"bootstrap_features": True}])
    yield from across("BaggingClassifier", "gaps", [{"voting": "hard", "max_samples": 0.1}])
    yield from across("BaggingRegressor", "gaps", [{"estimator": few_rounds}, {"warm_start": True}])
    yield from across("BaggingClassifier", "large", THREADS)


def _of_shared(name: str) -> Iterator[Case]:
    """A tree, a forest and boosting on a shared set, and C4.5 where it has words and classes."""
    data = of_shared(name)
    if "group" in data.more:
        yield Case("GradientBoostingRanker", name, {"n_estimators": 20}, True)
        return
    end = "Classifier" if data.y.dtype.kind == "i" else "Regressor"
    yield Case(f"DecisionTree{end}", name, {}, True)
    yield Case(f"RandomForest{end}", name, {"n_estimators": 10}, True)
    yield Case(f"GradientBoosting{end}", name, {"n_estimators": 20}, True)
    if end == "Classifier" and isinstance(data.X, pd.DataFrame):
        yield Case("C45Classifier", name, {}, True)

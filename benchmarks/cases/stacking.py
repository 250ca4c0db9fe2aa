"""Stacks of boosting, random forest and extra trees beside the best of them: shared sets, 5 seeds.

A seed parts training from test rows and is the seed of members and folds; of few rows it makes
four folds, whose mean counts. The figure is the loss: logarithmic for classes, the root of the
mean squared error for numbers. The best member is chosen in hindsight, set by set, by its mean
loss over the seeds; members alone are fitted on all training rows.

The sets are parted once, by a hash of their names, into those that decide what the default is and
those that only report. What was measured is kept, set by set and seed by seed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeCV

import hornbeam as hb
from benchmarks import metrics, shared
from benchmarks.cases.forest_quality import sets
from benchmarks.datasets import Array, DataSet, shape
from benchmarks.harness import Options
from benchmarks.kept import Figures, Kept, shapes, version
from benchmarks.results import Row, Target
from benchmarks.shared import SharedSet
from hornbeam.combine.crossfit import FitInput, HeldOut, cross_fit, mean_blocks
from hornbeam.combine.greedy import N_STEPS, greedy_weights
from hornbeam.combine.outputs import features_of
from hornbeam.combine.tables import read_rows
from hornbeam.data.folds import NO_KIN, Splits
from hornbeam.progress import ProgressBar

MEMBERS = {
    "boosting": "GradientBoosting",
    "random forest": "RandomForest",
    "extra trees": "ExtraTrees",
}
GREEDY, LINEAR, BLEND = "greedy", "linear", "blend"
CONTENDERS = (
    GREEDY,
    LINEAR,
    f"{GREEDY}, refit",
    f"{LINEAR}, refit",
    "mean of members",
    BLEND,
    f"{BLEND}, refit",
)
N_SEEDS = 5
N_FOLDS = 5
HELD_OUT = 0.25  # the share of the rows that a blend selects by
MOST_ROWS = 1_000  # of a set, three quarters of them for training
NOISE = 2.0  # standard errors
FLOOR = {"classification": 1e-3, "regression": 0.0}  # sets without error would rule the mean
# Folders of hornbeam whose changes can change a member.
SOURCES = ("forest", "tree", "data", "kernels", "boosting")
QUICK_MEMBERS = {"n_estimators": 5}


def rows(options: Options) -> Iterable[Row]:
    found: list[Row] = []
    for data in sets(options):
        data = data.capped(options.size(MOST_ROWS, 300))
        found += rows_on(data, options)
    yield from found
    yield from summary(found)
    options.note(
        f"The figure is the mean loss over {N_SEEDS} seeds, its ratio that to the best member in "
        f"hindsight. Sets are cut to {MOST_ROWS} rows. {FLOOR['classification']:g} is added to "
        "both logarithmic losses of a ratio, or sets that everybody predicts without an error "
        "would rule the mean."
    )
    options.note(
        f"Folds: {N_FOLDS}; a blend holds out {HELD_OUT:g} of the rows once and selects greedily. "
        "'greedy' and 'linear' (logistic regression on probabilities, or RidgeCV) predict by the "
        "mean of the fold models, 'blend' by members that have not seen the rows held out, all "
        "with 'refit' by members fitted again on all training rows."
    )
    options.note(
        "A set decides if the first byte of the SHA-256 of its name is even; it reports if that "
        "is odd. Defaults are chosen by the deciding sets alone."
    )
    options.note(shared.FOLDS_NOTE)


def decides(name: str) -> bool:
    """Whether a set may be looked at to decide something."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def rows_on(data: SharedSet, options: Options) -> list[Row]:
    """Compare all contenders with the best member on one set."""
    figures = [losses_of_seed(data, seed, options) for seed in range(options.size(N_SEEDS, 2))]
    names = [*MEMBERS, *CONTENDERS]
    losses = dict(zip(names, np.array(figures).T, strict=True))
    best = min(MEMBERS, key=lambda name: float(losses[name].mean()))
    part = "deciding" if decides(data.name) else "reporting"
    title = f"{data.name} {shape(len(data.y), data.X.shape[1])}"
    case = f"{data.task}, {part}"
    base = Row(case, title, "best member", float(losses[best].mean()), "", tuple(losses[best]))
    found = [replace(base, flags=(f"{best} is the best.",))]
    for name in CONTENDERS:
        found.append(compared(base, name, losses[name], losses[best], FLOOR[data.task]))
    return found


def compared(base: Row, name: str, loss: Array, best: Array, floor: float) -> Row:
    """Return the row of a contender; it must not be worse beyond two standard errors."""
    error = float(np.std(loss - best, ddof=1)) / math.sqrt(len(loss))
    ratio = (float(loss.mean()) + floor) / (base.value + floor)
    row = replace(base, contender=name, value=float(loss.mean()), runs=tuple(loss))
    target = Target.at_most(base.value + NOISE * error + 1e-9, "value")
    return replace(row, reference="best member", ratio=ratio, meaning="as much", target=target)


def losses_of_seed(data: SharedSet, seed: int, options: Options) -> list[float]:
    """Mean loss of every member and contender over the splits of a seed."""
    splits = data.folds(seed)
    kept = Kept("stacking", data.name, options)
    version_of = version("hornbeam", SOURCES)
    of = {"version": version_of, "splits": shapes(splits), "folds": N_FOLDS, "steps": N_STEPS}

    def measure() -> Figures:
        return [losses(split, seed, options) for split in splits]

    return np.mean(kept.figures(f"seed {seed}", of, measure), axis=0).tolist()


def losses(data: DataSet, seed: int, options: Options) -> list[float]:
    """Loss on the test rows of every member, fitted on all training rows, and contender."""
    suffix = {"classification": "Classifier", "regression": "Regressor"}[data.task]
    settings: dict[str, Any] = {"random_state": seed, "n_jobs": 1}
    settings |= QUICK_MEMBERS if options.quick else {}
    named = [(name, getattr(hb, kind + suffix)(**settings)) for name, kind in MEMBERS.items()]
    is_class = data.task == "classification"
    classes = np.unique(data.y) if is_class else None
    method = "predict_proba" if is_class else "predict"
    given = FitInput(
        read_rows(data.X, hb.VotingRegressor(named), fitted=False),
        data.y, classes, None, NO_KIN, seed,
    )  # fmt: skip
    folds = Splits(len(data.y), (seed, 0), given.labels).folds(N_FOLDS)
    methods = [method] * len(named)
    bar = ProgressBar("", 1, 0)
    models, held = cross_fit(given, named, methods, folds, True, 1, bar)
    assert held is not None
    test = read_rows(data.X_test, hb.VotingRegressor(named), fitted=False)
    of_folds = [b for b in mean_blocks([m[:-1] for m in models], methods, classes, test, 1)]
    again = [b for b in mean_blocks([m[-1:] for m in models], methods, classes, test, 1)]
    weights = selected(given, held)
    share = Splits(len(data.y), (seed, 0), given.labels).hold_out(HELD_OUT)
    blend, held_share = cross_fit(given, named, methods, [share], False, 1, bar)
    assert held_share is not None
    of_blend = mean_blocks(blend, methods, classes, test, 1)
    blend_weights = selected(given, held_share)
    final = fit_linear(held.blocks, data.y[held.rows], classes)
    answers = [
        *again,
        weighted(weights, of_folds),
        linear(final, of_folds, classes),
        weighted(weights, again),
        linear(final, again, classes),
        weighted(np.full(len(named), 1 / len(named)), again),
        weighted(blend_weights, of_blend),
        weighted(blend_weights, again),
    ]
    return [loss(answer, data, classes) for answer in answers]


def selected(given: FitInput, held: HeldOut) -> Array:
    """Return the weights of members that greedy selection finds by what they said of held rows."""
    labels = None if given.labels is None else given.labels[held.rows]
    return greedy_weights(
        held.blocks, given.target[held.rows], np.ones(len(held.rows)), labels, False
    )


def weighted(weights: Array, blocks: Sequence[Any]) -> Array:
    return np.asarray(sum(w * b for w, b in zip(weights, blocks, strict=True)))


def fit_linear(blocks: Sequence[Any], y: Array, classes: Array | None) -> Any:
    """Return what scikit-learn's stacks have as their final estimator."""
    final = RidgeCV() if classes is None else LogisticRegression(max_iter=1000)
    return final.fit(stacked(blocks, classes), y)


def linear(final: Any, blocks: Sequence[Any], classes: Array | None) -> Array:
    table = stacked(blocks, classes)
    if classes is None:
        return np.asarray(final.predict(table).reshape(-1, 1))
    return np.asarray(final.predict_proba(table))


def stacked(blocks: Sequence[Any], classes: Array | None) -> Array:
    n_classes = 0 if classes is None else len(classes)
    return np.hstack([features_of(block, "predict_proba", n_classes) for block in blocks])


def loss(answer: Array, data: DataSet, classes: Array | None) -> float:
    """Logarithmic loss, or the root of the mean squared error."""
    if classes is None:
        return metrics.rmse(answer[:, 0], data.y_test)
    return metrics.log_loss(answer, np.searchsorted(classes, data.y_test))


def summary(rows: Sequence[Row]) -> Iterator[Row]:
    """Count the sets where a contender is worse, and take the geometric mean of the ratios."""
    for part in ("deciding", "reporting"):
        for task in ("classification", "regression", ""):
            for name in CONTENDERS:
                ours = [r for r in rows if r.contender == name and part in r.case]
                ours = [r for r in ours if r.case.startswith(task)]
                if not ours:
                    continue
                yield from summed(f"{task or 'all'}, {part} sets", name, ours)


def summed(case: str, name: str, ours: Sequence[Row]) -> Iterator[Row]:
    title = f"{len(ours)} sets"
    worse = sum(row.verdict == "missed" for row in ours)
    count = Row(f"{case}: worse than the best member", title, name, worse, "sets")
    yield replace(count, target=Target.at_most(len(ours) // 10, "value"))
    mean = math.exp(float(np.mean([math.log(row.ratio or 1.0) for row in ours])))
    ratio = Row(f"{case}: geometric mean of the ratios", title, name, mean, "x")
    yield replace(ratio, target=Target.at_most(1.0, "value"))

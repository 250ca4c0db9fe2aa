"""``hornbeam demo``: train and test on a data set that comes with scikit-learn."""

from __future__ import annotations

import argparse
import time
from typing import Any

from sklearn.base import clone

from hornbeam.cli.metrics import baseline, evaluate
from hornbeam.cli.models import size_of
from hornbeam.cli.parameters import MODELS
from hornbeam.cli.screen import Screen, make_table
from hornbeam.cli.tables import demo_table
from hornbeam.cli.train import PartedTable, make_model, split_table, write_number

_NEXT = """\
What to do next:
  hornbeam train YOUR.csv --target COLUMN   trains on a table of your own and saves the model
  hornbeam train --help                     shows every parameter
  README.md, "Quick start"                  does the same in Python, and draws trees"""


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    screen = Screen(options.quiet)
    table, target = demo_table()
    screen.say(f"Breast cancer data: {table.num_rows} tumours, {target!r} is to be predicted")
    split = split_table(table, target, "the demo data", options, screen)
    kinds = MODELS if options.model == "all" else (options.model,)
    # all are made before the first is fitted: a wrong option is noticed at once
    models = {kind: make_model(kind, split.task, options) for kind in kinds}
    if "tree" in models and not hasattr(options, "parameter_min_samples_leaf"):
        models["tree"].set_params(min_samples_leaf=5)  # leaves of one row are too sure
    seconds = {kind: _fit(kind, model, split, screen) for kind, model in models.items()}
    for model in models.values():
        screen.say(f"{' '.join(repr(model).split())} has {size_of(model)}")
        screen.say(f"digest of the model: {model.digest()}")
    if len(split.test):
        _compare(models, seconds, split, screen)
    screen.say(_NEXT)


def _fit(kind: str, model: Any, split: PartedTable, screen: Screen) -> float:
    """Fit a model; how many seconds that takes once its code is compiled."""
    X, y = split.X.take(split.train), split.y[split.train]
    with screen.step(f"compiling what {kind} needs, once on a machine"):
        clone(model).set_params(**_silence(model)).fit(X, y)
    start = time.perf_counter()
    model.set_params(**_silence(model)).fit(X, y)
    seconds = time.perf_counter() - start
    model.set_params(**{name: None for name in _silence(model)})
    return seconds


def _silence(model: Any) -> dict[str, int]:
    return {"verbose": 0} if hasattr(model, "verbose") else {}


def _compare(
    models: dict[str, Any], seconds: dict[str, float], split: PartedTable, screen: Screen
) -> None:
    """One table: how good each model is beside a guess, and how long its fit took."""
    X, y = split.X.take(split.test), split.y[split.test]
    scores = {kind: evaluate(model, X, y) for kind, model in models.items()}
    guess, guess_scores = baseline(next(iter(models.values())), split.y[split.train], y)
    rows = [
        [name, *(write_number(scores[kind][name]) for kind in models), write_number(value)]
        for name, value in guess_scores.items()
    ]
    rows.append(["seconds of training", *(f"{seconds[kind]:.3f}" for kind in models), "-"])
    title = f"On {len(split.test):,} held-out rows, trained on {len(split.train):,}"
    screen.show(make_table(title, ["metric", *models, guess], rows, [*models, guess]))

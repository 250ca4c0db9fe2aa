"""``hornbeam demo``: train and test on a data set that comes with scikit-learn."""

from __future__ import annotations

import argparse

from hornbeam.cli.parameters import MODELS
from hornbeam.cli.screen import Screen
from hornbeam.cli.tables import demo_table
from hornbeam.cli.train import fit_and_report, make_model, split_table


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
    for kind, model in models.items():
        fit_and_report(kind, model, split, screen)
        screen.say(f"digest of the model: {model.digest()}")

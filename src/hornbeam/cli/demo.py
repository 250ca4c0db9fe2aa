"""``hornbeam demo``: train and test on a data set that comes with scikit-learn."""

from __future__ import annotations

import argparse

from hornbeam.cli.screen import Screen
from hornbeam.cli.tables import demo_table
from hornbeam.cli.train import train_and_report


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    screen = Screen(options.quiet)
    if not hasattr(options, "parameter_min_samples_leaf"):
        options.parameter_min_samples_leaf = 5  # leaves of one row are too sure of themselves
    table, target = demo_table()
    screen.say(f"Breast cancer data: {table.num_rows} tumours, {target!r} is to be predicted")
    model = train_and_report(table, target, "the demo data", options, screen)
    screen.say(f"digest of the model: {model.digest()}")

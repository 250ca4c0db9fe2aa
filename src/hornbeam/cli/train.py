"""``hornbeam train``: read a table, fit a model, test it on held-out rows, save it."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from hornbeam.cli.metrics import Scores, baseline, evaluate
from hornbeam.cli.models import size_of
from hornbeam.cli.parameters import (
    DEFAULT_MODEL,
    chosen_parameters,
    estimator_class,
    quantiles_of,
)
from hornbeam.cli.screen import Screen, UserError, make_table
from hornbeam.cli.tables import check_output, pick_column, read_table
from hornbeam.output.text import export_text

MOST_CLASSES = 20  # whole numbers with at most so many values are taken for classes
ROWS_PER_CLASS = 5  # if there are so many rows for each of them
_IMPORTANCES_SHOWN = 10
_SIMPLE_DEPTH = 3  # of a tree to look at
_SIMPLE_LEAF = 5


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    screen = Screen(options.quiet)
    out = options.out or default_model_path(options.data)
    check_output(out, options.force, {"table": options.data})
    with screen.step(f"reading {options.data}"):
        given = (options.sep, options.encoding, screen.note)
        table = read_table(options.data, options.missing, (), *given)
    for name in options.drop:
        pick_column(table, name, str(options.data))
    table = table.drop_columns(options.drop)
    kind = options.model or DEFAULT_MODEL
    split = split_table(table, options.target, str(options.data), options, screen)
    model = make_model(kind, split.task, options)
    if options.cv is None:
        fit_and_report(kind, model, split, screen, with_tree=options.model is None)
    else:
        cross_validate(kind, model, split, options, screen)
    model.save(out)
    screen.say(f"The model is in {out}: hornbeam predict {out} NEW_DATA")


def default_model_path(data: Path) -> Path:
    """Name of the model file in the working folder: that of the data without its endings."""
    return Path(data.name.split(".")[0] or "model").with_suffix(".hornbeam")


class PartedTable(NamedTuple):
    """A table that was parted into rows to train on and rows to test on."""

    X: Any
    y: Any
    task: str
    train: Any  # row numbers
    test: Any


def split_table(
    table: Any, target: str, where: str, options: argparse.Namespace, screen: Screen
) -> PartedTable:
    """Take the target out of a table, see what is to be done, and hold out rows."""
    if not 0 <= options.test_size < 1:
        raise UserError(f"--test-size {options.test_size} must be at least 0 and below 1.")
    X, y = split_target(table, target, where, screen)
    task, reason = choose_task(y, getattr(options, "task", "auto"), target)
    screen.say(f"{task}: {reason}")
    y = y if task == "classification" else as_numbers(y, target)
    return PartedTable(X, y, task, *split_rows(y, task, options, screen))


def make_model(kind: str, task: str, options: argparse.Namespace) -> Any:
    """Make the estimator of a kind, with the parameters that were given."""
    estimator = estimator_class(kind, task)
    return estimator(**chosen_parameters(options, estimator))


def fit_and_report(
    kind: str, model: Any, split: PartedTable, screen: Screen, with_tree: bool = False
) -> None:
    """Fit on one part of the rows and print how the model does on the other.

    ``with_tree`` shows a simple tree beside it, to look at.
    """
    X, y, _, train, test = split
    doing = f"training on {len(train):,} rows x {X.num_columns} columns"
    _fit(model, X.take(train), y[train], doing, screen)
    description = " ".join(repr(model).split())
    screen.say(f"{description} has {size_of(model)}")
    tree = _simple_tree(model, split, screen) if with_tree else None
    if len(test):
        models = {kind: model} if tree is None else {kind: model, "simple tree": tree}
        with screen.step(f"testing on {len(test):,} rows"):
            columns = {name: evaluate(one, X.take(test), y[test]) for name, one in models.items()}
            guess, guess_scores = baseline(model, y[train], y[test])
        title = f"On {len(test):,} held-out rows"
        _show_scores(title, {**columns, guess: guess_scores}, screen)
    _show_importances(model, screen)
    if tree is not None:
        screen.say("A simple tree to look at (--model tree grows one):")
        screen.say(export_text(tree))


def _simple_tree(model: Any, split: PartedTable, screen: Screen) -> Any:
    """A tree that people can read; None where the model predicts what no tree does."""
    if quantiles_of(model):
        return None
    X, y, task, train, _ = split
    tree = estimator_class("tree", task)(max_depth=_SIMPLE_DEPTH, min_samples_leaf=_SIMPLE_LEAF)
    with screen.step("growing a simple tree"):
        return tree.fit(X.take(train), y[train])


def cross_validate(
    kind: str, model: Any, split: PartedTable, options: argparse.Namespace, screen: Screen
) -> None:
    """Test on each of some folds, with models of the others; then fit on all rows."""
    X, y, task, train, test = split
    rows = np.sort(np.concatenate([train, test]))
    if not 2 <= options.cv <= len(rows):
        raise UserError(f"--cv {options.cv} must be from 2 to the {len(rows):,} rows there are.")
    counts = np.unique(y, return_counts=True)[1]
    by_class = task == "classification" and counts.min() >= options.cv
    maker = StratifiedKFold if by_class else KFold
    folds = maker(options.cv, shuffle=True, random_state=options.seed).split(rows, y[rows])
    found: list[Scores] = []
    guesses: list[Scores] = []
    for number, (learnt, held) in enumerate(folds, 1):
        one = clone(model)
        _fit(one, X.take(learnt), y[learnt], f"fold {number} of {options.cv}", screen)
        found.append(evaluate(one, X.take(held), y[held]))
        guess, scores = baseline(one, y[learnt], y[held])
        guesses.append(scores)
    title = f"Mean of {options.cv} folds, and by how much they differ"
    columns = {kind: _mean(found), "+-": _spread(found), guess: _mean(guesses)}
    _show_scores(title, columns, screen)
    _fit(model, X.take(rows), y[rows], f"training on all {len(rows):,} rows", screen)
    description = " ".join(repr(model).split())
    screen.say(f"{description} has {size_of(model)}")
    _show_importances(model, screen)


def _mean(found: list[Scores]) -> Scores:
    return {name: float(np.mean([scores[name] for scores in found])) for name in found[0]}


def _spread(found: list[Scores]) -> Scores:
    """The standard deviation of each metric."""
    return {name: float(np.std([scores[name] for scores in found], ddof=1)) for name in found[0]}


def _fit(model: Any, X: Any, y: Any, doing: str, screen: Screen) -> None:
    """Fit with a spinner, or with a bar where there are rounds to count."""
    if hasattr(model, "verbose"):
        model.set_params(verbose=0)  # two bars on one terminal would overwrite each other
    if "callbacks" in inspect.signature(model.fit).parameters:
        with screen.rounds(doing, model.n_estimators) as show:
            model.fit(X, y, callbacks=[show])
    else:
        with screen.step(doing):
            model.fit(X, y)
    if hasattr(model, "verbose"):
        model.set_params(verbose=None)


def split_target(table: Any, target: str, where: str, screen: Screen) -> tuple[Any, Any]:
    """Take the target out of the table as an array, without rows where it is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pick_column(table, target, where)
    if table.num_columns == 1:
        raise UserError(f"{where} has no columns besides the target {target!r}.")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_temporal(column.type) or pa.types.is_nested(column.type):
        raise UserError(f"the target {target!r} holds {column.type}; it must be text or numbers.")
    known = pc.invert(pc.is_null(column, nan_is_null=True))
    n_missing = table.num_rows - pc.sum(known).as_py()
    if n_missing == table.num_rows:
        raise UserError(f"the target {target!r} is missing in every row of {where}.")
    if n_missing:
        screen.say(f"{n_missing:,} rows without {target!r} were left out")
    X = table.drop_columns([target]).filter(known)
    return X, column.filter(known).to_numpy()


def choose_task(y: Any, task: str, target: str) -> tuple[str, str]:
    """Decide between classification and regression, and say why."""
    if task != "auto":
        return task, "as --task says"
    n_values = len(set(y.tolist()))
    if y.dtype.kind not in "iuf":
        return "classification", f"{target!r} holds no numbers ({n_values:,} classes)"
    whole = bool(np.all(y == np.floor(y)))
    if whole and n_values <= MOST_CLASSES and n_values * ROWS_PER_CLASS <= len(y):
        return "classification", (
            f"{target!r} holds {n_values} different whole numbers (--task regression overrules)"
        )
    number = "whole number" if whole else "number"
    return "regression", (
        f"{target!r} holds {n_values:,} different {number}s (--task classification overrules)"
    )


def as_numbers(y: Any, target: str) -> Any:
    """Make the target of a regression float64."""
    try:
        return y.astype(np.float64)
    except ValueError as error:
        raise UserError(
            f"the target {target!r} of a regression must hold numbers: {error}."
        ) from error


def split_rows(y: Any, task: str, options: argparse.Namespace, screen: Screen) -> tuple[Any, Any]:
    """Row numbers to train on and to test on; classes keep their shares where they can."""
    rows = np.arange(len(y))
    if options.test_size == 0:
        return rows, rows[:0]
    if len(y) < 2:
        raise UserError("one row cannot be split; --test-size 0 trains on all rows.")

    def split(strata: Any) -> tuple[Any, Any]:
        train, test = train_test_split(
            rows, test_size=options.test_size, random_state=options.seed, stratify=strata
        )
        return np.sort(train), np.sort(test)

    if task == "classification":
        try:
            return split(y)
        except ValueError:
            screen.note("some classes are too rare to keep their shares in both parts")
    return split(None)


def _show_scores(title: str, columns: dict[str, Scores], screen: Screen) -> None:
    """A table of one row per metric, and one column per model."""
    names = next(iter(columns.values()))
    rows = [[name, *(write_number(scores[name]) for scores in columns.values())] for name in names]
    screen.show(make_table(title, ["metric", *columns], rows, list(columns)))


def _show_importances(model: Any, screen: Screen) -> None:
    importances = model.feature_importances_
    order = np.argsort(-importances, kind="stable")[:_IMPORTANCES_SHOWN]
    names = model.schema_.feature_names
    rows = [
        [names[i], f"{importances[i]:.3f}", screen.bar(importances[i])]
        for i in order
        if importances[i] > 0
    ]
    if rows:
        columns = ["feature", "importance", ""]
        screen.show(make_table("What the model looks at", columns, rows, ["importance"]))


def write_number(value: float) -> str:
    """A metric as people read it."""
    if np.isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"

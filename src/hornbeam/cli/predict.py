"""``hornbeam predict``: rows of a file in, predictions out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import hornbeam
from hornbeam.cli.models import schema_of
from hornbeam.cli.parameters import quantiles_of
from hornbeam.cli.screen import Screen, UserError
from hornbeam.cli.tables import check_output, pick_column, read_table, table_kind, write_table


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    screen = Screen(options.quiet)
    check_output(options.out, options.force, {"model": options.model, "table": options.data})
    if options.out is not None:
        table_kind(options.out)
    model = load_model(options.model)
    if options.proba and not hasattr(model, "predict_proba"):
        raise UserError(
            f"--proba needs a classifier; {options.model} holds a {type(model).__name__}."
        )
    schema = schema_of(model)
    with screen.step(f"reading {options.data}"):
        texts = _text_columns(schema)
        given = (options.sep, options.encoding, screen.note)
        table = read_table(options.data, options.missing, texts, *given)
    kept = {name: pick_column(table, name, str(options.data)) for name in options.keep}
    X = _features(table, schema, screen, options.keep)
    with screen.step(f"predicting {table.num_rows:,} rows"):
        columns = _predictions(model, X, options.proba)
    taken = sorted(set(kept) & set(columns))
    if taken:
        raise UserError(f"--keep {taken[0]} is what a column of predictions is called.")
    columns = {**kept, **columns}
    altered = write_table(columns, options.out, options.raw_labels)
    if altered:
        screen.note(
            f"a spreadsheet would run {', '.join(map(repr, altered))} as a formula: an apostrophe "
            "was put in front; --raw-labels leaves labels as they are"
        )


def load_model(path: Any) -> Any:
    """Load a model file; a path that is none is the user's error."""
    if not path.is_file():
        raise UserError(f"there is no model file {path}.")
    return hornbeam.load(path)


def _text_columns(schema: Any) -> list[str]:
    """Columns that were text in training, so that a category "1" does not become a number."""
    return [
        column.name
        for column in schema.columns
        if column.categories and all(isinstance(value, str) for value in column.categories)
    ]


def _features(table: Any, schema: Any, screen: Screen, kept: Sequence[str]) -> Any:
    """Leave out the columns the model does not know; it names those that it misses."""
    known = set(schema.feature_names)
    unused = [name for name in table.column_names if name not in known]
    unknown = [name for name in unused if name not in kept]
    if unknown:
        screen.note(f"columns the model does not use: {', '.join(unknown)} (--keep writes them)")
    return table.drop_columns(unused)


def _predictions(model: Any, X: Any, with_shares: bool) -> dict[str, Any]:
    predicted = model.predict(X)
    if predicted.ndim == 2:
        names = [f"quantile_{q:g}" for q in quantiles_of(model)]
        names = names or [f"prediction_{i}" for i in range(predicted.shape[1])]
        return {name: predicted[:, i] for i, name in enumerate(names)}
    columns = {"prediction": predicted}
    if with_shares:
        shares = model.predict_proba(X)
        for i, label in enumerate(model.classes_.tolist()):
            columns[f"share_{label}"] = shares[:, i]
    return columns

"""Tables in files: CSV, TSV and Parquet, all through pyarrow.

One reader means that a file holds the same values on every machine; see
docs/adr/007-dependencies.md.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from hornbeam.cli.dialects import OTHERWISE, Dialect, find_dialect
from hornbeam.cli.screen import UserError
from hornbeam.errors import MissingDependencyError
from hornbeam.model.atomic import output_target, replacing
from hornbeam.output.names import printable

MISSING_TEXTS = ("NA", "N/A", "NaN", "nan", "null", "NULL")

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")
_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
# What spreadsheets take for the beginning of a formula; the last four are wide = + - @.
_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]\s*(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\.?\s*")
_WHOLE_FILE = 2**30  # bytes: column types are inferred from the first block


def read_table(
    path: Path,
    missing: Sequence[str] | None = None,
    text_columns: Collection[str] = (),
    separator: str | None = None,
    encoding: str | None = None,
    note: Callable[[str], None] = lambda sentence: None,
) -> Any:
    """Read a file into a ``pyarrow.Table``.

    Parameters
    ----------
    path : Path
        A .csv or .tsv file (also compressed: .gz, .bz2, .zst) or a .parquet file.
    missing : sequence of str, optional
        What means missing in a CSV file besides the empty field.
    text_columns : collection of str, default=()
        Columns of a CSV file to read as text even if they look like numbers.
    separator, encoding : str, optional
        What parts the columns of a CSV file, and how its letters are coded; both are recognised
        if they are not given.
    note : function(sentence)
        Told what was recognised, if it is unusual.

    Returns
    -------
    pyarrow.Table
        At least one row, no two columns of the same name.
    """
    pa = _pyarrow()
    kind = table_kind(path)
    _check_is_file(path)
    try:
        if kind in _PARQUET:
            import pyarrow.parquet

            table = pyarrow.parquet.read_table(path)
        else:
            marks = MISSING_TEXTS if missing is None else missing
            usual = _DELIMITERS[kind]
            dialect = find_dialect(path, usual, separator, encoding)
            table = _read_csv(path, dialect, marks, text_columns)
            if encoding is None and _has_bytes(table):  # which the beginning did not show
                dialect = dialect._replace(encoding=OTHERWISE)
                table = _read_csv(path, dialect, marks, text_columns)
            if dialect.unlike(usual):
                note(f"{path}: {dialect.unlike(usual)}")
    except (pa.ArrowInvalid, OSError, UnicodeError) as error:
        raise UserError(f"{path} could not be read as {kind[1:]}: {error}") from error
    _check_table(table, path)
    return _without_untyped_columns(table)


def write_table(columns: dict[str, Any], path: Path | None, raw_labels: bool) -> list[str]:
    """Write columns to a file whose name tells the format, or as CSV to stdout.

    A file appears whole or not at all. Text that a spreadsheet would run as a formula gets an
    apostrophe in front in CSV and TSV, unless ``raw_labels``; Parquet is never altered.

    Returns
    -------
    list of str
        What was altered, each once.
    """
    pa = _pyarrow()
    import pyarrow.csv
    import pyarrow.parquet

    table = pa.table(columns)
    if path is not None and table_kind(path) in _PARQUET:
        with replacing(path) as file:
            pyarrow.parquet.write_table(table, file.name)
        return []
    table, altered = (table, []) if raw_labels else _with_changed_text(table, without_formula)
    if path is not None:
        options = pyarrow.csv.WriteOptions(delimiter=_DELIMITERS[table_kind(path)])
        packed = _COMPRESSED.get(path.suffix.lower())
        with replacing(path) as file, pa.output_stream(file.name, compression=packed) as stream:
            pyarrow.csv.write_csv(table, stream, options)
        return altered
    if sys.stdout.isatty():  # which would obey what a label says
        table = _with_changed_text(table, printable)[0]
        table = table.rename_columns([printable(name) for name in table.column_names])
    sys.stdout.flush()
    pyarrow.csv.write_csv(table, sys.stdout.buffer)
    sys.stdout.buffer.flush()
    return altered


def without_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run.

    Numbers are none of it, and neither is a sign that stands alone.

    Examples
    --------
    >>> [without_formula(text) for text in ("=1+1", "@SUM(A1)", "-1.5", "- 50000.", "+", "yes")]
    ["'=1+1", "'@SUM(A1)", '-1.5', '- 50000.', '+', 'yes']
    """
    harmless = len(text) < 2 or not _FORMULA.match(text) or _NUMBER.fullmatch(text)
    return text if harmless else "'" + text


def _with_changed_text(table: Any, change: Callable[[str], str]) -> tuple[Any, list[str]]:
    """Change the text in a table; returns also the texts that the change has altered."""
    import pyarrow as pa

    altered: dict[str, str] = {}
    for i, field in enumerate(table.schema):
        if not pa.types.is_string(field.type) and not pa.types.is_large_string(field.type):
            continue
        different = table.column(i).unique().to_pylist()
        changed = {text: change(text) for text in different if text and change(text) != text}
        if changed:
            texts = [changed.get(text, text) for text in table.column(i).to_pylist()]
            table = table.set_column(i, field.name, pa.array(texts, field.type))
            altered |= changed
    return table, list(altered)


def check_output(path: Path | None, force: bool, inputs: Mapping[str, Path]) -> None:
    """Refuse to overwrite a file (least of all one that is read) or what is no file.

    Parameters
    ----------
    path : Path or None
        Where to; None is standard output.
    force : bool
        Whether an existing file may be replaced.
    inputs : dict of str to Path
        What is read, by what it is called in an error.
    """
    if path is None:
        return
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UserError(f"{path} cannot be written: its folder does not exist, or it is a folder.")
    output_target(path)
    for name, source in inputs.items():
        if path.exists() and source.exists() and path.samefile(source):
            raise UserError(f"{path} is the {name} that is read. Choose another --out.")
    if path.exists() and not force:
        raise UserError(f"{path} exists already. Choose another --out, or overwrite with --force.")


def table_kind(path: Path) -> str:
    """Read the format off a file's name: the ending, without that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind in _DELIMITERS or (kind in _PARQUET and not _is_compressed(path)):
        return kind
    raise UserError(
        f"{path}: the name must end in .csv, .tsv (or either with .gz, .bz2, .zst) or .parquet."
    )


def pick_column(table: Any, name: str, where: str) -> Any:
    """Take one column, or say which columns there are."""
    if name in table.column_names:
        return table.column(name)
    close = difflib.get_close_matches(name, table.column_names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    shown = ", ".join(table.column_names[:20]) + (", ..." if table.num_columns > 20 else "")
    raise UserError(f"{where} has no column {name!r}.{hint} Its columns: {shown}.")


def demo_table() -> tuple[Any, str]:
    """Breast cancer (Wisconsin, diagnostic), which comes with scikit-learn, and its target."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = dict(zip(data.feature_names.tolist(), data.data.T, strict=True))
    columns["diagnosis"] = data.target_names[data.target]
    return _pyarrow().table(columns), "diagnosis"


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingDependencyError(
            "reading and writing tables needs pyarrow, which is not installed: pip install pyarrow"
        ) from error
    return pyarrow


def _is_compressed(path: Path) -> bool:
    return path.suffix.lower() in _COMPRESSED


def _check_is_file(path: Path) -> None:
    if not path.exists():
        raise UserError(f"there is no file {path}.")
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a file.")
    if path.stat().st_size == 0:
        raise UserError(f"{path} is empty.")


def _has_bytes(table: Any) -> bool:
    """Whether some text was no UTF-8."""
    import pyarrow as pa

    return any(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) for kind in table.schema.types
    )


def _read_csv(
    path: Path, dialect: Dialect, missing: Sequence[str], text_columns: Collection[str]
) -> Any:
    import pyarrow as pa
    import pyarrow.csv

    parse = pyarrow.csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(
        null_values=["", *missing],
        strings_can_be_null=True,
        column_types=dict.fromkeys(text_columns, pa.string()),
        decimal_point=dialect.decimal,
    )
    read = pyarrow.csv.ReadOptions(encoding=dialect.encoding)
    try:
        return pyarrow.csv.read_csv(path, read, parse, convert)
    except pa.ArrowInvalid:
        # A later value did not fit the type of the first block: look at all of them.
        read = pyarrow.csv.ReadOptions(block_size=_WHOLE_FILE, encoding=dialect.encoding)
        return pyarrow.csv.read_csv(path, read, parse, convert)


def _check_table(table: Any, path: Path) -> None:
    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"{path} has more than one column named {', '.join(map(repr, twice))}.")
    if table.num_rows == 0:
        raise UserError(f"{path} has a header but no rows.")


def _without_untyped_columns(table: Any) -> Any:
    """Columns in which nothing was ever filled in become numbers, all missing."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_null(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float64()))
    return table

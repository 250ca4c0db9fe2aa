"""The command line: ``hornbeam train | predict | info | warmup | demo``.

This module only reads the arguments. Each command lives in a module of its own, which is
imported when the command runs, so that ``hornbeam --help`` answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from hornbeam import __version__
from hornbeam.cli.screen import UserError, plain
from hornbeam.errors import MissingDependencyError

USER_ERROR = 2  # the same exit code that argparse uses
INTERRUPTED = 130
READER_GONE = 141
# ValueError and TypeError are how estimators and the data layer say what is wrong.
EXPECTED = (UserError, MissingDependencyError, OSError, ValueError, TypeError, MemoryError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name; those of the process when left out.

    Returns
    -------
    int
        0 when all went well, 2 when the input was wrong (a sentence on stderr says how).

    Examples
    --------
    >>> main(["train", "no-such-file.csv", "--target", "y"])
    2
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    options = _parser(arguments).parse_args(arguments)
    if options.quiet:
        os.environ["HORNBEAM_QUIET"] = "1"  # nor a word about compilation
    try:
        command = importlib.import_module(f"hornbeam.cli.{options.command}")
        with _warnings_as_sentences():
            command.run(options)
    except KeyboardInterrupt:
        print("hornbeam: stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except EXPECTED as error:
        if options.traceback:
            print(plain(traceback.format_exc()), file=sys.stderr)
        sentence = str(error).strip() or type(error).__name__
        print(f"hornbeam: {plain(sentence)}", file=sys.stderr)
        return USER_ERROR
    return 0


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    """Show warnings without the line of code that they come from, and without escapes."""

    def sentence(message: Warning | str, *_: Any, **__: Any) -> str:
        return f"hornbeam: warning: {plain(str(message))}\n"

    usual = warnings.formatwarning
    warnings.formatwarning = sentence
    try:
        yield
    finally:
        warnings.formatwarning = usual


class _Parser(argparse.ArgumentParser):
    """Arguments that are wrong are shown without the escapes that they may hold."""

    def error(self, message: str) -> NoReturn:
        super().error(plain(message))


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hornbeam", description="Train trees, forests and boosting on tables and use them."
    )
    parser.add_argument("--version", action="version", version=f"hornbeam {__version__}")
    shared = _Parser(add_help=False)
    shared.add_argument("--quiet", action="store_true", help="print nothing but errors")
    shared.add_argument("--traceback", action="store_true", help="show where an error came from")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, summary: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=summary, description=summary, parents=[shared])

    train = command("train", "Train on a CSV or Parquet file, test on held-out rows, save.")
    _add_train_options(train)
    predict = command("predict", "Predict the rows of a CSV or Parquet file with a saved model.")
    _add_predict_options(predict)
    info = command("info", "Show versions, cache and threads, or what a saved model holds.")
    info.add_argument("model", nargs="?", type=Path, help="a model file")
    command(
        "warmup", "Compile everything ahead of time (about a minute); the first fit is then fast."
    )
    demo = command("demo", "Train and test on a data set that comes with scikit-learn.")
    demo.add_argument(
        "--model",
        choices=["tree", "forest", "boosting", "all"],
        default="all",
        help="what to train (default: all, one after the other)",
    )
    _add_split_options(demo)
    if {"train", "demo"} & set(arguments):
        from hornbeam.cli.parameters import add_parameter_options

        add_parameter_options(train)
        add_parameter_options(demo)
    return parser


def _add_train_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, help="table: .csv, .tsv (also .gz) or .parquet")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="column to predict")
    parser.add_argument(
        "--model",
        choices=["tree", "forest", "boosting"],
        help="tree: one tree, which people can read and draw; forest: many large trees on random "
        "samples, which needs no tuning; boosting: many small trees, each mending what is left, "
        "which usually predicts best (default: boosting, and a simple tree to look at)",
    )
    parser.add_argument(
        "--task",
        choices=["auto", "classification", "regression"],
        default="auto",
        help="auto looks at the target and says what it chose (default: auto)",
    )
    parser.add_argument(
        "--drop", action="append", default=[], metavar="COLUMN", help="leave a column out"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="model file (default: DATA.hornbeam)"
    )
    _add_file_options(parser)
    _add_split_options(parser)
    parser.add_argument(
        "--cv",
        type=int,
        metavar="FOLDS",
        help="test by cross-validation on so many folds, and train on all rows",
    )


def _add_predict_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, help="a model file that train has saved")
    parser.add_argument("data", type=Path, help="table: .csv, .tsv (also .gz) or .parquet")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="where to (default: CSV on standard output)"
    )
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="COLUMN",
        help="write a column of the table in front of the predictions, such as an id; repeat it "
        "for several",
    )
    parser.add_argument("--proba", action="store_true", help="add the probability of every class")
    parser.add_argument(
        "--raw-labels",
        action="store_true",
        help="write classes that a spreadsheet would run as a formula (=..., +..., -..., @...) as "
        "they are; by default CSV gets an apostrophe in front of them",
    )
    _add_file_options(parser)


def _add_file_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sep",
        metavar="CHAR",
        help="what parts the columns of a CSV file, such as ';' or tab (default: recognised)",
    )
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="how the letters of a CSV file are coded, such as latin-1 (default: recognised)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the output file")
    parser.add_argument(
        "--missing",
        action="append",
        metavar="TEXT",
        help="text that means missing in a CSV file, besides the empty field; "
        "repeat it for several (default: NA, N/A, NaN, nan, null, NULL)",
    )


def _add_split_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--test-size",
        type=float,
        default=0.25,
        metavar="SHARE",
        help="share of the rows to test on; 0 trains on all of them (default: 0.25)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the split and of the model (default: 0)"
    )

"""Names and labels that mean harm, and files that stand in the way."""

from __future__ import annotations

import gzip
import os
import stat
import sys
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import hornbeam as hb
from hornbeam.cli import _warnings_as_sentences, main
from hornbeam.cli.tables import without_formula

posix = pytest.mark.skipif(os.name != "posix", reason="names and files of POSIX")

ESCAPE = "\x1b]0;owned\x07\x1b[31m\u202ered\r"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def make(labels: list[str], name: str = "table.csv", column: str = "x") -> list[str]:
    """A table of 20 rows per label, which a tree can tell apart; returns how to train on it."""
    n = 20 * len(labels)
    table = pa.table(
        {column: [float(i // 20) for i in range(n)], "y": [labels[i // 20] for i in range(n)]}
    )
    pa.csv.write_csv(table, name)
    out = ["--out", "model.hb", "--force", "--test-size", "0"]
    return ["train", name, "--target", "y", "--task", "classification", *out]


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    return capsys.readouterr().err


# --- the terminal -----------------------------------------------------------------------------


def all_printable(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@posix
def test_no_name_reaches_the_terminal_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of files, columns, categories and classes, in results, progress and errors."""
    file = f"table{ESCAPE}.csv"
    train = make(["a" + ESCAPE, "b"], file, "x" + ESCAPE)
    categories = pa.csv.read_csv(file)
    texts = ["k" + ESCAPE if value else "m" for value in categories.column(0).to_pylist()]
    pa.csv.write_csv(categories.append_column("kind" + ESCAPE, pa.array(texts)), file)
    assert main(train) == 0
    assert main([*train, "--test-size", "0.5", "--model", "boosting", "--n-estimators", "3"]) == 0
    assert main(["info", "model.hb"]) == 0
    os.rename("model.hb", f"{ESCAPE}.hb")
    assert main(["info", f"{ESCAPE}.hb"]) == 0
    assert main(["predict", f"{ESCAPE}.hb", file, "--out", "out.csv"]) == 0
    pa.csv.write_csv(pa.table({"q" + ESCAPE: [1.0]}), "other.csv")
    assert main(["predict", f"{ESCAPE}.hb", "other.csv", "--traceback"]) == 2
    assert main(["predict", f"{ESCAPE}.hb", f"nothing{ESCAPE}.csv"]) == 2
    assert main([*train, "--drop", "no" + ESCAPE]) == 2
    assert main([*train, "--criterion", ESCAPE]) == 2
    assert main([*train, "--class-weight", f"{{'{ESCAPE.strip()}': 1}}"]) == 2
    with pytest.raises(SystemExit):
        main(["train", "a.csv", "--target", "y", ESCAPE])
    with pytest.raises(SystemExit):
        main([ESCAPE])
    out, err = capsys.readouterr()
    assert all_printable(out) and all_printable(err)
    assert r"\x1b]0;owned\x07" in out and r"\x1b]0;owned\x07" in err


def test_no_warning_reaches_the_terminal_as_it_is() -> None:
    usual = warnings.formatwarning
    with _warnings_as_sentences():
        shown = warnings.formatwarning(UserWarning("column " + ESCAPE), UserWarning, "file", 1)
    assert shown.startswith("hornbeam: warning: column \\x1b]0;owned") and all_printable(shown)
    assert warnings.formatwarning is usual


def test_names_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(make(["[bold]a:smile:", "b"], column="a:b:[red]")) == 0
    assert main(["info", "model.hb"]) == 0
    shown = capsys.readouterr().out
    assert "[bold]a:smile:" in shown and "a:b:[red]" in shown


def test_predictions_are_escaped_on_a_terminal_and_nowhere_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    label = ESCAPE.strip()
    assert main([*make([label, "b"]), "--quiet"]) == 0
    predict = ["predict", "model.hb", "table.csv", "--quiet", "--proba"]
    assert main(predict) == 0
    assert f'"{label}"' in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(predict) == 0
    shown = capsys.readouterr().out
    assert all_printable(shown) and shown.count(r"\x1b]0;owned") == 21


# --- spreadsheets ---------------------------------------------------------------------------


@pytest.mark.quick
def test_what_a_spreadsheet_would_run() -> None:
    harmful = ["=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "--1"]
    harmful += ["-x", "=1", "-1 apple", "\uff1d1+1"]
    assert [without_formula(text) for text in harmful] == ["'" + text for text in harmful]
    harmless = [
        "-1",
        "+1",
        "-1.5",
        "-.5",
        "-1e-5",
        "- 50000.",
        "+",
        "-",
        "=",
        "",
        "a=1",
        "0",
        "'=1",
    ]
    assert [without_formula(text) for text in harmless] == harmless


LABELS = ["=cmd|' /C calc'!A0", "-1", "+", "yes"]
GUARDED = ["'=cmd|' /C calc'!A0", "-1", "+", "yes"]


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz", None])
def test_labels_that_are_formulas(name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(make(LABELS)) == 0
    predict = ["predict", "model.hb", "table.csv", *(["--out", name] if name else [])]

    def predicted(*options: str) -> tuple[list[str], str]:
        capsys.readouterr()
        assert main([*predict, *options]) == 0
        out, err = capsys.readouterr()
        if name is not None:
            opened: Any = gzip.open if name.endswith(".gz") else open
            with opened(name, "rt", newline="") as file:
                out = file.read()
        return [line.strip('"') for line in out.splitlines()[1::20]], err

    labels, said = predicted()
    assert labels == GUARDED and "--raw-labels leaves labels as they are" in said
    labels, said = predicted("--raw-labels", "--force")
    assert labels == LABELS and "formula" not in said


def test_parquet_is_no_spreadsheet(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(make(LABELS)) == 0
    assert main(["predict", "model.hb", "table.csv", "--out", "out.parquet"]) == 0
    assert pa.parquet.read_table("out.parquet")["prediction"].to_pylist()[::20] == LABELS
    assert "formula" not in capsys.readouterr().err


def test_ordinary_labels_come_back_as_they_are() -> None:
    for labels in (["-1", "1"], ["- 50000.", "50000+."], ["+", "-"], ["it's", '"quoted"']):
        assert main(make(labels)) == 0
        assert main(["predict", "model.hb", "table.csv", "--out", "out.csv", "--force"]) == 0
        expected = pa.csv.read_csv("table.csv")["y"]
        assert pa.csv.read_csv("out.csv")["prediction"].equals(expected)


# --- files in the way -------------------------------------------------------------------------


def test_what_is_read_is_not_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(make(["a", "b"])) == 0
    os.rename("model.hb", "model.csv")  # a model of that name would be overwritten
    before = {name: Path(name).read_bytes() for name in ("table.csv", "model.csv")}
    for name in before:
        os.link(name, f"hard-{name}")
    if os.name == "posix":
        for name in before:
            os.symlink(name, f"soft-{name}")
    for out in os.listdir():
        kind = "model" if "model" in out else "table"
        predict = ["predict", "model.csv", "table.csv", "--force", "--out", out]
        assert f"{out} is the {kind} that is read" in fails(capsys, *predict)
        if kind == "table":
            train = ["train", "table.csv", "--target", "y", "--force", "--out", out]
            assert f"{out} is the table that is read" in fails(capsys, *train)
    assert {name: Path(name).read_bytes() for name in before} == before


@posix
def test_only_files_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    train = make(["a", "b"])
    assert main(train) == 0
    Path("link.csv").symlink_to("nothing")
    os.mkfifo("pipe.csv")
    Path("null.csv").symlink_to(os.devnull)
    there = sorted(os.listdir())
    for name, sentence in [
        ("link.csv", "is a symbolic link to 'nothing', which does not exist"),
        ("pipe.csv", "is a named pipe, not a regular file"),
        ("null.csv", "is a device, not a regular file"),
    ]:
        for command in (["predict", "model.hb", "table.csv"], train):
            assert sentence in fails(capsys, *command, "--out", name, "--force")
            assert sentence in fails(capsys, *command, "--out", name)
    assert sorted(os.listdir()) == there
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode) and stat.S_ISFIFO(os.stat("pipe.csv").st_mode)


@posix
def test_a_link_to_a_file_stays_a_link() -> None:
    assert main(make(["a", "b"])) == 0
    Path("real.csv").write_text("old")
    Path("link.csv").symlink_to("real.csv")
    assert main(["predict", "model.hb", "table.csv", "--out", "link.csv", "--force"]) == 0
    assert Path("link.csv").is_symlink() and Path("real.csv").read_text().startswith('"prediction"')


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_predictions_are_whole_or_not_there(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(make(["a", "b"])) == 0
    Path(name).write_bytes(b"old")

    def fail_half_way(table: Any, target: Any, *options: Any) -> None:
        half = b'"prediction"\n"a'
        if isinstance(target, str):
            Path(target).write_bytes(half)
        else:
            target.write(half)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pa.csv, "write_csv", fail_half_way)
    monkeypatch.setattr(pa.parquet, "write_table", fail_half_way)
    there = sorted(os.listdir())
    predict = ["predict", "model.hb", "table.csv", "--force", "--out", name]
    assert "No space left on device" in fails(capsys, *predict)
    assert Path(name).read_bytes() == b"old" and sorted(os.listdir()) == there


def test_memory_that_is_not_to_be_had_is_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **options: Any) -> None:
        raise MemoryError("There is no memory for 7 rows.")

    train = make(["a", "b"])
    monkeypatch.setattr(hb.DecisionTreeClassifier, "fit", fail)
    assert "hornbeam: There is no memory for 7 rows." in fails(capsys, *train)

"""CSV files as others write them, cross-validation, and columns kept beside predictions."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

import hornbeam as hb
from hornbeam.cli import main
from hornbeam.cli.dialects import Dialect, find_dialect
from hornbeam.cli.screen import UserError
from hornbeam.cli.tables import read_table

HEAD = ["straße", "preis", "größe", "gekündigt"]
ROWS = [["Grüner Weg", "12,50", "3", "ja"], ["Ahornallee; hinten", "8,25", "2", "nein"]] * 20


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def write(name, separator=";", encoding="utf-8", decimal=","):
    lines = [
        separator.join(f'"{field}"' if separator in field else field for field in line)
        for line in [HEAD, *ROWS]
    ]
    text = "\n".join(lines) + "\n"
    content = (text if decimal == "," else re.sub(r"(\d),(\d)", r"\1.\2", text)).encode(encoding)
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return Path(name)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "separator", "encoding", "decimal"),
    [
        ("a.csv", ",", "utf-8", "."),
        ("a.csv", ";", "utf-8", ","),
        ("a.csv", ";", "utf-8-sig", "."),
        ("a.csv", ";", "cp1252", ","),
        ("a.csv.gz", "|", "latin-1", ","),
        ("a.csv", "\t", "utf-16", ","),
        ("a.tsv", "\t", "utf-8", "."),
        ("a.tsv", ";", "utf-8", ","),
    ],
)
def test_recognised(name, separator, encoding, decimal):
    said = []
    table = read_table(write(name, separator, encoding, decimal), note=said.append)
    assert table.column_names == HEAD
    assert table.to_pylist()[1] == {
        "straße": "Ahornallee; hinten", "preis": 8.25, "größe": 2, "gekündigt": "nein",
    }  # fmt: skip
    usual = separator == {"a.tsv": "\t"}.get(name, ",")
    plain = usual and decimal == "." and encoding.startswith("utf-8")
    assert bool(said) is not plain
    if said:
        assert said[0].startswith(name) and "(--sep, --encoding overrule)" in said[0]


@pytest.mark.quick
def test_what_is_said_counts_more_than_what_is_seen():
    path = write("a.csv", ";", "cp1252")
    assert find_dialect(path, ",") == Dialect(";", "cp1252", ",")
    assert find_dialect(path, ",", ",", "latin-1") == Dialect(",", "iso8859-1", ".")
    assert find_dialect(path, ",", "tab").separator == "\t"
    with pytest.raises(UserError, match="--sep ';;' must be one character, or 'tab'"):
        find_dialect(path, ",", ";;")
    with pytest.raises(UserError, match="--encoding 'utf-99' is not known"):
        find_dialect(path, ",", None, "utf-99")
    with pytest.raises(UserError, match="could not be read as csv"):
        read_table(path, encoding="ascii")


@pytest.mark.quick
def test_letters_that_come_late():
    """Beyond what is looked at first."""
    lines = ["a;b", *["x;1"] * 40_000, "ü;2"]
    Path("late.csv").write_bytes("\n".join(lines).encode("cp1252"))
    table = read_table(Path("late.csv"))
    assert table["a"][-1].as_py() == "ü" and table["b"].to_pylist()[-1] == 2
    Path("one.csv").write_text("only\n1\n2\n")
    assert read_table(Path("one.csv")).column_names == ["only"]
    for header in ('"a;b",c', '"a;;\r;\n;b",c', '"a;b"'):
        Path("text.csv").write_text(header + '\n"1,5;2,5",x\n', newline="")
        assert find_dialect(Path("text.csv"), ",").separator == ","


def test_from_such_a_file_to_predictions(capsys):
    write("a.csv", ";", "cp1252")
    train = ["train", "a.csv", "--target", "gekündigt", "--n-estimators", "5"]
    assert main(train) == 0
    assert "letters are coded as cp1252" in capsys.readouterr().err
    command = ["predict", "a.hornbeam", "a.csv", "--keep", "größe", "--keep", "straße"]
    assert main([*command, "--out", "out.csv"]) == 0
    out = pyarrow.csv.read_csv("out.csv")
    assert out.column_names == ["größe", "straße", "prediction"]
    assert out["größe"].to_pylist() == [3, 2] * 20
    assert out["prediction"].to_pylist() == ["ja", "nein"] * 20
    assert main([*command[:3], "--keep", "grösse"]) == 2
    assert "has no column 'grösse'. Did you mean 'größe'?" in capsys.readouterr().err
    Path("b.csv").write_text("prediction,x,y\n1,2,a\n2,1,b\n" * 10)
    assert main(["train", "b.csv", "--target", "y", "--model", "tree"]) == 0
    assert main(["predict", "b.hornbeam", "b.csv", "--keep", "prediction"]) == 2
    assert "--keep prediction is what a column of predictions is called" in capsys.readouterr().err


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_cross_validation(task, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = np.where(x > 0, "up", "down") if task == "classification" else x + rng.normal(size=60)
    lines = [f"{a},{b}" for a, b in zip(x, y, strict=True)]
    Path("a.csv").write_text("\n".join(["x,y", *lines]))
    command = ["train", "a.csv", "--target", "y", "--model", "tree", "--max-depth", "2"]
    assert main([*command, "--cv", "4"]) == 0
    printed = capsys.readouterr()
    assert "Mean of 4 folds, and by how much they differ" in printed.out
    assert "fold 4 of 4" in printed.err and "training on all 60 rows" in printed.err
    assert hb.load("a.hornbeam").tree_.n_samples[0] == 60
    again = [*command, "--force", "--out", "b.hb"]
    assert main([*again, "--test-size", "0"]) == 0
    assert hb.load("b.hb").digest() == hb.load("a.hornbeam").digest()
    for folds in ("1", "61"):
        assert main([*again, "--cv", folds]) == 2
        assert f"--cv {folds} must be from 2 to the 60 rows" in capsys.readouterr().err

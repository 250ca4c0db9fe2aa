"""The command line, in this process, on files in a temporary folder."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.datasets import load_breast_cancer

import hornbeam as hb
from hornbeam.cli import main
from hornbeam.cli.parameters import parse_value
from hornbeam.cli.train import choose_task


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def flats(n=120, seed=0):
    """A table with text, booleans and missing values, and a target of each kind."""
    rng = np.random.default_rng(seed)
    district = rng.choice(["north", "south", "east"], n)
    rooms = rng.integers(1, 6, n).astype(float)
    balcony = rng.random(n) < 0.5
    rent = rooms * 300 + (district == "north") * 500 + rng.normal(size=n)
    return pa.table(
        {
            "id": np.arange(n),
            "district": pa.array([None if i % 10 == 3 else d for i, d in enumerate(district)]),
            "rooms": pa.array(rooms, mask=np.arange(n) % 7 == 2),
            "balcony": balcony,
            "rent": rent,
            "let": np.where(rent > 1200, "yes", "no"),
        }
    )


def save(table, name):
    writer = pa.parquet.write_table if name.endswith(".parquet") else pa.csv.write_csv
    writer(table, name)
    return name


def fails(capsys, *arguments):
    """Run a command that must fail, and return its sentence."""
    assert main([str(argument) for argument in arguments]) == 2
    printed = capsys.readouterr().err
    assert "Traceback" not in printed
    return printed[printed.index("hornbeam: ") :]


@pytest.mark.parametrize("name", ["flats.csv", "flats.parquet"])
def test_classification_from_file_to_predictions(name, capsys):
    save(flats().drop_columns(["rent", "id"]), name)
    assert main(["train", name, "--target", "let", "--max-depth", "4"]) == 0
    printed = capsys.readouterr()
    assert "classification: 'let' holds no numbers (2 classes)" in printed.out
    for metric in ("accuracy", "balanced accuracy", "log loss", "ROC AUC"):
        assert re.search(rf"{metric} .*\d", printed.out)
    assert "most frequent class" in printed.out
    assert "On 30 held-out rows" in printed.out
    assert "training on 90 rows x 3 columns" in printed.err

    model = hb.load("flats.hornbeam")
    assert model.get_params()["max_depth"] == 4
    assert model.schema_.feature_names == ("district", "rooms", "balcony")
    assert main(["predict", "flats.hornbeam", name, "--proba", "--out", "out.csv"]) == 0
    predicted = pa.csv.read_csv("out.csv")
    X = flats().select(["district", "rooms", "balcony"])
    assert predicted["prediction"].to_pylist() == model.predict(X).tolist()
    shares = np.column_stack([predicted["share_no"], predicted["share_yes"]])
    np.testing.assert_array_equal(shares, model.predict_proba(X))


@pytest.mark.parametrize("name", ["flats.csv", "flats.parquet"])
def test_regression_from_file_to_predictions(name, capsys):
    save(flats(), name)
    train = ["train", name, "--target", "rent", "--drop", "let", "--drop", "id"]
    tree = ["--model", "tree", "--criterion", "absolute_error"]
    assert main([*train, "--out", "rent.hb", *tree]) == 0
    printed = capsys.readouterr().out
    assert "regression: 'rent' holds 120 different numbers" in printed
    for metric in ("R2", "RMSE", "MAE"):
        assert re.search(rf"{metric} .*\d", printed)
    model = hb.load("rent.hb")
    assert model.criterion == "absolute_error"
    assert main(["predict", "rent.hb", name]) == 0
    printed = capsys.readouterr()
    assert "columns the model does not use: id, rent, let" in printed.err
    lines = printed.out.splitlines()
    assert lines[0] == '"prediction"'
    expected = model.predict(flats().select(["district", "rooms", "balcony"]))
    np.testing.assert_array_equal(np.array(lines[1:], float), expected)


def test_the_saved_model_is_the_one_that_was_tested(capsys):
    save(flats(), "a.csv")
    train = ["train", "a.csv", "--target", "let", "--n-estimators", "5"]
    main([*train, "--seed", "3", "--out", "first.hb"])
    main([*train, "--seed", "3", "--out", "second.hb", "--quiet"])
    assert hb.load("first.hb").digest() == hb.load("second.hb").digest()
    assert hb.load("first.hb").trees_[0].n_samples[0] == 90
    main([*train, "--test-size", "0", "--out", "all.hb"])
    assert hb.load("all.hb").trees_[0].n_samples[0] == 120


def test_other_formats(capsys):
    save(flats(), "flats.csv")
    with open("flats.csv", "rb") as file:
        content = file.read()
    with gzip.open("zipped.csv.gz", "wb") as file:
        file.write(content)
    with open("tabs.tsv", "wb") as file:
        file.write(content.replace(b",", b"\t"))
    digests = set()
    for name, model in [("flats.csv", "flats"), ("zipped.csv.gz", "zipped"), ("tabs.tsv", "tabs")]:
        assert main(["train", name, "--target", "let"]) == 0
        digests.add(hb.load(f"{model}.hornbeam").digest())
    assert len(digests) == 1
    for out in ("out.parquet", "out.tsv", "out.csv.gz"):
        assert main(["predict", "flats.hornbeam", "flats.csv", "--out", out]) == 0
    expected = pa.parquet.read_table("out.parquet")["prediction"]
    assert pa.csv.read_csv("out.csv.gz")["prediction"].equals(expected)


def test_quiet_prints_nothing(capfd):
    save(flats(), "flats.csv")
    assert main(["train", "flats.csv", "--target", "let", "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")


def test_rows_without_target_are_left_out(capsys):
    table = flats(50)
    let = [None if i < 5 else value for i, value in enumerate(table["let"].to_pylist())]
    save(table.set_column(5, "let", pa.array(let)), "flats.csv")
    assert main(["train", "flats.csv", "--target", "let", "--test-size", "0"]) == 0
    assert "5 rows without 'let' were left out" in capsys.readouterr().out
    assert hb.load("flats.hornbeam").trees_[0].n_samples[0] == 45


def test_text_that_means_missing(capsys):
    rows = "".join(f"{'?' if i % 3 else i},{'ab'[i % 2]}\n" for i in range(40))
    with open("marks.csv", "w") as file:
        file.write("x,y\n" + rows)
    assert main(["train", "marks.csv", "--target", "y", "--missing", "?"]) == 0
    assert hb.load("marks.hornbeam").schema_.columns[0].kind == "number"
    assert main(["train", "marks.csv", "--target", "y", "--force"]) == 0
    assert hb.load("marks.hornbeam").schema_.columns[0].kind == "category"


def test_categories_that_look_like_numbers_in_new_data(capsys):
    codes = ["1", "2", "A"] * 20
    table = pa.table({"code": codes, "y": ["p" if c == "1" else "q" for c in codes]})
    save(table, "train.csv")
    assert main(["train", "train.csv", "--target", "y"]) == 0
    save(pa.table({"code": ["1", "2"]}), "new.csv")
    capsys.readouterr()
    assert main(["predict", "train.hornbeam", "new.csv"]) == 0
    assert capsys.readouterr().out.split() == ['"prediction"', '"p"', '"q"']


def test_a_column_whose_type_shows_late(capsys):
    """Types are inferred from all rows, not from the first megabyte."""
    with open("late.csv", "w") as file:
        file.write("x,y\n")
        file.writelines(f"{i % 7},{i % 2}\n" for i in range(400_000))
        file.write("seven,1\n")
    assert main(["train", "late.csv", "--target", "y", "--max-depth", "2"]) == 0
    assert hb.load("late.hornbeam").schema_.columns[0].kind == "category"


def test_an_empty_column_is_all_missing(capsys):
    with open("hole.csv", "w") as file:
        file.write("x,hole,y\n" + "".join(f"{i},,{'ab'[i > 20]}\n" for i in range(40)))
    assert main(["train", "hole.csv", "--target", "y"]) == 0
    assert main(["predict", "hole.hornbeam", "hole.csv", "--out", "p.csv"]) == 0


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.array(["a", "b"], object), "classification"),
        (np.array([True, False]), "classification"),
        (np.array([0, 1, 2] * 20), "classification"),
        (np.array([0.0, 1.0] * 20), "classification"),
        (np.array([0.5, 1.0] * 20), "regression"),
        (np.arange(100), "regression"),
        (np.arange(15), "regression"),  # few rows for so many values
        (np.arange(21).repeat(100), "regression"),
    ],
)
def test_choice_of_the_task(y, expected):
    task, reason = choose_task(y, "auto", "y")
    assert task == expected
    assert "'y' holds" in reason


def test_task_overrules(capsys):
    table = pa.table({"x": np.arange(60.0), "y": np.arange(60) % 3})
    save(table, "few.csv")
    assert main(["train", "few.csv", "--target", "y", "--task", "regression"]) == 0
    assert isinstance(hb.load("few.hornbeam"), hb.GradientBoostingRegressor)
    save(flats(), "flats.csv")
    assert "must hold numbers" in fails(
        capsys, "train", "flats.csv", "--target", "let", "--task", "regression"
    )


def test_rare_classes_can_still_be_split(capsys):
    y = ["a"] * 30 + ["b"] * 30 + ["c"]
    save(pa.table({"x": np.arange(61.0), "y": y}), "rare.csv")
    assert main(["train", "rare.csv", "--target", "y"]) == 0
    assert "too rare" in capsys.readouterr().err


def test_existing_files_are_kept(capsys):
    save(flats(), "flats.csv")
    train = ["train", "flats.csv", "--target", "let"]
    assert main(train) == 0
    assert "exists already" in fails(capsys, *train)
    assert main([*train, "--force"]) == 0
    predict = ["predict", "flats.hornbeam", "flats.csv", "--out", "out.csv"]
    assert main(predict) == 0
    assert "exists already" in fails(capsys, *predict)
    assert main([*predict, "--force"]) == 0


def test_bad_files(capsys):
    def train(name):
        return fails(capsys, "train", name, "--target", "y")

    assert "there is no file nothing.csv" in train("nothing.csv")
    assert "must end in .csv" in train("table.xlsx")
    assert "must end in .csv" in train("noending")
    for name, content, expected in [
        ("empty.csv", b"", "is empty"),
        ("header.csv", b"x,y\n", "no rows"),
        ("twice.csv", b"x,x,y\n1,2,3\n", "more than one column named 'x'"),
        ("ragged.csv", b"x,y\n1,2\n1,2,3\n", "could not be read as csv"),
        ("fake.parquet", b"not a parquet file", "could not be read as parquet"),
        ("fake.csv.gz", b"not compressed", "could not be read as csv"),
        ("lonely.csv", b"y\n1\n2\n", "no columns besides the target"),
        ("void.csv", b"x,y\n1,\n2,\n", "missing in every row"),
        ("one.csv", b"x,y\n1,2\n", "--test-size 0"),
    ]:
        with open(name, "wb") as file:
            file.write(content)
        assert expected in train(name)


def test_bad_arguments(capsys, tmp_path):
    save(flats(), "flats.csv")
    train = ["train", "flats.csv", "--target"]
    message = fails(capsys, *train, "lett")
    assert "no column 'lett'. Did you mean 'let'? Its columns: id, district" in message
    assert "no column 'nope'" in fails(capsys, *train, "let", "--drop", "nope")
    assert "max_depth" in fails(capsys, *train, "let", "--max-depth", "-1")
    tree = ["--model", "tree", "--criterion", "beauty"]
    assert "criterion" in fails(capsys, *train, "let", *tree)
    assert "--class-weight is not a parameter of GradientBoostingRegressor" in fails(
        capsys, *train, "rent", "--class-weight", "balanced"
    )
    assert "--test-size 1.5" in fails(capsys, *train, "let", "--test-size", "1.5")
    assert "cannot be written" in fails(capsys, *train, "let", "--out", "no/folder/model.hb")
    assert "cannot be written" in fails(capsys, *train, "let", "--out", tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(["train", "flats.csv"])
    with pytest.raises(SystemExit, match="2"):
        main(["dance"])


def test_bad_models_and_new_data(capsys):
    save(flats(), "flats.csv")
    assert main(["train", "flats.csv", "--target", "rent", "--drop", "let"]) == 0
    assert "there is no model file nothing.hb" in fails(
        capsys, "predict", "nothing.hb", "flats.csv"
    )
    assert fails(capsys, "predict", "flats.csv", "flats.csv")
    assert fails(capsys, "info", "flats.csv")
    out = ["--out", "predictions.xlsx"]
    assert "must end in .csv" in fails(capsys, "predict", "flats.hornbeam", "flats.csv", *out)
    assert "classifier" in fails(capsys, "predict", "flats.hornbeam", "flats.csv", "--proba")
    save(flats().drop_columns(["rooms"]), "short.csv")
    assert "rooms" in fails(capsys, "predict", "flats.hornbeam", "short.csv")


def test_without_pyarrow(capsys, monkeypatch):
    save(flats(), "flats.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install pyarrow" in fails(capsys, "train", "flats.csv", "--target", "let")


def test_a_list_of_categorical_columns(capsys):
    save(pa.table({"a": np.arange(60) % 5, "b": np.arange(60), "y": np.arange(60) % 2}), "t.csv")
    train = ["train", "t.csv", "--target", "y", "--force", "--categorical-features"]
    for given, expected in [("a", ["category", "number"]), ("a,b", ["category", "category"])]:
        assert main([*train, given]) == 0
        assert [column.kind for column in hb.load("t.hornbeam").schema_.columns] == expected


@pytest.mark.quick
def test_values_of_parameters():
    texts = ["3", "0.5", "none", "True", "gini", "{0: 1, 1: 5}", "1,2"]
    expected = [3, 0.5, None, True, "gini", {0: 1, 1: 5}, [1, 2]]
    assert [parse_value(text) for text in texts] == expected


def test_every_parameter_is_an_option(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--help"])
    printed = capsys.readouterr().out
    for name in hb.DecisionTreeClassifier().get_params():
        assert name == "random_state" or "--" + name.replace("_", "-") in printed


def test_info(capsys):
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    assert hb.__version__ in printed
    assert "kernel cache" in printed
    save(flats(), "flats.csv")
    main(["train", "flats.csv", "--target", "let", "--max-depth", "3", "--quiet"])
    assert main(["info", "flats.hornbeam"]) == 0
    printed = capsys.readouterr().out
    model = hb.load("flats.hornbeam")
    assert "max_depth=3" in printed
    assert model.digest() in printed
    assert "east, north, south" in printed


def test_demo_shows_a_result_better_than_a_guess(capsys):
    assert main(["demo", "--model", "tree"]) == 0
    accuracy = re.search(r"accuracy\D+([\d.]+)\D+([\d.]+)", capsys.readouterr().out)
    assert float(accuracy[1]) > 0.88
    share = load_breast_cancer().target.mean()
    assert float(accuracy[2]) == pytest.approx(share, abs=0.01)


def test_warmup_leaves_nothing_to_compile(capsys):
    assert main(["warmup", "--quiet"]) == 0
    script = (
        "import hornbeam, numpy as np; from hornbeam.runtime.kernel import compile_times\n"
        "X = np.random.default_rng(0).normal(size=(50, 4)); y = X[:, 0] > 0\n"
        "hornbeam.DecisionTreeClassifier().fit(X, y).predict(X)\n"
        "hornbeam.DecisionTreeRegressor(finder='histogram').fit(X, y).predict(X)\n"
        "assert not compile_times(), compile_times()"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.quick
def test_python_dash_m():
    command = [sys.executable, "-m", "hornbeam", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == f"hornbeam {hb.__version__}"

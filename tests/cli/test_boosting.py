"""Boosting on the command line: train, predict, info, warmup and demo."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from rich.console import Console

import hornbeam as hb
from hornbeam.boosting.engine import RoundReport
from hornbeam.cli import main
from hornbeam.cli.screen import Screen
from hornbeam.cli.tables import read_table


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def flats(n=300, seed=0):
    """Text and missing values; a number, two classes and three classes to predict."""
    rng = np.random.default_rng(seed)
    district = rng.choice(["north", "south", "east"], n)
    rooms = rng.integers(1, 6, n).astype(float)
    rent = rooms * 300 + (district == "north") * 500 + rng.normal(size=n)
    return pa.table(
        {
            "district": pa.array([None if i % 10 == 3 else d for i, d in enumerate(district)]),
            "rooms": pa.array(rooms, mask=np.arange(n) % 7 == 2),
            "rent": rent,
            "let": np.where(rent > 1200, "yes", "no"),
            "band": np.digitize(rent, [800, 1400]),
        }
    )


FEATURES = ["district", "rooms"]


def save(target, name="flats.csv"):
    pa.csv.write_csv(flats().select([*FEATURES, target]), name)
    return ["train", name, "--target", target, "--model", "boosting", "--n-estimators", "10"]


def fails(capsys, *arguments):
    """Run a command that must fail, and return its sentence."""
    assert main([str(argument) for argument in arguments]) == 2
    printed = capsys.readouterr().err
    assert "Traceback" not in printed
    return printed[printed.index("hornbeam: ") :]


@pytest.mark.parametrize(("target", "n_scores"), [("let", 1), ("band", 3)])
def test_classification_from_file_to_predictions(target, n_scores, capsys):
    assert main([*save(target), "--learning-rate", "0.3"]) == 0
    printed = capsys.readouterr()
    assert "classification: " in printed.out
    assert f"in {10 * n_scores} trees (10 rounds)" in printed.out
    assert re.search(r"metric .*boosting .*most frequent class", printed.out)
    assert "training on 225 rows x 2 columns" in printed.err
    accuracy = re.search(r"accuracy\D+([\d.]+)\D+([\d.]+)", printed.out)
    assert float(accuracy[1]) > float(accuracy[2]) + 0.1

    model = hb.load("flats.hornbeam")
    assert isinstance(model, hb.GradientBoostingClassifier)
    assert (model.learning_rate, model.verbose) == (0.3, None)
    assert main(["predict", "flats.hornbeam", "flats.csv", "--proba", "--out", "out.csv"]) == 0
    predicted = pa.csv.read_csv("out.csv")
    X = flats().select(FEATURES)
    assert predicted["prediction"].to_pylist() == model.predict(X).tolist()
    shares = np.column_stack([predicted[f"share_{label}"] for label in model.classes_])
    np.testing.assert_array_equal(shares, model.predict_proba(X))


def test_what_is_saved_is_what_python_fits():
    """Neither progress nor quietness changes the model."""
    train = [*save("rent"), "--test-size", "0", "--seed", "4"]
    assert main([*train, "--out", "shown.hb"]) == 0
    assert main([*train, "--out", "quiet.hb", "--quiet"]) == 0
    table = read_table(Path("flats.csv"), None)
    model = hb.GradientBoostingRegressor(n_estimators=10, random_state=4)
    model.fit(table.select(FEATURES), table["rent"].to_numpy())
    assert hb.load("shown.hb").digest() == hb.load("quiet.hb").digest() == model.digest()


def test_quiet_prints_nothing(capfd):
    assert main([*save("rent"), "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")


def test_early_stopping_and_constraints_as_options(capsys):
    train = save("rent")[:-1]  # the number of rounds is the last word
    options = ["3000", "--early-stopping", "true", "--n-iter-no-change", "3"]
    constraint = ["--monotonic-cst", "{'rooms': 1}"]
    assert main([*train, *options, *constraint]) == 0
    model = hb.load("flats.hornbeam")
    assert model.n_iter_ < 3000
    assert hb.check_constraints(model) == []
    capsys.readouterr()
    assert main(["info", "flats.hornbeam"]) == 0
    printed = capsys.readouterr().out
    assert "monotonic_cst={'rooms': 1}" in printed
    assert len(model.history_["validation"]) > model.n_iter_
    losses = re.search(r"loss of the model .*train ([\d.]+), validation ([\d.]+)", printed)
    assert float(losses[2]) == pytest.approx(min(model.history_["validation"]), rel=1e-4)


def test_several_quantiles_have_a_column_each(capsys):
    quantiles = ["--loss", "quantile", "--quantile", "0.1,0.5,0.9"]
    assert main([*save("rent"), *quantiles]) == 0
    printed = capsys.readouterr().out
    for share in ("0.1", "0.5", "0.9"):
        loss = re.search(rf"pinball loss of {share}\D+([\d.]+)\D+([\d.]+)", printed)
        assert float(loss[1]) < float(loss[2])
    assert main(["predict", "flats.hornbeam", "flats.csv", "--out", "out.csv"]) == 0
    predicted = pa.csv.read_csv("out.csv")
    assert predicted.column_names == ["quantile_0.1", "quantile_0.5", "quantile_0.9"]
    expected = hb.load("flats.hornbeam").predict(flats().select(FEATURES))
    np.testing.assert_array_equal(np.column_stack(predicted.columns), expected)


def test_quantiles_are_calibrated(capsys):
    quantiles = ["--loss", "quantile", "--quantile", "0.1,0.9"]
    assert main([*save("rent"), *quantiles, "--calibrate", "true"]) == 0
    assert len(hb.load("flats.hornbeam").calibration_) == 2
    assert main([*save("rent"), "--calibrate", "true", "--force"]) == 2
    assert "set loss='quantile', or calibrate=False" in capsys.readouterr().err


def test_one_quantile_is_judged_as_a_quantile(capsys):
    assert main([*save("rent"), "--loss", "quantile", "--quantile", "0.8"]) == 0
    printed = capsys.readouterr().out
    assert "pinball loss of 0.8" in printed
    assert "R2" not in printed
    capsys.readouterr()
    assert main(["predict", "flats.hornbeam", "flats.csv"]) == 0
    assert capsys.readouterr().out.startswith('"prediction"')


def test_a_parameter_of_the_other_model_is_an_error(capsys):
    boosting = save("let")
    tree = ["train", "flats.csv", "--target", "let", "--model", "tree"]
    assert (
        "--criterion is not a parameter of GradientBoostingClassifier; it belongs to --model tree "
        "and --model forest." in fails(capsys, *boosting, "--criterion", "entropy")
    )
    assert (
        "--learning-rate is not a parameter of DecisionTreeClassifier; it belongs to --model "
        "boosting." in fails(capsys, *tree, "--learning-rate", "0.1")
    )
    assert "it belongs to --model boosting --task regression." in fails(
        capsys, *boosting, "--quantile", "0.1"
    )
    assert "learning_rate" in fails(capsys, *boosting, "--learning-rate", "-1")
    with pytest.raises(SystemExit, match="2"):
        main(["train", "flats.csv", "--target", "let", "--model", "bush"])


def test_every_parameter_is_an_option(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["train", "--help"])
    printed = capsys.readouterr().out
    names = {*hb.GradientBoostingClassifier().get_params()}
    names |= {*hb.GradientBoostingRegressor().get_params()}
    for name in names - {"random_state", "verbose", "warm_start"}:
        assert "--" + name.replace("_", "-") in printed
    assert "--verbose" not in printed


def test_without_a_choice_it_is_boosting_and_a_tree_to_look_at(capsys):
    save("let")
    assert main(["train", "flats.csv", "--target", "let", "--n-estimators", "10"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"metric\W+boosting\W+simple tree\W+most frequent class", printed)
    tree = printed[printed.index("A simple tree to look at (--model tree grows one):") :]
    assert "|--- " in tree and "|   |   |   |   |---" not in tree
    assert isinstance(hb.load("flats.hornbeam"), hb.GradientBoostingClassifier)
    assert main(["train", "flats.csv", "--target", "let", "--model", "tree", "--force"]) == 0
    assert "simple tree" not in capsys.readouterr().out
    save("rent")
    quantile = ["--loss", "quantile", "--n-estimators", "3", "--force"]
    assert main(["train", "flats.csv", "--target", "rent", *quantile]) == 0
    assert "simple tree" not in capsys.readouterr().out


def test_models_made_in_python(capsys):
    """A ranker with a query column, a loss of one's own, constraints as an array."""
    table = flats()
    rows = table.append_column("query", pa.array(np.arange(300) // 10))
    X = rows.select([*FEATURES, "query"])
    ranker = hb.GradientBoostingRanker(n_estimators=3, query="query")
    ranker.fit(X, table["band"].to_numpy()).save("ranker.hb")
    pa.csv.write_csv(X, "new.csv")
    assert main(["predict", "ranker.hb", "new.csv"]) == 0
    printed = capsys.readouterr()
    assert "columns the model does not use: query" in printed.err
    np.testing.assert_array_equal(np.array(printed.out.split()[1:], float), ranker.predict(X))
    assert main(["info", "ranker.hb"]) == 0
    assert "GradientBoostingRanker" in capsys.readouterr().out
    assert "holds a GradientBoostingRanker" in fails(
        capsys, "predict", "ranker.hb", "new.csv", "--proba"
    )

    def halves(y, score):
        return 0.5 * (y - score) ** 2

    own = hb.GradientBoostingRegressor(loss=halves, n_estimators=3, monotonic_cst=np.array([0, 1]))
    own.fit(table.select(FEATURES), table["rent"].to_numpy()).save("own.hb")
    assert main(["info", "own.hb"]) == 0
    printed = capsys.readouterr().out
    assert "halves" in printed
    assert own.digest() in printed
    assert main(["predict", "own.hb", "new.csv"]) == 0
    expected = own.predict(table.select(FEATURES))
    printed = capsys.readouterr().out.split()[1:]
    np.testing.assert_array_equal(np.array(printed, float), expected)


def test_the_bar_shows_rounds_and_losses():
    screen = Screen(quiet=False)
    screen.progress = Console(
        force_terminal=True, record=True, markup=False, width=120, stderr=True
    )
    with screen.rounds("training [x]", 20) as show:
        assert not show(RoundReport(7, 0.25, {"validation": 0.5}))  # True would end the fit
    shown = screen.progress.export_text()
    assert "7/20" in shown
    assert "loss 0.25, validation 0.5" in shown
    assert re.search(r"training \[x\]: \d+\.\d s", shown)


def test_demo_compares_all(capsys):
    assert main(["demo"]) == 0
    printed, told = capsys.readouterr()
    (row,) = re.findall(r"ROC AUC\D+([\d.]+)\D+([\d.]+)\D+([\d.]+)\D+([\d.]+)", printed)
    tree, forest, boosting, guess = map(float, row)
    assert boosting > tree > guess == 0.5 and forest > 0.97
    assert len(re.findall(r"seconds of training(?:\D+[\d.]+){3}", printed)) == 1
    assert told.count("once on a machine") == 3  # compiling is not training
    assert printed.count("digest of the model") == 3
    assert "hornbeam train YOUR.csv --target COLUMN" in printed
    assert main(["demo", "--model", "boosting", "--learning-rate", "0.2"]) == 0
    printed = capsys.readouterr().out
    assert "DecisionTree" not in printed
    assert "learning_rate=0.2" in printed
    assert "it belongs to --model boosting" in fails(capsys, "demo", "--learning-rate", "0.2")


def test_warmup_leaves_nothing_to_compile():
    """Numbers, categories, sparse tables, several classes, the losses, both float types."""
    assert main(["warmup", "--quiet"]) == 0
    script = """
import hornbeam as hb, numpy as np, pandas as pd, scipy.sparse
from hornbeam.runtime.kernel import compile_times
X = np.random.default_rng(0).normal(size=(200, 4))
few = dict(n_estimators=3)
frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y")})
two, three = X[:, 0] > 0, np.digitize(X[:, 0], [-0.5, 0.5])
hb.GradientBoostingClassifier(**few).fit(frame, two).predict_proba(frame)
hb.GradientBoostingClassifier(**few).fit(X.astype("f4"), three).predictor()(X[0])
hb.GradientBoostingClassifier(**few, subsample=0.5, colsample_bynode=0.5).fit(
    scipy.sparse.csr_array(X * (X > 0)), two)
hb.GradientBoostingRegressor(**few, order=1, drop_rate=0.5).fit(X, X[:, 0])
constrained = hb.GradientBoostingRegressor(
    **few, growth="level", monotonic_cst=[1, 0, 0, 0], interaction_constraints=[[0, 1]])
constrained.fit(X, X[:, 0], X_val=X, y_val=X[:, 0])
for loss in ("poisson", "huber", "absolute_error", "quantile"):
    hb.GradientBoostingRegressor(**few, loss=loss).fit(X, np.exp(X[:, 0])).predict(X.astype("f4"))
hb.GradientBoostingRanker(**few).fit(X, three, group=[20] * 10).predict(X)
assert not compile_times(), compile_times()
"""
    subprocess.run([sys.executable, "-c", script], check=True)

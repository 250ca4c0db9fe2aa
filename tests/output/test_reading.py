"""What is printed is the model: text and rules, read back, predict what the model predicts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from model.handmade import (
    Column,
    StandIn,
    leaf,
    multiway,
    number,
    sample_rows,
    steps,
    subset,
    weather,
)
from model.strategies import estimators
from output.reading import RuleSetReader, RulesReader, TextReader, label
from quinlan import tables

import hornbeam as hb
from hornbeam.quinlan.fractions import fraction_walker

pytestmark = pytest.mark.mission("T12")

WHOLE = {"decimals": None, "max_categories": None}
STRANGE = [
    "red, blue", 'a "b"', "x or missing", "", " lead", "now then this", "two\nlines", "a\\nb",
    "missing", "unseen", "{z}", "<=50K", "this and that", "(p)", "plain", "… (3 more)", "1.5",
]  # fmt: skip
COLUMNS = {"age": 'age <= 4 and "size"', "color": "color = {x}, or\tnot", "code": "is missing 7"}

NEW: list[Any] = ["moon", "ultra", 99.0, "z"]


def draw(rng: np.random.Generator, n: int, new: bool = False) -> pd.DataFrame:
    """Random rows; new ones have values, gaps and categories that training has not seen."""
    gaps = 0.3 if new else 0.2
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < gaps, np.nan, rng.normal(40, 15, n)),
            "size": rng.normal(size=n) ** 3,
            "rooms": rng.integers(0, 5, n).astype(float),
            "district": rng.choice(["north", "south", "east", "west"], n).astype(object),
            "color": rng.choice(np.array(STRANGE, object), n),
            "member": rng.choice([True, False], n).astype(object if new else bool),
            "code": rng.integers(10, 14, n).astype(float),
            "grade": rng.choice(["a", "b", "c"], n).astype(object),
        }
    )
    for name in table.columns if new else ["district", "code"]:
        table.loc[rng.random(n) < gaps, name] = np.nan if table[name].dtype == float else None
    if new:
        for name, value in {
            "district": "moon",
            "color": "ultra",
            "code": 99.0,
            "grade": "z",
        }.items():
            table.loc[rng.random(n) < 0.2, name] = value
        table.loc[rng.random(n) < 0.2, "grade"] = "d"  # declared, but in no training row
    else:
        table["grade"] = pd.Categorical(table["grade"], ["a", "b", "c", "d"])
    return table.rename(columns=COLUMNS)


class Task:
    """Training rows with their targets, and new rows."""

    def __init__(self, seed: int, n: int = 150) -> None:
        rng = np.random.default_rng(seed)
        self.X, self.new = draw(rng, n), draw(rng, 80, new=True)
        plain = self.X.rename(columns={there: here for here, there in COLUMNS.items()})
        self.level = (
            plain["age"].fillna(70) / 10
            + 2.0 * plain["district"].isin(["north", "west"]).to_numpy()
            + 3.0 * plain["color"].isin(STRANGE[::3]).to_numpy()
            + plain["code"].fillna(5).to_numpy() % 3
            + 2.0 * (plain["grade"] == "b").to_numpy()
            + plain["size"].clip(-2, 2)
            + rng.normal(0, 0.5, n)
        ).to_numpy()
        names = np.array(["low, or so", "middle (1 row)", "high"])
        self.label = names[np.digitize(self.level, np.quantile(self.level, [0.3, 0.6]))]

    def rows(self, unseen: str = "missing") -> pd.DataFrame:
        """Rows to predict: without new categories where they are refused."""
        rows = pd.concat([self.X.astype(object), self.new], ignore_index=True)
        if unseen == "error":
            for name in rows.columns:
                rows.loc[rows[name].isin(NEW), name] = None
        return rows.astype({name: float for name in rows if self.X[name].dtype == float})


CATEGORIES = {"categorical_features": [COLUMNS["code"]]}


def seen_in(model: Any) -> dict[str, set[str]]:
    """What everybody knows who has the training table: its categories."""
    columns = [column for column in model.schema_.columns if column.categories is not None]
    return {column.name: set(map(label, column.categories)) for column in columns}


def readers(model: Any, **options: Any) -> list[Any]:
    options = options or WHOLE
    text = hb.export_text(model, max_depth=None, **options)
    return [
        TextReader(text, seen_in(model)),
        RulesReader(str(hb.export_rules(model, **options)), seen_in(model)),
    ]


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)]


def values(reader: Any, rows: pd.DataFrame) -> np.ndarray:
    """The numbers that a printed tree predicts."""
    return np.array([[float(value) for value in reader.predict(row)] for row in records(rows)])


def check_classes(model: Any, rows: pd.DataFrame) -> None:
    expected = [list(map(label, np.ravel(row))) for row in model.predict(rows)]
    for reader in readers(model):
        assert [reader.predict(row) for row in records(rows)] == expected


def check_values(tree: Any, expected: np.ndarray, rows: pd.DataFrame) -> None:
    for reader in readers(tree):
        np.testing.assert_array_equal(values(reader, rows), expected.reshape(len(rows), -1))


def check_mixtures(model: Any, rows: pd.DataFrame) -> None:
    """Probabilities, also of trees that part rows."""
    compare_mixtures(model, model.predict_proba(rows), rows)


def compare_mixtures(model: Any, expected: np.ndarray, rows: pd.DataFrame) -> None:
    text = hb.export_text(model, max_depth=None, show_weights=True, **WHOLE)
    rules = str(hb.export_rules(model, **WHOLE))
    for reader in (TextReader(text, seen_in(model)), RulesReader(rules, seen_in(model))):
        found = [reader.mixture(row) for row in records(rows)]
        shares = np.array([[row.get(label(c), 0.0) for c in model.classes_] for row in found])
        np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-12)


# --- CART ---------------------------------------------------------------------------------------

UNSEEN = ["missing", "error", "other"]


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize("split", ["subset", "one_vs_rest"])
def test_classification_trees(unseen: str, split: str) -> None:
    for seed in range(3):
        task = Task(seed)
        model = hb.DecisionTreeClassifier(
            max_depth=6, category_split=split, unseen=unseen, random_state=0, **CATEGORIES
        ).fit(task.X, task.label)
        check_classes(model, task.rows(unseen))
        check_mixtures(model, task.rows(unseen))


@pytest.mark.parametrize("unseen", UNSEEN)
def test_regression_trees(unseen: str) -> None:
    for seed, criterion in enumerate(["squared_error", "absolute_error", "poisson"]):
        task = Task(seed)
        model = hb.DecisionTreeRegressor(
            max_depth=7, criterion=criterion, unseen=unseen, **CATEGORIES
        ).fit(task.X, task.level + 50)
        rows = task.rows(unseen)
        check_values(model, model.predict(rows), rows)


def test_several_outputs() -> None:
    task = Task(3)
    rows = task.rows()
    two = np.column_stack([task.label, np.where(task.X["rooms"] > 2, "m", "n, [o]")])
    check_classes(hb.DecisionTreeClassifier(max_depth=5).fit(task.X, two), rows)
    pair = np.column_stack([task.level, -task.level])
    model = hb.DecisionTreeRegressor(max_depth=5).fit(task.X, pair)
    check_values(model, model.predict(rows), rows)


def test_tables_without_gaps_and_sparse_ones() -> None:
    """Missing values that training has never seen go somewhere, and that is said, too."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"]).astype(np.float32)
    y = X["a"] + X["b"] * X["c"]
    rows = X.mask(rng.random(X.shape) < 0.3)
    model = hb.DecisionTreeRegressor(max_depth=6).fit(X, y)
    check_values(model, model.predict(rows), rows)
    model = hb.DecisionTreeRegressor(max_depth=6, splitter="random", random_state=0).fit(X, y)
    check_values(model, model.predict(rows), rows)


def test_pruned_trees() -> None:
    task = Task(4)
    grown = hb.DecisionTreeClassifier(random_state=0).fit(task.X, task.label)
    check_classes(hb.prune_cost_complexity(grown, 0.01), task.rows())
    check_classes(hb.prune_pessimistic(grown), task.rows())
    check_classes(hb.prune_reduced_error(grown, task.X, task.label), task.rows())


# --- ensembles ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "forest", [hb.RandomForestClassifier, hb.ExtraTreesClassifier, hb.BaggingClassifier]
)
def test_trees_of_forests(forest: Any) -> None:
    task = Task(5)
    model = forest(n_estimators=3, random_state=0).fit(task.X, task.label)
    for tree in model.estimators_:
        check_classes(tree, task.rows())


@pytest.mark.parametrize("forest", [hb.RandomForestRegressor, hb.ExtraTreesRegressor])
def test_trees_of_regression_forests(forest: Any) -> None:
    task = Task(6)
    model = forest(n_estimators=3, random_state=0, unseen="other").fit(task.X, task.level)
    rows = task.rows()
    for tree in model.estimators_:
        check_values(tree, tree.predict(rows), rows)


def test_trees_of_an_embedding() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 3)), columns=["a", "b", "c"])
    model = hb.RandomTreesEmbedding(n_estimators=2, max_depth=3, random_state=0).fit(X)
    for tree in model.estimators_:
        rows = X.mask(rng.random(X.shape) < 0.2)
        check_values(tree, tree.tree_.value[tree.apply(rows)], rows)


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_boosting_adds_up_what_its_trees_say(unseen: str, growth: str) -> None:
    task = Task(7)
    rows = task.rows(unseen)
    model = hb.GradientBoostingRegressor(
        n_estimators=4, min_samples_leaf=4, growth=growth, unseen=unseen, random_state=0
    ).fit(task.X, task.level)
    for kind in range(2):
        printed = [values(readers(model.tree(i))[kind], rows) for i in range(4)]
        total = model.ensemble_.start[0] + np.sum(printed, axis=0)[:, 0]
        np.testing.assert_allclose(total, model.predict(rows), rtol=1e-12)


def test_boosting_of_classes() -> None:
    task = Task(8)
    model = hb.GradientBoostingClassifier(
        n_estimators=2, min_samples_leaf=4, category_split="one_vs_rest", random_state=0
    ).fit(task.X, task.label)
    rows, n_classes = task.rows(), 3
    scores = np.tile(model.ensemble_.start, (len(rows), 1))
    for tree in range(len(model.trees_)):
        scores[:, tree % n_classes] += values(readers(model.tree(tree))[0], rows)[:, 0]
    np.testing.assert_allclose(scores, model.decision_function(rows), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("unseen", ["missing", "other"])
def test_isolation_trees(unseen: str) -> None:
    task = Task(9)
    rows = task.rows()
    model = hb.IsolationForest(n_estimators=3, unseen=unseen, random_state=0).fit(task.X)
    lengths = [[values(reader, rows) for reader in readers(tree)] for tree in model.estimators_]
    for printed in zip(*lengths, strict=True):
        found = np.mean(printed, axis=0)[:, 0]
        np.testing.assert_allclose(found, model.path_length(rows), rtol=1e-12)


# --- ID3 and C4.5 -------------------------------------------------------------------------------

QUINLAN: dict[str, Callable[[str], Any]] = {
    "id3": lambda unseen: hb.ID3Classifier(numeric="categories", max_depth=4, unseen=unseen),
    "id3, fractions": lambda unseen: hb.ID3Classifier(
        numeric="categories", missing="fractions", max_depth=4, unseen=unseen
    ),
    "c45": lambda unseen: hb.C45Classifier(unseen=unseen),
    "c45, unpruned": lambda unseen: hb.C45Classifier(
        pruning=None, min_samples_leaf=1, unseen=unseen, **CATEGORIES
    ),
    "c45, groups": lambda unseen: hb.C45Classifier(
        grouping=True, pruning=None, unseen=unseen, **CATEGORIES
    ),
}


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize("name", QUINLAN)
def test_trees_that_part_rows(name: str, unseen: str) -> None:
    for seed in range(2):
        task = Task(seed + 10)
        rows = task.rows(unseen)
        if name.startswith("id3"):  # numbers are categories there: only those of fit
            few = ["district", COLUMNS["color"], "member", COLUMNS["code"], "grade", "rooms"]
            task.X, rows = task.X[few], rows[few]
        model = QUINLAN[name](unseen).fit(task.X, task.label)
        check_mixtures(model, rows)
        if name.startswith("c45"):
            rules = model.rules(task.X, task.label, **WHOLE)
            reader = RuleSetReader(str(rules), seen_in(model))
            expected = list(map(label, rules.predict(rows)))
            assert [reader.predict(row) for row in records(rows)] == expected


@pytest.mark.parametrize("name", ["id3", "id3, fractions"])
def test_a_branch_of_their_own_for_missing_values(name: str) -> None:
    X, y = tables.melons_alpha()
    model = QUINLAN[name]("missing").fit(X, y)
    rng = np.random.default_rng(0)
    shuffled = X.apply(lambda column: rng.permutation(column))
    rows = pd.concat([X, shuffled, shuffled.mask(rng.random(X.shape) < 0.4)], ignore_index=True)
    check_mixtures(model, rows)


# --- as it is printed by default ---------------------------------------------------------------


@pytest.mark.quick
def test_by_default_nothing_is_hidden_of_a_small_tree() -> None:
    """Where training saw no missing value, too; and all unseen categories go where it says."""
    X = pd.DataFrame({"district": ["north", "south", "east", "west"] * 5, "age": range(20)})
    y = np.where((X["district"] == "north") | (X["age"] > 15), "yes", "no")
    model = hb.DecisionTreeClassifier().fit(X, y)
    rows = pd.DataFrame(
        {
            "district": ["north", "south", None, "moon", None, "west"],
            "age": [3, 18, 3, 18, None, None],
        }
    )
    expected = [[value] for value in model.predict(rows)]
    text = TextReader(hb.export_text(model), seen_in(model))
    rules = RulesReader(str(hb.export_rules(model)), seen_in(model))
    for reader in (text, rules):
        assert [reader.predict(row) for row in records(rows)] == expected


def test_the_page_about_reading_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reading.md").read_text(encoding="utf-8")
    namespace: dict[str, Any] = {}
    pairs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(pairs) == 2
    for code, shown in pairs:
        exec(compile(code, "docs/reading.md", "exec"), namespace)
        assert capsys.readouterr().out.rstrip() == shown.rstrip()


def test_what_is_left_out_is_said() -> None:
    """A reader that refuses what was cut, rounded or hidden finds a note about it."""
    names = [f"n{i}" for i in range(30)]
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": rng.choice(names, 300), "x": rng.random(300)})
    y = X["name"].isin(names[::2]).to_numpy() + X["x"]
    model = hb.DecisionTreeRegressor(max_depth=4).fit(X, y)
    complete = {"max_depth": None, **WHOLE}
    for option, cut, words in (
        ("max_depth", 1, "max_depth=None"),
        ("decimals", 2, "decimals=None"),
        ("max_categories", 6, "max_categories=None"),
        ("show_missing", False, "show_missing=True"),
    ):
        text = hb.export_text(model, **(complete | {option: cut}))
        assert words in text.splitlines()[-1]
        assert words not in hb.export_text(model, **complete)
        if option != "max_depth":
            options = {**WHOLE, option: cut}
            assert words in str(hb.export_rules(model, **options)).splitlines()[-1]
            with pytest.raises(AssertionError):
                readers(model, **options)
    check_values(model, model.predict(X), X)


# --- trees that nobody grew ---------------------------------------------------------------------


def named_rows(estimator: StandIn, n_rows: int = 30) -> tuple[np.ndarray, pd.DataFrame]:
    """Rows as the tree reads them, and as people write them."""
    matrix = sample_rows(estimator, n_rows)
    table = {}
    for column, numbers in zip(estimator.schema_.columns, matrix.T, strict=True):
        known = column.categories
        table[column.name] = [
            x if known is None or x != x else known[int(x)] for x in numbers.tolist()
        ]
    return matrix, pd.DataFrame(table)


@pytest.mark.parametrize("make", [weather, steps])
def test_handmade_trees(make: Any) -> None:
    estimator = make()
    check_stand_in(estimator)


def check_stand_in(estimator: StandIn) -> None:
    matrix, rows = named_rows(estimator)
    expected = estimator.predict_values(matrix)
    for reader in readers(estimator):
        for row, found in zip(records(rows), expected, strict=True):
            predicted = reader.predict(row)
            if hasattr(estimator, "classes_"):
                assert predicted == [label(estimator.classes_[found.argmax()])]
            else:
                assert [float(value) for value in predicted] == found.tolist()


@settings(max_examples=60)
@given(estimators())
def test_any_tree(estimator: StandIn) -> None:
    check_stand_in(estimator)


class Parting(StandIn):
    """A stand-in that sends a row down every branch where its own is not known."""

    _parts_rows = True


def parting_tree(rng: np.random.Generator, columns: list[Any], depth: int) -> Any:
    """A random tree that asks the same columns again and again."""
    if depth == 0 or rng.random() < 0.2:
        share = rng.random()
        return leaf(share, 1.0 - share, rows=int(rng.integers(1, 9)))
    feature = int(rng.integers(len(columns)))
    size = len(columns[feature].categories or ())
    missing = int(rng.integers(2))
    if size and rng.random() < 0.5:
        count = size + int(rng.integers(2))  # maybe with a branch for missing values
        empty = rng.random(count) < 0.4
        empty[rng.integers(count)] = False
        below = [parting_tree(rng, columns, depth - 1) for _ in range(count)]
        nobody = leaf(0.5, 0.5, rows=0)
        children = [nobody if gone else child for gone, child in zip(empty, below, strict=True)]
        return multiway(feature, *children, missing=count - 1)
    sides = [parting_tree(rng, columns, depth - 1) for _ in range(2)]
    if size:
        chosen = tuple(np.flatnonzero(rng.random(size) < 0.5).tolist())
        return subset(feature, chosen, *sides, missing=missing)
    return number(feature, float(rng.normal(5, 20)), *sides, missing=missing)


@pytest.mark.parametrize("seed", range(40))
def test_any_tree_that_parts_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [Column("x"), Column("c", "a", "b", "d"), Column("e", "u", "v")]
    tree = Parting().with_tree(parting_tree(rng, columns, 4), columns, np.array(["no", "yes"]))
    matrix, rows = named_rows(tree)
    expected = fraction_walker(tree.tree_, tree.schema_.n_categories).mixture(matrix)
    compare_mixtures(tree, expected, rows)


# --- real tables --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "target"),
    [("titanic", "survived"), ("house_votes_84", "party"), ("uci_soybean", "class")],
)
def test_real_tables(name: str, target: str, shared_data: Path) -> None:
    """Fitted on some rows, printed, and read back on others, with more gaps."""
    frame = pd.read_csv(shared_data / name / "data.csv.gz").sample(400, random_state=0)
    X, y = frame.drop(columns=target), frame[target].astype(str)
    rows = X.tail(120).mask(np.random.default_rng(0).random((120, X.shape[1])) < 0.2)
    model = hb.DecisionTreeClassifier(max_depth=8, random_state=0)
    check_classes(model.fit(X.head(280), y.head(280)), rows)
    check_mixtures(hb.C45Classifier().fit(X.head(280), y.head(280)), rows)

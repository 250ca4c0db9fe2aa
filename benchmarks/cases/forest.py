"""Forests of 100 fully grown trees on 2 threads: fit, predict, size and memory beside peers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn.ensemble
from sklearn.compose import ColumnTransformer
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder

import hornbeam as hb
from benchmarks import datasets, shared
from benchmarks.children import ask
from benchmarks.datasets import Array, DataSet
from benchmarks.harness import SKLEARN, Case, Contender, Options, at_hand, measure_all
from benchmarks.results import Row, Target

HORNBEAM, YDF = "hornbeam", "YDF"
DEFAULT = "hornbeam, default"
THREADS = 2
N_TREES, FEW_TREES = 100, 10  # few on a million rows
N_SINGLE = 200
RANDOM_FOREST, EXTRA_TREES = "random forest", "extra trees"
# How many times as long as hornbeam the others take, at least.
AS_LONG = {RANDOM_FOREST: Target.at_least(3.0), EXTRA_TREES: Target.at_least(2.5)}
MANY_ROWS, SINGLE_ROWS = Target.at_least(2.0), Target.at_least(20.0)
A_THIRD = Target.at_most(1 / 3)
SCORE_SLACK = 0.005  # by how much a peer may be better before its row is flagged
NAMES = {RANDOM_FOREST: "RandomForest", EXTRA_TREES: "ExtraTrees"}
SKLEARN_NODE = 64  # bytes of a node's record; its values come on top
FRAME = " of a frame"
BUDGET = 40.0  # seconds of a case after which it is not repeated


def rows(options: Options) -> Iterable[Row]:
    hurried = replace(options, repeats=min(options.repeats, 3), budget=min(options.budget, BUDGET))
    for data in sets(options):
        models = Models(options)
        for kind in NAMES:
            case = fit_case(kind, data, options, models)
            yield from unless_better(measure_all([case], hurried))
        yield from rows_of_fitted(data, models, hurried)
    yield from memory_rows(options)
    notes(options)


def notes(options: Options) -> None:
    options.note(
        "Reference is hornbeam: 3.00x as much means that a library takes three times its time. "
        f"The score is the accuracy or R2; a peer that is better by more than {SCORE_SLACK:g} is "
        f"flagged. A million rows get {FEW_TREES} trees instead of {N_TREES}."
    )
    options.note(
        "All draw the square root of the features in a node for classes, and all of them for "
        f"numbers, and grow until leaves are pure. '{DEFAULT}' has hornbeam's own settings: it "
        "finds out how few rows a node may have to be split, and draws a share of the features for "
        "numbers. YDF's votes are hard, its default; it does not compute its out-of-bag score "
        "here, as nobody else does."
    )
    options.note(
        f"Where there are categories (adult, california_housing), hornbeam and YDF take them as "
        f"such and {SKLEARN} takes their numbers in alphabetical order, encoded before the fit. "
        "Predictions start from the same array of numbers for all, hornbeam being told which "
        f"columns are categories; '{FRAME}' are predictions from the pandas frame itself, of "
        f"{SKLEARN} by a pipeline with an OrdinalEncoder."
    )
    options.note(
        f"Size: hornbeam's store_.nbytes; of {SKLEARN} {SKLEARN_NODE} bytes per node and its "
        "values, without the Python objects around them."
    )
    if find_spec("ydf") is None:
        options.note("YDF is not installed and left out (see the extra 'bench').")


def sets(options: Options) -> Iterator[DataSet]:
    """Make or read the sets, one at a time; only those that ``options.only`` may mean."""
    n_test = options.size(100_000, 300)
    for name in ("adult", "letter", "california_housing"):
        whole = shared.load(name)
        if whole is not None and options.quick:
            whole = whole.capped(600)
        yield from at_hand(options, None if whole is None else whole.split(0))
    yield from at_hand(options, datasets.covtype(options.size(100_000, 600), n_test))
    yield datasets.synthetic(options.size(1_000_000, 600), n_test)


def trees(data: DataSet, options: Options) -> int:
    return options.size(FEW_TREES if data.name.startswith("synthetic") else N_TREES, 5)


def threads(options: Options) -> int:
    """Two; one for tiny sizes, where others may be at work and waiting threads do harm."""
    return options.size(THREADS, 1)


# --- libraries -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Library:
    """One library: how a forest is made, which form of a table it takes, what it predicts."""

    name: str
    make: Callable[[str, DataSet, int, int], Any]  # kind, data, trees and threads
    table: Callable[[Any], Any]
    fit: Callable[[Any, Any, Array], Any] = lambda forest, X, y: forest.fit(X, y)
    predict: Callable[[Any, Any], Array] = lambda model, X: model.predict(X)
    n_jobs: str = "n_jobs"  # what the parameter is called

    def score(self, model: Any, data: DataSet) -> float:
        return score(self.predict(model, self.table(data.X_test)), data)


def _estimator(package: Any) -> Callable[[str, DataSet, int, int], Any]:
    def make(kind: str, data: DataSet, n_trees: int, n_threads: int) -> Any:
        suffix = "Classifier" if data.task == "classification" else "Regressor"
        factory = getattr(package, NAMES[kind] + suffix)
        forest = factory(
            n_estimators=n_trees, n_jobs=n_threads, random_state=0, min_samples_split=2
        )
        return forest if data.task == "classification" else forest.set_params(max_features=1.0)

    return make


def _default(kind: str, data: DataSet, n_trees: int, n_threads: int) -> Any:
    """Forest of hornbeam as a user gets it."""
    forest = type(OURS.make(kind, data, n_trees, n_threads))
    return forest(n_estimators=n_trees, n_jobs=n_threads, random_state=0)


def _pipeline(kind: str, data: DataSet, n_trees: int, n_threads: int) -> Any:
    """scikit-learn's forest behind what makes numbers of the categories of a frame."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    numbered = ColumnTransformer(
        [("categories", encoder, categories(data.X))], remainder="passthrough"
    )
    forest = THEIRS.make(kind, data, n_trees, n_threads)
    return Pipeline([("numbers", numbered), ("forest", forest)])


def categories(X: pd.DataFrame) -> list[str]:
    """Names of the columns that hold categories."""
    return [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]


def _told(positions: list[int]) -> Library:
    """Return hornbeam for arrays of numbers, told which columns are categories."""

    def make(kind: str, data: DataSet, n_trees: int, n_threads: int) -> Any:
        forest = OURS.make(kind, data, n_trees, n_threads)
        return forest.set_params(categorical_features=positions or "from_dtype")

    return replace(OURS, make=make)


def _ydf_learner(kind: str, data: DataSet, n_trees: int, n_threads: int) -> Any:
    import ydf  # type: ignore[import-untyped,unused-ignore]

    ydf.verbose(0)
    classes = data.task == "classification"
    return ydf.RandomForestLearner(
        label="y",
        task=ydf.Task.CLASSIFICATION if classes else ydf.Task.REGRESSION,
        num_trees=n_trees,
        num_threads=n_threads,
        max_depth=-1,
        min_examples=1,
        num_candidate_attributes=0 if classes else -1,  # the square root, or all
        compute_oob_performances=False,
    )


def _ydf_table(X: Any) -> dict[str, Any]:
    """Columns by name: words for categories, an empty one where it is missing."""
    if not isinstance(X, pd.DataFrame):
        return {f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])}
    return {
        name: X[name].astype(object).fillna("").to_numpy(str)
        if isinstance(X[name].dtype, pd.CategoricalDtype)
        else X[name].to_numpy()
        for name in X
    }


def _ydf_predict(model: Any, X: Any) -> Array:
    answer: Array = model.predict(X)
    if model.task().name == "REGRESSION":
        return answer
    second = answer > 0.5 if answer.ndim == 1 else answer.argmax(axis=1)
    return np.array(model.label_classes()).astype(np.int64)[second.astype(np.int64)]


OURS = Library(HORNBEAM, _estimator(hb), lambda X: X)
DEFAULTS = Library(DEFAULT, _default, lambda X: X)
THEIRS = Library(SKLEARN, _estimator(sklearn.ensemble), shared.numbered)
PIPED = Library(SKLEARN, _pipeline, lambda X: X, n_jobs="forest__n_jobs")
YDFS = Library(
    YDF,
    _ydf_learner,
    _ydf_table,
    fit=lambda learner, X, y: learner.train({**X, "y": y}),
    predict=_ydf_predict,
)


def score(predicted: Array, data: DataSet) -> float:
    """Accuracy or R2 on the first test rows, as many as were predicted."""
    measure = accuracy_score if data.task == "classification" else r2_score
    return float(measure(data.y_test[: len(predicted)], predicted))


# --- fit -----------------------------------------------------------------------------------


def fit_case(kind: str, data: DataSet, options: Options, models: Models | None = None) -> Case:
    """Fits of one kind of forest; ``models`` keeps the random forests that others can use."""
    libraries = [OURS, DEFAULTS, THEIRS]
    if kind == RANDOM_FOREST and find_spec("ydf") is not None:
        libraries.append(YDFS)
    n_trees, n_threads = trees(data, options), threads(options)
    return Case(
        f"{kind}, fit",
        data,
        tuple(_fitting(library, kind, n_trees, n_threads, models) for library in libraries),
        reference=HORNBEAM,
        tolerance=np.inf,  # being better than a peer is no fault: see `unless_better`
        threads=n_threads,
        meaning="as much",
    )


def _fitting(
    library: Library, kind: str, n_trees: int, n_threads: int, models: Models | None
) -> Contender:
    def prepare(data: DataSet) -> Any:
        return library.make(kind, data, n_trees, n_threads), library.table(data.X)

    def run(state: Any, data: DataSet) -> Any:
        forest, table = state
        model = library.fit(forest, table, data.y)
        if models is not None and kind == RANDOM_FOREST and isinstance(data.X, np.ndarray):
            models.fitted[library.name, len(data.X)] = model
        return model

    target = None if library in (OURS, DEFAULTS) else AS_LONG[kind]
    return Contender(library.name, prepare, run, library.score, target)


def unless_better(rows: Iterable[Row]) -> Iterator[Row]:
    """Flag a peer that is clearly better than hornbeam: its time is not comparable."""
    ours = 0.0
    for row in rows:
        if row.contender == HORNBEAM:
            ours = row.score or 0.0
        peer = row.contender not in (HORNBEAM, DEFAULT)
        if peer and row.score is not None and row.score > ours + SCORE_SLACK:
            row = row.flagged(f"score {row.score:.4f} is above hornbeam's {ours:.4f}")
        yield row


# --- what is fitted ------------------------------------------------------------------------


@dataclass
class Models:
    """Random forests on one data set as an array, or as a frame, each fitted once."""

    options: Options
    fitted: dict[tuple[str, int], Any] = field(default_factory=dict)

    def __call__(self, library: Library, data: DataSet) -> Any:
        key = library.name, len(data.X)
        if key not in self.fitted:
            n_trees, n_threads = trees(data, self.options), threads(self.options)
            forest = library.make(RANDOM_FOREST, data, n_trees, n_threads)
            self.fitted[key] = library.fit(forest, library.table(data.X), data.y)
        return self.fitted[key]


def rows_of_fitted(data: DataSet, models: Models, options: Options) -> Iterator[Row]:
    """Time predictions of forests fitted on arrays and on frames, and give their sizes."""
    numbers = replace(data, X=shared.numbered(data.X), X_test=shared.numbered(data.X_test))
    names = categories(data.X) if isinstance(data.X, pd.DataFrame) else []
    ours = _told([list(data.X).index(name) for name in names])
    yield from _prediction_rows("", numbers, models, (ours, THEIRS), options)
    if options.only in f"size {data.name}":
        yield from size_rows(data, models(ours, numbers), models(THEIRS, numbers))
    if names:
        yield from _prediction_rows(FRAME, data, Models(options), (OURS, PIPED), options)


def _prediction_rows(
    form: str, data: DataSet, models: Models, libraries: tuple[Library, Library], options: Options
) -> Iterator[Row]:
    """Time predictions of all test rows at once, and of some of them one by one."""
    n_test, n_single = len(data.y_test), min(N_SINGLE, len(data.y_test))
    # One row is not worth a second thread in any library.
    for title, n_rows, n_jobs, predict, target in (
        (f"predict {n_test} rows{form}", n_test, threads(options), _at_once, MANY_ROWS),
        (f"predict {n_single} single rows{form}", n_single, 1, _row_by_row, SINGLE_ROWS),
    ):
        few = replace(data, X_test=data.X_test[:n_rows], y_test=data.y_test[:n_rows])
        contenders = (
            _predicting(libraries[0], models, n_jobs, predict),
            _predicting(libraries[1], models, n_jobs, predict, target),
        )
        case = Case(title, few, contenders, HORNBEAM, np.inf, n_jobs, "as much")
        yield from measure_all([case], options)


def _predicting(
    library: Library,
    models: Models,
    n_jobs: int,
    predict: Callable[[Library, Any, Any], Array],
    target: Target | None = None,
) -> Contender:
    def prepare(data: DataSet) -> Any:
        return models(library, data).set_params(**{library.n_jobs: n_jobs})

    def run(model: Any, data: DataSet) -> Array:
        return predict(library, model, data.X_test)

    return Contender(library.name, prepare, run, score, target)


def _at_once(library: Library, model: Any, X: Any) -> Array:
    return library.predict(model, library.table(X))


def _row_by_row(library: Library, model: Any, X: Any) -> Array:
    return np.concatenate([_at_once(library, model, X[i : i + 1]) for i in range(len(X))])


def size_rows(data: DataSet, ours: Any, theirs: Any) -> Iterator[Row]:
    """Bytes of the two fitted forests, all in all and by node."""
    counted = {
        SKLEARN: (sklearn_bytes(theirs), sum(tree.tree_.node_count for tree in theirs)),
        HORNBEAM: (ours.store_.nbytes, ours.store_.n_nodes),
    }
    for case, unit, target in (("size", "MB", A_THIRD), ("size of a node", "bytes", None)):
        found = []
        for name, (size, n_nodes) in counted.items():
            value = size / 1e6 if unit == "MB" else size / n_nodes
            found.append(Row(f"{RANDOM_FOREST}, {case}", data.name, name, value, unit))
        yield found[0]
        yield replace(found[1], meaning="as much").against(found[0], target)


def sklearn_bytes(forest: Any) -> int:
    """Bytes of scikit-learn's nodes and of what they predict."""
    stored = [estimator.tree_ for estimator in forest]
    return sum(tree.node_count * SKLEARN_NODE + tree.value.nbytes for tree in stored)


def memory_rows(options: Options) -> Iterator[Row]:
    """Peak memory of a fit beyond what was there before it, each in a process of its own."""
    data = datasets.covtype(options.size(100_000, 600), 1000)
    if data is None:
        data = datasets.synthetic(options.size(100_000, 600), 1000)
    if options.only not in f"{RANDOM_FOREST}, peak memory of the fit {data.name}":
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = {"X": str(Path(folder) / "X.npy"), "y": str(Path(folder) / "y.npy")}
        np.save(paths["X"], data.X)
        np.save(paths["y"], data.y)
        grown = {}
        for name, module in ((SKLEARN, "sklearn.ensemble"), (HORNBEAM, "hornbeam")):
            given = {"n_estimators": options.size(N_TREES, 5), "n_jobs": threads(options)}
            request = {"module": module, "estimator": "RandomForestClassifier", **paths}
            answer = ask("memory", {**request, "parameters": {**given, "random_state": 0}})
            case = f"{RANDOM_FOREST}, peak memory of the fit"
            grown[name] = Row(case, data.name, name, answer["growth"] / 1e6, "MB")
    yield grown[SKLEARN]
    yield replace(grown[HORNBEAM], meaning="as much").against(grown[SKLEARN], A_THIRD)

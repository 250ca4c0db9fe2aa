"""The shared data sets, read as their MANIFEST.md and meta.json say.

Numbers become float32, words become pandas categories, svmlight files stay sparse. What a
model must not see (the answer in other words, row numbers) is dropped.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse
from sklearn.datasets import load_svmlight_files
from sklearn.model_selection import GroupShuffleSplit, KFold, StratifiedKFold, train_test_split

from benchmarks.datasets import Array, DataSet, Task, data_folder, shape, shared_path

LEAST_ROWS = 50  # the sets for teaching have 14 to 24
LEAST_OF_CLASS = 8
TEST_SHARE = 0.25
FEW_ROWS = 1_000  # a quarter of fewer is too small a test: every row is asked, in four folds
FOLDS_NOTE = (
    f"A seed parts the rows once into training and test rows; sets of fewer than {FEW_ROWS} rows "
    "into four folds, each of them tested once, whose mean is the figure of the seed."
)

# Columns that give the answer away, or are a name of the row.
DROPPED = {
    "airlines_2k_per_year": [
        "ArrDelay",
        "IsArrDelayed",
        "DepDelay",
        "DepTime",
        "ArrTime",
        "ActualElapsedTime",
        "AirTime",
        "TaxiIn",
        "TaxiOut",
        "Cancelled",
        "CancellationCode",
        "Diverted",
        "CarrierDelay",
        "WeatherDelay",
        "NASDelay",
        "SecurityDelay",
        "LateAircraftDelay",
    ],
    "ames_housing": ["Order", "PID"],
    "bike_sharing_hour": ["instant", "dteday", "casual", "registered"],
    "credit_card_default": ["ID"],
    "dataCar_claims": ["clm", "claimcst0", "X_OBSTAT_"],
    "nycflights13": ["dep_delay", "time_hour"],
    "scene_multilabel": ["c295", "c296", "c297", "c298", "c299"],
    "titanic": ["name", "boat", "body"],
    "uci_vowel": ["Train or Test"],
}
# Numbers that meta.json takes for categories, because missing ones are written NA.
NUMBERS = {
    "ames_housing": [
        "Lot Frontage",
        "Mas Vnr Area",
        "BsmtFin SF 1",
        "BsmtFin SF 2",
        "Bsmt Unf SF",
        "Total Bsmt SF",
        "Bsmt Full Bath",
        "Bsmt Half Bath",
        "Garage Yr Blt",
        "Garage Cars",
        "Garage Area",
    ],
}
# Of several targets the first one, or the one that meta.json names.
TARGETS = {"scene_multilabel": "c294"}
# Grades 0 to 4 of the relevance that catboost_querywise gives as fractions.
GRADES = (0.0, 0.07, 0.14, 0.41)


@dataclass(frozen=True)
class SharedSet:
    """All rows of a data set; :meth:`split` and :meth:`folds` part them."""

    name: str
    task: Task
    X: Any
    y: Array
    queries: Array | None = None  # of each row, ascending

    @property
    def n_classes(self) -> int:
        """Number of classes, and 1 where there are none."""
        return int(self.y.max()) + 1 if self.task == "classification" else 1

    def capped(self, n_rows: int) -> SharedSet:
        """Return some of the rows, drawn once, without classes that hardly occur in them."""
        if self.task == "ranking":
            return self
        chosen = np.random.default_rng(0).permutation(len(self.y))[:n_rows]
        y = self.y[chosen]
        if self.task == "classification":
            often = np.bincount(y)[y] >= LEAST_OF_CLASS
            chosen, y = chosen[often], np.unique(y[often], return_inverse=True)[1]
        return SharedSet(self.name, self.task, _rows(self.X, chosen), y)

    def split(self, seed: int) -> DataSet:
        """Part training from test rows; whole queries, and the same share of every class."""
        if self.queries is not None:
            return self._split_queries(seed)
        train, test = train_test_split(
            np.arange(len(self.y)),
            test_size=TEST_SHARE,
            random_state=seed,
            stratify=self.y if self.task == "classification" else None,
        )
        return self._parted(train, test)

    def folds(self, seed: int) -> list[DataSet]:
        """Part the rows so that each is tested once, if there are few; else :meth:`split` once."""
        if self.queries is not None or len(self.y) >= FEW_ROWS:
            return [self.split(seed)]
        kind = StratifiedKFold if self.task == "classification" else KFold
        parts = kind(round(1 / TEST_SHARE), shuffle=True, random_state=seed).split(self.y, self.y)
        return [self._parted(train, test) for train, test in parts]

    def drawn(self, n_train: int, most_test: int, seed: int) -> DataSet:
        """Draw so many training rows, and as many of the others to test on as there may be."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        return self._parted(order[:n_train], order[n_train : n_train + most_test])

    def _parted(self, train: Array, test: Array) -> DataSet:
        return DataSet(
            self._title(len(train)),
            _rows(self.X, train),
            self.y[train],
            _rows(self.X, test),
            self.y[test],
            self.task,
        )

    def _split_queries(self, seed: int) -> DataSet:
        assert self.queries is not None
        split = GroupShuffleSplit(1, test_size=TEST_SHARE, random_state=seed)
        parts = next(split.split(self.X, self.y, self.queries))
        # Files may hold the best rows of a query first: equal scores must not profit by it.
        rng = np.random.default_rng(seed)
        train, test = (
            rows[np.lexsort((rng.random(len(rows)), self.queries[rows]))] for rows in parts
        )
        return DataSet(
            self._title(len(train)),
            _rows(self.X, train),
            self.y[train],
            _rows(self.X, test),
            self.y[test],
            self.task,
            np.unique(self.queries[train], return_counts=True)[1],
            np.unique(self.queries[test], return_counts=True)[1],
        )

    def _title(self, n_rows: int) -> str:
        return f"{self.name} {shape(n_rows, self.X.shape[1])}"


def names() -> list[str]:
    """Names of the sets for classification, regression and ranking, as far as they are there."""
    folder = data_folder()
    return [
        path.parent.name
        for path in sorted(folder.glob("*/meta.json") if folder is not None else ())
        if _task_of(meta := _meta(path.parent)) is not None and _size(meta) >= LEAST_ROWS
    ]


def load(name: str) -> SharedSet | None:
    """Read a set, or return None when it is not at hand."""
    path = shared_path(name, "meta.json")
    if path is None:
        return None
    folder, meta = path.parent, _meta(path.parent)
    task = _task_of(meta)
    assert task is not None, f"{name} is for {meta['task']}."
    if task == "ranking":
        return _read_ranking(folder)
    X, y = _read(folder, meta)
    if task == "classification":
        y = np.unique(y.astype(str), return_inverse=True)[1]
    return SharedSet(name, task, X, np.asarray(y, np.float64 if task == "regression" else np.int64))


def _task_of(meta: dict[str, Any]) -> Task | None:
    if meta["task"].startswith("multi-label"):
        return "classification"
    tasks: tuple[Task, ...] = ("classification", "regression", "ranking")
    return next((task for task in tasks if meta["task"].startswith(task)), None)


def _meta(folder: Path) -> dict[str, Any]:
    meta: dict[str, Any] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    return meta


def _size(meta: dict[str, Any]) -> int:
    return int(max(part["rows"] for part in meta["parts"]))


def _read(folder: Path, meta: dict[str, Any]) -> tuple[Any, Any]:
    files = [folder / part["file"] for part in meta["parts"]]
    if files[0].name.endswith(".libsvm.gz"):
        return _read_sparse(files)
    if files[0].suffix == ".mat":
        content = scipy.io.loadmat(files[0])
        return content["X"].astype(np.float32), content["Y"].ravel()
    if meta["name"] == "kddcup99_10pct":  # its test part is of another distribution
        with gzip.open(folder / "columns.txt.gz", "rt", encoding="ascii") as lines:
            frame = pd.read_csv(files[0], header=None, names=lines.read().split())
    else:
        frame = pd.concat([_read_frame(file) for file in files], ignore_index=True)
    return _clean(frame, meta)


def _read_frame(file: Path) -> pd.DataFrame:
    if file.suffix == ".parquet":
        return pd.read_parquet(file)
    return pd.read_csv(file, keep_default_na=False, na_values=[""], low_memory=False)


def _read_sparse(files: list[Path]) -> tuple[Any, Any]:
    parts = load_svmlight_files([str(file) for file in files], dtype=np.float32)
    return scipy.sparse.vstack(parts[::2]).tocsr(), np.concatenate(parts[1::2])


def _clean(frame: pd.DataFrame, meta: dict[str, Any]) -> tuple[Any, Any]:
    name = meta["name"]
    target = TARGETS.get(name, meta["target"])
    frame = frame[frame[target].notna()]
    others = [column for column in frame if column.endswith("_48H__0")]  # of rf1_river_flow
    X = frame.drop(columns=list({target, *others, *DROPPED.get(name, ())}))
    words = set(meta["parts"][0]["categorical"]) - set(NUMBERS.get(name, ()))
    columns = {
        column: X[column].astype("category")
        if column in words
        else pd.to_numeric(X[column], errors="coerce" if name in NUMBERS else "raise").astype(
            np.float32
        )
        for column in X
    }
    X = pd.DataFrame(columns).dropna(axis="columns", how="all")
    return (X if words & set(X) else X.to_numpy(np.float32)), frame[target].to_numpy()


def _read_ranking(folder: Path) -> SharedSet:
    if folder.name == "catboost_querywise":
        parts = [pd.read_csv(folder / f"{part}.tsv.gz", sep="\t", header=None) for part in PARTS]
        frame = pd.concat(parts, ignore_index=True)
        y = np.searchsorted(GRADES, frame[2].to_numpy(), side="left")
        X = frame.drop(columns=[0, 1, 2, 3, 4]).to_numpy(np.float32)
        queries = np.cumsum(frame[1].to_numpy() != frame[1].shift().to_numpy())
        return SharedSet(folder.name, "ranking", X, y, queries)
    X, y = _read_sparse([folder / f"rank.{part}.gz" for part in PARTS])
    sizes = np.concatenate([np.loadtxt(folder / f"rank.{part}.query.gz", int) for part in PARTS])
    queries = np.repeat(np.arange(len(sizes)), sizes)
    return SharedSet(folder.name, "ranking", X.toarray(), y.astype(np.int64), queries)


PARTS = ("train", "test")


def _rows(X: Any, chosen: Array) -> Any:
    return X.iloc[chosen].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[chosen]


def numbered(X: Any) -> Any:
    """Return a frame as an array, for libraries without categories.

    A category becomes its number in alphabetical order, a missing one NaN. Other tables stay
    as they are.
    """
    if not isinstance(X, pd.DataFrame):
        return X
    return np.stack([_numbers(X[name]) for name in X], axis=1)


def _numbers(column: Any) -> Array:
    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    numbers = np.array(column.cat.codes if is_category else column, np.float32)
    if is_category:
        numbers[numbers < 0] = np.nan
    return numbers

"""Which rows belong to one query, and the order that makes them neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.dtypes import Array


@dataclass(frozen=True)
class QueryOrder:
    """First row of each query (and the end), after the rows were put in ``order``."""

    groups: Array
    order: Array | None

    def sort(self, values: Any) -> Any:
        """Values of all rows in the order of the queries.

        What has another number of rows is left alone, to be refused where it is read.
        """
        if values is None or self.order is None or count_rows(values) != len(self.order):
            return values
        if hasattr(values, "iloc"):
            return values.iloc[self.order]
        if scipy.sparse.issparse(values):
            return scipy.sparse.csr_array(values)[self.order]
        if hasattr(values, "take") and not isinstance(values, np.ndarray):
            return values.take(self.order)
        if hasattr(values, "gather"):  # a polars series
            return values.gather(self.order)
        if hasattr(values, "shape"):
            return values[self.order]
        return [values[row] for row in self.order]  # a list: its entries stay what they are


def count_rows(values: Any) -> int:
    """How many rows a table or a column has, -1 if it is neither."""
    shape = getattr(values, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else -1
    return len(values) if hasattr(values, "__len__") else -1


def read_queries(group: Any, qid: Any, X: Any) -> QueryOrder:
    """Queries from the number of rows of each, or from the query of each row."""
    n_rows = count_rows(X)
    if (group is None) == (qid is None):
        raise ValueError(
            "A ranker must know which rows belong to one query: pass either group (rows per "
            "query) or qid (the query of each row) to fit, or set the parameter query."
        )
    if group is not None:
        sizes = np.asarray(group)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise ValueError("group must hold the number of rows of each query, all at least 1.")
        if sizes.sum() != n_rows:
            raise ValueError(f"group adds up to {sizes.sum()} rows, but X has {n_rows}.")
        return QueryOrder(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), None)
    queries = np.asarray(qid)
    if queries.shape != (n_rows,):
        raise ValueError(f"qid has shape {queries.shape}, but X has {n_rows} rows.")
    _, numbers, sizes = np.unique(queries, return_inverse=True, return_counts=True)
    order = np.argsort(numbers, kind="stable")
    groups = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return QueryOrder(groups, None if np.array_equal(order, np.arange(n_rows)) else order)


def take_column(X: Any, query: str | int, missing_ok: bool = False) -> tuple[Any, Any]:
    """A table without its query column, and that column."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    names = None if names is None else list(names)
    if isinstance(query, (bool, np.bool_)):
        raise ValueError(f"query={query} is neither the name nor the position of a column of X.")
    if isinstance(query, str):
        if names is None or query not in names:
            if missing_ok:
                return X, None
            has = "has no names" if names is None else f"has {names[:10]}"
            raise ValueError(f"query={query!r} is not a column of X, which {has}.")
        return _part_frame(X, query)
    values = X if hasattr(X, "shape") else np.asarray(X, object)
    if len(values.shape) != 2 or not -values.shape[1] <= query < values.shape[1]:
        raise ValueError(
            f"query={query} is not a column of X, whose shape is {tuple(values.shape)}."
        )
    kept = np.delete(np.arange(values.shape[1]), query)
    if hasattr(values, "iloc"):
        return values.iloc[:, kept], values.iloc[:, query].to_numpy()
    if names is not None:
        return _part_frame(X, names[query])
    if scipy.sparse.issparse(values):
        values = scipy.sparse.csc_array(values)
        return values[:, kept], values[:, [query % values.shape[1]]].toarray().ravel()
    return values[:, kept], values[:, query]


def _part_frame(X: Any, query: str) -> tuple[Any, Any]:
    """A data frame without one of its columns, and that column."""
    import narwhals.stable.v1 as nw

    frame = nw.from_native(X, eager_only=True)
    return nw.to_native(frame.drop(query)), frame.get_column(query).to_numpy()

"""What the user passes to ``fit``, read: a float matrix, targets, weights and start scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.data.target import read_values, warn_column_vector
from hornbeam.dtypes import Array

_MAX_EXPONENT = 60  # of the largest weight: slopes are float32


@dataclass(frozen=True, eq=False)
class Given:
    """What the user passes to ``fit``."""

    X: Any
    y: Any
    sample_weight: Any = None
    init_score: Any = None
    groups: Array | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that were read: features, targets, weights."""

    matrix: Any  # of floats, or a `CodedTable`
    target: Array
    weight: Array
    init_score: Array | None
    groups: Array | None

    def chosen(self, mask: Array) -> Rows:
        """Some of the rows."""
        init = None if self.init_score is None else self.init_score[mask]
        groups = self.groups
        if groups is not None:
            sizes = np.add.reduceat(mask.astype(np.int64), groups[:-1])
            sizes = sizes[sizes > 0]
            groups = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        matrix = self.matrix
        if scipy.sparse.issparse(matrix):
            matrix = scipy.sparse.csr_array(matrix)
        return Rows(matrix[mask], self.target[mask], self.weight[mask], init, groups)


def moderate(weight: Array) -> Array:
    """Weights times a power of two if they are so large or small that slopes would overflow."""
    exponent = int(np.frexp(weight.max())[1]) if len(weight) else 0
    return weight if abs(exponent) <= _MAX_EXPONENT else np.ldexp(weight, -exponent)


def draw_share(count: int, share: float, random: np.random.Generator) -> Array:
    """A mask of so many entries, of which about this share is set."""
    mask = np.zeros(count, bool)
    mask[random.permutation(count)[: round(share * count)]] = True
    return mask


def read_init(init_score: Any, n_rows: int) -> Array:
    """Start scores as finite numbers, one or several for each row."""
    try:
        init = np.asarray(init_score, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init_score must hold numbers: {error}.") from error
    if init.ndim not in (1, 2) or len(init) != n_rows:
        raise ValueError(f"init_score has shape {init.shape}, but X has {n_rows} rows.")
    if not np.isfinite(init).all():
        raise ValueError("init_score holds NaN or infinite values.")
    return init


def lay_out_init(init: Array, n_scores: int) -> Array:
    """Start scores of each row as (n_scores, n_rows)."""
    n_rows = len(init)
    if init.size != n_rows * n_scores:
        wanted = (n_rows,) if n_scores == 1 else (n_rows, n_scores)
        raise ValueError(f"init_score has shape {init.shape}; it must have shape {wanted}.")
    return init.reshape(n_rows, -1).T


def read_one_column(y: Any, name: str) -> Array:
    """A target of one column; a column vector is taken with a warning, as everywhere."""
    values = read_values(y, name)
    if values.shape[1] > 1:
        raise ValueError(
            f"y has {values.shape[1]} columns, but {name} predicts one target: fit one model per "
            "column, or use sklearn.multioutput.MultiOutputRegressor."
        )
    warn_column_vector(y)
    return values[:, 0]


def relabel(names: Array, labels: Array, classes: Array) -> Array:
    """Numbers of validation classes among the classes of training."""
    unknown = [name for name in names.tolist() if name not in set(classes.tolist())]
    if unknown:
        raise ValueError(
            f"y_val holds the class {unknown[0]!r}, which is not among the classes of y: "
            f"{classes.tolist()[:10]}."
        )
    place = np.searchsorted(classes, names)
    numbers: Array = place[labels.astype(np.int64)].astype(np.float64)
    return numbers

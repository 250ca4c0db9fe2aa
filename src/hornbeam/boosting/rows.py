"""What the user passes to ``fit``, read: a float matrix, targets, weights and start scores."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.data.folds import NO_KIN, Kin
from hornbeam.data.target import read_values, warn_column_vector
from hornbeam.dtypes import Array
from hornbeam.notices import warn

_MAX_EXPONENT = 60  # of the largest weight: slopes are float32
_FAR_TOO_HEAVY = 2.0**20  # times the usual weight,
_FEW_ROWS = 10  # if so few rows have it all
_HIDDEN_SHARE = 0.2  # of the rows of a table,
_HIDDEN_LEAVES = 20  # and as many rows as so many leaves need, may not be told apart
_MOST_TARGET = 100  # exponent of a target whose slopes float32 holds for sure
# Losses whose models go with the targets: twice as large for targets twice as large. With which
# power of the targets their gradients go; those of other such losses do not.
_GRADIENT_POWERS = {"squared_error": 1.0, "huber": 1.0, "sqrt_absolute": -0.5}


@dataclass(frozen=True, eq=False)
class Given:
    """What the user passes to ``fit``."""

    X: Any
    y: Any
    sample_weight: Any = None
    init_score: Any = None
    groups: Array | None = None  # where queries begin
    kin: tuple[Any, Any] = (None, None)  # groups and time


def read_sets(**arguments: Any) -> dict[str, tuple[Any, ...]]:
    """The validation rows by name, from arguments of ``fit`` that may be dicts of such names.

    ``X_val`` and ``y_val`` come first; the others may be None.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    if not given:
        return {}
    if "X_val" not in given or "y_val" not in given:
        raise ValueError("X_val and y_val belong together: pass both to fit, or neither.")
    if not isinstance(given["X_val"], dict):
        return {"validation": tuple(arguments.values())}
    names = list(given["X_val"])
    for argument, value in given.items():
        if not isinstance(value, dict) or set(value) != set(names):
            has = f"is {value!r:.40}" if not isinstance(value, dict) else f"has {list(value)[:10]}"
            raise ValueError(
                f"X_val holds the validation rows {names[:10]}, so {argument} must be a dict of "
                f"these names, but {has}."
            )
    for name in names:
        if not isinstance(name, str) or not name or name == "train":
            raise ValueError(
                f"X_val names validation rows {name!r}: names must be text, and 'train' is the "
                "name of the rows that are learnt from."
            )
    return {
        name: tuple(None if value is None else value[name] for value in arguments.values())
        for name in names
    }


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows that were read: features, targets, weights."""

    matrix: Any  # of floats, or a `CodedTable`
    target: Array
    weight: Array
    init_score: Array | None
    groups: Array | None  # where queries begin
    kin: Kin = NO_KIN

    def chosen(self, mask: Array) -> TrainingRows:
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
        kin = self.kin.chosen(mask)
        return TrainingRows(matrix[mask], self.target[mask], self.weight[mask], init, groups, kin)

    def scaled(self, scale: Scale) -> TrainingRows:
        """The rows with targets and scores near 1."""
        init = None if self.init_score is None else scale.down(self.init_score)
        return replace(self, target=scale.down(self.target), init_score=init)


def moderate(weight: Array) -> Array:
    """Weights times a power of two if they are so large or small that slopes would overflow."""
    exponent = int(np.frexp(weight.max())[1]) if len(weight) else 0
    return weight if abs(exponent) <= _MAX_EXPONENT else np.ldexp(weight, -exponent)


@dataclass(frozen=True)
class Scale:
    """The power of two that targets were divided by, and what follows from it.

    Slopes are float32. Where the targets are beyond it, they are brought near 1 and the model is
    brought back, which changes no bit of it. Gradients go with a power of the targets.
    """

    exponent: int = 0
    power: float = 1.0

    def down(self, values: Array) -> Array:
        """Targets or scores as they are learnt from."""
        return np.ldexp(values, -self.exponent) if self.exponent else values

    def up(self, values: Array, is_score: Array | bool = True) -> Array:
        """Scores as the user knows them; what is no score goes with the gradients."""
        if not self.exponent:
            return values
        exponent = np.where(is_score, self.exponent, round(self.power * self.exponent))
        with np.errstate(over="ignore", under="ignore"):
            known: Array = np.ldexp(values, exponent)
        if not np.isfinite(known).all():
            raise ValueError(
                "The values of y are so far apart that float64 cannot hold the steps between "
                "them: divide y by 10."
            )
        return known

    def of_gradients(self, limit: float, times: int = 1) -> float:
        """A limit of gradients, or of products of so many."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(limit, -round(times * self.power * self.exponent)))

    def up_losses(self, loss: float) -> float:
        """A loss as the user knows it, which may be beyond float64."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(loss, round((1.0 + self.power) * self.exponent)))

    def down_losses(self, loss: float) -> float:
        """A loss in the units that losses are compared in."""
        return Scale(-self.exponent, self.power).up_losses(loss)


NO_SCALE = Scale()


def find_scale(loss: Any, *values: Array | None) -> Scale:
    """How targets and scores are scaled, if they are beyond float32 and the loss goes with them."""
    power = _GRADIENT_POWERS.get(loss) if isinstance(loss, str) else None
    largest = max((float(np.abs(v).max(initial=0.0)) for v in values if v is not None), default=0.0)
    exponent = int(np.frexp(largest)[1]) if largest > 0.0 else 0
    if power is None or abs(exponent) <= _MOST_TARGET:
        return NO_SCALE
    return Scale(exponent + exponent % 2, power)  # even, since one power is a root


def heaviest(weight: Array) -> float:
    """How many rows of usual weight the heaviest row weighs as much as."""
    usual = max(float(np.median(weight)), np.finfo(np.float64).tiny) if len(weight) else 1.0
    return float(weight.max(initial=usual)) / usual


def weighs_too_much(ratio: float, n_rows: int, least_rows: int) -> bool:
    """Whether one row weighs so much that others near it would seem to be no rows at all.

    A side of a split seems to have as many rows as its share of the hessian says
    (`kernels.boosting.search`). In a node of n rows, one of which weighs as much as r others,
    all others together seem to be n^2 / (n + r) rows. If these are fewer than two leaves need,
    the node is not parted any more. So it is with less than l + sqrt(l^2 + 2 l r) rows, where l
    are the rows of a leaf. That should not be a large share of the table, nor many leaves.
    ``ratio`` is that of `heaviest`.
    """
    hidden = least_rows + math.sqrt(least_rows**2 + 2.0 * least_rows * ratio)
    return hidden > max(_HIDDEN_SHARE * n_rows, _HIDDEN_LEAVES * least_rows)


def warn_of_heaviest(weight: Array) -> None:
    """Warn if one row, or a few, weigh so much that the others hardly count."""
    if weight.strides == (0,) or not len(weight):
        return
    ratio, share = heaviest(weight), weight / weight.max()
    if ratio > _FAR_TOO_HEAVY and share.sum() ** 2 < _FEW_ROWS * (share**2).sum():
        warn(
            f"One row weighs as much as {ratio:.3g} rows of usual weight (sample_weight, "
            "class_weight): the model is fitted to it, and the others hardly count. Check the "
            "weights, or give such rows less."
        )


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

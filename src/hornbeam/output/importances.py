"""How important columns are, with their names: as a table and as a drawing."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hornbeam.errors import MissingDependencyError
from hornbeam.output.names import printable, shortened

_SHOWN = 20  # rows of a table, and bars of a drawing


class Importances(Mapping[str, float]):
    """Importances by the names of the columns, the largest first: a mapping that prints as a table.

    Parameters
    ----------
    names : sequence of str
    values : array
    """

    def __init__(self, names: Any, values: Any) -> None:
        order = np.argsort(-np.asarray(values), kind="stable")
        self._values = {str(names[i]): float(values[i]) for i in order.tolist()}

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def to_frame(self) -> Any:
        """Return them as a pandas data frame with the columns ``feature`` and ``importance``."""
        import pandas as pd

        rows = {"feature": list(self), "importance": list(self.values())}
        return pd.DataFrame(rows)

    def _rows(self) -> list[tuple[str, str]]:
        shown = list(self.items())[:_SHOWN]
        return [(_cut(name), f"{value:.4f}") for name, value in shown]

    def __repr__(self) -> str:
        rows = self._rows()
        width = max((len(name) for name, _ in rows), default=0)
        lines = [f"{name.ljust(width)}  {value}" for name, value in rows]
        return "\n".join(lines + self._rest())

    def _rest(self) -> list[str]:
        rest = len(self) - _SHOWN
        return [f"... {rest:,} more; to_frame() has all of them"] if rest > 0 else []

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td style='text-align:left'>{html.escape(name)}</td><td>{value}</td></tr>"
            for name, value in self._rows()
        )
        head = "<tr><th style='text-align:left'>feature</th><th>importance</th></tr>"
        rest = "".join(f"<p>{html.escape(words)}</p>" for words in self._rest())
        return f"<table>{head}{cells}</table>{rest}"


def _cut(name: str, limit: int = 60) -> str:
    return shortened(printable(name), limit)


def importance_table(estimator: Any, importances: Any = None) -> Importances:
    """List how important each column is for a fitted model, the most important one first.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``feature_importances_``.
    importances : array, optional
        Others than those, such as ``model.importances("permutation", X, y)``.

    Returns
    -------
    Importances
        A mapping from names to importances that prints as a table.

    Examples
    --------
    >>> import hornbeam as hb
    >>> tree = hb.DecisionTreeRegressor().fit([[1.0, 5.0], [2.0, 5.0]], [0.0, 1.0])
    >>> hb.importance_table(tree)
    x0  1.0000
    x1  0.0000
    """
    check_is_fitted(estimator)
    values = np.asarray(estimator.feature_importances_ if importances is None else importances)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        schema = getattr(estimator, "schema_", None)
        names = [f"x{i}" for i in range(len(values))] if schema is None else schema.feature_names
    if len(names) != len(values):
        raise ValueError(f"There are {len(values)} importances, but {len(names)} columns.")
    return Importances(names, values)


def plot_importance(
    estimator: Any, importances: Any = None, *, n_features: int = _SHOWN, ax: Any = None
) -> Any:
    """Draw how important the most important columns are for a fitted model.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``feature_importances_``.
    importances : array, optional
        Others than those, such as ``model.importances("permutation", X, y)``.
    n_features : int, default 20
        How many columns to draw.
    ax : matplotlib axes, optional
        Where to; a new figure by default.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import hornbeam as hb
    >>> tree = hb.DecisionTreeRegressor().fit([[1.0], [2.0]], [0.0, 1.0])
    >>> hb.plot_importance(tree)  # doctest: +SKIP
    <Axes: xlabel='importance'>
    """
    shown = list(importance_table(estimator, importances).items())[:n_features]
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingDependencyError(
                "plot_importance draws with matplotlib, which is not installed. Install it with "
                "pip install matplotlib, or print importance_table(estimator)."
            ) from error
        ax = plt.subplots(figsize=(8, 1 + 0.3 * len(shown)), layout="constrained")[1]
    bars = ax.barh(range(len(shown)), [value for _, value in shown])
    ax.bar_label(bars, [f"{value:.3f}" for _, value in shown], padding=3)
    names = [_cut(name, 40).replace("$", r"\$") for name, _ in shown]  # no formulas
    ax.set_yticks(range(len(shown)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.2 * max([value for _, value in shown], default=1.0) or 1.0)  # for the labels
    ax.set_xlabel("importance")
    return ax

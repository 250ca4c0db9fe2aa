"""Every parameter of an estimator, declared once.

A declaration holds what is allowed and one sentence of documentation. From it come the
validation, the parameter section of the docstrings and the options of the command line.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar

from sklearn.utils._param_validation import (
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)

from hornbeam import hints
from hornbeam.criteria import ABSOLUTE_ERROR, CLASSIFICATION_CRITERIA, REGRESSION_CRITERIA
from hornbeam.dtypes import MAX_BINS
from hornbeam.kernels.frontier import ORDERS, list_orders


@dataclass(frozen=True)
class Parameter:
    """What a parameter may be, and what it does."""

    kind: str  # as in the docstring
    doc: str
    constraints: list[Any]


COUNT = Interval(Integral, 1, None, closed="left")

PARAMETERS: dict[str, Parameter] = {
    "classification_criterion": Parameter(
        f"{{{', '.join(map(repr, CLASSIFICATION_CRITERIA))}}} or function",
        "How impure a node is. A function ``f(counts, weight)`` of the class weights and "
        "their sum is compiled and used (see `hornbeam.criteria`).",
        [StrOptions(set(CLASSIFICATION_CRITERIA)), callable],
    ),
    "regression_criterion": Parameter(
        f"{{{', '.join(map(repr, (*REGRESSION_CRITERIA, ABSOLUTE_ERROR)))}}} or function",
        "How impure a node is. 'absolute_error' gives median leaves. A function "
        "``f(weight, total, squares)`` of the sums of w, w*y and w*y*y is compiled and used.",
        [StrOptions({*REGRESSION_CRITERIA, ABSOLUTE_ERROR}), callable],
    ),
    "splitter": Parameter(
        "{'best', 'random'}",
        "Take the best cut of each feature, or a random one.",
        [StrOptions({"best", "random"})],
    ),
    "max_depth": Parameter(
        "int or None", "Longest path from the root; None: no limit.", [COUNT, None]
    ),
    "min_samples_split": Parameter(
        "int or float",
        "Rows a node needs to be split; a float is a share of all rows.",
        [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
    ),
    "min_samples_leaf": Parameter(
        "int or float",
        "Rows each child must keep; a float is a share of all rows.",
        [COUNT, Interval(RealNotInt, 0.0, 1.0, closed="neither")],
    ),
    "min_weight_fraction_leaf": Parameter(
        "float",
        "Share of the total weight each child must keep.",
        [Interval(Real, 0.0, 0.5, closed="both")],
    ),
    "max_features": Parameter(
        "int, float, {'sqrt', 'log2'} or None",
        "Features drawn at each node; a float is a share, None means all. Features that are "
        "constant in the node do not count.",
        [
            COUNT,
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
    ),
    "max_leaf_nodes": Parameter(
        "int or None",
        "Grow best-first up to this many leaves; None: no limit.",
        [Interval(Integral, 2, None, closed="left"), None],
    ),
    "min_impurity_decrease": Parameter(
        "float",
        "Smallest relative gain (w_N / w_all) * decrease that is worth a split.",
        [Interval(Real, 0.0, None, closed="left")],
    ),
    "ccp_alpha": Parameter(
        "float",
        "Prune the grown tree at this cost per leaf (minimal cost-complexity pruning).",
        [Interval(Real, 0.0, None, closed="left")],
    ),
    "classification_pruning": Parameter(
        "{'pessimistic', 'reduced_error'} or None",
        "How to prune the grown tree, besides `ccp_alpha`: by the upper limit of its errors on "
        "the training rows, or by its errors on rows held out.",
        [StrOptions({"pessimistic", "reduced_error"}), None],
    ),
    "regression_pruning": Parameter(
        "{'reduced_error'} or None",
        "How to prune the grown tree, besides `ccp_alpha`: by its squared error on rows held out.",
        [StrOptions({"reduced_error"}), None],
    ),
    "pruning_confidence": Parameter(
        "float",
        "Confidence factor when ``pruning='pessimistic'``; smaller prunes more.",
        [Interval(Real, 0.0, 0.5, closed="right")],
    ),
    "pruning_fraction": Parameter(
        "float",
        "Share of the rows held out when ``pruning='reduced_error'``; the tree is grown on the "
        "others.",
        [Interval(Real, 0.0, 1.0, closed="neither")],
    ),
    "c45_min_samples_leaf": Parameter(
        "int or float",
        "Weight of rows that at least two branches of a split must have; a float is a share of "
        "all. A threshold on a number also needs a tenth of the mean class on each side, up to "
        "25 rows.",
        [COUNT, Interval(RealNotInt, 0.0, 0.5, closed="neither")],
    ),
    "c45_pruning": Parameter(
        "{'pessimistic'} or None",
        "Prune the grown tree by the upper limit of its errors on the training rows, or not.",
        [StrOptions({"pessimistic"}), None],
    ),
    "raising": Parameter(
        "bool",
        "Whether pruning may put the heaviest branch of a node in its place, besides leaves.",
        ["boolean"],
    ),
    "mdl_correction": Parameter(
        "bool",
        "Whether the gain of a threshold pays log2(candidates) / rows for being chosen among "
        "many (release 8).",
        ["boolean"],
    ),
    "grouping": Parameter(
        "bool",
        "Whether categories are merged into groups as long as that improves the gain ratio; "
        "otherwise each one has a branch.",
        ["boolean"],
    ),
    "numeric": Parameter(
        "{'error', 'categories'}",
        "What to do with columns of numbers: refuse them, or take each distinct value as a "
        "category.",
        [StrOptions({"error", "categories"})],
    ),
    "missing": Parameter(
        "{'category', 'fractions'}",
        "Take the missing values of a column as one more category, or send a row that lacks a "
        "value down every branch with a fraction of its weight.",
        [StrOptions({"category", "fractions"})],
    ),
    "monotonic_cst": Parameter(
        "array-like or dict or None",
        "+1, 0 or -1 per feature (a dict names them): predictions must rise, may do as they "
        "like, or must fall with it.",
        ["array-like", dict, None],
    ),
    "class_weight": Parameter(
        "dict, list of dict, 'balanced' or None",
        "Weight of each class, multiplied with the sample weights.",
        [dict, list, StrOptions({"balanced"}), None],
    ),
    "finder": Parameter(
        "{'exact', 'histogram'}",
        "Consider every cut, or only those between `max_bins` bins (faster, less memory).",
        [StrOptions({"exact", "histogram"})],
    ),
    "max_bins": Parameter(
        "int",
        "Bins per feature when ``finder='histogram'``.",
        [Interval(Integral, 2, MAX_BINS, closed="both")],
    ),
    "growth": Parameter(
        f"{{{', '.join(map(repr, ORDERS))}}} or None",
        f"Which node is split next: {list_orders()}. Gains are relative ones. None: 'leaf' if "
        "`max_leaf_nodes` is set, else 'depth'.",
        [StrOptions(set(ORDERS)), None],
    ),
    "categorical_features": Parameter(
        "'from_dtype', array-like or None",
        "Further columns to take as categories, by name, position or mask; strings, bools "
        "and categoricals are categories anyway.",
        [StrOptions({"from_dtype"}), "array-like", None],
    ),
    "category_split": Parameter(
        "{'subset', 'one_vs_rest'}",
        "Part the categories into the best two sets, or one against the others. Sets of many "
        "categories count by what they explain beyond chance.",
        [StrOptions({"subset", "one_vs_rest"})],
    ),
    "unseen": Parameter(
        "{'missing', 'error', 'other'}",
        "What a category means in predict that was not there in fit: a missing value, an "
        "error, or one common category of its own.",
        [StrOptions({"missing", "error", "other"})],
    ),
    "random_state": Parameter(
        "int, RandomState instance or None",
        "Seed of the features drawn and of random cuts.",
        ["random_state"],
    ),
    "n_jobs": Parameter(
        "int or None",
        "Threads; None: as many as pay, -1: one per core. The model does not depend on it.",
        [Interval(Integral, None, -1, closed="right"), COUNT, None],
    ),
}


def parameter_of(estimator: type, name: str) -> Parameter:
    """The declaration behind a parameter of an estimator class."""
    special = getattr(estimator, "_declared_as", {})
    return PARAMETERS[special.get(name, name)]


def constraints_of(estimator: type) -> dict[str, list[Any]]:
    """What scikit-learn's validation needs to know about an estimator class."""
    names = [name for name in inspect.signature(estimator).parameters]
    return {name: parameter_of(estimator, name).constraints for name in names}


def check_params(estimator: Any) -> None:
    """Raise an error that names the parameter, its value and what it may be."""
    check_values(type(estimator), estimator.get_params(deep=False))


def check_values(cls: Any, values: Mapping[str, Any]) -> None:
    """The same for some parameters of an estimator class."""
    validate_parameter_constraints(
        getattr(cls, "_parameter_constraints", {}), dict(values), caller_name=cls.__name__
    )


Estimator = TypeVar("Estimator", bound=type)


def declared(cls: Estimator) -> Estimator:
    """Class decorator: fill in ``{parameters}`` in the docstring and set the constraints.

    A parameter by the name another library has for it is an error that names ours.
    """
    lines = []
    for name, parameter in inspect.signature(cls).parameters.items():
        declaration = parameter_of(cls, name)
        needed = parameter.default is inspect.Parameter.empty
        default = "" if needed else f", default={parameter.default!r}"
        lines.append(f"{name} : {declaration.kind}{default}")
        lines += textwrap.wrap(declaration.doc, 84, initial_indent="    ", subsequent_indent="    ")
    if cls.__doc__:
        cls.__doc__ = cls.__doc__.replace("{parameters}", "\n    ".join(lines))
    cls._parameter_constraints = constraints_of(cls)  # type: ignore[attr-defined]
    cls.__init__ = _hinting(cls)  # type: ignore[misc]
    return cls


def unknown_parameter(cls: type, name: str) -> str:
    """A sentence about a parameter that a class does not have."""
    return hints.unknown_parameter(cls.__name__, inspect.signature(cls).parameters, name)


def _hinting(cls: type) -> Any:
    """The constructor of a class, which names the right parameter for a wrong one."""
    original = cls.__init__  # type: ignore[misc]
    known = set(inspect.signature(cls).parameters)

    @functools.wraps(original)
    def construct(self: Any, *args: Any, **parameters: Any) -> None:
        for name in parameters:
            if name not in known:
                raise TypeError(unknown_parameter(cls, name))
        original(self, *args, **parameters)

    return construct

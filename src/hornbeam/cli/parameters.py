"""Options of ``train``, made from the parameters that the estimators declare."""

from __future__ import annotations

import argparse
import ast
import inspect
from typing import Any

import hornbeam
from hornbeam.params import parameter_of

_OWN_OPTION = {"random_state"}  # --seed sets it


def estimator_class(task: str) -> Any:
    """Which estimator does a task."""
    if task == "classification":
        return hornbeam.DecisionTreeClassifier
    return hornbeam.DecisionTreeRegressor


def add_parameter_options(parser: argparse.ArgumentParser) -> None:
    """Add one option per parameter of the two trees, described by its declaration."""
    group = parser.add_argument_group("parameters of the tree", "as in Python")
    for name, descriptions in _descriptions().items():
        group.add_argument(
            "--" + name.replace("_", "-"),
            dest=f"parameter_{name}",
            type=parse_value,
            default=argparse.SUPPRESS,
            metavar="VALUE",
            help=" For regression: ".join(descriptions).replace("%", "%%"),
        )


def chosen_parameters(options: argparse.Namespace, estimator: Any) -> dict[str, Any]:
    """Collect the parameters that were given; the estimator checks their values."""
    prefix = "parameter_"
    chosen = {
        name.removeprefix(prefix): value
        for name, value in vars(options).items()
        if name.startswith(prefix)
    }
    known = inspect.signature(estimator).parameters
    for name in chosen:
        if name not in known:
            option = "--" + name.replace("_", "-")
            raise ValueError(f"{option} is not a parameter of {estimator.__name__}.")
    names = chosen.get("categorical_features")
    if isinstance(names, str) and names != "from_dtype":
        chosen["categorical_features"] = [name.strip() for name in names.split(",")]
    return {**chosen, "random_state": options.seed}


def parse_value(text: str) -> Any:
    """Read a value as Python would write it; anything else is text.

    Examples
    --------
    >>> parse_value("3"), parse_value("0.5"), parse_value("none"), parse_value("gini")
    (3, 0.5, None, 'gini')
    """
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return list(value) if isinstance(value, tuple) else value


def _descriptions() -> dict[str, list[str]]:
    """What each parameter does; twice where the two trees differ."""
    found: dict[str, list[str]] = {}
    for task in ("classification", "regression"):
        tree = estimator_class(task)
        for name, parameter in inspect.signature(tree).parameters.items():
            declared = parameter_of(tree, name)
            text = f"{declared.doc} ({declared.kind}; default: {parameter.default})"
            descriptions = found.setdefault(name, [])
            if name not in _OWN_OPTION and text not in descriptions:
                descriptions.append(text)
    return {name: texts for name, texts in found.items() if texts}

"""Options of ``train``, made from the parameters that the estimators declare."""

from __future__ import annotations

import argparse
import ast
import inspect
from typing import Any

import numpy as np

import hornbeam
from hornbeam.params import parameter_of

TASKS = ("classification", "regression")
_ESTIMATORS = {
    "tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "forest": ("RandomForestClassifier", "RandomForestRegressor"),
    "boosting": ("GradientBoostingClassifier", "GradientBoostingRegressor"),
}
MODELS = tuple(_ESTIMATORS)
DEFAULT_MODEL = "boosting"
# --seed and --quiet set the first two; a command fits once, with nothing to go on from
_OWN_OPTION = {"random_state", "verbose", "warm_start"}
_PREFIX = "parameter_"


def estimator_class(model: str, task: str) -> Any:
    """Which estimator does a task."""
    return getattr(hornbeam, _ESTIMATORS[model][TASKS.index(task)])


def add_parameter_options(parser: argparse.ArgumentParser) -> None:
    """Add one option per parameter of the estimators, described by its declaration."""
    described = {model: _descriptions(model) for model in MODELS}
    groups: dict[str, dict[str, str]] = {}
    for name in dict.fromkeys(name for texts in described.values() for name in texts):
        texts = {model: described[model][name] for model in MODELS if name in described[model]}
        groups.setdefault(_group_title(list(texts)), {})[name] = _joined(texts)
    for title, descriptions in groups.items():
        _add_group(parser, title, descriptions)


def _group_title(models: list[str]) -> str:
    if len(models) == len(MODELS):
        return "parameters of all models"
    return f"parameters of {' and '.join(f'--model {model}' for model in models)}"


def _joined(texts: dict[str, str]) -> str:
    """What a parameter does, once for models that describe it alike."""
    first, *others = dict.fromkeys(texts.values())
    special = [
        f"With {' and '.join(f'--model {m}' for m in texts if texts[m] == text)}: {text}"
        for text in others
    ]
    return " ".join([first, *special])


def _add_group(parser: argparse.ArgumentParser, title: str, descriptions: dict[str, str]) -> None:
    group = parser.add_argument_group(title, "as in Python")
    for name, text in descriptions.items():
        group.add_argument(
            _option(name),
            dest=_PREFIX + name,
            type=parse_value,
            default=argparse.SUPPRESS,
            metavar="VALUE",
            help=text.replace("%", "%%"),
        )


def chosen_parameters(options: argparse.Namespace, estimator: Any) -> dict[str, Any]:
    """Collect the parameters that were given; the estimator checks their values."""
    chosen = {
        name.removeprefix(_PREFIX): value
        for name, value in vars(options).items()
        if name.startswith(_PREFIX)
    }
    known = inspect.signature(estimator).parameters
    for name in chosen:
        if name not in known:
            raise ValueError(
                f"{_option(name)} is not a parameter of {estimator.__name__}; it belongs to "
                f"{' and '.join(_owners(name))}."
            )
    names = chosen.get("categorical_features")
    if isinstance(names, str) and names != "from_dtype":
        chosen["categorical_features"] = [name.strip() for name in names.split(",")]
    return {**chosen, "random_state": options.seed}


def quantiles_of(model: Any) -> list[float]:
    """The quantiles that a model predicts; none if it predicts something else."""
    if hasattr(model, "estimator_"):  # of which bagging has fitted many
        return quantiles_of(model.estimator_)
    if getattr(model, "loss", None) != "quantile":
        return []
    return [float(share) for share in np.atleast_1d(model.quantile)]


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


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _owners(name: str) -> list[str]:
    """The choices of model (and task) that make a parameter an option."""
    found = []
    for model in MODELS:
        tasks = [
            task
            for task in TASKS
            if name in inspect.signature(estimator_class(model, task)).parameters
        ]
        if len(tasks) == len(TASKS):
            found.append(f"--model {model}")
        else:
            found += [f"--model {model} --task {task}" for task in tasks]
    return found


def _descriptions(model: str) -> dict[str, str]:
    """What each parameter of a model does; twice where the two tasks differ."""
    found: dict[str, list[str]] = {}
    for task in TASKS:
        estimator = estimator_class(model, task)
        for name, parameter in inspect.signature(estimator).parameters.items():
            declared = parameter_of(estimator, name)
            text = f"{declared.doc} ({declared.kind}; default: {parameter.default})"
            if name not in _OWN_OPTION and text not in found.setdefault(name, []):
                found[name].append(text)
    return {name: " For regression: ".join(texts) for name, texts in found.items() if texts}

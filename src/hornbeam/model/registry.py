"""Which estimators a model file can hold, and how they become parameters of others."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

from hornbeam.errors import ModelFileError
from hornbeam.model.pickles import Pickles
from hornbeam.model.state import checked_params
from hornbeam.model.values import DECODERS, ENCODERS, decode_value, encode_value

UPGRADE = "Upgrade with: pip install --upgrade hornbeam."

# Where the estimators live, so that a file can be loaded before anyone imported them.
MODULES = {
    "AdaBoostClassifier": "hornbeam.combine.adaboost.classifier",
    "AdaBoostRegressor": "hornbeam.combine.adaboost.regressor",
    "BaggingClassifier": "hornbeam.combine.bagging.estimators",
    "BaggingRegressor": "hornbeam.combine.bagging.estimators",
    "BlendingClassifier": "hornbeam.combine.blending.estimators",
    "BlendingRegressor": "hornbeam.combine.blending.estimators",
    "C45Classifier": "hornbeam.quinlan.c45",
    "DecisionTreeClassifier": "hornbeam.tree.estimators",
    "DecisionTreeRegressor": "hornbeam.tree.estimators",
    "ExtraTreeClassifier": "hornbeam.tree.extra",
    "ExtraTreeRegressor": "hornbeam.tree.extra",
    "ExtraTreesClassifier": "hornbeam.forest.estimators",
    "ExtraTreesRegressor": "hornbeam.forest.estimators",
    "GradientBoostingClassifier": "hornbeam.boosting.estimators",
    "GradientBoostingRanker": "hornbeam.boosting.ranker",
    "GradientBoostingRegressor": "hornbeam.boosting.estimators",
    "ID3Classifier": "hornbeam.quinlan.id3",
    "IsolationForest": "hornbeam.forest.isolation",
    "RandomForestClassifier": "hornbeam.forest.estimators",
    "RandomForestRegressor": "hornbeam.forest.estimators",
    "RandomTreesEmbedding": "hornbeam.forest.embedding",
    "StackingClassifier": "hornbeam.combine.stacking.estimators",
    "StackingRegressor": "hornbeam.combine.stacking.estimators",
    "VotingClassifier": "hornbeam.combine.voting.estimators",
    "VotingRegressor": "hornbeam.combine.voting.estimators",
}
REGISTRY: dict[str, type[Any]] = {}
Class = TypeVar("Class", bound=type[Any])


def register_estimator(cls: Class) -> Class:
    """Let models of this class be saved and loaded (a class decorator).

    Parameters
    ----------
    cls : type
        Inherits from `hornbeam.model.savable.Savable`.

    Returns
    -------
    type
        The same class.
    """
    REGISTRY[cls.__name__] = cls
    ENCODERS[cls] = _encode_estimator
    return cls


def is_registered(estimator: Any) -> bool:
    """Whether an estimator is of a registered class itself, not of one made from it."""
    return REGISTRY.get(type(estimator).__name__) is type(estimator)


def class_in_file(estimator: Any) -> type[Any]:
    """The class that a model file calls an estimator.

    An estimator of a class that a user made from one of ours is read back as the class that it
    was made from, unless the user has registered the own class.

    Parameters
    ----------
    estimator : object

    Returns
    -------
    type
    """
    cls = type(estimator)
    made_from = (base for base in cls.__mro__ if REGISTRY.get(base.__name__) is base)
    known = next(made_from, None)
    if known is None:
        raise TypeError(f"hornbeam cannot save a {cls.__name__}: it is not one of its estimators.")
    added = set(cls._get_param_names()) - set(known._get_param_names())
    if added:
        raise TypeError(
            f"hornbeam cannot save a {cls.__name__} as the {known.__name__} that it was made from, "
            f"which has no parameter {sorted(added)[0]!r}. Pickle it, or register the class: "
            "hornbeam.model.registry.register_estimator is a class decorator."
        )
    return known


def find_estimator(name: object) -> type[Any]:
    """Return the registered class of this name, importing its module if need be.

    Parameters
    ----------
    name : object
        What the file says; anything but a known name is an error.

    Returns
    -------
    type
        The class.
    """
    if not isinstance(name, str):
        raise ModelFileError("The header does not say which estimator the file holds.")
    if name not in REGISTRY and name in MODULES:
        importlib.import_module(MODULES[name])
    if name not in REGISTRY:
        raise ModelFileError(
            f"The file holds a {name[:60]!r}, which this version of hornbeam does not know. "
            + UPGRADE
        )
    return REGISTRY[name]


def _encode_estimator(estimator: Any, where: str, depth: int, pickles: Pickles) -> dict[str, Any]:
    """Write an estimator that is a parameter of another; only its parameters matter."""
    params = encode_value(estimator.get_params(deep=False), where, depth + 1, pickles)
    return {"$estimator": [type(estimator).__name__, params]}


def _decode_estimator(body: Any, depth: int, pickles: Pickles) -> Any:
    if not (isinstance(body, list) and len(body) == 2 and isinstance(body[1], dict)):
        raise ModelFileError("The header holds an $estimator value of the wrong form.")
    return new_estimator(find_estimator(body[0]), decode_value(body[1], depth, pickles))


DECODERS["$estimator"] = _decode_estimator


def new_estimator(cls: type[Any], params: Any) -> Any:
    """Make an unfitted estimator from the parameters a file holds.

    Parameters
    ----------
    cls : type
        Class of the estimator.
    params : object
        What the header has as its parameters. One that is not there was added to the
        class later and has its default; one that the class does not know is an error, and so
        is a value that its declaration does not allow.

    Returns
    -------
    estimator
        Not fitted.
    """
    unknown = set(params) - set(cls._get_param_names()) if isinstance(params, dict) else {"none"}
    if unknown:
        raise ModelFileError(
            f"The file has parameters that {cls.__name__} does not know "
            f"({sorted(map(str, unknown))[0][:60]!r}). {UPGRADE}"
        )
    return cls(**checked_params(cls, params))

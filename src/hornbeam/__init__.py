"""hornbeam: one engine for every tree method.

Trees and boosting today; forests and combinations are to come. Public names are
imported when they are first used, so that ``import hornbeam`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
    "DecisionTreeClassifier": "hornbeam.tree.estimators",
    "DecisionTreeRegressor": "hornbeam.tree.estimators",
    "GradientBoostingClassifier": "hornbeam.boosting.estimators",
    "GradientBoostingRanker": "hornbeam.boosting.ranker",
    "GradientBoostingRegressor": "hornbeam.boosting.estimators",
    "ModelFileError": "hornbeam.errors",
    "check_constraints": "hornbeam.boosting.constraints",
    "export_rules": "hornbeam.output.text",
    "export_text": "hornbeam.output.text",
    "load": "hornbeam.output.modelfile",
    "plot_tree": "hornbeam.output.drawing",
    "tree_svg": "hornbeam.output.svg",
}
_MODULES = ("criteria", "information", "losses")

__all__ = ["__version__", *sorted(_PUBLIC), *_MODULES]

if TYPE_CHECKING:
    from hornbeam import criteria as criteria
    from hornbeam import information as information
    from hornbeam import losses as losses
    from hornbeam.boosting.constraints import check_constraints as check_constraints
    from hornbeam.boosting.estimators import (
        GradientBoostingClassifier as GradientBoostingClassifier,
    )
    from hornbeam.boosting.estimators import (
        GradientBoostingRegressor as GradientBoostingRegressor,
    )
    from hornbeam.boosting.ranker import GradientBoostingRanker as GradientBoostingRanker
    from hornbeam.errors import ModelFileError as ModelFileError
    from hornbeam.output.drawing import plot_tree as plot_tree
    from hornbeam.output.modelfile import load as load
    from hornbeam.output.svg import tree_svg as tree_svg
    from hornbeam.output.text import export_rules as export_rules
    from hornbeam.output.text import export_text as export_text
    from hornbeam.tree.estimators import DecisionTreeClassifier as DecisionTreeClassifier
    from hornbeam.tree.estimators import DecisionTreeRegressor as DecisionTreeRegressor


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"hornbeam.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'hornbeam' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

"""hornbeam: one engine for every tree method.

Trees, forests, boosting, and what combines them. Public names are
imported when they are first used, so that ``import hornbeam`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PUBLIC = {
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
    "ModelFileError": "hornbeam.errors",
    "QuantileSketch": "hornbeam.data.sketch",
    "RandomForestClassifier": "hornbeam.forest.estimators",
    "RandomForestRegressor": "hornbeam.forest.estimators",
    "RandomTreesEmbedding": "hornbeam.forest.embedding",
    "StackingClassifier": "hornbeam.combine.stacking.estimators",
    "StackingRegressor": "hornbeam.combine.stacking.estimators",
    "VotingClassifier": "hornbeam.combine.voting.estimators",
    "VotingRegressor": "hornbeam.combine.voting.estimators",
    "check_constraints": "hornbeam.boosting.constraints",
    "check_leakage": "hornbeam.combine.leakage",
    "choose_ccp_alpha": "hornbeam.tree.pruning.choose",
    "explain_split": "hornbeam.explain.split",
    "export_graphviz": "hornbeam.output.graphviz",
    "export_rules": "hornbeam.output.text",
    "export_text": "hornbeam.output.text",
    "load": "hornbeam.model.modelfile",
    "plot_margins": "hornbeam.combine.adaboost.margins",
    "plot_tree": "hornbeam.output.drawing",
    "prune_cost_complexity": "hornbeam.tree.pruning.functions",
    "prune_pessimistic": "hornbeam.tree.pruning.functions",
    "prune_reduced_error": "hornbeam.tree.pruning.functions",
    "tree_svg": "hornbeam.output.svg",
}
_MODULES = ("criteria", "information", "losses", "theory")

__all__ = ["__version__", *sorted(_PUBLIC), *_MODULES]

if TYPE_CHECKING:
    from hornbeam import criteria as criteria
    from hornbeam import information as information
    from hornbeam import losses as losses
    from hornbeam import theory as theory
    from hornbeam.boosting.constraints import check_constraints as check_constraints
    from hornbeam.boosting.estimators import (
        GradientBoostingClassifier as GradientBoostingClassifier,
    )
    from hornbeam.boosting.estimators import (
        GradientBoostingRegressor as GradientBoostingRegressor,
    )
    from hornbeam.boosting.ranker import GradientBoostingRanker as GradientBoostingRanker
    from hornbeam.combine.adaboost.classifier import AdaBoostClassifier as AdaBoostClassifier
    from hornbeam.combine.adaboost.margins import plot_margins as plot_margins
    from hornbeam.combine.adaboost.regressor import AdaBoostRegressor as AdaBoostRegressor
    from hornbeam.combine.bagging.estimators import BaggingClassifier as BaggingClassifier
    from hornbeam.combine.bagging.estimators import BaggingRegressor as BaggingRegressor
    from hornbeam.combine.blending.estimators import BlendingClassifier as BlendingClassifier
    from hornbeam.combine.blending.estimators import BlendingRegressor as BlendingRegressor
    from hornbeam.combine.leakage import check_leakage as check_leakage
    from hornbeam.combine.stacking.estimators import StackingClassifier as StackingClassifier
    from hornbeam.combine.stacking.estimators import StackingRegressor as StackingRegressor
    from hornbeam.combine.voting.estimators import VotingClassifier as VotingClassifier
    from hornbeam.combine.voting.estimators import VotingRegressor as VotingRegressor
    from hornbeam.data.sketch import QuantileSketch as QuantileSketch
    from hornbeam.errors import ModelFileError as ModelFileError
    from hornbeam.explain.split import explain_split as explain_split
    from hornbeam.forest.embedding import RandomTreesEmbedding as RandomTreesEmbedding
    from hornbeam.forest.estimators import ExtraTreesClassifier as ExtraTreesClassifier
    from hornbeam.forest.estimators import ExtraTreesRegressor as ExtraTreesRegressor
    from hornbeam.forest.estimators import RandomForestClassifier as RandomForestClassifier
    from hornbeam.forest.estimators import RandomForestRegressor as RandomForestRegressor
    from hornbeam.forest.isolation import IsolationForest as IsolationForest
    from hornbeam.model.modelfile import load as load
    from hornbeam.output.drawing import plot_tree as plot_tree
    from hornbeam.output.graphviz import export_graphviz as export_graphviz
    from hornbeam.output.svg import tree_svg as tree_svg
    from hornbeam.output.text import export_rules as export_rules
    from hornbeam.output.text import export_text as export_text
    from hornbeam.quinlan.c45 import C45Classifier as C45Classifier
    from hornbeam.quinlan.id3 import ID3Classifier as ID3Classifier
    from hornbeam.tree.estimators import DecisionTreeClassifier as DecisionTreeClassifier
    from hornbeam.tree.estimators import DecisionTreeRegressor as DecisionTreeRegressor
    from hornbeam.tree.extra import ExtraTreeClassifier as ExtraTreeClassifier
    from hornbeam.tree.extra import ExtraTreeRegressor as ExtraTreeRegressor
    from hornbeam.tree.pruning.choose import choose_ccp_alpha as choose_ccp_alpha
    from hornbeam.tree.pruning.functions import prune_cost_complexity as prune_cost_complexity
    from hornbeam.tree.pruning.functions import prune_pessimistic as prune_pessimistic
    from hornbeam.tree.pruning.functions import prune_reduced_error as prune_reduced_error


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

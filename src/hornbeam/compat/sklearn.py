"""Coming from scikit-learn.

Write `hornbeam.compat.sklearn` where a script says `sklearn.tree` or `sklearn.ensemble`:

```python
from hornbeam.compat.sklearn import HistGradientBoostingClassifier, RandomForestClassifier
```

Trees, forests, bagging, AdaBoost, votes and stacks are hornbeam's own, which have
scikit-learn's names, parameters and fitted attributes anyway; trees and those of forests and of
gradient boosting have scikit-learn's arrays in `tree_` (`value` of three dimensions, -2 in
leaves), unless they part categories. The four classes below are boosting with scikit-learn's
constructors. Each parameter is translated as its table says; what has no equivalent is an error
that says what to write instead.

`export_text`, `export_graphviz` and `plot_tree` are scikit-learn's own on a tree that asks for
numbers only, and those of `hb` on others. `tree_arrays(estimator)` returns the arrays of a tree of
`hb`; `_tree.TREE_LEAF` and `_tree.TREE_UNDEFINED` are there, as scripts import them.
"""

from __future__ import annotations

from sklearn.tree import _tree as _tree  # scripts look for TREE_LEAF and TREE_UNDEFINED there

from hornbeam.combine.adaboost.classifier import AdaBoostClassifier
from hornbeam.combine.adaboost.regressor import AdaBoostRegressor
from hornbeam.combine.bagging.estimators import BaggingClassifier, BaggingRegressor
from hornbeam.combine.stacking.estimators import StackingClassifier, StackingRegressor
from hornbeam.combine.voting.estimators import VotingClassifier, VotingRegressor
from hornbeam.compat import sklearn_gradient, sklearn_hist
from hornbeam.compat.sklearn_forests import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from hornbeam.compat.sklearn_gradient import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from hornbeam.compat.sklearn_hist import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from hornbeam.compat.sklearn_trees import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    export_graphviz,
    export_text,
    plot_tree,
    tree_arrays,
)
from hornbeam.forest.isolation import IsolationForest

TRANSLATIONS = (
    sklearn_gradient.CLASSIFIER,
    sklearn_gradient.REGRESSOR,
    sklearn_hist.CLASSIFIER,
    sklearn_hist.REGRESSOR,
)

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "export_graphviz",
    "export_text",
    "plot_tree",
    "tree_arrays",
]

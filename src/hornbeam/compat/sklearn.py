"""Coming from scikit-learn.

Write `hornbeam.compat.sklearn` where a script says `sklearn.tree` or `sklearn.ensemble`:

```python
from hornbeam.compat.sklearn import HistGradientBoostingClassifier, RandomForestClassifier
```

Trees, forests, bagging, AdaBoost, votes and stacks are hornbeam's own classes, which have
scikit-learn's names, parameters and fitted attributes anyway. The four classes below are
boosting with scikit-learn's constructors. Each parameter is translated as its table says; what
has no equivalent is an error that says what to write instead.

`export_text`, `export_graphviz` and `plot_tree` are scikit-learn's own on a tree that asks for
numbers only, and those of `hb` on others. `tree_arrays(estimator)` returns the arrays that a
script looks for in `estimator.tree_`, with `value` of three dimensions and -2 in leaves.
"""

from __future__ import annotations

from hornbeam.combine.adaboost.classifier import AdaBoostClassifier
from hornbeam.combine.adaboost.regressor import AdaBoostRegressor
from hornbeam.combine.bagging.estimators import BaggingClassifier, BaggingRegressor
from hornbeam.combine.stacking.estimators import StackingClassifier, StackingRegressor
from hornbeam.combine.voting.estimators import VotingClassifier, VotingRegressor
from hornbeam.compat import sklearn_gradient, sklearn_hist
from hornbeam.compat.sklearn_gradient import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from hornbeam.compat.sklearn_hist import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from hornbeam.compat.sklearn_trees import (
    export_graphviz,
    export_text,
    plot_tree,
    tree_arrays,
)
from hornbeam.forest.embedding import RandomTreesEmbedding
from hornbeam.forest.estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hornbeam.forest.isolation import IsolationForest
from hornbeam.tree.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.tree.extra import ExtraTreeClassifier, ExtraTreeRegressor

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

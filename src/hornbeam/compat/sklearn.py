"""Coming from scikit-learn.

Write `hornbeam.compat.sklearn` where a script says `sklearn.tree` or `sklearn.ensemble`:

```python
from hornbeam.compat.sklearn import HistGradientBoostingClassifier, RandomForestClassifier
```

Trees, forests, bagging and AdaBoost are hornbeam's own classes, which have scikit-learn's names,
parameters and fitted attributes anyway. The four classes below are boosting with scikit-learn's
constructors. Each parameter is translated as its table says; what has no equivalent is an
error that says what to write instead.
"""

from __future__ import annotations

from hornbeam.combine.adaboost.classifier import AdaBoostClassifier
from hornbeam.combine.adaboost.regressor import AdaBoostRegressor
from hornbeam.combine.bagging.estimators import BaggingClassifier, BaggingRegressor
from hornbeam.compat import sklearn_hist
from hornbeam.compat.sklearn_hist import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from hornbeam.forest.embedding import RandomTreesEmbedding
from hornbeam.forest.estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hornbeam.forest.isolation import IsolationForest
from hornbeam.output.drawing import plot_tree
from hornbeam.output.text import export_text
from hornbeam.tree.estimators import DecisionTreeClassifier, DecisionTreeRegressor

TRANSLATIONS = (sklearn_hist.CLASSIFIER, sklearn_hist.REGRESSOR)

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
    "export_text",
    "plot_tree",
]

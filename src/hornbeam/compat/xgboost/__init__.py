"""Coming from XGBoost.

Write `hornbeam.compat.xgboost` where a script says `xgboost`:

```python
from hornbeam.compat.xgboost import XGBClassifier
```

The estimators have XGBoost's constructors, arguments of `fit` and fitted attributes. Each
parameter is translated as its table says; what has no equivalent is an error that says what to
write instead. Trees, and so figures after the third digit, are not the same ones: hornbeam
counts in whole numbers, cuts features into 255 bins at most, and sends missing values its own
way. `train`, `DMatrix` and `cv` are not there: the estimators do their work.
"""

from __future__ import annotations

from typing import Any

from hornbeam.compat.xgboost import callback, parameters
from hornbeam.compat.xgboost.estimators import (
    Booster,
    XGBClassifier,
    XGBModel,
    XGBRanker,
    XGBRegressor,
)

TRANSLATIONS = (parameters.CLASSIFIER, parameters.REGRESSOR, parameters.RANKER)

__all__ = ["Booster", "XGBClassifier", "XGBModel", "XGBRanker", "XGBRegressor", "callback"]

_ESTIMATORS = "use XGBClassifier, XGBRegressor or XGBRanker, whose fit takes tables as they are."
_FOREST = "use hornbeam.RandomForestClassifier or hornbeam.RandomForestRegressor."
_INSTEAD = {
    "DMatrix": _ESTIMATORS,
    "QuantileDMatrix": _ESTIMATORS,
    "train": _ESTIMATORS,
    "cv": "use sklearn.model_selection.cross_validate with an estimator.",
    "plot_importance": "plot model.feature_importances_, or model.get_booster().get_score().",
    "plot_tree": "use hornbeam.plot_tree(model.engine_.tree(0)).",
    "to_graphviz": "use hornbeam.tree_svg(model.engine_.tree(0)).",
    "XGBRFClassifier": _FOREST,
    "XGBRFRegressor": _FOREST,
}


def __getattr__(name: str) -> Any:
    if name in _INSTEAD:
        raise ImportError(f"hornbeam.compat.xgboost has no {name}: {_INSTEAD[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Coming from LightGBM.

Write `hornbeam.compat.lightgbm` where a script says `lightgbm`:

```python
from hornbeam.compat.lightgbm import LGBMClassifier, early_stopping, log_evaluation
```

The estimators have LightGBM's constructors, arguments of `fit` and fitted attributes. Each
parameter is translated as its table says; what has no equivalent is an error that says what to
write instead. Trees, and so figures after the third digit, are not the same ones: hornbeam
counts in whole numbers, and its bins and its sides for missing values are its own. `train`,
`Dataset` and `cv` are not there: the estimators do their work.
"""

from __future__ import annotations

from typing import Any

from hornbeam.compat.lightgbm import callback, parameters
from hornbeam.compat.lightgbm.callback import (
    EarlyStopException,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from hornbeam.compat.lightgbm.estimators import (
    Booster,
    LGBMClassifier,
    LGBMModel,
    LGBMRanker,
    LGBMRegressor,
)

TRANSLATIONS = (parameters.CLASSIFIER, parameters.REGRESSOR, parameters.RANKER)

__all__ = [
    "Booster",
    "EarlyStopException",
    "LGBMClassifier",
    "LGBMModel",
    "LGBMRanker",
    "LGBMRegressor",
    "callback",
    "early_stopping",
    "log_evaluation",
    "record_evaluation",
    "reset_parameter",
]

_ESTIMATORS = "use LGBMClassifier, LGBMRegressor or LGBMRanker, whose fit takes tables as they are."
_INSTEAD = {
    "Dataset": _ESTIMATORS,
    "train": _ESTIMATORS,
    "cv": "use sklearn.model_selection.cross_validate with an estimator.",
    "plot_importance": "plot model.feature_importances_ over model.feature_name_.",
    "plot_metric": "use model.engine_.plot_history().",
    "plot_tree": "use hornbeam.plot_tree(model.engine_.tree(0)).",
    "create_tree_digraph": "use hornbeam.tree_svg(model.engine_.tree(0)).",
}


def __getattr__(name: str) -> Any:
    if name in _INSTEAD:
        raise ImportError(f"hornbeam.compat.lightgbm has no {name}: {_INSTEAD[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

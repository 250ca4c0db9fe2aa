"""A script that looks for good parameters: searches, a pipeline, and early stopping in them."""

import numpy as np
from lightgbm import LGBMClassifier, early_stopping
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

X, y = make_classification(
    1500, 10, n_informative=5, flip_y=0.1, class_sep=0.8, weights=[0.7], random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
X_fit, X_val, y_fit, y_val = train_test_split(X_train, y_train, test_size=0.2, random_state=0)
folds = StratifiedKFold(3, shuffle=True, random_state=0)

grid = GridSearchCV(
    XGBClassifier(n_estimators=300, learning_rate=0.1, early_stopping_rounds=10, eval_metric="auc"),
    {"max_depth": [3, 5], "min_child_weight": [1, 5]},
    scoring="roc_auc",
    cv=folds,
)
grid.fit(X_fit, y_fit, eval_set=[(X_val, y_val)], verbose=False)
print(grid.best_params_, "stopped after", grid.best_estimator_.best_iteration)

scaled = ColumnTransformer([("scale", StandardScaler(), list(range(10)))])
pipeline = Pipeline([("scaled", scaled), ("model", LGBMClassifier(verbose=-1, random_state=0))])
search = RandomizedSearchCV(
    pipeline,
    {"model__num_leaves": [7, 15, 31], "model__min_child_samples": [5, 20]},
    n_iter=3,
    scoring="roc_auc",
    cv=folds,
    random_state=0,
)
search.fit(X_train, y_train, model__callbacks=[])
print(search.best_params_)

counts = []
for train, held in folds.split(X_train, y_train):
    model = LGBMClassifier(n_estimators=500, learning_rate=0.1, num_leaves=15, verbose=-1)
    model.fit(
        X_train[train], y_train[train],
        eval_set=[(X_train[held], y_train[held])],
        eval_metric="auc",
        callbacks=[early_stopping(10, first_metric_only=True, verbose=False)],
    )  # fmt: skip
    counts.append(model.best_iteration_)
final = LGBMClassifier(n_estimators=int(np.mean(counts)), num_leaves=15, verbose=-1)
final.fit(X_train, y_train)

metrics = {
    "best area of the grid": grid.best_score_,
    "area of the grid": roc_auc_score(y_test, grid.predict_proba(X_test)[:, 1]),
    "area of the search": roc_auc_score(y_test, search.predict_proba(X_test)[:, 1]),
    "area of the final model": roc_auc_score(y_test, final.predict_proba(X_test)[:, 1]),
}

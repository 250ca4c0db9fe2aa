"""A script of a user of scikit-learn's two kinds of gradient boosting."""

import numpy as np
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

X, y = make_classification(1500, 10, n_informative=5, flip_y=0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
model = GradientBoostingClassifier(
    n_estimators=200, learning_rate=0.05, max_depth=3, subsample=0.8, random_state=0
)
model.fit(X_train, y_train)
staged = [roc_auc_score(y_test, p[:, 1]) for p in model.staged_predict_proba(X_test)]
print("best after", int(np.argmax(staged)) + 1, "of", model.n_estimators_, model.train_score_[-1])
print(model.estimators_[0, 0].tree_.value.shape, model.feature_importances_.round(2))

XR, yr = make_friedman1(2000, noise=1.0, random_state=0)
XR_train, XR_test, yr_train, yr_test = train_test_split(XR, yr, test_size=0.4, random_state=0)
rising = HistGradientBoostingRegressor(
    max_iter=300, learning_rate=0.1, monotonic_cst=[0, 0, 0, 1, 1, 0, 0, 0, 0, 0], random_state=0
)
rising.fit(XR_train, yr_train)
stopped = HistGradientBoostingRegressor(
    max_iter=500, early_stopping=True, n_iter_no_change=15, validation_fraction=0.15, random_state=0
)
stopped.fit(XR_train, yr_train)
print(stopped.n_iter_, stopped.validation_score_[-1])
band = [
    GradientBoostingRegressor(loss="quantile", alpha=a, n_estimators=100, random_state=0)
    .fit(XR_train, yr_train)
    .predict(XR_test)
    for a in (0.05, 0.95)
]

metrics = {
    "area": roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]),
    "r2 of the rising one": r2_score(yr_test, rising.predict(XR_test)),
    "r2": r2_score(yr_test, stopped.predict(XR_test)),
    "inside of the band": np.mean((band[0] <= yr_test) & (yr_test <= band[1])),
}

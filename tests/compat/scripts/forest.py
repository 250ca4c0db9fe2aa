"""A script of a user of scikit-learn's forests."""

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score, train_test_split

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
forest = RandomForestClassifier(200, oob_score=True, n_jobs=2, random_state=0)
forest.fit(X_train, y_train)
print(len(forest), "trees of", np.mean([tree.get_n_leaves() for tree in forest.estimators_]))
print(forest[0].tree_.value.shape, forest.oob_decision_function_.shape, forest.n_features_in_)
order = np.argsort(forest.feature_importances_)[::-1]
print(order[:5], forest.classes_, forest.apply(X_test).shape)
extra = ExtraTreesClassifier(n_estimators=200, min_samples_leaf=1, random_state=0)
extra.fit(X_train, y_train)

grown = RandomForestRegressor(n_estimators=50, warm_start=True, max_features=0.5, random_state=0)
XR, yr = load_diabetes(return_X_y=True)
XR_train, XR_test, yr_train, yr_test = train_test_split(XR, yr, test_size=0.4, random_state=1)
grown.fit(XR_train, yr_train)
grown.set_params(n_estimators=200).fit(XR_train, yr_train)
scores = cross_val_score(RandomForestRegressor(100, random_state=0), XR, yr, cv=5)

metrics = {
    "accuracy": accuracy_score(y_test, forest.predict(X_test)),
    "accuracy of extra trees": extra.score(X_test, y_test),
    "out of bag": forest.oob_score_,
    "r2": r2_score(yr_test, grown.predict(XR_test)),
    "cross-validated r2": scores.mean(),
}

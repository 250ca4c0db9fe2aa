"""A script of a user of XGBoost."""

import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import accuracy_score, ndcg_score, r2_score, roc_auc_score
from sklearn.model_selection import cross_val_score, train_test_split
from xgboost import XGBRegressor

rng = np.random.default_rng(0)
n = 1500
frame = pd.DataFrame(
    {
        "plan": pd.Categorical(rng.choice(["basic", "plus", "pro"], n, p=[0.6, 0.3, 0.1])),
        "months": rng.integers(1, 60, n),
        "price": rng.gamma(4.0, 10.0, n).round(2),
        "calls": rng.poisson(2.0, n).astype(float),
    }
)
frame.loc[rng.random(n) < 0.1, "price"] = np.nan
odds = 0.8 * frame["calls"] - 0.05 * frame["months"] + 1.2 * (frame["plan"] == "basic") - 1.0
churned = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
X_train, X_test, y_train, y_test = train_test_split(frame, churned, test_size=0.4, random_state=0)
X_fit, X_val, y_fit, y_val = train_test_split(X_train, y_train, test_size=0.25, random_state=0)

classifier = xgb.XGBClassifier(
    n_estimators=500,
    max_depth=4,
    learning_rate=0.05,
    subsample=0.9,
    colsample_bytree=0.9,
    reg_lambda=1.0,
    gamma=0.1,
    objective="binary:logistic",
    eval_metric=["logloss", "auc"],
    early_stopping_rounds=20,
    enable_categorical=True,
    tree_method="hist",
    random_state=0,
)
classifier.fit(X_fit, y_fit, eval_set=[(X_fit, y_fit), (X_val, y_val)], verbose=100)
curve = classifier.evals_result()["validation_1"]["auc"]
assert classifier.best_score == max(curve) == curve[classifier.best_iteration]
gains = classifier.get_booster().get_score(importance_type="gain")
print("gains:", {name: round(gain, 1) for name, gain in gains.items()})
print("importances:", pd.Series(classifier.feature_importances_, frame.columns).to_dict())

X_made, y_made = make_friedman1(900, noise=1.0, random_state=0)
regressor = XGBRegressor(n_estimators=200, max_depth=3, learning_rate=0.1, random_state=42)
regressor.fit(X_made[:500], y_made[:500], eval_set=[(X_made[500:], y_made[500:])], verbose=False)
print("first rounds:", np.round(regressor.evals_result()["validation_0"]["rmse"][:3], 3))
early = regressor.predict(X_made[500:], iteration_range=(0, 10))
assert r2_score(y_made[500:], early) < r2_score(y_made[500:], regressor.predict(X_made[500:]))

X_three, y_three = make_classification(
    900, 8, n_informative=5, n_classes=3, class_sep=1.2, random_state=0
)
three = xgb.XGBClassifier(n_estimators=60, max_depth=4, objective="multi:softprob")
three.fit(X_three[:500], y_three[:500])

queries = np.repeat(np.arange(60), 12)
X_rank = rng.normal(size=(720, 5))
relevance = np.clip(np.round(X_rank[:, 0] + X_rank[:, 1] + rng.normal(size=720)), 0, 4).astype(int)
ranker = xgb.XGBRanker(objective="rank:ndcg", n_estimators=50, learning_rate=0.1, max_depth=3)
ranker.fit(X_rank[:480], relevance[:480], qid=queries[:480])
scores = ranker.predict(X_rank[480:]).reshape(20, 12)

metrics = {
    "area": roc_auc_score(y_test, classifier.predict_proba(X_test)[:, 1]),
    "r2": r2_score(y_made[500:], regressor.predict(X_made[500:])),
    "cross-validated r2": cross_val_score(
        XGBRegressor(n_estimators=60), X_made, y_made, cv=3
    ).mean(),
    "accuracy of three": accuracy_score(y_three[500:], three.predict(X_three[500:])),
    "ndcg": ndcg_score(relevance[480:].reshape(20, 12), scores, k=5),
}

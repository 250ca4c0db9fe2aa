"""A script of a user of LightGBM."""

import lightgbm as lgb
import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import accuracy_score, ndcg_score, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(1)
n = 1500
frame = pd.DataFrame(
    {
        "city": pd.Categorical(rng.choice(list("abcdefgh"), n)),
        "age": rng.integers(18, 80, n),
        "income": rng.lognormal(10.0, 0.5, n),
        "visits": rng.poisson(3.0, n),
    }
)
pull = frame["city"].cat.codes.isin([1, 4, 6]) * 1.5
odds = pull + 0.5 * frame["visits"] - 0.03 * frame["age"] - 1.0
bought = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
X_train, X_test, y_train, y_test = train_test_split(frame, bought, test_size=0.4, random_state=0)
X_fit, X_val, y_fit, y_val = train_test_split(X_train, y_train, test_size=0.25, random_state=0)

history: dict = {}
classifier = lgb.LGBMClassifier(
    n_estimators=500,
    num_leaves=15,
    learning_rate=0.05,
    min_child_samples=10,
    subsample=0.9,
    subsample_freq=1,
    colsample_bytree=0.9,
    reg_lambda=1.0,
    random_state=0,
    verbose=-1,
)
classifier.fit(
    X_fit,
    y_fit,
    eval_set=[(X_fit, y_fit), (X_val, y_val)],
    eval_names=["train", "valid"],
    eval_metric="auc",
    callbacks=[
        lgb.early_stopping(stopping_rounds=20, first_metric_only=True),
        lgb.log_evaluation(period=100),
        lgb.record_evaluation(history),
    ],
)
areas = classifier.evals_result_["valid"]["auc"]
assert classifier.best_iteration_ == int(np.argmax(areas)) + 1
assert history["train"].keys() == {"auc", "binary_logloss"}
print("best:", classifier.best_score_["valid"], "rounds:", classifier.n_estimators_)
print("splits:", pd.Series(classifier.feature_importances_, classifier.feature_name_).to_dict())
gains = classifier.booster_.feature_importance(importance_type="gain")
assert gains.shape == (4,) and classifier.booster_.num_trees() == classifier.best_iteration_

X_made, y_made = make_friedman1(900, noise=1.0, random_state=0)
regressor = LGBMRegressor(n_estimators=200, num_leaves=7, learning_rate=0.1, verbosity=-1)
regressor.fit(X_made[:500], y_made[:500])
low = LGBMRegressor(objective="quantile", alpha=0.1, n_estimators=80, verbose=-1)
low.fit(X_made[:500], y_made[:500])
below = float(np.mean(y_made[500:] < low.predict(X_made[500:])))

X_three, y_three = make_classification(
    900, 8, n_informative=5, n_classes=3, class_sep=1.2, random_state=0
)
three = lgb.LGBMClassifier(n_estimators=60, num_leaves=7, class_weight="balanced", verbose=-1)
three.fit(X_three[:500], y_three[:500])
assert three.predict(X_three, raw_score=True).shape == (900, 3)

X_rank = rng.normal(size=(720, 5))
relevance = np.clip(np.round(X_rank[:, 0] + X_rank[:, 1] + rng.normal(size=720)), 0, 4).astype(int)
ranker = lgb.LGBMRanker(n_estimators=50, num_leaves=7, verbose=-1)
ranker.fit(
    X_rank[:480], relevance[:480], group=[12] * 40,
    eval_set=[(X_rank[480:], relevance[480:])], eval_group=[[12] * 20], eval_at=[5],
)  # fmt: skip
scores = ranker.predict(X_rank[480:]).reshape(20, 12)
assert list(ranker.evals_result_["valid_0"]) == ["ndcg@5"]

metrics = {
    "area": roc_auc_score(y_test, classifier.predict_proba(X_test)[:, 1]),
    "r2": r2_score(y_made[500:], regressor.predict(X_made[500:])),
    "distance to a tenth": -abs(below - 0.1),
    "accuracy of three": accuracy_score(y_three[500:], three.predict(X_three[500:])),
    "ndcg": ndcg_score(relevance[480:].reshape(20, 12), scores, k=5),
}

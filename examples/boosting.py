"""Gradient boosting on a table with text and gaps: early stopping, a range, a loss of one's own.

Run it with ``python examples/boosting.py`` (needs pandas).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split

import hornbeam as hb


def make_trips(n: int = 4000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Bicycle trips with text, numbers and gaps, and how many minutes they took."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "weather": rng.choice(["sun", "rain", "snow"], n, p=[0.6, 0.3, 0.1]),
            "kilometres": rng.gamma(2.0, 2.0, n),
            "climb": np.where(rng.random(n) < 0.2, np.nan, rng.gamma(1.0, 40.0, n)),
        }
    )
    pace = 3.5 + 2.0 * (table["weather"] == "snow") + 0.01 * table["climb"].fillna(40.0)
    minutes = table["kilometres"] * pace * rng.lognormal(0.0, 0.15, n)
    return table, minutes.to_numpy()


def late_is_worse(y: float, score: float) -> float:
    """A minute that was not foreseen costs three times as much as one of waiting."""
    return (3.0 if score < y else 1.0) * (y - score) ** 2


def main() -> None:
    table, minutes = make_trips()
    X_train, X_test, y_train, y_test = train_test_split(table, minutes, random_state=0)

    model = hb.GradientBoostingRegressor(
        n_estimators=1000,
        early_stopping=True,
        monotonic_cst={"kilometres": 1, "climb": 1},
        random_state=0,
    ).fit(X_train, y_train)
    error = mean_absolute_error(y_test, model.predict(X_test))
    print(f"{model.n_iter_} rounds; off by {error:.1f} minutes on average")
    print("broken constraints:", len(hb.check_constraints(model)))
    for name, share in zip(table.columns, model.feature_importances_, strict=True):
        print(f"  {name:12} {share:.2f} of the gain")

    for calibrate in (False, True):
        band = hb.GradientBoostingRegressor(
            loss="quantile", quantile=[0.1, 0.9], calibrate=calibrate
        )
        low, high = band.fit(X_train, y_train).predict(X_test).T
        inside = np.mean((low <= y_test) & (y_test <= high))
        print(f"calibrate={calibrate}: {inside:.0%} of the trips are in the range for 80%")

    careful = hb.GradientBoostingRegressor(loss=late_is_worse).fit(X_train, y_train)
    for name, one in [("squared error", model), ("late is worse", careful)]:
        print(f"{name}: {np.mean(one.predict(X_test) < y_test):.0%} of the trips take longer")


if __name__ == "__main__":
    main()

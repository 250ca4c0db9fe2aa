"""A random forest from data to answers: score, intervals, what matters, and similar rows.

Run it with ``python examples/forest.py``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import hornbeam as hb


def flats(n: int = 3_000) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": rng.gamma(8.0, 10.0, n),
            "town": rng.choice(["Aden", "Bergen", "Cork", "Delft"], n),
            "built": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1900, 2025, n)),
            "door": rng.integers(1, 200, n),
        }
    )
    per_metre = table["town"].map({"Aden": 6.0, "Bergen": 14.0, "Cork": 11.0, "Delft": 13.0})
    rent = table["size"] * per_metre + 100 * (table["built"] > 2000)
    return table, (rent + rng.normal(0, 0.1, n) * rent).to_numpy()


def main() -> None:
    table, rent = flats()
    train, test = slice(0, 2000), slice(2000, 3000)
    forest = hb.RandomForestRegressor(
        min_samples_leaf=5, leaf_samples=True, calibrate=True, oob_score=True, random_state=0
    ).fit(table[train], rent[train])
    score = forest.score(table[test], rent[test])
    print(f"R2 out of the bag {forest.oob_score_:.3f}, on new rows {score:.3f}")
    low, high = forest.predict_interval(table[test], coverage=0.9).T
    inside = np.mean((low <= rent[test]) & (rent[test] <= high))
    print(f"90 % intervals hold {inside:.0%} of the new rents")
    mean, error = forest.importances("permutation", table[train], rent[train], return_error=True)
    for name, value, plus_minus in zip(table.columns, mean, error, strict=True):
        print(f"{name:>6}: R2 falls by {value:.3f} +- {plus_minus:.3f} when it is shuffled")
    near = forest.proximities(table[test][:1], table[train])[0]
    print("the flats that the forest finds most like the first new one:")
    print(table[train].assign(near=near).nlargest(3, "near"))


if __name__ == "__main__":
    main()

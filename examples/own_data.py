"""A table with text and missing values, from fit to a saved model.

Run it with ``python examples/own_data.py`` (needs pandas).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split

import hornbeam as hb


def make_patients(n: int = 2000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Patients with text, numbers and gaps, and whether a treatment helped."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "clinic": rng.choice(["Aare", "Reuss", "Limmat", "Rhone"], n),
            "age": rng.integers(18, 90, n),
            "smoker": rng.random(n) < 0.3,
            "pressure": np.where(rng.random(n) < 0.2, np.nan, rng.normal(125, 15, n)),
        }
    )
    reasons = [table["age"] < 60, ~table["smoker"], table["clinic"].isin(["Aare", "Rhone"])]
    odds = np.sum(reasons, axis=0) + rng.normal(0, 0.3, n)
    helped = np.where(odds > 1.5, "helped", "no change")
    return table, helped


def main() -> None:
    table, helped = make_patients()
    X_train, X_test, y_train, y_test = train_test_split(table, helped, random_state=0)
    tree = hb.DecisionTreeClassifier(max_depth=4, min_samples_leaf=20).fit(X_train, y_train)

    print(hb.export_text(tree))
    print("accuracy on new patients:", accuracy_score(y_test, tree.predict(X_test)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "patients.hornbeam"
        tree.save(path)
        print("the saved model is the same:", hb.load(path).digest() == tree.digest())


if __name__ == "__main__":
    main()

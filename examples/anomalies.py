"""Find odd rows with an isolation forest, and ask how odd they are.

Run it with ``python examples/anomalies.py``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import hornbeam as hb


def payments(n: int = 20_000, n_odd: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "amount": rng.lognormal(3.0, 0.7, n),
            "hour": rng.normal(14.0, 3.0, n) % 24,
            "shop": rng.choice(["food", "fuel", "clothes", "books"], n),
            "age_of_card": np.where(rng.random(n) < 0.1, np.nan, rng.gamma(3.0, 2.0, n)),
        }
    )
    odd = rng.choice(n, n_odd, replace=False)
    table.loc[odd, "amount"] *= 12
    table.loc[odd, "hour"] = rng.normal(3.0, 1.0, n_odd) % 24
    table.loc[odd[:20], "shop"] = "jewels"
    return table, np.isin(np.arange(n), odd)


def main() -> None:
    table, odd = payments()
    forest = hb.IsolationForest(random_state=0).fit(table)
    print(f"AUC: {roc_auc_score(odd, forest.anomaly_score(table)):.3f}")
    worst = forest.top(table, 0.02)
    print(table.loc[worst].assign(score=forest.anomaly_score(table)[worst].round(3)))
    for share in (0.003, 0.01):  # chosen after the fit
        found = forest.set_contamination(share, table).predict(table) == -1
        print(f"contamination {share}: {found.sum()} rows, {(found & odd).sum()} of them odd")


if __name__ == "__main__":
    main()

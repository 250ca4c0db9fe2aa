"""Exact, global and local: AUC by rounds for the ways of finding splits (source 002, figure 3).

    python examples/split_finding.py TABLE.parquet TARGET POSITIVE PICTURE.svg

learns on half of the rows (at most 100,000) whether the column TARGET has the value POSITIVE.
Global candidates need a smaller eps than local ones, which are proposed for each node anew.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import hornbeam as hb

ROUNDS = 60
WAYS = {
    "exact": {"split": "exact"},
    "global, eps=0.3": {"split": "approximate", "candidates": "global", "eps": 0.3},
    "local, eps=0.3": {"split": "approximate", "candidates": "local", "eps": 0.3},
    "global, eps=0.05": {"split": "approximate", "candidates": "global", "eps": 0.05},
    "local, eps=0.05": {"split": "approximate", "candidates": "local", "eps": 0.05},
}


def main(path: str, target: str, positive: str, picture: str) -> None:
    table = pd.read_parquet(path)
    y = (table.pop(target).astype(str) == positive).to_numpy()
    rows = min(100_000, len(y) // 2)
    X, X_test, y, y_test = train_test_split(
        table, y, train_size=rows, test_size=rows, random_state=0, stratify=y
    )
    figure, ax = plt.subplots(figsize=(7, 4.5))
    for name, settings in WAYS.items():
        model = hb.GradientBoostingClassifier(
            n_estimators=ROUNDS, learning_rate=0.1, growth="level", max_leaf_nodes=None,
            max_depth=8, **settings,
        ).fit(X, y)  # fmt: skip
        auc = [roc_auc_score(y_test, p[:, 1]) for p in model.staged_predict_proba(X_test)]
        print(f"{name:18} " + " ".join(f"{auc[k]:.4f}" for k in (9, 29, ROUNDS - 1)))
        ax.plot(np.arange(1, ROUNDS + 1), auc, label=name)
    ax.set(xlabel="rounds", ylabel="AUC of other rows", xlim=(1, ROUNDS))
    ax.legend(loc="lower right", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])

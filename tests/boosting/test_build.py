"""Grown trees become stored ones: level by level, codes as thresholds, gains kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from model.handmade import validate_tree

import hornbeam as hb
from hornbeam.boosting.build import build_trees
from hornbeam.boosting.rules import BoostRules
from hornbeam.data.coding import encode_bins
from hornbeam.tree.storage import TREE_FIELDS

pytestmark = pytest.mark.quick

rng = np.random.default_rng(0)
N = 600
FRAME = pd.DataFrame(
    {
        "x": rng.normal(size=N).round(2),
        "c": rng.choice([f"c{i}" for i in range(90)], N),
        "d": rng.choice(list("uvw"), N),
    }
)
FRAME.loc[::9, "x"] = np.nan
FRAME.loc[::11, "c"] = None
LEVEL = np.nan_to_num(FRAME["x"].to_numpy()) + 2.0 * (FRAME["d"] == "u") + rng.normal(0, 0.2, N)


@pytest.mark.parametrize("growth", ["leaf", "level", "depth"])
def test_stored_trees_are_valid_and_send_rows_where_growing_did(growth: str) -> None:
    # bins enough for all categories: training rows of a wide column see an order of their own
    model = hb.GradientBoostingRegressor(
        n_estimators=4, min_samples_leaf=3, max_bins=100, category_smooth=1.0, growth=growth
    ).fit(FRAME, LEVEL)
    schema, leaves = model.schema_, model.apply(FRAME)
    for number, tree in enumerate(model.trees_):
        arrays = {name: getattr(tree, name) for name in TREE_FIELDS}
        validate_tree(arrays, schema)
        assert (np.diff(tree.depth) >= 0).all()  # numbered level by level
        counts = np.bincount(leaves[:, number], minlength=tree.node_count)
        assert counts[tree.is_leaf].tolist() == tree.n_samples[tree.is_leaf].tolist()
        inner = np.flatnonzero(~tree.is_leaf)
        first = tree.first_child[inner]
        both = tree.n_samples[first] + tree.n_samples[first + 1]
        assert both.tolist() == tree.n_samples[inner].tolist()
        np.testing.assert_allclose(tree.weight[first] + tree.weight[first + 1], tree.weight[inner])
    kinds = set(np.concatenate([tree.kind for tree in model.trees_]).tolist())
    assert kinds == {0, 1, 2}


def test_no_trees_are_no_trees() -> None:
    codes = encode_bins(np.zeros((3, 1)), np.zeros(1, bool), np.zeros(1, np.int64), max_bins=4)
    assert len(build_trees([], codes, BoostRules())) == 0

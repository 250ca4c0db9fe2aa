"""The kernels once more with bounds checks: none of them reads or writes outside its arrays.

All runs happen in one other process, since the checks are compiled in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hornbeam.runtime.kernel import _user_cache_root

ROOT = Path(__file__).resolve().parents[1]

RUNS = """
import sys
import time
import numpy as np
import pandas as pd
from numba import types
from numba.np import arrayobj

# In a kernel an index of -1 is a mistake: behind a bare pointer it is another array's memory.
arrayobj.fix_integer_index = lambda context, builder, kind, index, size: context.cast(
    builder, index, kind, types.intp
)

import hornbeam as hb
from hornbeam.runtime.kernel import BOUNDS_CHECK, specialise

assert BOUNDS_CHECK

def read(values, place):
    return values[place]

for place in (3, -1):
    try:
        specialise(read, None)(np.zeros(3), place)
        raise SystemExit("bounds are not checked")
    except IndexError:
        pass

Classifier, Regressor = hb.DecisionTreeClassifier, hb.DecisionTreeRegressor
rng = np.random.default_rng(0)
N = 700
numbers = rng.normal(size=(N, 4)).round(1)
holes = np.where(rng.random((N, 4)) < 0.2, np.nan, numbers)
frame = pd.DataFrame(holes, columns=list("abcd"))
frame["few"] = rng.choice(["u", "v", "w", None], N)
frame["many"] = rng.integers(0, 300, N).astype(str)
level = np.nan_to_num(holes[:, 0]) + 2 * frame["few"].isin(["u", "w"]) + rng.normal(0, 0.3, N)
level = level.to_numpy()
label = np.digitize(level, [0.0, 1.0])
weight = rng.integers(0, 3, N).astype(float)
ways = {
    "depth": {},
    "level, 2 threads": {"growth": "level", "n_jobs": 2},
    "leaf, 2 threads": {"max_leaf_nodes": 40, "n_jobs": 2},
    "histogram": {"finder": "histogram"},
    "histogram, few bins, 3 threads": {"finder": "histogram", "max_bins": 5, "n_jobs": 3},
    "random": {"splitter": "random", "max_features": 2},
    "random histogram": {"splitter": "random", "finder": "histogram"},
    "one against rest": {"category_split": "one_vs_rest", "max_depth": 4},
    "other": {"unseen": "other", "min_samples_leaf": 5, "max_features": "sqrt"},
}
tables = {"numbers": numbers, "missing": holes, "F": np.asfortranarray(holes), "mixed": frame}

def check(what, model, table, y, w=None):
    try:
        model.fit(table, y, w)
        for rows in (table, table[:1], table[:9]):
            model.predict(rows)
            model.apply(rows)
    except IndexError:
        print("out of bounds:", what, flush=True)
        raise

start = time.perf_counter()
count = 0
for way, params in ways.items():
    for name, table in tables.items():
        for tree, y in ((Classifier, label), (Classifier, label > 0), (Regressor, level)):
            check((way, name), tree(random_state=0, **params), table, y, weight)
            count += 1
for criterion in ("entropy", "misclassification"):
    check(criterion, Classifier(criterion=criterion, max_depth=5), frame, label)
    count += 1
for criterion in ("friedman_mse", "poisson", "absolute_error"):
    for params in ({}, {"finder": "histogram", "n_jobs": 2}):
        tree = Regressor(criterion=criterion, max_depth=5, **params)
        check(criterion, tree, frame, np.abs(level), weight)
        count += 1
two_labels, two_levels = np.column_stack([label, label > 1]), np.column_stack([level, -level])
for criterion in ("gini", "entropy"):
    check("outputs", Classifier(criterion=criterion, max_depth=5), frame, two_labels)
for criterion in ("squared_error", "absolute_error"):
    check("outputs", Regressor(criterion=criterion, max_depth=5), frame, two_levels)
check("monotone", Regressor(monotonic_cst=[1, -1, 0, 0]), holes, level)
check("monotone", Classifier(monotonic_cst=[1, -1, 0, 0]), holes, label > 0)
check("pruned", Regressor(ccp_alpha=0.01), frame, level)
check("one row", Regressor(), numbers[:1], level[:1])
check("one column", Classifier(), numbers[:, :1], label)
check("constant", Classifier(n_jobs=2), np.ones((50, 2)), label[:50])
check("all missing", Regressor(), np.full((50, 2), np.nan), level[:50])
check("float32", Regressor(), holes.astype(np.float32), level)
big = np.vstack([holes] * 60) + rng.normal(0, 0.01, (60 * N, 4))  # beyond what one tile takes
for params in ({"n_jobs": 1}, {"n_jobs": 2}, {"n_jobs": 2, "finder": "histogram"}):
    check("big", Regressor(min_samples_leaf=20, **params), big, np.tile(level, 60))
    check("big", Classifier(max_leaf_nodes=60, **params), big, np.tile(label, 60))
dummies = pd.concat([frame, pd.get_dummies(frame["few"]).astype(float)], axis=1)
for kind in ("RandomForest", "ExtraTrees"):
    Forest = getattr(hb, kind + "Classifier")
    for y in (label, label > 0):
        check(kind, Forest(n_estimators=3, n_jobs=2, random_state=0), dummies, y)
        check(kind, Forest(n_estimators=3, n_jobs=2, random_state=0), dummies, y, weight)
    check(kind, getattr(hb, kind + "Regressor")(n_estimators=3, random_state=0), dummies, level)
    count += 5
import scipy.sparse
from hornbeam.boosting import scores

scores.LEAST_SECONDS = 0.0  # two threads, also for so few rows
Boosted, Booster = hb.GradientBoostingRegressor, hb.GradientBoostingClassifier
rare = pd.get_dummies(frame["many"]).to_numpy(float)  # exclusive: features share columns
ways = {
    "1 thread": {"n_jobs": 1},
    "2 threads": {"n_jobs": 2, "growth": "level"},
    "symmetric": {"n_jobs": 2, "growth": "symmetric"},
    "draws": {"subsample": 0.5, "colsample_bytree": 0.7, "colsample_bynode": 0.7, "n_jobs": 2},
}
for way, params in ways.items():
    params = {"n_estimators": 3, "max_leaf_nodes": 12, "random_state": 0, **params}
    for name, table in {"frame": frame, "rare": rare}.items():
        check((way, name), Boosted(**params), table, level, weight)
        check((way, name), Booster(**params), table, label, weight)
        count += 2
    check((way, "sparse"), Booster(**params), scipy.sparse.csr_array(rare), label > 0, weight)
    check((way, "big"), Booster(**params), big, np.tile(label > 0, 60))
    count += 2
check("stopped", Booster(n_estimators=5, early_stopping=True), frame, label)
check("dart", Boosted(n_estimators=6, drop_rate=0.5, skip_drop=0.0), frame, level)
check("quantiles", Boosted(n_estimators=3, loss="quantile", quantile=[0.1, 0.9]), frame, level)
hb.GradientBoostingRanker(n_estimators=3).fit(holes, label, group=[N // 2, N - N // 2])
forests = {
    "random": (hb.RandomForestClassifier, hb.RandomForestRegressor),
    "extra": (hb.ExtraTreesClassifier, hb.ExtraTreesRegressor),
}
forest_ways = {
    "plain": {},
    "exact, 2 threads": {"finder": "exact", "n_jobs": 2},
    "out of the bag": {"bootstrap": True, "oob_score": True, "max_samples": 0.6},
    "constant features count": {"constant_features": "count", "max_leaf_nodes": 30},
}
for kind, (forest, values) in forests.items():
    for way, params in forest_ways.items():
        few = {"n_estimators": 3, "random_state": 0, **params}
        for name, table in tables.items():
            check((kind, way, name), forest(**few), table, label, weight)
            check((kind, way, name), values(**few), table, level, weight)
            count += 2
    check(kind, forest(n_estimators=3, voting="hard"), frame, two_labels)
    check(kind, values(n_estimators=3), frame, two_levels)
    check(kind, values(n_estimators=3, criterion="absolute_error"), holes, level)
    check(kind, forest(n_estimators=3), big, np.tile(label, 60))
    check(kind, values(n_estimators=2, min_samples_leaf=5), big, np.tile(level, 60))
embedding = hb.RandomTreesEmbedding(n_estimators=5).fit(frame)
embedding.transform(frame)
print(count, "runs in", round(time.perf_counter() - start), "s")
"""


def test_no_kernel_leaves_its_arrays() -> None:
    """Code with checks is kept in a directory of its own, so only the first run is slow."""
    root = _user_cache_root() / "boundscheck"
    result = subprocess.run(
        [sys.executable, "-c", RUNS],
        env={
            **os.environ,
            "HORNBEAM_BOUNDSCHECK": "1",
            "HORNBEAM_CACHE_DIR": str(root),
            "HORNBEAM_QUIET": "1",
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "runs in" in result.stdout

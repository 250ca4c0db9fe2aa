"""The kernels once more with bounds checks: none of them reads or writes outside its arrays.

All runs happen in one other process, since the checks are compiled in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hornbeam.runtime.kernel import _user_cache_root

ROOT = Path(__file__).resolve().parents[2]

RUNS = """
import numpy as np
import pandas as pd
from numba import types
from numba.np import arrayobj

# In a kernel an index of -1 is a mistake: behind a bare pointer it is another array's memory.
arrayobj.fix_integer_index = lambda context, builder, kind, index, size: context.cast(
    builder, index, kind, types.intp
)

import hornbeam as hb
from hornbeam.runtime.kernel import BOUNDS_CHECK

assert BOUNDS_CHECK
rng = np.random.default_rng(0)
N = 700
frame = pd.DataFrame(rng.normal(size=(N, 3)).round(1), columns=list("abc"))
frame["wide"] = rng.normal(size=N)
frame["few"] = rng.choice(["u", "v", "w"], N)
frame["many"] = rng.integers(0, 300, N).astype(str)
level = frame["a"] + 2 * frame["few"].isin(["u", "w"]) + rng.normal(0, 0.3, N)
label = np.digitize(level, [0.0, 1.0])
holes = frame.mask(rng.random(frame.shape) < 0.2)
weight = rng.integers(0, 3, N).astype(float)
C45, ID3 = hb.C45Classifier, hb.ID3Classifier
models = [
    C45(), C45(n_jobs=2), C45(pruning=None, mdl_correction=False), C45(raising=False),
    C45(grouping=True), C45(grouping=True, min_samples_leaf=1, pruning=None),
    C45(unseen="other", max_depth=3), ID3(numeric="categories"),
]
count = 0
for table in (frame, holes, frame[["wide"]], holes[["many"]], frame[:1], holes[:9]):
    for model in models:
        y, w = label[: len(table)], weight[: len(table)]
        model.fit(table, y, w if w.any() else None)
        for rows in (holes, holes[:1]):
            model.predict_proba(rows[list(table)])
            model.apply(rows[list(table)])
        count += 1
big = pd.concat([holes] * 30, ignore_index=True)
melons = holes[["few"]].assign(more=rng.choice(["p", "q", None], N))
ID3(missing="fractions").fit(melons, label).predict(melons)
C45(n_jobs=2).fit(big, np.tile(label, 30)).predict(big)
print(count, "runs")
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
    assert "48 runs" in result.stdout

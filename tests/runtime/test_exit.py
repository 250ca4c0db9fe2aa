"""A process may end while daemon threads are in kernels.

NumPy's search of distinct values by hashes is kept out: it aborts a process that ends in there,
whoever calls it (NumPy 2.3 and later, before Python 3.14).
"""

from __future__ import annotations

import subprocess
import sys

import pytest

LEAVE = """
import threading, time
import numpy as np
import hornbeam as hb
# A thread that is in there when the process ends aborts it: destructors of C++ take the GIL.
import numpy.lib._arraysetops_impl as numpy_sets
numpy_sets._unique_hash = lambda *args, **kwargs: NotImplemented
rng = np.random.default_rng(0)
X = rng.normal(size=(20000, 6))
y = (X[:, 0] + rng.normal(size=20000) > 0).astype(int)
models = [
    hb.RandomForestClassifier(n_estimators=20, n_jobs=2),
    hb.RandomForestRegressor(n_estimators=20, n_jobs=1),
    hb.DecisionTreeClassifier(),
    hb.GradientBoostingClassifier(n_estimators=20, learning_rate=0.1, n_jobs=2),
    hb.IsolationForest(n_estimators=50, n_jobs=2),
    hb.IsolationForest(n_estimators=50, extension_level=2, n_jobs=2),
    hb.C45Classifier(),
    hb.BaggingClassifier(n_estimators=4, n_jobs=2),
]
for model in models:  # compiles everything: the end of a process is no time for LLVM
    model.fit(X, y).predict(X)
begun = threading.Barrier(len(models) + 1)
def work(model):
    begun.wait()
    while True:
        {call}
for model in models:
    threading.Thread(target=work, args=(model,), daemon=True).start()
begun.wait()
time.sleep(0.1)
"""


@pytest.mark.parametrize(("call", "times"), [("model.predict(X)", 2), ("model.fit(X, y)", 1)])
def test_the_process_ends_while_daemon_threads_work(call: str, times: int) -> None:
    script = LEAVE.replace("{call}", call)
    for _ in range(times):
        assert subprocess.run([sys.executable, "-c", script], timeout=300).returncode == 0

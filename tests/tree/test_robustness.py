"""Threads, forks, Ctrl-C and many fits: the estimators stay right and usable."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import hornbeam as hb

Classifier, Regressor = hb.DecisionTreeClassifier, hb.DecisionTreeRegressor

rng = np.random.default_rng(0)
N = 6000
X = rng.normal(size=(N, 5))
X[rng.random((N, 5)) < 0.1] = np.nan
LEVEL = np.nan_to_num(X[:, 0]) * 2 + np.nan_to_num(X[:, 1]) + rng.normal(0, 0.5, N)
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(kind=rng.choice(list("uvwxyz"), N))
MODELS: list[tuple[Any, Any, Any]] = [
    (Classifier(max_depth=8, n_jobs=2, random_state=0), X, LEVEL > 0.5),
    (Regressor(max_depth=8, n_jobs=2, random_state=0), FRAME, LEVEL),
    (Regressor(finder="histogram", growth="level", n_jobs=3, random_state=0), X, LEVEL),
    (Classifier(max_leaf_nodes=50, n_jobs=2, max_features=2, random_state=0), FRAME, LEVEL > 0),
    (Regressor(splitter="random", max_depth=10, n_jobs=2, random_state=0), FRAME, LEVEL),
]


def fit_and_predict(number: int) -> tuple[str, bytes]:
    model, table, y = MODELS[number]
    fitted = pickle.loads(pickle.dumps(model)).fit(table, y)
    return fitted.digest(), fitted.predict(table).tobytes()


@pytest.fixture(scope="module")
def expected() -> list[tuple[str, bytes]]:
    return [fit_and_predict(number) for number in range(len(MODELS))]


# --- the number of threads does not matter ------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("number", range(len(MODELS)))
def test_the_number_of_threads_does_not_matter(number: int, expected: Any) -> None:
    model, table, y = MODELS[number]
    for n_jobs in (None, 1, 2, 4, 8, -1):
        fitted = pickle.loads(pickle.dumps(model)).set_params(n_jobs=n_jobs).fit(table, y)
        assert fitted.digest() == expected[number][0], n_jobs
        assert fitted.predict(table).tobytes() == expected[number][1], n_jobs


def test_small_nodes_and_many_threads() -> None:
    """Hundreds of fits in which threads have almost nothing to do but meet each other."""
    small, y = X[:60, :3], LEVEL[:60]
    for params in ({"growth": "level"}, {"growth": "depth"}, {"max_leaf_nodes": 12}):
        alone = Regressor(**params, n_jobs=1, random_state=0).fit(small, y).digest()
        for _ in range(60):
            for n_jobs in (2, 3):
                model = Regressor(**params, n_jobs=n_jobs, random_state=0).fit(small, y)
                assert model.digest() == alone


# --- Python threads -----------------------------------------------------------------------------


def test_eight_python_threads_fit_and_predict_at_once(expected: Any, in_eight_threads: Any) -> None:
    def work(seed: int) -> None:
        for turn in range(4):
            number = (seed + turn) % len(MODELS)
            assert fit_and_predict(number) == expected[number]

    in_eight_threads(work)


def test_one_model_predicts_in_eight_threads(expected: Any) -> None:
    model = pickle.loads(pickle.dumps(MODELS[0][0])).fit(X, MODELS[0][2])
    results: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: results.append(model.predict(X).tobytes()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [expected[0][1]] * 8


# --- forks --------------------------------------------------------------------------------------


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here"
)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_children_fit_and_predict(expected: Any) -> None:
    assert fit_and_predict(0) == expected[0]  # so that the parent has a team
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = pool.map_async(fit_and_predict, range(len(MODELS))).get(timeout=120)
    assert results == expected
    assert fit_and_predict(1) == expected[1]


# --- failures leave nothing behind --------------------------------------------------------------


@pytest.mark.quick
def test_a_failed_fit_leaves_the_estimator_unfitted() -> None:
    model = Regressor(max_depth=3).fit(X, LEVEL)
    with pytest.raises(ValueError):
        model.fit(X, np.full(N, np.nan))
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)


INTERRUPTED = """
import json, os, signal, sys, threading, time
import numpy as np
import hornbeam as hb
from sklearn.exceptions import NotFittedError

Model, params = getattr(hb, sys.argv[1]), json.loads(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(1_000_000, 10)).astype(np.float32)
y = rng.normal(size=len(X))
small = Model(max_depth=4, **params)
digest = small.fit(X[:5000], y[:5000]).digest()
model = Model(**params)
sent = []

def interrupt():
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

waits = []
for delay in (0.3, 1.5):
    threading.Timer(delay, interrupt).start()
    try:
        model.fit(X, y)
        print("the fit was too short to interrupt")
    except KeyboardInterrupt:
        waits.append(time.process_time() - sent[-1])
    try:
        model.predict(X[:5])
        print("fitted")
    except NotFittedError:
        pass
again = small.fit(X[:5000], y[:5000]).digest() == digest
print(json.dumps({"waits": waits, "again": again}))
"""


def check_interrupts(name: str, params: dict[str, Any]) -> None:
    """Ctrl-C stops all threads within two seconds of their work, however busy the machine is.

    Nothing of the fit is left, and the team is usable.
    """
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, name, json.dumps(params)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    outcome = json.loads(result.stdout)
    assert outcome["again"]
    assert len(outcome["waits"]) == 2 and max(outcome["waits"]) < 2.0


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("params", [{"n_jobs": 1}, {"n_jobs": 2}], ids=repr)
def test_ctrl_c_stops_a_long_fit(params: dict[str, Any]) -> None:
    check_interrupts("DecisionTreeRegressor", params)


# --- memory ---------------------------------------------------------------------------------------


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_many_fits_do_not_fill_the_memory() -> None:
    model = Classifier(max_depth=6, n_jobs=2, random_state=0)

    def use(times: int) -> None:
        for _ in range(times):
            model.fit(FRAME, LEVEL > 0).predict(FRAME)
        gc.collect()

    use(20)
    before = resident_bytes()
    use(100)
    growth = resident_bytes() - before
    assert growth < 10e6, growth  # one copy of the table kept per fit would be 29 MB

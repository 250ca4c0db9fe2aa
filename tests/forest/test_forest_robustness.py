"""Threads, forks, Ctrl-C and failed fits: forests stay right and usable."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from tree.test_robustness import check_interrupts, resident_bytes

import hornbeam as hb

rng = np.random.default_rng(0)
N = 2000
X = rng.normal(size=(N, 4)).round(2)
LEVEL = X[:, 0] + X[:, 1] ** 2 + rng.normal(0, 0.3, N)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(kind=rng.choice(list("uvwxyz"), N))
MODELS: list[tuple[Any, Any, Any]] = [
    (hb.RandomForestClassifier(n_estimators=8, n_jobs=2, random_state=0), X, LEVEL > 0.5),
    (hb.RandomForestRegressor(n_estimators=5, n_jobs=3, random_state=0), FRAME, LEVEL),
    (hb.ExtraTreesClassifier(n_estimators=8, n_jobs=2, random_state=0), FRAME, LEVEL > 0),
    (hb.ExtraTreesRegressor(n_estimators=5, n_jobs=2, random_state=0), X, LEVEL),
    (hb.RandomTreesEmbedding(n_estimators=20, n_jobs=2, random_state=0), FRAME, None),
]


def fit_and_apply(number: int) -> tuple[str, bytes]:
    model, table, y = MODELS[number]
    fitted = pickle.loads(pickle.dumps(model)).fit(table, y)
    used = fitted.apply if y is None else fitted.predict
    return fitted.digest(), used(table).tobytes()


@pytest.fixture(scope="module")
def expected() -> list[tuple[str, bytes]]:
    return [fit_and_apply(number) for number in range(len(MODELS))]


def test_a_fit_makes_no_new_class() -> None:
    """Scikit-learn looks through each of them, and drops an alarm that comes meanwhile."""
    forest = hb.RandomForestRegressor(n_estimators=2, random_state=0)
    kinds = []
    for _ in range(2):
        forest.fit(np.arange(20.0)[:, None], np.arange(20.0))
        kinds.append(set(hb.DecisionTreeRegressor.__subclasses__()))
    assert kinds[0] == kinds[1]


def test_eight_python_threads_fit_and_predict_at_once(expected: Any, in_eight_threads: Any) -> None:
    def work(seed: int) -> None:
        for turn in range(3):
            number = (seed + turn) % len(MODELS)
            assert fit_and_apply(number) == expected[number]

    in_eight_threads(work)


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here"
)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_children_fit_and_predict(expected: Any) -> None:
    assert fit_and_apply(0) == expected[0]  # so that the parent has a team
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = pool.map_async(fit_and_apply, range(len(MODELS))).get(timeout=120)
    assert results == expected


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_a_long_fit(n_jobs: int) -> None:
    check_interrupts(
        "RandomForestRegressor", {"n_jobs": n_jobs, "n_estimators": 20, "random_state": 0}
    )


def test_an_error_in_a_thread_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError("no room for a bag")

    forest = hb.RandomForestRegressor(n_estimators=30, n_jobs=2).fit(X, LEVEL)
    monkeypatch.setattr("hornbeam.forest.bags.Bags.counts", fail)
    with pytest.raises(MemoryError, match="no room for a bag"):
        forest.fit(X, LEVEL)
    with pytest.raises(NotFittedError):
        forest.predict(X)
    monkeypatch.undo()
    assert forest.fit(X, LEVEL).score(X, LEVEL) > 0.8


@pytest.mark.parametrize("model", [model for model, _, y in MODELS if y is not None], ids=repr)
def test_a_failed_fit_leaves_the_forest_unfitted(model: Any) -> None:
    forest = pickle.loads(pickle.dumps(model)).fit(X, LEVEL > 0)
    with pytest.raises(ValueError):
        forest.fit(X, np.full(N, np.nan))
    assert not [name for name in vars(forest) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        forest.predict(X)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_many_fits_do_not_fill_the_memory() -> None:
    model = hb.RandomForestClassifier(n_estimators=4, n_jobs=2, random_state=0)

    def use(times: int) -> None:
        for _ in range(times):
            model.fit(FRAME, LEVEL > 0).predict(FRAME)
        gc.collect()

    use(15)
    before = resident_bytes()
    use(60)
    growth = resident_bytes() - before
    assert growth < 10e6, growth

"""The process that helps compiling: it saves time, and whatever happens to it costs only time."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numba import float64

from hornbeam.runtime import companion
from hornbeam.runtime.kernel import can_keep_code, compile_times, is_at_hand, kernel

SIGNATURE = float64(float64)


@kernel
def one_more(x):
    return x + 1.0


@kernel
def two_more(x):
    return x + 2.0


@kernel
def three_more(x):
    return x + 3.0


@kernel
def four_more(x):
    return x + 4.0


KERNELS = [(function, SIGNATURE) for function in (one_more, two_more, three_more, four_more)]

# Fits in a process of its own; says which kernels it compiled itself, and which model it got.
FIT = """
import json, sys
import numpy as np
import hornbeam as hb
from hornbeam.runtime import companion
from hornbeam.runtime.kernel import compile_times
{before}
X = np.random.default_rng(0).normal(size=(300, 5))
model = hb.GradientBoostingClassifier(n_estimators=3).fit(X, X[:, 0] > X[:, 1])
print(json.dumps([model.digest(), sorted(compile_times())]))
"""


def fit_with_empty_cache(root: Path, before: str = "") -> tuple[str, set[str], set[str]]:
    """Digest, kernels that the process compiled itself, and kernels in the cache afterwards."""
    environment = {**os.environ, "HORNBEAM_CACHE_DIR": str(root), "HORNBEAM_QUIET": "1"}
    answer = subprocess.run(
        [sys.executable, "-c", FIT.format(before=before)],
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    assert answer.stderr == ""
    digest, own = json.loads(answer.stdout)
    return digest, set(own), {file.name.rpartition("-")[0] for file in root.rglob("*.bin")}


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(companion, "core_count", lambda: 2)


@pytest.fixture
def not_at_hand(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """No kernel seems to be compiled; holds those that this process is told to compile."""
    compiled: list[Any] = []
    monkeypatch.setattr(companion, "is_at_hand", lambda kernel, signature: False)
    monkeypatch.setattr(companion, "compiled", lambda *kernel: compiled.append(kernel))
    yield compiled
    assert not companion._shared.queue


def test_another_process_compiles_some_of_the_kernels(tmp_path: Path) -> None:
    always = "companion.core_count = lambda: 2"
    never = "companion._can_help = lambda: False"
    helped, own, stored = fit_with_empty_cache(tmp_path / "a", always)
    alone, all_own, all_stored = fit_with_empty_cache(tmp_path / "b", never)
    assert helped == alone
    assert stored == all_stored <= all_own
    assert stored - own  # compiled by the other process, and used from the disk


def test_a_process_that_cannot_be_started_is_no_error(
    two_cores: None, not_at_hand: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    companion.compile_all(KERNELS)
    assert all(kernel in not_at_hand for kernel in KERNELS)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell script")
@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "echo ready; exit 1",
        "echo ready; read x; exit 1",
        "echo hello; exit 1",
        "cat > /dev/null",  # never ready
        "echo ready; cat > /dev/null",  # never done
    ],
)
def test_a_process_that_dies_or_hangs_is_no_error(
    script: str,
    two_cores: None,
    not_at_hand: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(companion, "_PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(companion, "_shared", companion._Shared())
    companion.begin(KERNELS)
    companion.compile_all(KERNELS)
    assert all(kernel in not_at_hand for kernel in KERNELS)


@pytest.mark.quick
def test_requests_are_compiled_until_they_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = [(("math", "sin"), 1), (("math", "cos"), 2)]
    lines = [base64.b64encode(pickle.dumps(request)).decode() + "\n" for request in requests]
    asked: list[Any] = []
    monkeypatch.setattr(companion, "compiled", lambda *kernel: asked.append(kernel))
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(lines)))
    companion.serve()
    assert [(kernel.__name__, signature) for kernel, signature in asked] == [("sin", 1), ("cos", 2)]
    assert capsys.readouterr().out == "ready\n" * 3


@pytest.mark.quick
def test_few_new_kernels_are_compiled_here(
    two_cores: None, not_at_hand: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading.Thread, "start", lambda thread: pytest.fail("started"))
    companion.compile_all(KERNELS[:3])
    assert not_at_hand[:3] == KERNELS[:3]


@pytest.mark.quick
def test_kernels_at_hand_need_nobody(monkeypatch: pytest.MonkeyPatch, two_cores: None) -> None:
    for kernel_and_signature in KERNELS:
        companion.compiled(*kernel_and_signature)
        assert is_at_hand(*kernel_and_signature)
    monkeypatch.setattr(threading.Thread, "start", lambda thread: pytest.fail("started"))
    before = compile_times()
    companion.begin(KERNELS)
    companion.compile_all(KERNELS)
    assert not companion._shared.queue and compile_times() == before


@pytest.mark.quick
def test_made_kernels_stay_here() -> None:
    def make() -> Any:
        return kernel(lambda x: x)

    assert companion._place(one_more) == (__name__, "one_more")
    assert companion._place(make()) is None


@pytest.mark.quick
@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("sys.executable", ""),
        ("sys.executable", None),
        ("sys.executable", "/opt/app/bin/server"),
        ("sys.frozen", True),
        ("companion.core_count", lambda: 1),
        ("companion.multiprocessing.parent_process", lambda: object()),
        ("companion.can_keep_code", lambda: False),
    ],
)
def test_nobody_helps_where_nobody_can(
    change: str, value: Any, two_cores: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_keep_code():
        pytest.skip("there is no cache directory to share")
    assert companion._can_help()
    owner: Any = {"sys": sys, "companion": companion}[change.split(".")[0]]
    *path, name = change.split(".")[1:]
    for part in path:
        owner = getattr(owner, part)
    monkeypatch.setattr(owner, name, value, raising=False)
    assert not companion._can_help()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_begins_anew() -> None:
    """Whoever held the lock or handed out kernels is not there any more."""
    with companion._shared.lock:
        child = os.fork()
        if child == 0:
            free = companion._shared.lock.acquire(blocking=False)
            os._exit(0 if free and companion._shared.helper is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

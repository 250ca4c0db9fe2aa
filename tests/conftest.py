"""What all tests share: the shared data sets, and how hypothesis runs."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from benchmarks.datasets import data_folder

# No deadline: the first example pays for a compilation. In CI the examples are always
# the same ones, so that a red run can be repeated.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

# Compiled code is kept in the project, whatever home the tests run in.
KERNELS = Path(__file__).resolve().parents[1] / ".pytest_cache" / "kernels"
os.environ.setdefault("HORNBEAM_CACHE_DIR", str(KERNELS))

# What a shell starts in the background ignores Ctrl-C, and so would all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even read the files that hold no quick test where only these are asked for."""
    if config.option.markexpr != "quick" or collection_path.suffix != ".py":
        return None
    return "mark.quick" not in collection_path.read_text(encoding="utf-8") or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need the shared data sets: ``pytest -m shared`` runs only these."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the shared data sets; the test is skipped where ``HORNBEAM_DATA`` names none."""
    folder = data_folder()
    if folder is None:
        pytest.skip("HORNBEAM_DATA does not say where the shared data sets are")
    assert folder.is_dir(), f"HORNBEAM_DATA={folder} is not a folder."
    return folder


@pytest.fixture
def in_eight_threads() -> Callable[[Callable[[int], None]], None]:
    """Calls a function with 0 to 7, each in a thread of its own, all at once."""

    def run(work: Callable[[int], None]) -> None:
        errors: list[BaseException] = []
        begin = threading.Barrier(8)

        def call(number: int) -> None:
            begin.wait()
            try:
                work(number)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not errors, errors[0]
        assert not any(thread.is_alive() for thread in threads)

    return run

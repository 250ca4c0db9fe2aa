"""Saving is all or nothing, whatever happens in the middle."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from hornbeam.errors import ModelFileError
from hornbeam.output.atomic import read_regular_file, replace_file

OLD, NEW = b"old" * 1000, b"new" * 3000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "model").write_bytes(OLD)
    return tmp_path / "model"


@pytest.mark.quick
def test_replaces_and_keeps_permissions(path: Path) -> None:
    path.chmod(0o640)
    replace_file(path, NEW)
    assert path.read_bytes() == NEW
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == ["model"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_follows_a_link_and_obeys_the_umask(path: Path) -> None:
    link = path.parent / "link"
    link.symlink_to(path)
    replace_file(link, NEW)
    assert link.is_symlink() and path.read_bytes() == NEW
    replace_file(path.parent / "fresh", NEW)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((path.parent / "fresh").stat().st_mode) == 0o666 & ~umask


def test_folders_in_the_way(path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="give the name of a file"):
        replace_file(path.parent, NEW)
    with pytest.raises(FileNotFoundError):
        replace_file(path.parent / "nowhere" / "model", NEW)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_failing_step_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    def fail(*args: Any) -> None:
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        replace_file(path, NEW)
    monkeypatch.undo()
    assert path.read_bytes() == OLD
    assert os.listdir(path.parent) == ["model"]


def run(script: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.mark.skipif(os.name == "nt", reason="needs resource limits")
def test_a_full_disk_leaves_the_old_file(path: Path) -> None:
    """The limit on the file size stands for the full disk: the write fails half-way."""
    script = """
        import resource, signal, sys
        from hornbeam.output.atomic import replace_file
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            replace_file(sys.argv[1], b"new" * 100_000)
        except OSError as error:
            print("refused", error.errno)
    """
    output, errors = run(script, str(path)).communicate(timeout=60)
    assert output.split()[0] == b"refused", errors
    assert path.read_bytes() == OLD
    assert os.listdir(path.parent) == ["model"]


@pytest.mark.skipif(os.name == "nt", reason="needs kill -9")
@pytest.mark.parametrize("delay", [0.0, 0.002, 0.01, 0.03])
def test_kill_9_leaves_a_whole_file(path: Path, delay: float) -> None:
    """Two contents in turn, killed at any moment: the file is one of them, whole."""
    script = """
        import sys
        from hornbeam.output.atomic import replace_file
        contents = [b"a" * 3_000_000, b"b" * 3_000_000]
        replace_file(sys.argv[1], contents[0])
        print("go", flush=True)
        while True:
            for content in contents:
                replace_file(sys.argv[1], content)
    """
    process = run(script, str(path))
    assert process.stdout is not None and process.stdout.readline() == b"go\n"
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    content = path.read_bytes()
    assert content in (b"a" * 3_000_000, b"b" * 3_000_000)


def test_reading_looks_at_the_beginning_first(path: Path) -> None:
    seen: list[int] = []

    def file_end(start: bytes) -> int:
        seen.append(len(start))
        return 100 if len(start) < 100 else 3000

    assert read_regular_file(path, 10_000, file_end) == OLD
    assert seen == [8, 100]
    with pytest.raises(ModelFileError, match="3000 bytes are more than the limit of 2999"):
        read_regular_file(path, 2999, file_end)
    with pytest.raises(ModelFileError, match="has 3000 bytes and should have 7"):
        read_regular_file(path, 10_000, lambda start: 7)

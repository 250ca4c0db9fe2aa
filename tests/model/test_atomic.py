"""Saving is all or nothing, whatever happens in the middle."""

from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hornbeam.errors import ModelFileError
from hornbeam.model import atomic
from hornbeam.model.atomic import output_target, read_regular_file, replace_file, replacing

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


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # the names of sockets are short
        listener.bind(path.name)


THINGS: dict[str, Callable[[Path], None]] = {
    "a named pipe": os.mkfifo if os.name == "posix" else Path.touch,
    "a socket": make_socket,
    "a device": lambda path: path.symlink_to(os.devnull),
}


@pytest.mark.skipif(os.name == "nt", reason="there are no such things there")
@pytest.mark.parametrize("name", THINGS)
def test_what_is_no_regular_file_is_left_as_it_is(tmp_path: Path, name: str) -> None:
    thing = tmp_path / "thing"
    THINGS[name](thing)
    (tmp_path / "link").symlink_to(thing)
    before = os.lstat(thing)
    for path in (thing, tmp_path / "link"):
        with pytest.raises(FileExistsError, match=f"{path.name}' is {name}, not a regular file"):
            replace_file(path, NEW)
    assert os.path.samestat(os.lstat(thing), before)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert sorted(os.listdir(tmp_path)) == ["link", "thing"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs root to make a device")
def test_devices_are_not_replaced(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this container may not make devices")
    with pytest.raises(FileExistsError, match="is a device, not a regular file"):
        replace_file(device, NEW)
    assert stat.S_ISCHR(device.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_links_to_nothing_are_not_written_through(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("nothing")
    with pytest.raises(FileExistsError, match="is a symbolic link to 'nothing', which does not"):
        replace_file(link, NEW)
    assert os.listdir(tmp_path) == ["link"]
    link.unlink()
    link.symlink_to(link)
    with pytest.raises(OSError, match="symbolic link"):
        replace_file(link, NEW)
    link.unlink()
    link.symlink_to(tmp_path)
    with pytest.raises(IsADirectoryError, match="link' is a folder"):
        replace_file(link, NEW)


@pytest.mark.skipif(os.name == "nt", reason="owners of POSIX")
def test_a_link_that_somebody_else_has_laid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = path.parent / "link"
    link.symlink_to(path)
    look = os.lstat

    def foreign(name: Any) -> Any:
        found = look(name)
        if not stat.S_ISLNK(found.st_mode):
            return found
        return types.SimpleNamespace(st_mode=found.st_mode, st_uid=found.st_uid + 1)

    monkeypatch.setattr(atomic.os, "lstat", foreign)
    assert output_target(link) == path  # nobody else could have put it there
    path.parent.chmod(0o1777)
    with pytest.raises(PermissionError, match="another user has put into a folder that all may"):
        replace_file(link, NEW)
    assert path.read_bytes() == OLD


def test_what_comes_in_the_way_meanwhile_is_left_as_it_is(path: Path) -> None:
    def write() -> None:
        with replacing(path) as file:
            file.write(NEW)
            path.unlink()
            path.mkdir()

    with pytest.raises(IsADirectoryError):
        write()
    assert os.listdir(path.parent) == ["model"] and path.is_dir()


@pytest.mark.parametrize("letter", ["x", "\N{EVERGREEN TREE}"])
def test_the_longest_names(tmp_path: Path, letter: str) -> None:
    name = letter * (255 // len(letter.encode()))
    for data in (OLD, NEW):
        replace_file(tmp_path / name, data)
        assert (tmp_path / name).read_bytes() == data
    assert os.listdir(tmp_path) == [name]


def hours_ago(file: Path, hours: float) -> Path:
    file.write_bytes(b"part")
    then = time.time() - hours * 3600
    os.utime(file, (then, then))
    return file


def test_what_a_killed_save_left_is_removed_by_a_later_one(path: Path) -> None:
    folder = path.parent
    hours_ago(folder / ".model.0123456789abcdef.tmp", 2)
    others = [
        hours_ago(folder / ".model.1123456789abcdef.tmp", 0.5),  # may still be written
        hours_ago(folder / ".model2.0123456789abcdef.tmp", 2),  # of another file
        hours_ago(folder / ".model.notes.tmp", 2),  # somebody's own
        hours_ago(folder / "model.0123456789abcdef.tmp", 2),
        hours_ago(folder / ".model.0123456789abcdef.tmp.gz", 2),
    ]
    replace_file(path, NEW)
    assert path.read_bytes() == NEW
    assert sorted(os.listdir(folder)) == sorted([path.name, *(file.name for file in others)])


@pytest.mark.skipif(os.name == "nt", reason="owners of POSIX")
def test_what_somebody_else_left_is_not_removed(path: Path, monkeypatch: Any) -> None:
    left = hours_ago(path.parent / ".model.0123456789abcdef.tmp", 2)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    replace_file(path, NEW)
    assert left.exists()


def test_what_is_being_written_is_not_removed(path: Path) -> None:
    with replacing(path) as first:
        first.write(NEW)
        first.flush()
        os.utime(first.name, (0, 0))  # it seems to be old
        replace_file(path, OLD * 2)
        assert Path(first.name).exists()
    assert path.read_bytes() == NEW


@pytest.mark.skipif(os.name == "nt", reason="needs kill -9")
def test_a_save_after_kill_9_cleans_up(path: Path) -> None:
    script = """
        import os, signal, sys
        from hornbeam.model.atomic import replacing
        with replacing(sys.argv[1]) as file:
            os.utime(file.name, (0, 0))
            os.kill(os.getpid(), signal.SIGKILL)
    """
    run(script, str(path)).communicate(timeout=60)
    assert len(os.listdir(path.parent)) == 2 and path.read_bytes() == OLD
    replace_file(path, NEW)
    assert os.listdir(path.parent) == ["model"] and path.read_bytes() == NEW


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
        from hornbeam.model.atomic import replace_file
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
        from hornbeam.model.atomic import replace_file
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


def test_reading_while_others_write(path: Path) -> None:
    """The size that counts is that of the file that was opened."""
    contents = [b"a" * 100, b"b" * 10_000]
    replace_file(path, contents[0])
    done = threading.Event()

    def write() -> None:
        for turn in range(200):
            replace_file(path, contents[turn % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    ends = {b"a": 100, b"b": 10_000}
    while not done.is_set():
        assert read_regular_file(path, 10_000, lambda start: ends[start[:1]]) in contents
    writer.join()


def test_a_file_that_is_exchanged_between_two_looks(path: Path, monkeypatch: Any) -> None:
    look = os.stat

    def look_and_exchange(name: Any, **options: Any) -> Any:
        found = look(name, **options)
        monkeypatch.undo()
        replace_file(path, NEW)
        return found

    monkeypatch.setattr(os, "stat", look_and_exchange)
    assert read_regular_file(path, 10_000, lambda start: len(NEW)) == NEW

"""Only what this user or root has written is read."""

from __future__ import annotations

import os
import stat
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hornbeam.runtime import trusted
from hornbeam.runtime.trusted import make_folder, opened_folder

pytestmark = pytest.mark.quick
posix = pytest.mark.skipif(os.name != "posix", reason="owners and permissions of POSIX")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_folder(tmp_path / "root")
    make_folder(tmp_path / "root" / "code")
    return tmp_path / "root"


def read(root: Path, name: str = "file") -> bytes:
    with opened_folder(root, "code") as folder:
        return folder.read(name)


@pytest.fixture
def file(root: Path) -> Path:
    with opened_folder(root, "code") as folder:
        folder.write("file", b"content")
        assert folder.holds("file")
    assert read(root) == b"content"
    assert os.listdir(root / "code") == ["file"]
    return root / "code" / "file"


def refused(root: Path, sentence: str) -> None:
    with pytest.raises(PermissionError, match=sentence):
        read(root)


def test_names_where_there_are_no_handles(
    root: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trusted, "_BY_HANDLE", False)
    assert read(root) == b"content"
    with opened_folder(root, "code") as folder:
        folder.write("file", b"new")
        assert folder.read("file") == b"new"
        assert folder.holds("file") and not folder.holds("other")
    with pytest.raises(FileNotFoundError), opened_folder(root, "nothing") as folder:
        folder.read("file")


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_to(root: Path, file: Path, mode: int) -> None:
    file.chmod(mode)
    refused(root, "file' is writable by other users")
    with opened_folder(root, "code") as folder:
        assert not folder.holds("file")


@posix
def test_permissions_are_looked_at_each_time(root: Path, file: Path) -> None:
    for folder, mode in ((root / "code", 0o770), (root / "code", 0o1777), (root, 0o777)):
        before = stat.S_IMODE(folder.stat().st_mode)
        folder.chmod(mode)
        refused(root, f"{folder.name}' is writable by other users")
        folder.chmod(before)
        assert read(root) == b"content"
    root.chmod(0o1777)  # as /tmp: nobody moves away what is not his own
    assert read(root) == b"content"
    for path in (root, root / "code", file):
        path.chmod(0o555)  # a cache to read only
    assert read(root) == b"content"


@posix
def test_what_is_no_file(root: Path, file: Path) -> None:
    file.rename(root / "moved")
    file.symlink_to(root / "moved")
    with pytest.raises(OSError):
        read(root)
    file.unlink()
    os.mkfifo(file)
    refused(root, "is not a regular file")  # and nobody waits for a writer
    file.unlink()
    file.mkdir()
    refused(root, "is not a regular file")


@posix
def test_a_link_in_the_place_of_the_folder(root: Path, file: Path) -> None:
    (root / "code").rename(root / "moved")
    (root / "code").symlink_to(root / "moved")
    with pytest.raises(OSError):
        read(root)
    assert not [name for name in os.listdir(root / "moved") if name != "file"]


@posix
def test_the_root_may_be_a_link(root: Path, file: Path) -> None:
    (root.parent / "link").symlink_to(root)
    assert read(root.parent / "link") == b"content"


Owned = Callable[..., None]


@pytest.fixture
def owned(monkeypatch: pytest.MonkeyPatch) -> Owned:
    """Makes a file seem to belong to somebody."""
    fstat = os.fstat

    def pretend(path: Path, **other: int) -> None:
        number = path.stat().st_ino

        def look(handle: int) -> Any:
            found = fstat(handle)
            seen = {name: getattr(found, name) for name in dir(found) if name[:3] == "st_"}
            return types.SimpleNamespace(**seen | (other if found.st_ino == number else {}))

        monkeypatch.setattr(os, "fstat", look)

    return pretend


@posix
@pytest.mark.parametrize("which", ["root", "code", "file"])
def test_owners(root: Path, file: Path, owned: Owned, which: str) -> None:
    path = {"root": root, "code": root / "code", "file": file}[which]
    owned(path, st_uid=os.geteuid() + 4000)
    refused(root, f"{which}' belongs to another user")
    owned(path, st_uid=0)
    assert read(root) == b"content"


@posix
def test_a_group_that_may_write_to_the_root(
    root: Path, file: Path, owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    import grp
    import pwd

    name = "somebody"
    members: list[str] = []
    group = types.SimpleNamespace(gr_name=name, gr_mem=members)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: types.SimpleNamespace(pw_name=name))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: group)
    root.chmod(0o770)
    owned(root, st_gid=54321)
    forget = trusted._is_private_group.cache_clear
    forget()
    assert read(root) == b"content"  # a group of this user alone
    members.append("another")
    forget()
    refused(root, "root' is writable by other users")
    members[:] = [name]
    group.gr_name = "users"
    forget()
    refused(root, "root' is writable by other users")

    def nobody(gid: int) -> None:
        raise KeyError(gid)

    monkeypatch.setattr(grp, "getgrgid", nobody)
    forget()
    refused(root, "root' is writable by other users")
    forget()

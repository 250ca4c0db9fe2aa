"""Folders and files that nobody else can have written.

Loading compiled code runs it. So a folder is opened first and looked at then, and its files
are opened inside of it, never through a link: what a name means may change between two looks,
what was opened does not. A folder or a file is trusted if it belongs to this user or to root
and if nobody else may write to it. The folders above need no look: whoever may write there can
put another folder in the place of ours, but not one that is ours.

On Windows, which knows neither these owners nor handles of folders, names have to do.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_BY_HANDLE = hasattr(os, "O_DIRECTORY") and {os.open, os.rename} <= os.supports_dir_fd
_ALWAYS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _ALWAYS
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK | _ALWAYS  # a pipe could hang
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _ALWAYS
_UNFINISHED = ".writing-"
_ABANDONED_SECONDS = 86400


class Folder:
    """An open folder that nobody else can write to; see `opened_folder`."""

    def __init__(self, path: Path, handle: int | None) -> None:
        self.path, self._handle = path, handle

    def read(self, name: str) -> bytes:
        """Content of a file; PermissionError if somebody else could have written it."""
        handle = os.open(self._place(name), _READ, dir_fd=self._handle)
        try:
            _refuse_untrusted(os.fstat(handle), stat.S_ISREG, self.path / name)
            file = os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise
        with file:
            return file.read()

    def holds(self, name: str) -> bool:
        """Whether there is a file of this name that `read` would read."""
        try:
            status = os.stat(self._place(name), dir_fd=self._handle, follow_symlinks=False)
            _refuse_untrusted(status, stat.S_ISREG, self.path / name)
        except OSError:
            return False
        return True

    def write(self, name: str, content: bytes) -> None:
        """Write a file that is whole or not there."""
        unfinished = _UNFINISHED + secrets.token_hex(8)
        here = self._handle
        handle = os.open(self._place(unfinished), _CREATE, _modes()[1], dir_fd=here)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            old, new = self._place(unfinished), self._place(name)
            os.replace(old, new, src_dir_fd=here, dst_dir_fd=here)
        except BaseException:
            with suppress(OSError):
                os.unlink(self._place(unfinished), dir_fd=here)
            raise

    def _place(self, name: str) -> str:
        return name if self._handle is not None else str(self.path / name)


def make_folder(path: Path) -> None:
    """Make a folder that only this user may use, if there is none.

    What root makes all may read, as they may read what root installs: an image is often built
    by root and run by somebody else.
    """
    path.mkdir(mode=_modes()[0], parents=True, exist_ok=True)


@contextmanager
def opened_folder(root: Path, name: str) -> Iterator[Folder]:
    """Open a folder in a root folder; OSError if it is not there or not to be trusted.

    The root may be reached through links and be writable for all if it is sticky, as /tmp is:
    others cannot move our folder away there. The folder itself must be a folder.
    """
    if not _BY_HANDLE:
        yield Folder(root / name, None)
        return
    with _opened(str(root), _FOLDER, None) as above:
        _refuse_root(os.fstat(above), root)
        with _opened(name, _FOLDER | _NO_LINK, above) as handle:
            _refuse_untrusted(os.fstat(handle), stat.S_ISDIR, root / name)
            yield Folder(root / name, handle)


@contextmanager
def _opened(name: str, flags: int, above: int | None) -> Iterator[int]:
    handle = os.open(name, flags, dir_fd=above)
    try:
        yield handle
    finally:
        os.close(handle)


def remove_abandoned(folder: Path) -> None:
    """Remove what writers have left behind that were killed, a day later."""
    for file in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):
            if time.time() - file.lstat().st_mtime > _ABANDONED_SECONDS:
                file.unlink()


def is_own(path: Path) -> bool:
    """Whether this is a folder, and not a link to one, that belongs to this user."""
    status = path.lstat()
    return stat.S_ISDIR(status.st_mode) and (not _has_owners() or status.st_uid == os.geteuid())


def _has_owners() -> bool:
    return hasattr(os, "geteuid")


def _modes() -> tuple[int, int]:
    """Permissions of a new folder and of a new file."""
    return (0o755, 0o644) if _has_owners() and os.geteuid() == 0 else (0o700, 0o600)


def _refuse_untrusted(status: os.stat_result, is_kind: Callable[[int], bool], path: Path) -> None:
    if not is_kind(status.st_mode):
        kind = "folder" if is_kind is stat.S_ISDIR else "regular file"
        raise PermissionError(f"{str(path)!r} is not a {kind}")
    if not _has_owners():
        return
    _refuse_foreign(status, path)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{str(path)!r} is writable by other users")


def _refuse_root(status: os.stat_result, path: Path) -> None:
    _refuse_foreign(status, path)
    mode = status.st_mode
    by_group = mode & stat.S_IWGRP and not _is_private_group(status.st_gid, os.geteuid())
    if (by_group or mode & stat.S_IWOTH) and not mode & stat.S_ISVTX:
        raise PermissionError(f"{str(path)!r} is writable by other users")


def _refuse_foreign(status: os.stat_result, path: Path) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        raise PermissionError(f"{str(path)!r} belongs to another user")


@cache
def _is_private_group(gid: int, uid: int) -> bool:
    """Whether a group has this user for its only member.

    Many systems give each user a group of the same name, and folders are writable for it.
    """
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(uid).pw_name, grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}

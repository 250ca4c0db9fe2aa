"""Files that are whole or not there, and reading that cannot hang."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO

from hornbeam.errors import ModelFileError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, where nobody can remove what somebody has open
    fcntl = None

_LONGEST_NAME = 200  # bytes, of the 255 that file systems allow
_ABANDONED_SECONDS = 3600
_CAREFUL = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def output_target(path: str | os.PathLike[str]) -> Path:
    """Say which file is written under a name: a new one or a regular file, nothing else.

    A symbolic link to a regular file stays, and the file that it leads to is replaced. A link
    that leads nowhere, a folder, a pipe, a socket or a device is refused, and so is a link that
    another user has put into a folder that all may write to.

    Parameters
    ----------
    path : str or path
        Where to.

    Returns
    -------
    Path
        The file, without links.

    Raises
    ------
    OSError
        A sentence that says what is in the way.
    """
    shown = repr(os.fspath(path))
    mode = _mode_of(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{shown} is a folder: give the name of a file.")
    if mode is not None and not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
        raise FileExistsError(
            f"{shown} is {kind}, not a regular file, and is left as it is: give another name."
        )
    return Path(os.path.realpath(path))


def _mode_of(path: str | os.PathLike[str]) -> int | None:
    """Kind and permissions of what has a name, None if nothing has it."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(found.st_mode):
        return found.st_mode
    _refuse_foreign_link(path, found)
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        raise FileExistsError(
            f"{os.fspath(path)!r} is a symbolic link to {os.readlink(path)!r}, which does not "
            "exist: remove the link, or give another name."
        ) from None


def _refuse_foreign_link(path: str | os.PathLike[str], link: os.stat_result) -> None:
    """Where all may write, a link of somebody else may lead to any file of ours."""
    if not hasattr(os, "geteuid"):
        return
    folder = os.stat(Path(path).absolute().parent)
    if folder.st_mode & stat.S_IWOTH and link.st_uid not in (os.geteuid(), folder.st_uid):
        raise PermissionError(
            f"{os.fspath(path)!r} is a symbolic link that another user has put into a folder "
            "that all may write to: give another name."
        )


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that readers see the old content or the new one, never a part.

    Parameters
    ----------
    path : str or path
        Where to; `output_target` says what may be there.
    data : bytes
        The content.
    """
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of a file when the block ends well.

    It lies in the same folder, reaches the disk, and only then takes the name. If anything
    fails on the way, it is removed and the old file is untouched. What a process leaves behind
    that is killed in the middle, a later one removes that writes the same file.

    Parameters
    ----------
    path : str or path
        Where to; `output_target` says what may be there.

    Yields
    ------
    file
        Open for writing. Who writes by name takes ``file.name``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hornbeam.model.atomic import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as file:
    ...         _ = file.write(b"whole")
    ...     (Path(folder) / "a.txt").read_text()
    'whole'
    """
    target = output_target(path)
    mode = _mode_of(target)
    _remove_abandoned(target)
    temporary = target.with_name(_beginning(target.name) + secrets.token_hex(8) + ".tmp")
    file = _new_file(temporary, 0o666 if mode is None else 0o600)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        output_target(target)  # something else may have come to stand there
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _new_file(path: Path, mode: int) -> IO[bytes]:
    """Create a file, locked as long as the process lives and has it open."""

    def create(name: str, flags: int) -> int:
        return os.open(name, flags | _NO_LINK, mode)

    file = open(path, "xb", opener=create)  # noqa: SIM115 (who asked for it closes it)
    if fcntl is not None:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def _beginning(name: str) -> str:
    """How the temporary files of a file are named: after it, if it is not too long."""
    encoded = os.fsencode(name)
    if len(encoded) > _LONGEST_NAME:
        name = hashlib.sha256(encoded).hexdigest()
    return f".{name}."


def _remove_abandoned(target: Path) -> None:
    """Remove temporary files of processes that were killed while they wrote this file."""
    form = re.compile(re.escape(_beginning(target.name)) + r"[0-9a-f]{16}\.tmp")
    with contextlib.suppress(OSError):
        for name in filter(form.fullmatch, os.listdir(target.parent)):
            temporary = target.with_name(name)
            with contextlib.suppress(OSError):
                if _is_abandoned(temporary):
                    temporary.unlink()


def _is_abandoned(temporary: Path) -> bool:
    """Whether a file is this user's, old, and no living process writes it.

    A process that dies loses its lock. On Windows the file could not be removed if it were open.
    """
    handle = os.open(temporary, os.O_RDWR | _CAREFUL | _NO_LINK)
    try:
        found = os.fstat(handle)
        user = os.geteuid() if hasattr(os, "geteuid") else found.st_uid
        is_own = stat.S_ISREG(found.st_mode) and found.st_uid == user
        if not is_own or time.time() - found.st_mtime < _ABANDONED_SECONDS:
            return False
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable too, where the system can do that."""
    with contextlib.suppress(OSError):  # Windows cannot open a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_regular_file(
    path: str | os.PathLike[str], max_bytes: int, file_end: Callable[[bytes], int]
) -> bytes:
    """Read a file after a look at its beginning says that it has the right size.

    Parameters
    ----------
    path : str or path
        Must be a regular file: a pipe could wait for ever, a device never end.
    max_bytes : int
        The largest size to accept.
    file_end : function
        Given the first bytes, returns how many there should be; called once with 8 bytes
        (how long is the beginning?) and once with the beginning (where is the end?).

    Returns
    -------
    bytes
        The content.
    """
    _refuse_unreadable(os.stat(path))  # FileNotFoundError is the caller's to see
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _CAREFUL)) as file:
        # the name may mean another file by now: only what was opened counts
        found = os.fstat(file.fileno())
        _refuse_unreadable(found)
        if found.st_size > max_bytes:
            raise ModelFileError(
                f"Its {found.st_size} bytes are more than the limit of {max_bytes}."
            )
        start = file.read(8)
        start += file.read(min(file_end(start), found.st_size) - len(start))
        expected = file_end(start)
        if expected != found.st_size:
            raise ModelFileError(
                f"It is damaged or incomplete: it has {found.st_size} bytes and should have "
                f"{expected}."
            )
        return start + file.read(expected - len(start))


def _refuse_unreadable(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise ModelFileError("It is a folder, not a model file.")
    if not stat.S_ISREG(found.st_mode):
        raise ModelFileError("It is not a regular file.")

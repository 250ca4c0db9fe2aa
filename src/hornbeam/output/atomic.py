"""Files that are whole or not there, and reading that cannot hang."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from hornbeam.errors import ModelFileError


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that readers see the old content or the new one, never a part.

    The bytes go to a temporary file in the same folder, reach the disk, and only then
    take the name. If anything fails on the way, the temporary file is removed and the
    old file is untouched.

    Parameters
    ----------
    path : str or path
        Where to. A symbolic link is followed.
    data : bytes
        The content.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder: give the name of a file.")
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        _write_synced(temporary, data, _mode_of(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _mode_of(target: Path) -> int | None:
    """Permissions of the file that will be replaced, None if there is none."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return None


def _write_synced(path: Path, data: bytes, mode: int | None) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        path.chmod(mode)


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
    found = os.stat(path)  # FileNotFoundError is the caller's to see
    if stat.S_ISDIR(found.st_mode):
        raise ModelFileError("It is a folder, not a model file.")
    if not stat.S_ISREG(found.st_mode):
        raise ModelFileError("It is not a regular file.")
    if found.st_size > max_bytes:
        raise ModelFileError(f"Its {found.st_size} bytes are more than the limit of {max_bytes}.")
    with open(path, "rb") as file:
        start = file.read(8)
        start += file.read(min(file_end(start), found.st_size) - len(start))
        expected = file_end(start)
        if expected != found.st_size:
            raise ModelFileError(
                f"It is damaged or incomplete: it has {found.st_size} bytes and should have "
                f"{expected}."
            )
        return start + file.read(expected - len(start))

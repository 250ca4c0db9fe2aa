"""How a CSV file is written: what parts its columns, how its letters and decimals are coded."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from hornbeam.cli.screen import UserError

COMMON = "utf8"  # encoding
OTHERWISE = "cp1252"  # what old spreadsheets write: any bytes mean something

_SEPARATORS = (",", ";", "\t", "|")
_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
_LOOK_AT = 1 << 16  # bytes
_LINE_END = re.compile(r"\r\n|\n|\r")
_QUOTED = re.compile(r'"[^"]*"')
_MARKS = {
    codecs.BOM_UTF8: COMMON,  # which the reader skips
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class Dialect(NamedTuple):
    """What is to be known to read a CSV file."""

    separator: str
    encoding: str = COMMON
    decimal: str = "."

    def unlike(self, usual: str) -> str:
        """What is unusual about it, as a sentence; empty if nothing is."""
        found = []
        if self.separator != usual:
            found.append(f"columns are parted by {self.separator!r}")
        if self.decimal != ".":
            found.append(f"decimals are written with {self.decimal!r}")
        if self.encoding != COMMON:
            found.append(f"letters are coded as {self.encoding}")
        return ", ".join(found) + " (--sep, --encoding overrule)" if found else ""


def find_dialect(
    path: Path, usual: str, separator: str | None = None, encoding: str | None = None
) -> Dialect:
    """Look at the beginning of a file.

    Parameters
    ----------
    path : Path
    usual : str
        What parts columns in files of that name.
    separator, encoding : str, optional
        What the user says of them.
    """
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        head = bytes(stream.read(_LOOK_AT))
    encoding = read_encoding(encoding) if encoding else _encoding_of(head)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(head)
    lines = re.split(_LINE_END, text)
    whole = lines[:-1] if len(head) == _LOOK_AT else lines
    if separator is None:
        separator = _separator_of(re.split(_LINE_END, re.sub(_QUOTED, "", text))[0], usual)
    else:
        separator = _NAMES.get(separator.lower(), separator)
        if len(separator) != 1:
            raise UserError(f"--sep {separator!r} must be one character, or 'tab'.")
    return Dialect(separator, encoding, _decimal_of(whole[1:], separator))


def read_encoding(name: str) -> str:
    """The encoding that a name means, or a sentence."""
    try:
        found = codecs.lookup(name).name
    except LookupError:
        raise UserError(
            f"--encoding {name!r} is not known; there are utf-8, latin-1, cp1252, utf-16 ..."
        ) from None
    return COMMON if found == "utf-8" else found


def _encoding_of(head: bytes) -> str:
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return OTHERWISE
    return COMMON


def _separator_of(header: str, usual: str) -> str:
    """What stands between the names of the columns most often; quoted names are left out."""
    counts = Counter(header)
    best = max(_SEPARATORS, key=lambda mark: (counts[mark], mark == usual))
    return best if counts[best] > 0 else usual


def _decimal_of(lines: list[str], separator: str) -> str:
    """A comma if numbers are written so, and none with a point."""
    if separator == ",":
        return "."
    fields = [field.strip(' "') for line in lines for field in line.split(separator)]
    with_comma = any(re.fullmatch(r"[+-]?\d+,\d+", field) for field in fields)
    with_point = any(re.fullmatch(r"[+-]?\d+\.\d+", field) for field in fields)
    return "," if with_comma and not with_point else "."

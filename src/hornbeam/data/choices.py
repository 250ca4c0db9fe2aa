"""The two choices a user has about columns: which are categories, and unseen categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from hornbeam.data.columns import listed, short

UNSEEN: Final = ("missing", "error", "other")


def check_unseen(unseen: Any) -> None:
    """Refuse an unknown policy for unseen categories."""
    if not (isinstance(unseen, str) and unseen in UNSEEN):
        raise ValueError(f"unseen must be one of {listed(UNSEEN)}, got {short(unseen)}.")


def chosen_categories(chosen: Any, names: Sequence[str]) -> set[int]:
    """Positions of the columns that ``categorical_features`` names."""
    if chosen is None or (isinstance(chosen, str) and chosen == "from_dtype"):
        return set()
    if isinstance(chosen, (str, bytes)) or not isinstance(chosen, Iterable):
        raise ValueError(
            "categorical_features must be 'from_dtype', None, or a list of column names, "
            f"positions or bools, got {short(chosen)}. For a single column write a list with one "
            "entry."
        )
    entries = np.asarray(chosen).ravel().tolist() if isinstance(chosen, np.ndarray) else [*chosen]
    if entries and all(isinstance(entry, (bool, np.bool_)) for entry in entries):
        if len(entries) != len(names):
            raise ValueError(
                f"categorical_features is a mask of {len(entries)} bools, but X has {len(names)} "
                "columns. Give one bool per column, or a list of names or positions."
            )
        return {i for i, entry in enumerate(entries) if entry}
    place = {name: i for i, name in enumerate(names)}
    return {_position(entry, place) for entry in entries}


def _position(entry: Any, place: dict[str, int]) -> int:
    if isinstance(entry, str):
        if entry not in place:
            raise ValueError(
                f"categorical_features names {entry!r}, which is not a column of X. The columns "
                f"are {listed(list(place), limit=10)}."
            )
        return place[entry]
    if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
        if not 0 <= entry < len(place):
            raise ValueError(
                f"categorical_features names position {entry}, but X has {len(place)} columns, "
                f"counted from 0 to {len(place) - 1}."
            )
        return int(entry)
    raise ValueError(
        f"categorical_features holds {short(entry)} of type {type(entry).__name__}; its entries "
        "must be column names or positions."
    )

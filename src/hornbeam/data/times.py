"""Dates, times and durations as numbers, and numbers of that kind as dates again.

A column of moments becomes the time since 1970-01-01 (in UTC, if it knows a zone), a column of
durations its length, one of times of day the time since midnight: whole counts of the unit of its
dtype, but for nanoseconds, which are parts of microseconds, since float64 holds no more digits of
a date of today. Periods count from where they start.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from hornbeam.dtypes import Array

MOMENT, DURATION, CLOCK = "moment", "duration", "time of day"
_KINDS = (MOMENT, DURATION, CLOCK)
_SECONDS = {"D": 86400.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
# The unit of numbers for each unit of NumPy, and how many of the latter make one of the former.
_UNIT_OF = {
    "Y": ("D", 1), "M": ("D", 1), "W": ("D", 1), "D": ("D", 1), "h": ("s", 1), "m": ("s", 1),
    "s": ("s", 1), "ms": ("ms", 1), "us": ("us", 1), "ns": ("us", 10**3), "ps": ("us", 10**6),
    "fs": ("us", 10**9), "as": ("us", 10**12),
}  # fmt: skip
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class TimeScale:
    """What the numbers of a column of dates, times or durations mean.

    Attributes
    ----------
    kind : {"moment", "duration", "time of day"}
        What the column holds.
    unit : {"D", "s", "ms", "us"}
        What the numbers count.
    zone : str or None
        The time zone of moments, which are counted in UTC then; None if they know none.

    Examples
    --------
    >>> from hornbeam.data.times import TimeScale
    >>> scale = TimeScale("moment", "D")
    >>> scale.words(19723.0), scale.words(19723.5)
    ('2024-01-01', '2024-01-01 12:00')
    """

    kind: str
    unit: str
    zone: str | None = None

    @property
    def label(self) -> str:
        """The kind, unit and zone in a few words, as in "moment [us, Europe/Berlin]"."""
        return f"{self.kind} [{', '.join([self.unit, *([self.zone] if self.zone else [])])}]"

    def words(self, number: float, exact: bool = False) -> str:
        """Write a number of this scale: "2024-03-01 12:30", "3 days 02:00", "08:15".

        Parameters
        ----------
        number : float
            A count of the unit.
        exact : bool
            To the microsecond; otherwise numbers are rounded to seconds.

        Returns
        -------
        str
        """
        if not math.isfinite(number):
            return str(number)
        micros = round(number * _SECONDS[self.unit] * 1e6)
        if self.unit == "us":
            micros = round(number)
        if not exact:
            micros = round(micros / 1_000_000) * 1_000_000
        if self.kind == MOMENT:
            return self._moment(micros)
        days, rest = divmod(abs(micros), 86_400_000_000)
        clock, sign = _clock(rest), "-" if micros < 0 else ""
        if self.kind == CLOCK and not days:
            return f"{sign}{clock}"
        name = "day" if days == 1 else "days"
        parts = [f"{days} {name}"] * (days > 0 or not rest) + [clock] * (rest > 0)
        return sign + " ".join(parts)

    def _moment(self, micros: int) -> str:
        """A date, with the time of the day unless that is midnight, and with the zone."""
        try:
            moment = _EPOCH + datetime.timedelta(microseconds=micros)
            if self.zone is not None:
                aware = moment.replace(tzinfo=datetime.UTC).astimezone(_zone(self.zone))
                moment = aware.replace(tzinfo=None)
        except (OverflowError, ValueError):  # before the year 1 or after 9999
            return str(np.datetime64(micros // 1_000_000, "s")).replace("T", " ")
        since = moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)
        clock = _clock(since // datetime.timedelta(microseconds=1))
        day = moment.date().isoformat()
        text = day if clock == "00:00" and self.zone is None else f"{day} {clock}"
        if self.zone is None:
            return text
        return f"{text} {self.zone}" if self.zone == "UTC" else f"{text}{aware.strftime('%z')}"

    def on(self, numbers: Array, scale: TimeScale) -> Array:
        """Counts of this scale as counts of another one of the same kind."""
        if scale.unit == self.unit:
            return numbers
        ratio = _SECONDS[self.unit] / _SECONDS[scale.unit]
        return numbers * round(ratio) if ratio > 1 else numbers / round(1 / ratio)

    def to_dict(self) -> dict[str, Any]:
        """The scale as plain JSON values."""
        return {"kind": self.kind, "unit": self.unit, "zone": self.zone}

    @classmethod
    def from_dict(cls, content: Any, what: str) -> TimeScale:
        """Rebuild a scale from `to_dict`; anything else is a ValueError that says why."""
        if not isinstance(content, dict) or set(content) != {"kind", "unit", "zone"}:
            raise ValueError(f"{what} must have exactly the keys 'kind', 'unit' and 'zone'")
        kind, unit, zone = content["kind"], content["unit"], content["zone"]
        if kind not in _KINDS or unit not in _SECONDS:
            raise ValueError(f"{what} has the unknown kind or unit {kind!r:.40}, {unit!r:.40}")
        if zone is not None and (not isinstance(zone, str) or kind != MOMENT):
            raise ValueError(f"{what} has {zone!r:.40} as its zone")
        return cls(kind, unit, zone)


_OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d):?(\d\d)")


def _zone(name: str) -> datetime.tzinfo:
    """A time zone by its name or its distance from UTC; UTC if this machine does not know it."""
    offset = _OFFSET.fullmatch(name)
    if offset:
        minutes = int(offset[2]) * 60 + int(offset[3])
        return datetime.timezone(datetime.timedelta(minutes=int(f"{offset[1]}{minutes}")))
    if not re.fullmatch(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", name):  # it names a file
        return datetime.UTC
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return datetime.UTC


def _clock(micros: int) -> str:
    """The time since midnight: "08:15", with seconds and their parts if there are any."""
    seconds, micros = divmod(micros, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours:02}:{minutes:02}"
    if seconds or micros:
        text += f":{seconds:02}"
    return text + f".{micros:06}".rstrip("0") if micros else text


# --- from what users have ---------------------------------------------------------------


def from_numpy_times(values: Array, zone: str | None = None) -> tuple[Array, TimeScale]:
    """The counts, with NaN for what is missing, and the scale, of datetime64 or timedelta64."""
    kind = MOMENT if values.dtype.kind == "M" else DURATION
    unit, _ = np.datetime_data(values.dtype)
    if unit == "generic":  # nothing but missing values, or counts of nobody knows what
        unit = "s"
    if kind == DURATION and unit in ("Y", "M"):
        raise TypeError(
            f"durations in {'years' if unit == 'Y' else 'months'}, whose length nobody knows"
        )
    ours, parts = _UNIT_OF[unit]
    code = values.dtype.kind
    counts = values.astype(f"{code}8[{ours if parts == 1 else unit}]").view(np.int64)
    gone = np.isnat(values)
    whole, part = np.divmod(counts, parts)  # float64 would round the counts themselves
    numbers: Array = whole.astype(np.float64) + part / float(parts)
    numbers[gone] = np.nan
    return numbers, TimeScale(kind, ours, zone)


def from_objects(items: Sequence[Any], kind: str) -> tuple[Array, TimeScale]:
    """The counts and the scale of Python's dates, times and durations; None is missing."""
    there = [item for item in items if item is not None]
    if kind == CLOCK:
        numbers = [math.nan if item is None else _since_midnight(item) for item in items]
        return np.array(numbers), TimeScale(CLOCK, "us")
    if kind == DURATION:
        return from_numpy_times(np.array(items, "m8[us]"))
    there = [_start(item) for item in there]
    zones = [getattr(item, "tzinfo", None) for item in there]
    if any(zone is None for zone in zones) and any(zone is not None for zone in zones):
        raise TypeError("moments with a time zone and others without one")
    name = zone_name(zones[0]) if zones and zones[0] is not None else None
    unit = "D" if all(_is_day(item) for item in there) else "us"
    plain = iter([_without_zone(item) for item in there])
    moments = [np.datetime64("NaT") if item is None else next(plain) for item in items]
    return from_numpy_times(np.array(moments, f"M8[{unit}]"), name)


def _since_midnight(item: datetime.time) -> float:
    if item.tzinfo is not None:
        raise TypeError("times of day with a time zone, which are no fixed times")
    return ((item.hour * 60 + item.minute) * 60 + item.second) * 1e6 + item.microsecond


def _start(item: Any) -> Any:
    """A period's start; anything else is a moment."""
    return item.start_time if type(item).__name__ == "Period" else item


def _is_day(item: Any) -> bool:
    if isinstance(item, np.datetime64):
        return np.datetime_data(item.dtype)[0] in ("Y", "M", "W", "D")
    return isinstance(item, datetime.date) and not isinstance(item, datetime.datetime)


def _without_zone(item: Any) -> Any:
    """A moment in UTC that says nothing of it, as NumPy wants it."""
    if getattr(item, "tzinfo", None) is None:
        return item
    return item.astimezone(datetime.UTC).replace(tzinfo=None)


def zone_name(zone: Any) -> str:
    """What a zone is called; the distance from UTC where it has no name."""
    return str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone)


# --- text that is dates -------------------------------------------------------------------

_DATE = re.compile(
    r"\s*(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})"
    r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(?:[AaPp][Mm]|Z|[+-]\d{2}:?\d{2})?)?\s*"
)
_LOOKED_AT = 50


def reads_like_dates(labels: Iterable[Any]) -> bool:
    """Whether text is dates: of all the labels that are looked at."""
    looked_at = [label for label, _ in zip(labels, range(_LOOKED_AT), strict=False)]
    return len(looked_at) > 1 and all(
        isinstance(label, str) and _DATE.fullmatch(label) for label in looked_at
    )

"""One measurement: a row of a benchmark's table, with its target and what is odd about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Quantity = Literal["ratio", "value"]
Meaning = Literal["as fast", "as much"]


@dataclass(frozen=True)
class Target:
    """A bound on a row's ratio or on its value.

    Examples
    --------
    >>> Target.at_least(2.0).met(ratio=2.5, value=1.0)
    True
    >>> str(Target.at_most(8.0, "value"))
    '<= 8'
    """

    bound: float
    direction: Literal[">=", "<="]
    of: Quantity = "ratio"

    @classmethod
    def at_least(cls, bound: float, of: Quantity = "ratio") -> Target:
        return cls(bound, ">=", of)

    @classmethod
    def at_most(cls, bound: float, of: Quantity = "ratio") -> Target:
        return cls(bound, "<=", of)

    def met(self, *, ratio: float | None, value: float) -> bool:
        measured = ratio if self.of == "ratio" else value
        if measured is None:
            return False
        return measured >= self.bound if self.direction == ">=" else measured <= self.bound

    def __str__(self) -> str:
        return f"{self.direction} {self.bound:g}"


@dataclass(frozen=True)
class Row:
    """What one contender did in one case.

    Attributes
    ----------
    case, data, contender : str
    value : float
        The measurement: for times, the best of ``runs``.
    unit : str
        "s", "MB", "x", "sets", or nothing for how good a model is.
    runs : tuple of float
        Every repetition, in the order they ran.
    warm_up : float or None
        Seconds of the first call, on a few rows: compilation, or reading compiled code.
    reference : str
        The contender it is compared with; empty where there is none.
    ratio : float or None
        Against the reference, in the sense that ``meaning`` says.
    meaning : str
        "as fast": reference's value over this value, so more is better;
        "as much": this value over the reference's, so less is better.
    score : float or None
        Accuracy (R2 for regression, AUC for boosting) on rows that the fit did not see.
    target : Target or None
    digest : str
        Fingerprint of the result, where the case asks for one.
    flags : tuple of str
        Sentences on why not to trust the row, such as an accuracy that does not agree.
    """

    case: str
    data: str
    contender: str
    value: float
    unit: str = "s"
    runs: tuple[float, ...] = ()
    warm_up: float | None = None
    reference: str = ""
    ratio: float | None = None
    meaning: Meaning = "as fast"
    score: float | None = None
    target: Target | None = None
    digest: str = ""
    flags: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """What the row says about its target: met, missed, or nothing without one."""
        if self.target is None:
            return ""
        return "met" if self.target.met(ratio=self.ratio, value=self.value) else "missed"

    @property
    def is_good(self) -> bool:
        """Whether nothing is flagged and no target missed."""
        return not self.flags and self.verdict != "missed"

    def against(self, reference: Row, target: Target | None = None) -> Row:
        """Return this row with its ratio to another one."""
        pair = (reference.value, self.value)
        above, below = pair if self.meaning == "as fast" else pair[::-1]
        ratio = above / below if below else None
        return replace(self, reference=reference.contender, ratio=ratio, target=target)

    def flagged(self, *sentences: str) -> Row:
        """Return this row with more flags."""
        return replace(self, flags=self.flags + sentences)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Row:
        target = values.get("target")
        return cls(
            **values
            | {
                "runs": tuple(values.get("runs", ())),
                "flags": tuple(values.get("flags", ())),
                "target": None if target is None else Target(**target),
            }
        )

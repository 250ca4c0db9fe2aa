"""What the names of another library mean here: one declared table per class of theirs.

An adapter has the constructor of the class that it stands for. Its table says of every parameter
what becomes of it: the same, a parameter of ours by another name, a converted value, or an error
that says what to write instead. The pages under docs/compat are made from these tables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

Known = Mapping[str, Any]  # all parameters by their names, and facts such as "n_samples"
Ours = dict[str, Any]  # parameters of our estimator


@dataclass(frozen=True)
class Row:
    """One name of theirs, and what becomes of it."""

    theirs: str
    says: str  # in the page
    to: Callable[[Any, Known], Ours]


@dataclass(frozen=True)
class Translation:
    """One class of another library in terms of one of ours.

    Attributes
    ----------
    peer : str
        The library, as people call it.
    theirs, ours : str
        The names of the two classes.
    parameters : tuple of Row
        What becomes of each parameter of the constructor, in their order.
    fixed : dict
        What their algorithm is in our parameters, whatever is asked for.
    fit : dict of str to str
        What each argument of their ``fit`` does here.
    attributes : dict of str to str
        What each fitted attribute holds.
    """

    peer: str
    theirs: str
    ours: str
    parameters: tuple[Row, ...]
    fixed: Ours = field(default_factory=dict)
    fit: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    def to_ours(self, given: Mapping[str, Any], **facts: Any) -> Ours:
        """Translate all parameters.

        Parameters
        ----------
        given : dict
            Their parameters, every one of them.
        **facts
            What conversions need to know besides, such as ``n_samples``.

        Returns
        -------
        dict
            Parameters of our estimator.
        """
        known = {**given, **facts, "": self.theirs}
        ours = dict(self.fixed)
        for row in self.parameters:
            ours |= row.to(given[row.theirs], known)
        return ours


# --- what a row can be ----------------------------------------------------------------


def same(*names: str) -> tuple[Row, ...]:
    """Parameters that have the same name and meaning here."""
    return tuple(renamed(name, name) for name in names)


def renamed(theirs: str, ours: str) -> Row:
    """A parameter that only has another name here."""
    says = "the same" if theirs == ours else f"`{ours}`"
    return Row(theirs, says, lambda value, known: {ours: value})


def converted(theirs: str, says: str, ours: str, convert: Callable[[Any, Known], Any]) -> Row:
    """A parameter whose value has to be converted; ``says`` how, for the page."""
    return Row(theirs, says, lambda value, known: {ours: convert(value, known)})


def chosen(theirs: str, ours: str, values: Mapping[Any, Any], instead: str) -> Row:
    """A parameter with a few values, each of which is one of ours; another is an error."""
    table = ", ".join(
        f"`{key!r}`" if key == value else f"`{key!r}` is `{value!r}`"
        for key, value in values.items()
    )
    refused = functools.partial(refuse, theirs, instead)

    def to(value: Any, known: Known) -> Ours:
        try:
            return {ours: values[value]}
        except (KeyError, TypeError):
            raise refused(value, known) from None

    name = "the same" if theirs == ours else f"`{ours}`"
    return Row(theirs, f"{name} ({table}); else an error: {instead}", to)


def absent(theirs: str, allowed: tuple[Any, ...], instead: str) -> Row:
    """A parameter without an equivalent: any value but the ``allowed`` ones is an error."""
    values = ", ".join(f"`{value!r}`" for value in allowed)

    def to(value: Any, known: Known) -> Ours:
        if not any(value is other or _same_value(value, other) for other in allowed):
            raise refuse(theirs, instead, value, known)
        return {}

    return Row(theirs, f"{values} only; else an error: {instead}", to)


def unneeded(theirs: str, why: str) -> Row:
    """A parameter whose value changes nothing here that anyone would miss."""
    return Row(theirs, f"changes nothing: {why}", lambda value, known: {})


def apart(theirs: str, says: str) -> Row:
    """A parameter that the adapter itself acts on."""
    return Row(theirs, says, lambda value, known: {})


def refuse(theirs: str, instead: str, value: Any, known: Known) -> ValueError:
    """An error that says what to write instead."""
    return ValueError(
        f"{known[''] or 'The estimator'}({theirs}={value!r:.60}) has no equivalent here: {instead}"
    )


def _same_value(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


# --- the pages ------------------------------------------------------------------------


def page(module: ModuleType) -> str:
    """The page about a module of adapters, from its docstring and its ``TRANSLATIONS``."""
    assert module.__doc__ is not None
    title, _, text = module.__doc__.strip().partition("\n")
    parts = [f"# {title.rstrip('.')}", text.strip()]
    parts += [_section(translation) for translation in module.TRANSLATIONS]
    return "\n\n".join(parts) + "\n"


def _section(translation: Translation) -> str:
    """The tables of one class."""
    lines = [f"## {translation.theirs}", "", f"An `hb.{translation.ours}`"]
    if translation.fixed:
        fixed = ", ".join(f"`{name}={value!r}`" for name, value in translation.fixed.items())
        lines[-1] += f" with {fixed}"
    lines[-1] += "."
    rows = [(f"`{row.theirs}`", row.says) for row in translation.parameters]
    lines += _table("parameter", "here", rows)
    for heading, names in (("argument of fit", translation.fit), ("", translation.attributes)):
        rows = [(f"`{name}`", says) for name, says in names.items()]
        if rows:
            lines += _table(heading or "fitted attribute", "here", rows)
    return "\n".join(lines)


def _table(left: str, right: str, rows: list[tuple[str, str]]) -> list[str]:
    cells = [(left, right), ("---", "---"), *rows]
    return ["", *(f"| {a} | {b.replace('|', chr(92) + '|')} |" for a, b in cells)]

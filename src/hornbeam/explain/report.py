"""The table behind a split, for people: as text, in a notebook, and as records.

Nothing is computed here but what fills the formulas; `hornbeam.explain.split` makes a
`SplitExplanation` for the trees of CART, and other trees can make their own from the same
parts (a candidate has any number of branches).
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.explain.measures import entropy_of_shares
from hornbeam.output.names import LISTED, format_count, format_number, printable, shortened
from hornbeam.output.nodes import TreeView

_SHOWN_CUTS = 5
_WIDTH = 44
_NOTHING = 1e-12  # smaller numbers are what rounding leaves of 0
# How each criterion is written: what comes first and a term per class, or a sum over rows.
_CLASS_TERMS = {
    "entropy": ("", " - {c}/{w}*log2({c}/{w})"),
    "log_loss": ("", " - {c}/{w}*log2({c}/{w})"),
    "gini": ("1", " - ({c}/{w})^2"),
}
_SUMS = {
    "squared_error": "sum w*(y - mean)^2 / W",
    "friedman_mse": "sum w*(y - mean)^2 / W",
    "absolute_error": "sum w*|y - median| / W",
    "poisson": "sum w*y*log(y/mean) / W",
}


@dataclass(frozen=True, eq=False)
class Side:
    """Rows that stay together: a node, or one branch of a split.

    Attributes
    ----------
    label : str
        "yes", "no" or the category of a branch.
    n_rows : float
        How many rows (parts of rows where missing values are shared out).
    weight : float
        Sum of their weights.
    impurity : float
    values : tuple of arrays
        Per output the weights of the classes, or one mean or median.
    """

    label: str
    n_rows: float
    weight: float
    impurity: float
    values: tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Candidate:
    """The best split of one feature at a node.

    Attributes
    ----------
    feature : int
    name : str
        Name of the column.
    split : str
        "age <= 30.5", "color in {red, blue}"; empty if there is none.
    sides : tuple of Side
        The branches.
    gain : float
        Decrease of the impurity; minus infinity if there is no split.
    n_tried : int
        How many splits of the feature were compared.
    why_not : str
        Why there is no split, or why its gain cannot be compared.
    unknown : float
        Weight of the missing values where they say nothing about a split (C4.5).
    known_impurity : float
        Impurity of the other rows; only used if there are unknown ones.
    correction : float
        What is taken off the gain because the best of many thresholds was chosen (C4.5).
    chance : float
        What is taken off the gain because many categories explain that much by chance.
    """

    feature: int
    name: str
    split: str = ""
    sides: tuple[Side, ...] = ()
    gain: float = -np.inf
    n_tried: int = 0
    why_not: str = ""
    unknown: float = 0.0
    known_impurity: float = 0.0
    correction: float = 0.0
    chance: float = 0.0

    @property
    def split_information(self) -> float:
        """Entropy of the sizes of the branches, in bits; the unknown rows are one more."""
        weights = np.array([side.weight for side in self.sides] + [self.unknown] * bool(self.sides))
        return float(entropy_of_shares(weights / weights.sum())) if len(weights) else 0.0

    @property
    def gain_ratio(self) -> float:
        """Gain per bit of split information; NaN where that is 0."""
        bits = self.split_information
        return self.gain / bits if bits > 0.0 else float("nan")


@dataclass(frozen=True, eq=False)
class SplitExplanation:
    """Why a node asks what it asks, or why it is a leaf.

    Print it, or let a notebook show it. `records` and `to_frame` give the table of the
    features, `cuts` all splits of one feature that were tried.

    Attributes
    ----------
    title : str
        Which node of what.
    criterion : str
        Name of the impurity.
    node : Side
        All rows of the node.
    candidates : tuple of Candidate
        One per feature, in their order.
    chosen : int
        Feature of the split that the tree has, -1 for a leaf.
    reason : str
        Why this one, or why none.
    ranked_by : str
        "gain" or "gain ratio": what the choice is made by.
    class_names : tuple of tuples of str, or None
    decimals : int or None
        Digits behind the point; None shows numbers exactly.
    max_categories : int or None
        How many classes to list; None lists all, and cuts nothing else.
    """

    title: str
    criterion: str
    node: Side
    candidates: tuple[Candidate, ...]
    chosen: int
    reason: str
    ranked_by: str = "gain"
    class_names: tuple[tuple[str, ...], ...] | None = None
    list_cuts: Callable[[int], list[dict[str, Any]]] | None = field(default=None, repr=False)
    decimals: int | None = 3
    max_categories: int | None = LISTED

    # --- as data ----------------------------------------------------------------------

    @property
    def winner(self) -> Candidate | None:
        """The split that the tree has; None for a leaf."""
        found = [c for c in self.candidates if c.feature == self.chosen]
        return found[0] if found else None

    def records(self) -> list[dict[str, Any]]:
        """Return one dict per feature, the best gain first.

        Returns
        -------
        list of dict
        """
        return [
            {
                "feature": c.name,
                "split": c.split,
                "branches": [
                    {
                        "branch": side.label,
                        "n_samples": side.n_rows,
                        "weight": side.weight,
                        "impurity": side.impurity,
                        **self._content(side),
                    }
                    for side in c.sides
                ],
                "gain": c.gain if c.sides else float("nan"),
                "split_information": c.split_information,
                "gain_ratio": c.gain_ratio if c.sides else float("nan"),
                "tried": c.n_tried,
                "chosen": c.feature == self.chosen,
                "why_not": c.why_not,
            }
            for c in self._ranked()
        ]

    def to_frame(self) -> Any:
        """Return `records` as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        return pd.DataFrame(self.records())

    def cuts(self, feature: int | str, top: int | None = None) -> list[dict[str, Any]]:
        """Return the splits of one feature that were tried, the best first.

        Parameters
        ----------
        feature : int or str
            Number or name of the column.
        top : int, optional
            How many; all by default.

        Returns
        -------
        list of dict
            With ``split``, ``threshold`` (numbers only) and ``gain``; NaN if a side would be
            too small or a constraint be broken.
        """
        names = {c.name: c.feature for c in self.candidates}
        number = names.get(feature, -1) if isinstance(feature, str) else int(feature)
        if not 0 <= number < len(self.candidates):
            raise ValueError(f"There is no feature {feature!r}; there are {', '.join(names)}.")
        found = self.list_cuts(number) if self.list_cuts is not None else []
        found.sort(key=lambda cut: -cut["gain"] if cut["gain"] == cut["gain"] else np.inf)
        return found[:top]

    def _content(self, side: Side) -> dict[str, Any]:
        if self.class_names is None:
            return {"value": [float(v[0]) for v in side.values]}
        blocks = zip(self.class_names, side.values, strict=True)
        counts = [dict(zip(names, v.tolist(), strict=True)) for names, v in blocks]
        return {"classes": counts[0] if len(counts) == 1 else counts}

    def _ranked(self) -> list[Candidate]:
        """The chosen split first, then by gain; those without a split last."""
        return sorted(
            self.candidates, key=lambda c: (c.feature != self.chosen, -self._score(c), c.feature)
        )

    def _score(self, candidate: Candidate) -> float:
        if self.ranked_by == "gain ratio" and candidate.sides:
            return candidate.gain_ratio
        return candidate.gain

    # --- in words -----------------------------------------------------------------------

    def _number(self, number: float) -> str:
        return format_number(number if abs(number) >= _NOTHING else 0.0, self.decimals)

    def _words(self, side: Side) -> str:
        """What is in a side: "no=2, yes=3", or "mean 4.5"."""
        if self.class_names is None:
            what = "median" if self.criterion == "absolute_error" else "mean"
            return f"{what} {', '.join(self._number(float(v[0])) for v in side.values)}"
        blocks = [
            self._listed([f"{n}={format_count(w)}" for n, w in zip(names, v, strict=True)], v)
            for names, v in zip(self.class_names, side.values, strict=True)
        ]
        return " | ".join(blocks)

    def _listed(self, words: Sequence[str], weights: Array) -> str:
        """Class weights, the largest few of many."""
        limit = self.max_categories
        if limit is None or len(words) <= limit:
            return ", ".join(words)
        most = np.sort(np.argsort(-weights, kind="stable")[:limit])
        return ", ".join(words[i] for i in most) + f", … ({len(words) - limit} more)"

    def impurity_formula(self) -> str:
        """Return the impurity of the node with its numbers filled into the formula.

        Returns
        -------
        str
        """
        side, result = self.node, self._number(self.node.impurity)
        if len(side.values) > 1:
            return f"{self.criterion} = {result} (mean over {len(side.values)} outputs)"
        weight = format_count(side.weight)
        if self.criterion in _SUMS:
            total = self._number(side.impurity * side.weight)
            return f"{self.criterion} = {_SUMS[self.criterion]} = {total} / {weight} = {result}"
        present = side.values[0][side.values[0] > 0]
        if self.criterion == "misclassification":
            most = format_count(present.max(initial=0.0))
            return f"misclassification = 1 - {most}/{weight} = {result}"
        if self.criterion not in _CLASS_TERMS or self._is_long(present):
            return f"{self.criterion} = {result}"
        start, term = _CLASS_TERMS[self.criterion]
        terms = "".join(term.format(c=format_count(count), w=weight) for count in present)
        return f"{self.criterion} = {_first_sign(start + terms)} = {result}"

    def _is_long(self, present: Array) -> bool:
        return self.max_categories is not None and len(present) > 2 * self.max_categories

    def gain_formula(self, candidate: Candidate) -> str:
        """Return the gain of a split with its numbers filled into the formula.

        Parameters
        ----------
        candidate : Candidate
            One of ``candidates`` that has a split.

        Returns
        -------
        str
        """
        weight = format_count(self.node.weight)
        result = self._number(candidate.gain)
        if self.criterion == "friedman_mse":
            one, two = candidate.sides
            sizes = f"{format_count(one.weight)}*{format_count(two.weight)}/{weight}^2"
            means = [
                self._number(float(np.mean([v[0] for v in side.values]))) for side in (one, two)
            ]
            by_chance = ""
            if candidate.chance > 0.0:
                by_chance = f" - {self._number(candidate.chance)} by chance"
            return f"gain = {sizes} * ({means[0]} - {means[1]})^2{by_chance} = {result}"
        known = format_count(self.node.weight - candidate.unknown)
        terms = "".join(
            f" - {format_count(side.weight)}/{known}*{self._number(side.impurity)}"
            for side in candidate.sides
        )
        formula = f"{self._number(self.node.impurity)}{terms}"
        if candidate.unknown > 0.0:
            formula = f"{known}/{weight}*({self._number(candidate.known_impurity)}{terms})"
        if candidate.correction > 0.0:
            formula += f" - log2({candidate.n_tried})/{weight}"
        if candidate.chance > 0.0:
            formula += f" - {self._number(candidate.chance)} by chance"
        return f"gain = {formula} = {result}"

    def ratio_formula(self, candidate: Candidate) -> str:
        """Return the gain ratio of a split with its numbers filled into the formula.

        Parameters
        ----------
        candidate : Candidate
            One of ``candidates`` that has a split.

        Returns
        -------
        str
        """
        weight = format_count(self.node.weight)
        weights = [*(side.weight for side in candidate.sides), candidate.unknown]
        sizes = [format_count(size) for size in weights if size > 0]
        terms = "".join(f" - {size}/{weight}*log2({size}/{weight})" for size in sizes)
        gain, bits = self._number(candidate.gain), self._number(candidate.split_information)
        return (
            f"gain ratio = {gain} / {bits} = {self._number(candidate.gain_ratio)}, "
            f"split information = {_first_sign(terms)} = {bits}"
        )

    @property
    def _shows_ratio(self) -> bool:
        return self.criterion in ("entropy", "log_loss") or self.ranked_by == "gain ratio"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of the table of features."""
        heads = ["feature", "split", "branches", "gain"] + ["gain ratio"] * self._shows_ratio
        rows = []
        for c in self._ranked():
            if not c.sides:
                rows.append([c.name, "-", c.why_not, "-"] + ["-"] * self._shows_ratio)
                continue
            branches = "; ".join(
                f"{side.label}: {self._words(side)} ({self._number(side.impurity)})"
                for side in c.sides
            )
            split = c.split + (f" ({c.why_not})" if c.why_not else "")
            row = [c.name, split, branches, self._number(c.gain)]
            rows.append(row + [self._number(c.gain_ratio)] * self._shows_ratio)
        return heads, rows

    def _formulas(self) -> list[str]:
        winner = self.winner
        if winner is None:
            return []
        lines = [f"{winner.split}: {self.gain_formula(winner)}"]
        if self._shows_ratio and winner.split_information > 0:
            lines.append(self.ratio_formula(winner))
        return lines

    def _other_cuts(self) -> list[str]:
        """The best splits of the chosen feature, if there is more than one."""
        winner = self.winner
        if winner is None or winner.n_tried < 2 or self.list_cuts is None:
            return []
        shown = None if self.max_categories is None else _SHOWN_CUTS
        best = [c for c in self.cuts(self.chosen, shown) if c["gain"] == c["gain"]]
        listed = [f"{cut['split']}: {self._number(cut['gain'])}" for cut in best]
        more = winner.n_tried - len(best)
        tail = f"; {more} more" if more > 0 else ""
        return [f"Tried of {winner.name} (gains): {'; '.join(listed)}{tail}."]

    def __str__(self) -> str:
        heads, rows = self._table()
        marked = [[">" if i == 0 and self.chosen >= 0 else " ", *row] for i, row in enumerate(rows)]
        whole = self.max_categories is None
        lines = [
            f"{self.title}: {format_count(self.node.n_rows)} rows, {self._words(self.node)}",
            self.impurity_formula(),
            *(["", *_columns([[" ", *heads], *marked], whole), ""] if rows else []),
            *self._formulas(),
            self.reason,
            *self._other_cuts(),
        ]
        return "\n".join(line.rstrip() for line in [*lines, *_cut_note(lines)])

    def _repr_html_(self) -> str:
        heads, rows = self._table()
        head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
        body = []
        for i, row in enumerate(rows):
            tag = "th" if i == 0 and self.chosen >= 0 else "td"
            cells = "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in row)
            body.append(f"<tr>{cells}</tr>")
        title = f"{self.title}: {format_count(self.node.n_rows)} rows, {self._words(self.node)}"
        parts = [f"<p><b>{html.escape(title)}</b><br>{html.escape(self.impurity_formula())}</p>"]
        if rows:
            parts.append(f"<table><tr>{head}</tr>{''.join(body)}</table>")
        notes = [*self._formulas(), self.reason, *self._other_cuts()]
        notes += _cut_note(parts + notes)
        parts.append("<p>" + "<br>".join(map(html.escape, notes)) + "</p>")
        return "".join(parts)


def _cut_note(lines: Sequence[str]) -> list[str]:
    """What to add where lists or cells were cut."""
    if any("…" in line for line in lines):
        return ["Long lists are cut; max_categories=None shows them whole."]
    return []


def _first_sign(terms: str) -> str:
    """A sum that starts with a term of its own: " - a - b" is "-a - b"."""
    return "-" + terms[3:] if terms.startswith(" - ") else terms


def printable_classes(view: TreeView) -> tuple[tuple[str, ...], ...] | None:
    """Names of the classes for an explanation, which is read line by line.

    Parameters
    ----------
    view : TreeView
        The tree.

    Returns
    -------
    tuple of tuples of str, or None
    """
    names = view.class_names
    return None if names is None else tuple(tuple(map(printable, block)) for block in names)


def threshold_words(threshold: float, view: TreeView, feature: int) -> str:
    """Write a threshold: with six digits, or exactly if the caller wants exact numbers.

    Parameters
    ----------
    threshold : float
        The threshold.
    view : TreeView
        Knows what the caller wants.
    feature : int
        Number of the column that is compared with it.

    Returns
    -------
    str
    """
    if view.times and view.times[feature] is not None:
        return view.threshold(feature, threshold)
    return view.number(threshold) if view.decimals is None else f"{threshold:.6g}"


def _columns(rows: Sequence[Sequence[str]], whole: bool) -> list[str]:
    """Rows of text in columns of equal width; long cells are cut unless wanted whole."""
    limits = [_WIDTH, _WIDTH, _WIDTH, 2 * _WIDTH, _WIDTH, _WIDTH]  # branches take most room
    short = [list(row if whole else map(shortened, row, limits)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*short, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in short
    ]

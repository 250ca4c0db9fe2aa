"""A reader of printed trees and rules: it knows the text, its notes, and nothing of the model.

What it is given beside the text is what every reader has: which categories were there in
fit, and the rows to predict.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

QUOTED = r'"(?:[^"\\]|\\.)*"'
NAME = r".+?"
NUMBER = r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf)"
TAIL = r"(?P<unseen> or unseen)?(?P<missing> or missing)?(?P<without> and not missing)?"
PARTED = rf"(?P<parted> \((?:{NUMBER} of .*)\))?"
STATEMENTS = [
    re.compile(form + TAIL + PARTED)
    for form in (
        rf"(?P<low>{NUMBER}) < (?P<name>{NAME}) <= (?P<high>{NUMBER})",
        rf"(?P<name>{NAME}) <= (?P<high>{NUMBER})",
        rf"(?P<name>{NAME}) >  ?(?P<low>{NUMBER})",
        rf"(?P<name>{NAME}) (?P<way>in|not in) \{{(?P<set>.*)\}}",
        rf"(?P<name>{NAME}) is (?P<state>not missing|missing|anything|impossible|unseen)",
        rf"(?P<name>{NAME}) (?P<way>=|!=) (?P<one>.+?)",
    )
]
AND = re.compile(r" and (?!not missing)")
RULE = re.compile(
    r"(?:if (?P<if>.*)|always) then (?P<then>.*) \((?P<rows>[\d.,]+) rows?(?P<rest>.*)\)"
)

COUNT_AS_MISSING = "Categories that were not there in fit count as missing."
REFUSED = "Categories that were not there in fit are refused."
UNSEEN = '"Unseen" are categories that were not there in fit.'
PARTS = "A row whose value no branch names goes down all branches, in proportion to the weights of "
MIXES = "a row gets the mixture of what the rules say about its shares."
CUTS = ("Long lists are cut", "Numbers are rounded", "Deep branches are cut", "is left out")
FIRST = "The first rule that holds decides; a missing value fulfils no condition."


_kept: list[str] = []  # what stood in quotes


def masked(text: str) -> str:
    """The text with a mark for each name in quotes, so that it cannot be misread."""

    def keep(found: re.Match[str]) -> str:
        _kept.append(ast.literal_eval(found[0]))
        return f"\ue000{len(_kept) - 1}\ue001"

    return re.sub(QUOTED, keep, text)


def unquoted(token: str) -> str:
    found = re.fullmatch("\ue000(\\d+)\ue001", token)
    return _kept[int(found[1])] if found else token


def tokens(text: str) -> list[str]:
    """The members of a list, without their quotes."""
    return [unquoted(token) for token in text.split(", ")]


def label(value: Any) -> str:
    """A category or class as it is printed."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)


MISSING, NEW = object(), object()  # what a value can be beside a number or a label


@dataclass
class Statement:
    """One statement about one column."""

    name: str
    low: float = float("-inf")
    high: float = float("inf")
    members: list[str] | None = None
    negative: bool = False
    state: str = ""
    unseen: bool = False
    missing: bool = False
    without: bool = False  # "and not missing"
    parted: dict[Any, float] = field(default_factory=dict)

    def share(self, value: Any) -> float:
        """How much of a row with this value fulfils it."""
        if value in self.parted:
            return self.parted[value]
        if value is MISSING:
            return float(self.missing or self.state in ("missing", "anything"))
        if value is NEW:
            return float(
                self.unseen or self.negative or self.state in ("anything", "not missing", "unseen")
            )
        if self.state:
            return float(self.state in ("anything", "not missing"))
        if self.members is None:
            return float(self.low < value <= self.high)
        return float((value in self.members) != self.negative)


def read_statement(text: str) -> Statement:
    for form in STATEMENTS:
        found = form.fullmatch(text)
        if found:
            break
    else:
        raise AssertionError(f"cannot read {text!r}")
    part = found.groupdict()
    made = Statement(unquoted(part["name"]))
    made.low, made.high = float(part.get("low") or "-inf"), float(part.get("high") or "inf")
    made.state = part.get("state") or ""
    made.negative = part.get("way") in ("!=", "not in")
    if part.get("set") is not None:
        made.members = tokens(part["set"])
    elif part.get("one") is not None:
        made.members = [unquoted(part["one"])]
    made.unseen, made.missing = part["unseen"] is not None, part["missing"] is not None
    made.without = part["without"] is not None
    assert not (made.missing and made.without)
    for group in (part["parted"] or "")[2:-1].split("; "):
        if group:
            share, names = group.split(" of ", 1)
            for raw in names.split(", "):
                special = {"missing": MISSING, "unseen": NEW}
                made.parted[special.get(raw, unquoted(raw))] = float(share)
    return made


@dataclass
class Reader:
    """What all printed forms share: what the notes say about categories."""

    notes: list[str]
    seen: Mapping[str, Iterable[str]]  # categories of each category column in fit

    def __post_init__(self) -> None:
        assert not any(cut in note for cut in CUTS for note in self.notes), self.notes

    def value(self, row: Mapping[str, Any], name: str) -> Any:
        value = row[name]
        if value is None or value != value:
            return MISSING
        if name not in self.seen:
            return float(value)
        if label(value) in self.seen[name]:
            return label(value)
        assert REFUSED not in self.notes
        if COUNT_AS_MISSING in self.notes:
            return MISSING
        assert UNSEEN in self.notes
        return NEW

    def share(self, row: Mapping[str, Any], statement: Statement) -> float:
        value = self.value(row, statement.name)
        if value is MISSING and row[statement.name] is not None:
            # who has not read the note takes "color != red" for true of any other color
            is_gap = row[statement.name] != row[statement.name]
            literal = statement.negative and not statement.without
            assert is_gap or not literal or statement.share(MISSING) == 1.0
        return statement.share(value)


@dataclass
class Leaf:
    """What a leaf says: a class or a value per output, and maybe weights of all classes."""

    predicted: list[str]
    weights: list[list[float]] = field(default_factory=list)

    @property
    def total(self) -> float:
        return sum(self.weights[0])


@dataclass
class Fork:
    branches: list[tuple[Statement, Any]]

    @property
    def total(self) -> float:
        return sum(child.total for _, child in self.branches)


def read_leaf(words: str) -> Leaf:
    found = re.fullmatch(r"(?:weights: (?P<weights>.*) )?(?:class|value): (?P<what>.*)", words)
    assert found is not None, words
    what = found["what"]
    listed = re.fullmatch(r"\[(.*)\]", what)
    leaf = Leaf(tokens(listed[1]) if listed else [unquoted(what)])
    for block in re.findall(r"\[([^\]]*)\]", found["weights"] or ""):
        leaf.weights.append([float(number) for number in block.split(", ")])
    return leaf


class TextReader(Reader):
    """Reads the output of `export_text`."""

    def __init__(self, text: str, seen: Mapping[str, Iterable[str]]) -> None:
        lines = text.splitlines()
        tree = [line for line in lines if line.startswith("|")]
        super().__init__(lines[len(tree) :], seen)
        assert lines[: len(tree)] == tree
        places = [re.fullmatch(r"((?:\|   )*)\|--- (.*)", line) for line in tree]
        self.lines = [(len(place[1]) // 4, masked(place[2])) for place in places if place]
        assert len(self.lines) == len(tree)
        self.at = 0
        self.root = self._node(0)
        assert self.at == len(self.lines)
        order = [note for note in self.notes if note.startswith("Weights are of the classes ")]
        blocks = re.findall(r"\[([^\]]*)\]", masked(order[0])) if order else []
        self.classes = [tokens(block) for block in blocks]

    def _node(self, depth: int) -> Any:
        """The node whose lines begin here: a leaf has nothing below it."""
        last = self.at + 1 == len(self.lines)
        if last or self.lines[self.at + 1][0] <= depth:
            self.at += 1
            return read_leaf(self.lines[self.at - 1][1])
        branches = []
        while self.at < len(self.lines) and self.lines[self.at][0] == depth:
            statement = read_statement(self.lines[self.at][1])
            self.at += 1
            branches.append((statement, self._node(depth + 1)))
        return Fork(branches)

    def leaves(self, row: Mapping[str, Any]) -> list[tuple[float, Leaf]]:
        """The leaves that a row reaches, and how much of it."""
        found, waiting = [], [(1.0, self.root)]
        while waiting:
            share, node = waiting.pop()
            if isinstance(node, Leaf):
                found.append((share, node))
                continue
            shares = [self.share(row, statement) for statement, _ in node.branches]
            if not any(shares):
                assert any(note.startswith(PARTS) for note in self.notes), (row, node)
                shares = [child.total / node.total for _, child in node.branches]
            assert abs(sum(shares) - 1.0) < 1e-9, (row, node)
            for part, (_, child) in zip(shares, node.branches, strict=True):
                if part:
                    waiting.append((share * part, child))
        return found

    def predict(self, row: Mapping[str, Any]) -> list[str]:
        ((_, leaf),) = self.leaves(row)
        return leaf.predicted

    def mixture(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Shares of the classes of the first output."""
        mixed = dict.fromkeys(self.classes[0], 0.0)
        for share, leaf in self.leaves(row):
            for name, weight in zip(self.classes[0], leaf.weights[0], strict=True):
                mixed[name] += share * weight / leaf.total
        return mixed


@dataclass
class ReadRule:
    statements: list[Statement]
    predicted: list[str]
    shares: list[dict[str, float]]


def read_rule(line: str) -> ReadRule:
    found = RULE.fullmatch(masked(line))
    assert found is not None, line
    parts = AND.split(found["if"]) if found["if"] else []
    if len(parts) > 1:
        parts = [p[1:-1] if p.startswith("(") and p.endswith(")") else p for p in parts]
    leaf = read_leaf(f"class: {found['then']}")
    shares = []
    for block in found["rest"].split("; ")[1:]:
        pairs = [share.split("% ", 1) for share in block.split(", ") if share]
        shares.append({unquoted(name): float(percent) / 100 for percent, name in pairs})
    return ReadRule([read_statement(part) for part in parts], leaf.predicted, shares)


class RulesReader(Reader):
    """Reads the output of `export_rules`."""

    def __init__(self, text: str, seen: Mapping[str, Iterable[str]]) -> None:
        lines = text.splitlines()
        rules = [line for line in lines if line.startswith(("if ", "always then "))]
        super().__init__(lines[len(rules) :], seen)
        self.rules = [read_rule(line) for line in rules]
        self.mixes = any(note.endswith(MIXES) for note in self.notes)

    def holding(self, row: Mapping[str, Any]) -> list[tuple[float, ReadRule]]:
        found = []
        for rule in self.rules:
            share = 1.0
            for statement in rule.statements:
                share *= self.share(row, statement)
            if share:
                found.append((share, rule))
        assert abs(sum(share for share, _ in found) - 1.0) < 1e-9, (row, found)
        assert self.mixes or len(found) == 1
        return found

    def predict(self, row: Mapping[str, Any]) -> list[str]:
        ((_, rule),) = self.holding(row)
        return rule.predicted

    def mixture(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Shares of the classes of the first output; those that are not named have none."""
        mixed: dict[str, float] = {}
        for share, rule in self.holding(row):
            for name, part in rule.shares[0].items():
                mixed[name] = mixed.get(name, 0.0) + share * part
        return mixed


class RuleSetReader(Reader):
    """Reads what `C45Classifier.rules` prints: the first rule that holds decides."""

    def __init__(self, text: str, seen: Mapping[str, Iterable[str]]) -> None:
        lines = text.splitlines()
        end = next(i for i, line in enumerate(lines) if line.startswith("otherwise "))
        super().__init__(lines[end + 1 :], seen)
        assert end == 0 or FIRST in self.notes
        self.rules = [read_rule(line) for line in lines[:end]]
        self.default = unquoted(masked(lines[end]).removeprefix("otherwise "))

    def predict(self, row: Mapping[str, Any]) -> str:
        for rule in self.rules:
            if all(self.share(row, statement) for statement in rule.statements):
                return rule.predicted[0]
        return self.default

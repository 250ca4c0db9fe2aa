"""docs/mission.md lists every id, and what it calls done has a test that is marked so."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
IDS_PER_PART = {"T": 14, "E": 10, "A": 4, "G": 5, "X": 11, "L": 9}
IDS = [f"{part}{i}" for part, count in IDS_PER_PART.items() for i in range(1, count + 1)]
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+) \| (.+) \| (.*)\|$", re.MULTILINE)


def read_page() -> dict[str, tuple[str, list[str]]]:
    """Public name and test files of every id on the page."""
    page = (ROOT / "docs" / "mission.md").read_text(encoding="utf-8")
    return {id_: (name, re.findall(r"`(.+?)`", tests)) for id_, _, name, tests in ROW.findall(page)}


def marked_ids(path: Path) -> set[str]:
    """The ids in all ``pytest.mark.mission(...)`` of a file, without running it."""
    return {
        argument.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "mission"
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }


@pytest.mark.quick
def test_the_page_lists_every_id_once_and_in_order():
    page = (ROOT / "docs" / "mission.md").read_text(encoding="utf-8")
    assert [row[0] for row in ROW.findall(page)] == IDS


@pytest.mark.quick
@pytest.mark.parametrize("id_", IDS)
def test_what_is_done_has_a_marked_test(id_):
    name, files = read_page()[id_]
    if name == "not yet":
        assert not files, f"{id_} is not done but names tests"
        return
    assert files, f"{id_} is done ({name}) but names no test"
    for file in files:
        assert id_ in marked_ids(ROOT / file), f"{file} has no test marked with {id_}"


@pytest.mark.quick
def test_every_mark_is_on_the_page():
    page = read_page()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for id_ in marked_ids(path):
            assert id_ in page, f"{path.name} marks an id that does not exist: {id_}"
            file = path.relative_to(ROOT).as_posix()
            assert file in page[id_][1], f"docs/mission.md does not name {file} for {id_}"

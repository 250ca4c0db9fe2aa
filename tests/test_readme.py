"""The README's commands are what CI runs, and its Python blocks work as they stand."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(README) if kind == language]


@pytest.mark.quick
def test_it_opens_with_the_two_commands():
    run, test = blocks("sh")[:2]
    assert README.index("```sh") < README.index("## ")
    for command in (run, test):
        assert command.count("\n") == 1
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert run.endswith(".venv/bin/hornbeam demo\n")
    assert "pytest" in test


@pytest.mark.quick
def test_ci_runs_the_test_command():
    script = ROOT / ".ci" / "run"
    lines = script.read_text(encoding="utf-8").splitlines(keepends=True)
    assert lines.count(blocks("sh")[1]) == 1
    assert lines.index("unset HORNBEAM_DATA\n") < lines.index(blocks("sh")[1])
    assert os.access(script, os.X_OK)


@pytest.mark.quick
def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_python_blocks_run(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), namespace)


@pytest.mark.quick
def test_python_blocks_ask_for_nothing_that_the_first_command_does_not_bring():
    assert '.[notebook]"' in blocks("sh")[0]
    brought = {"hornbeam", "numpy", "pandas", "matplotlib", "pyarrow", "sklearn", "math"}
    for code in blocks("python"):
        assert set(re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)) <= brought


@pytest.mark.quick
def test_the_map_names_every_module():
    page = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "hornbeam"
    for path in sorted(package.rglob("*.py")):
        if path.name != "__init__.py":
            assert re.search(rf"^ +{re.escape(path.name)} +\S", page, re.MULTILINE), path

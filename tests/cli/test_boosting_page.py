"""What docs/boosting.md and the examples show works as it stands."""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "boosting.md").read_text(encoding="utf-8")


def test_sources_and_names_it_points_to_exist():
    package = ROOT / "src" / "hornbeam"
    for path in re.findall(r"`((?:kernels|boosting)/[\w/]+\.py|losses\.py)`", PAGE):
        assert (package / path).exists(), path
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    source = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    lines = [line for line in PAGE.splitlines() if line.startswith("Source: ")]
    assert len(lines) > 5
    for name in re.findall(r"`(_?[a-z_]+)`", " ".join(lines)):
        assert re.search(rf"(def|class) {name}\b", source), name


@pytest.mark.parametrize("name", ["boosting.py", "own_data.py", "pruning.py"])
def test_examples_run(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(os.fspath(ROOT / "examples" / name), run_name="__main__")
    assert capsys.readouterr().out

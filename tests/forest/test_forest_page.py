"""What docs/forest.md and its example show works as it stands."""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "forest.md").read_text(encoding="utf-8")


def test_sources_it_points_to_exist() -> None:
    paths = re.findall(r"`((?:kernels|forest)/[\w/]+\.py)`", PAGE)
    assert len(paths) > 5
    for path in paths:
        assert (ROOT / "src" / "hornbeam" / path).exists(), path


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(os.fspath(ROOT / "examples" / "forest.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert re.search(r"R2 out of the bag 0\.9\d+, on new rows 0\.9\d+", printed)
    assert re.search(r"hold (8[6-9]|9[0-6])% of", printed)

"""What docs/isolation.md and its example show works as it stands."""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "isolation.md").read_text(encoding="utf-8")


def test_sources_it_points_to_exist() -> None:
    for path in re.findall(r"`((?:kernels|forest)/[\w/]+\.py)`", PAGE):
        assert (ROOT / "src" / "hornbeam" / path).exists(), path


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(os.fspath(ROOT / "examples" / "anomalies.py"), run_name="__main__")
    assert "AUC: 0.99" in capsys.readouterr().out

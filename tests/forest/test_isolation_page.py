"""What docs/isolation.md and its example show works as it stands."""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "isolation.md").read_text(encoding="utf-8")


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 4
    for code in blocks:
        exec(compile(code, "docs/isolation.md", "exec"), namespace)


def test_sources_it_points_to_exist() -> None:
    for path in re.findall(r"`((?:kernels|forest)/[\w/]+\.py)`", PAGE):
        assert (ROOT / "src" / "hornbeam" / path).exists(), path


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(os.fspath(ROOT / "examples" / "anomalies.py"), run_name="__main__")
    assert "AUC: 0.99" in capsys.readouterr().out

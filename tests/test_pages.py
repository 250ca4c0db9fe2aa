"""Every Python block of every page of docs/ works as it stands, and links lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == text.count("```python")
    namespace: dict[str, object] = {"__name__": page.stem}
    for code in blocks:
        exec(compile(code, page.name, "exec"), namespace)


@pytest.mark.quick
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.quick
def test_the_page_of_names_is_made_from_the_docstrings() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "api.py"))["page"]()
    assert (ROOT / "docs" / "api.md").read_text(encoding="utf-8") == made, "python docs/api.py"

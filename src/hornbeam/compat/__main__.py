"""`python -m hornbeam.compat FOLDER` writes the pages about other libraries from the tables."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from hornbeam.compat.translation import page

PEERS = ("lightgbm", "sklearn", "xgboost")


def pages() -> dict[str, str]:
    """The page of each peer."""
    modules = {name: importlib.import_module(f"hornbeam.compat.{name}") for name in PEERS}
    return {name: page(module) for name, module in modules.items()}


if __name__ == "__main__":
    for peer, text in pages().items():
        Path(sys.argv[1], f"{peer}.md").write_text(text, encoding="utf-8")

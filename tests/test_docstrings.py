"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import hornbeam

MODULES = [
    info.name
    for info in pkgutil.walk_packages(hornbeam.__path__, "hornbeam.")
    if not info.name.endswith("__main__")
]


@pytest.mark.parametrize("name", ["hornbeam", *MODULES])
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert result.failed == 0

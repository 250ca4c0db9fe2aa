"""Nodes that are counted ahead of their turn: the tree is that of growing node by node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hornbeam.boosting import engine, grower
from tests.boosting.test_pages import CUTS, MODELS, fit

NAMES = [name for name in MODELS if not name.startswith(("symmetric", "steps", "medians"))]


@pytest.fixture
def counted_ahead(monkeypatch: Any) -> Any:
    """Let growers count so many nodes together."""

    def use(ahead: int) -> None:
        def make(table: Any, rules: Any, *args: Any, **more: Any) -> grower.BoostedGrower:
            return grower.BoostedGrower(table, replace(rules, ahead=ahead), *args, **more)

        monkeypatch.setattr(engine, "BoostedGrower", make)

    return use


@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize("name", NAMES)
def test_how_many_are_counted_together_does_not_matter(name: str, counted_ahead: Any) -> None:
    expected = fit(name, ()).digest()
    for ahead, cuts, n_jobs in ((1, (), 1), (2, CUTS[0], 2), (4, (), 2), (8, CUTS[2], 1)):
        counted_ahead(ahead)
        assert fit(name, cuts, n_jobs).digest() == expected, ahead


@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize("name", ["leaf", "level", "sparse, drawn", "few rows in a leaf"])
def test_histograms_that_were_dropped_are_counted_again(
    name: str, counted_ahead: Any, monkeypatch: Any
) -> None:
    """There is room for four histograms, and for those of the nodes that wait."""
    expected = fit(name, ()).digest()
    monkeypatch.setattr(grower, "_POOL_BYTES", 1)
    for ahead, n_jobs in ((1, 1), (3, 1), (8, 2)):
        counted_ahead(ahead)
        assert fit(name, (), n_jobs).digest() == expected, ahead

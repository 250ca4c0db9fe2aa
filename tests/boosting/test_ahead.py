"""Nodes that are counted ahead of their turn: the tree is that of growing node by node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hornbeam.boosting import engine, grower
from tests.boosting.test_pages import CUTS, MODELS, fit

NAMES = [name for name in MODELS if not name.startswith(("symmetric", "steps", "medians"))]


@pytest.fixture
def counted_ahead(monkeypatch: Any) -> Any:
    """Fit with growers that count so many nodes together, and see that they do."""

    def fit_ahead(ahead: int, name: str, cuts: tuple[int, ...], n_jobs: int) -> str:
        made = []

        def make(table: Any, rules: Any, *args: Any, **more: Any) -> grower.BoostedGrower:
            made.append(grower.BoostedGrower(table, replace(rules, ahead=ahead), *args, **more))
            return made[-1]

        monkeypatch.setattr(engine, "BoostedGrower", make)
        digest: str = fit(name, cuts, n_jobs).digest()
        assert made
        for one in made:
            split = np.flatnonzero(one.nodes.child)
            assert np.all(one.nodes.ahead[split] >= one.table.shape.most_nodes)
        return digest

    return fit_ahead


@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize("name", NAMES)
def test_how_many_are_counted_together_does_not_matter(name: str, counted_ahead: Any) -> None:
    expected = fit(name, ()).digest()
    for ahead, cuts, n_jobs in ((1, (), 1), (2, CUTS[0], 2), (4, (), 2), (8, CUTS[2], 1)):
        assert counted_ahead(ahead, name, cuts, n_jobs) == expected, ahead


@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize("name", ["leaf", "level", "sparse, drawn", "few rows in a leaf"])
def test_histograms_that_were_dropped_are_counted_again(
    name: str, counted_ahead: Any, monkeypatch: Any
) -> None:
    """There is room for four histograms, and for those of the nodes that wait."""
    expected = fit(name, ()).digest()
    monkeypatch.setattr(grower, "_POOL_BYTES", 1)
    for ahead, n_jobs in ((1, 1), (3, 1), (8, 2)):
        assert counted_ahead(ahead, name, (), n_jobs) == expected, ahead

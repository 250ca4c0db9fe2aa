"""Random valid trees of every kind of split, for hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from model.handmade import Column, Node, StandIn, leaf, multiway, number, subset

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)


@st.composite
def estimators(draw: Any) -> StandIn:
    """A stand-in with one to four columns and a random tree."""
    sizes = draw(st.lists(st.sampled_from([0, 0, 1, 2, 3, 64, 70]), min_size=1, max_size=4))
    columns = [Column(f"c{i}", *(f"k{j}" for j in range(size))) for i, size in enumerate(sizes)]
    n_values = draw(st.integers(1, 3))
    root = draw(_nodes(sizes, n_values, draw(st.integers(0, 4))))
    classes = np.arange(n_values) if draw(st.booleans()) else None
    seed = draw(st.one_of(st.none(), st.integers(-(2**70), 2**70), st.text(), FINITE))
    return StandIn(seed=seed).with_tree(root, columns, classes)


@st.composite
def _nodes(draw: Any, sizes: list[int], n_values: int, depth: int) -> Node:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        values = draw(st.lists(FINITE, min_size=n_values, max_size=n_values))
        return leaf(*values, rows=draw(st.integers(0, 1000)))
    feature = draw(st.integers(0, len(sizes) - 1))
    size = sizes[feature]
    below = _nodes(sizes, n_values, depth - 1)
    if size and size <= 3 and draw(st.booleans()):
        children = [draw(below) for _ in range(size)]
        made = multiway(feature, *children, missing=draw(st.integers(0, size - 1)))
    elif size:
        chosen = draw(st.sets(st.integers(0, size - 1)))
        made = subset(feature, tuple(chosen), draw(below), draw(below), missing=0)
    else:
        threshold = draw(st.floats(allow_nan=False))
        made = number(feature, threshold, draw(below), draw(below), missing=1)
    made.value = draw(st.lists(FINITE, min_size=n_values, max_size=n_values))
    return made

"""The frontier hands out nodes in the order of growth, whatever order they came in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.kernels.frontier import (
    ORDERS,
    WORD_WAITING,
    Frontier,
    begin_with,
    list_orders,
    longer,
    new_frontier,
    pop,
    push,
)
from hornbeam.runtime.kernel import kernel
from hornbeam.runtime.team import new_shared
from hornbeam.runtime.views import make_loader, make_slots

pytestmark = pytest.mark.quick

_load = make_loader(Frontier)

# What the node with the smallest key is, by the definitions; of equals, the oldest.
KEYS: dict[str, Any] = {
    "leaf": lambda node, depth, gain: (-gain, node),
    "level": lambda node, depth, gain: (depth, node),
    "depth": lambda node, depth, gain: (-depth, node),
}


@kernel
def _push(slots: Any, words: Any, node: int, depth: int, gain: float) -> None:
    push(_load(slots, 0), words, node, depth, gain)


@kernel
def _pop(slots: Any, words: Any) -> int:
    return pop(_load(slots, 0), words)


nodes = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.25, 1.0, np.inf])), max_size=30
)


@pytest.mark.parametrize("growth", ORDERS)
@given(nodes, st.randoms(use_true_random=False))
def test_the_next_node_is_the_first_by_its_key(growth: str, made: Any, random: Any) -> None:
    frontier, words = new_frontier(growth, len(made)), new_shared()
    slots, waiting = make_slots(frontier), {}
    arriving = list(enumerate(made))
    random.shuffle(arriving)
    while arriving or waiting:
        if arriving and random.random() < 0.6:
            node, (depth, gain) = arriving.pop()
            waiting[node] = (depth, gain)
            _push(slots, words, node, depth, gain)
        elif waiting:
            expected = min(waiting, key=lambda node: KEYS[growth](node, *waiting[node]))
            assert _pop(slots, words) == expected
            del waiting[expected]
        assert words[WORD_WAITING] == len(waiting)
    assert _pop(slots, words) == -1


def test_depth_first_is_a_stack_and_level_wise_a_queue() -> None:
    """Of a tree that is grown down to its third level, with numbers in the order of making."""

    def grown(growth: str) -> list[int]:
        frontier, words = new_frontier(growth, 20), new_shared()
        slots, order, depth, n_nodes = make_slots(frontier), [], [0], 1
        begin_with(frontier, words, 0)
        while (node := _pop(slots, words)) >= 0:
            order.append(node)
            if depth[node] < 2:
                for child in (n_nodes, n_nodes + 1):
                    depth.append(depth[node] + 1)
                    _push(slots, words, child, depth[child], 0.0)
                n_nodes += 2
        return order

    assert grown("depth") == [0, 1, 3, 4, 2, 5, 6]
    assert grown("level") == [0, 1, 2, 3, 4, 5, 6]


def test_more_room_keeps_who_waits() -> None:
    frontier, words = new_frontier("leaf", 3), new_shared()
    for node in range(3):
        _push(make_slots(frontier), words, node, 0, float(node))
    frontier = longer(frontier, 5)
    _push(make_slots(frontier), words, 3, 0, 1.5)
    assert [_pop(make_slots(frontier), words) for _ in range(4)] == [2, 3, 1, 0]


def test_every_order_is_documented() -> None:
    assert all(repr(growth) in list_orders() for growth in ORDERS)
    assert KEYS.keys() == ORDERS.keys()  # else the test above does not know one

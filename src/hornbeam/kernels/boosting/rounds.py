"""Between two trees: find the leaf of every row, move its score, take the next slopes.

Scores move and slopes are taken chunk by chunk of rows, while they are in the cache.
"""

from __future__ import annotations

from numba import float64, int64, types

from hornbeam.kernels.boosting.partition import end_of_chunk
from hornbeam.kernels.boosting.state import (
    CHUNK,
    NODES_AT,
    ROWS_AT,
    TABLE_AT,
    TEAM_AT,
    WORD_COUNTS,
    WORD_DRAWN,
    WORD_FLAGS,
    WORD_MOVES,
    WORD_NODES,
    WORD_SEARCH,
    load_nodes,
    load_rows,
    load_table,
    load_team,
)
from hornbeam.kernels.boosting.steps import ForgetLeaves
from hornbeam.kernels.boosting.walk import find_leaves
from hornbeam.kernels.slopes import load_loss
from hornbeam.runtime.atomics import (
    STOP,
    atomic_add,
    atomic_load,
    barrier,
)
from hornbeam.runtime.kernel import kernel, part, step
from hornbeam.runtime.pointers import bare


@part
def note_leaves(table, rows, nodes, team):
    """Write the leaf of every drawn row, chunk by chunk of all leaves."""
    n_rows, n_pages = table.shape.n_rows, table.shape.n_pages
    mine = atomic_add(team.words, WORD_FLAGS, 1)
    chunk = int64(0)
    for node in range(team.words[WORD_NODES]):
        if nodes.child[node] != 0:
            continue
        offset = int64(nodes.buffer[node]) * n_rows
        for at in range(node * n_pages, (node + 1) * n_pages):
            for start in range(nodes.first[at], nodes.last[at], CHUNK):
                if chunk == mine:
                    for j in range(start, end_of_chunk(start, nodes.last[at])):
                        rows.leaf[rows.row[offset + j]] = node
                    mine = atomic_add(team.words, WORD_FLAGS, 1)
                chunk += 1


@step(ForgetLeaves)
def forget_leaves(slots):
    """Note that no row's leaf is known, by all threads."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    words, n_rows = load_team(slots, TEAM_AT).words, table.shape.n_rows
    while True:
        start = CHUNK * atomic_add(words, WORD_SEARCH, 1)
        if start >= n_rows:
            return
        for row in range(start, end_of_chunk(start, n_rows)):
            rows.leaf[row] = -1


@kernel
def advance(slots, scores_slots, values, which, with_slopes, rank, size):
    """Add the leaf values of a tree to score ``which`` of each row, then perhaps take slopes."""
    slots, scores_slots = bare(slots), bare(scores_slots)
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    scores, words = load_loss(scores_slots, 0), team.words
    n_rows, steps = table.shape.n_rows, table.steps
    some_left_out = words[WORD_DRAWN] < n_rows
    all_walk = 2 * words[WORD_DRAWN] < n_rows  # to note the leaves of few rows would take more
    if some_left_out and not all_walk:
        steps.forget_leaves(slots)
        barrier(words, size)
    if not all_walk:
        note_leaves(table, rows, nodes, team)
        barrier(words, size)
    while True:
        start = CHUNK * atomic_add(words, WORD_MOVES, 1)
        if start >= n_rows or atomic_load(words, STOP) != 0:
            return
        stop = end_of_chunk(start, n_rows)
        if all_walk:
            for row in range(start, stop):
                rows.leaf[row] = -1
        if some_left_out:
            steps.walk_rows(slots, start, stop)
        for row in range(start, stop):
            scores.score[which * n_rows + row] += values[int64(rows.leaf[row])]
        if with_slopes:
            scores.fill(scores_slots, start, stop)


@kernel
def follow(slots, scores_slots, values, which):
    """Add the leaf values of a tree to score ``which`` of rows that no tree is grown on."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, words = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT).words
    scores, n_rows = load_loss(scores_slots, 0), table.shape.n_rows
    while True:
        start = CHUNK * atomic_add(words, WORD_MOVES, 1)
        if start >= n_rows or atomic_load(words, STOP) != 0:
            return
        stop = end_of_chunk(start, n_rows)
        for row in range(start, stop):
            rows.leaf[row] = -1
        find_leaves(table, rows, nodes, start, stop)
        for row in range(start, stop):
            scores.score[which * n_rows + row] += values[int64(rows.leaf[row])]


@kernel
def take_slopes(scores_slots, words, n_units, chunk):
    """Take the slopes at the scores as they are, chunk by chunk of rows or queries."""
    scores_slots = bare(scores_slots)
    scores = load_loss(scores_slots, 0)
    while True:
        start = chunk * atomic_add(words, WORD_COUNTS, 1)
        if start >= n_units or atomic_load(words, STOP) != 0:
            return
        scores.fill(scores_slots, start, min(start + chunk, n_units))


@kernel
def prepare_slopes(scores_slots, words, n_units, chunk):
    """Find what the slopes of all scores have in common, chunk by chunk of rows."""
    scores_slots = bare(scores_slots)
    scores = load_loss(scores_slots, 0)
    while True:
        start = chunk * atomic_add(words, WORD_COUNTS, 1)
        if start >= n_units or atomic_load(words, STOP) != 0:
            return
        scores.prepare(scores_slots, start, min(start + chunk, n_units))


@kernel
def take_losses(scores_slots, words, n_units, chunk):
    """Sum up the loss chunk by chunk of rows or queries, which no thread count changes."""
    scores_slots = bare(scores_slots)
    scores = load_loss(scores_slots, 0)
    while True:
        place = atomic_add(words, WORD_SEARCH, 1)
        start = chunk * place
        if start >= n_units or atomic_load(words, STOP) != 0:
            return
        scores.sums[place] = scores.measure(scores_slots, start, min(start + chunk, n_units))


_WORDS = types.Array(int64, 1, "C")
_VALUES = types.Array(float64, 1, "C")
ADVANCE_SIGNATURE = types.void(_WORDS, _WORDS, _VALUES, int64, types.boolean, int64, int64)
FOLLOW_SIGNATURE = types.void(_WORDS, _WORDS, _VALUES, int64)
SLOPES_SIGNATURE = types.void(_WORDS, _WORDS, int64, int64)

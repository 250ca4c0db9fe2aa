"""Between two trees: find the leaf of every row, move its score, take the next slopes.

Scores move and slopes are taken chunk by chunk of rows, while they are in the cache.
"""

from __future__ import annotations

from numba import float64, int64, types, uint64

from hornbeam.kernels.boosting.histogram import own_code
from hornbeam.kernels.boosting.partition import end_of_chunk
from hornbeam.kernels.boosting.state import (
    CHUNK,
    MEMBER_WORDS,
    MISSING,
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
    page_of,
)
from hornbeam.kernels.boosting.steps import ForgetLeaves, WalkRows
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
def rank_at(table, held, row, feature):
    """The code of one cell of a page with sorted lists: the rank of its value, -1: missing."""
    row -= held.start
    if not table.shape.is_sparse:
        return int64(held.rank[feature * held.n_rows + row])
    low, high = held.column_start[feature], held.column_start[feature + 1]
    stop = high
    while low < high:  # the first entry that is not before the row
        middle = (low + high) >> 1
        if int64(held.column_row[middle]) < row:
            low = middle + 1
        else:
            high = middle
    if low == stop or int64(held.column_row[low]) != row:
        return int64(table.default[feature])
    return int64(held.rank[low])


@part
def code_at(table, held, row, feature):
    """The code of one cell of a page."""
    if table.shape.is_listed:
        return rank_at(table, held, row, feature)
    row -= held.start
    if not table.shape.is_sparse:
        code = int64(held.by_row[row * table.shape.stride + table.column[feature]])
        return own_code(table, feature, code)
    start, stop = table.cell_start[feature], table.cell_start[feature + 1]
    low, high = held.entry_start[row], held.entry_start[row + 1]
    while low < high:  # the first entry that is not before the feature's cells
        middle = (low + high) >> 1
        if int64(held.entry_cell[middle]) < start:
            low = middle + 1
        else:
            high = middle
    if low == held.entry_start[row + 1] or int64(held.entry_cell[low]) >= stop:
        return int64(table.default[feature])
    code = int64(held.entry_cell[low]) - start
    return int64(MISSING) if code == table.n_codes[feature] else code


@part
def walk(table, held, nodes, row):
    """The leaf of a row of codes in a page."""
    node, missing = int64(0), int64(-1 if table.shape.is_listed else MISSING)
    while nodes.child[node] != 0:
        feature = int64(nodes.feature[node])
        code = code_at(table, held, row, feature)
        if code == missing:
            left = int64(nodes.missing_left[node])
        elif table.is_category[feature]:
            word = nodes.member[node * MEMBER_WORDS + (code >> 6)]
            left = int64((word >> uint64(code & 63)) & uint64(1))
        else:
            left = int64(code <= int64(nodes.cut[node]))
        node = int64(nodes.child[node]) + 1 - left
    return node


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


@step(WalkRows)
def walk_rows(slots, start, stop):
    """Find the leaves of those rows of a chunk that were not drawn for the tree."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    leaf = load_rows(slots, ROWS_AT).leaf
    for page in range(table.shape.n_pages):
        held = page_of(table, page)
        for row in range(max(start, held.start), min(stop, held.start + held.n_rows)):
            if leaf[row] < 0:
                leaf[row] = walk(table, held, nodes, row)


@kernel
def advance(slots, scores_slots, values, which, with_slopes, rank, size):
    """Add the leaf values of a tree to score ``which`` of each row, then perhaps take slopes."""
    slots, scores_slots = bare(slots), bare(scores_slots)
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    scores, words = load_loss(scores_slots, 0), team.words
    n_rows, steps = table.shape.n_rows, table.steps
    some_left_out = words[WORD_DRAWN] < n_rows
    if some_left_out:
        steps.forget_leaves(slots)
        barrier(words, size)
    note_leaves(table, rows, nodes, team)
    barrier(words, size)
    while True:
        start = CHUNK * atomic_add(words, WORD_MOVES, 1)
        if start >= n_rows or atomic_load(words, STOP) != 0:
            return
        stop = end_of_chunk(start, n_rows)
        if some_left_out:
            steps.walk_rows(slots, start, stop)
        for row in range(start, stop):
            scores.score[which * n_rows + row] += values[int64(rows.leaf[row])]
        if with_slopes:
            scores.fill(scores_slots, start, stop)


@kernel
def follow(slots, scores_slots, values, which):
    """Add the leaf values of a tree to score ``which`` of rows that no tree is grown on."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    words = load_team(slots, TEAM_AT).words
    scores = load_loss(scores_slots, 0)
    n_rows = table.shape.n_rows
    while True:
        start = CHUNK * atomic_add(words, WORD_MOVES, 1)
        if start >= n_rows or atomic_load(words, STOP) != 0:
            return
        for page in range(table.shape.n_pages):
            held = page_of(table, page)
            stop = min(end_of_chunk(start, n_rows), held.start + held.n_rows)
            for row in range(max(start, held.start), stop):
                scores.score[which * n_rows + row] += values[walk(table, held, nodes, row)]


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

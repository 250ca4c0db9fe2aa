"""Send rows down the packed trees of a forest.

A node is 16 bytes, as in kernels/traverse.py, and a leaf holds what it predicts itself::

    inner node  float64 threshold        | int32 first child         | int32 feature and flags
    leaf        float64 value or weight  | int32 negative, see below | int32 training rows

The first child is counted from the root of its tree. A category split has the number of
its bit set in the place of the threshold. The negative number of a leaf is ``~row``, row
being its row in the table of predictions, if the forest has one (see forest/store.py).

Trees of a forest are large, so the time goes into waiting for nodes. Several walks go on
at once, each waiting for its own: of many rows down one tree, while the nodes of that tree
are in the cache, or of one row down many trees. Where a walk ends, the next one begins.
Which way a row goes cannot be foreseen, so there is no branch on it; nor is there one on
the kind of question in trees that often ask for numbers and often for categories.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numba import int64, uint64

from hornbeam.dtypes import WORD_BITS
from hornbeam.kernels.ensemble import bare
from hornbeam.kernels.traverse import MISSING_RIGHT, holds_infinite
from hornbeam.runtime.kernel import inlined, kernel, part
from hornbeam.runtime.pointers import F8, I4, I8, U8, make_loader

CATEGORY = MISSING_RIGHT >> 1
FEATURE_MASK = CATEGORY - 1
WALKERS = 16  # walks that go on at once
FEW_ROWS = 16  # so many rows go down many trees at once, instead of many rows down a tree


class Forest(NamedTuple):
    """The arrays of a forest that prediction reads."""

    threshold: F8  # two views of the same nodes: threshold[2 * node] and
    link: I4  # link[4 * node + 2], the child, and link[4 * node + 3], the feature
    root: I8  # number of each tree's first node
    set_start: I8
    set_words: U8
    table: F8
    n_known: I8  # per column: how many categories its sets can hold, 0 for numbers


class Room(NamedTuple):
    """Room for what is known of the walks."""

    walkers: I8  # two words for each of WALKERS
    goals: I8  # the rows of a block, or the trees, to be walked
    ended: I8  # where each of them ended


load_forest = make_loader(Forest)
load_room = make_loader(Room)

# What a call is about: places in ``task``.
ROW_STEP, COLUMN_STEP, N_COLUMNS, WIDTH, CHECKED, N_VALUES, BY_TABLE, MASKED = range(8)
FIRST_ROW, LAST_ROW, FIRST_TREE, LAST_TREE, N_ROWS, HAS_SETS, MANY_SETS = range(8, 15)
N_ASKED = 15  # columns that the trees ask for
TASK_WORDS = 16


@part
def in_right_set(forest, node, flags, x):
    """Whether a value goes right at a node that asks for categories (0 or 1)."""
    number = int64(forest.threshold[2 * node])
    words = forest.set_start[number]
    if x >= 0 and x < (forest.set_start[number + 1] - words) * WORD_BITS:
        category = int64(x)
        word = forest.set_words[words + (category >> 6)]
        return int64(1) - int64((word >> uint64(category & 63)) & uint64(1))
    return (flags >> 30) & 1


@inlined
def goes_right(forest, complete, has_sets, node, flags, x):
    """Whether a value goes right at a node (0 or 1); if ``complete`` no number is missing."""
    if has_sets and flags & CATEGORY != 0:
        right = in_right_set(forest, node, flags, x)
    else:
        right = int64(x > forest.threshold[2 * node])
        if not complete:
            right |= int64(x != x) & (flags >> 30)
    return right


@inlined
def goes_right_unforeseen(forest, node, flags, x):
    """As `goes_right`, but both kinds of question are asked, and masks choose the answer.

    A category that no set can hold must be NaN. There must be sets, of one word each.
    """
    threshold, missing = forest.threshold[2 * node], int64(x != x)
    by_set = (flags >> 29) & ~missing & 1
    number = int64(threshold) if by_set != 0 else int64(0)
    category = int64(x) if by_set != 0 else int64(0)
    word = forest.set_words[number]
    outside = int64((~word >> uint64(category & 63)) & uint64(1))
    above = int64(x > threshold) | (missing & (flags >> 30))
    return above ^ ((above ^ outside) & -by_set)


@inlined
def walk(
    by_row, complete, unforeseen, forest, table, has_sets, column_step,
    goals, n_goals, fixed, walkers, ended,
):  # fmt: skip
    """Go down from roots to leaves; ``ended`` gets the node, in the forest, of each leaf.

    If ``by_row`` the goals are rows of a block, all to go down the tree ``fixed``; otherwise
    they are trees, for the row whose values begin at ``table[fixed]`` to go down.
    ``complete`` and ``unforeseen`` choose how a node is asked (see above). ``ended``
    has a place for every goal, and ``walkers`` holds goal and node of each walk.
    The values of a row lie a ``column_step`` apart.
    """
    root = forest.root[fixed] if by_row else int64(0)
    n_walkers = min(n_goals, WALKERS)
    begun = int64(0)
    while begun < n_walkers:
        walkers[2 * begun] = goals[begun]
        walkers[2 * begun + 1] = root if by_row else forest.root[goals[begun]]
        begun += 1
    while n_walkers > 0:
        walker = int64(0)
        while walker < n_walkers:
            goal, node = walkers[2 * walker], walkers[2 * walker + 1]
            child = int64(forest.link[4 * node + 2])
            if child >= 0:
                flags = int64(forest.link[4 * node + 3])
                column = (flags & FEATURE_MASK) * column_step
                x = table[column + (goal if by_row else fixed)]
                if unforeseen:
                    right = goes_right_unforeseen(forest, node, flags, x)
                else:
                    right = goes_right(forest, complete, has_sets, node, flags, x)
                walkers[2 * walker + 1] = (root if by_row else forest.root[goal]) + child + right
                walker += 1
                continue
            ended[goal] = node
            if begun < n_goals:
                walkers[2 * walker] = goals[begun]
                walkers[2 * walker + 1] = root if by_row else forest.root[goals[begun]]
                begun += 1
                walker += 1
            else:  # the last walker takes this place
                n_walkers -= 1
                walkers[2 * walker] = walkers[2 * n_walkers]
                walkers[2 * walker + 1] = walkers[2 * n_walkers + 1]


@inlined
def add_value(forest, by_table, n_values, node, row, scores):
    """Add what a leaf predicts to the scores of a row."""
    if by_table:
        entry = int64(~forest.link[4 * node + 2]) * n_values
        for number in range(n_values):
            scores[row * n_values + number] += forest.table[entry + number]
    else:
        scores[row] += forest.threshold[2 * node]


@part
def fill_block(forest, values, task, start, end, block):
    """Copy what trees ask of rows to where it lies by columns, ``block[column * width + row]``.

    A category that no set of its column can hold becomes NaN on the way. Returns whether
    no number is missing.
    """
    n_missing = int64(0)
    row_step, column_step, width = task[ROW_STEP], task[COLUMN_STEP], task[WIDTH]
    for column in range(task[N_ASKED]):
        first, n_known = start * row_step + column * column_step, forest.n_known[column]
        if n_known == 0:
            for row in range(end - start):
                x = values[first + row * row_step]
                n_missing += int64(x != x)
                block[column * width + row] = x
        else:
            for row in range(end - start):
                x = values[first + row * row_step]
                block[column * width + row] = x if x >= 0 and x < n_known else math.nan
    return n_missing == 0


@part
def choose_rows(task, tree, start, end, bags, votes, rows):
    """The rows of a block that a tree votes on, counted from its start; how many."""
    if task[MASKED] == 0:
        for row in range(end - start):
            rows[row] = row
        return end - start
    n_chosen = int64(0)
    bag = (tree - task[FIRST_TREE]) * task[N_ROWS] + start
    for row in range(end - start):
        rows[n_chosen] = row
        n_chosen += int64(bags[bag + row] == 0)
    for i in range(n_chosen):
        votes[start + rows[i]] += 1
    return n_chosen


@part
def predict_row(forest, table, task, row, room, scores, nodes):
    """Send one row down all trees of a task, several trees at a time."""
    first, n_values, by_table = task[FIRST_TREE], task[N_VALUES], task[BY_TABLE] != 0
    n_trees, place = task[LAST_TREE] - first, row * task[ROW_STEP]
    for i in range(n_trees):
        room.goals[i] = first + i
    walk(
        False, False, False, forest, table, task[HAS_SETS] != 0, task[COLUMN_STEP],
        room.goals, n_trees, place, room.walkers, room.ended,
    )  # fmt: skip
    for tree in range(first, first + n_trees):
        node = room.ended[tree]
        if n_values != 0:
            add_value(forest, by_table, n_values, node, row, scores)
        else:
            nodes[row * n_trees + tree - first] = node - forest.root[tree]


@part
def predict_block(forest, block, complete, task, start, end, room, scores, nodes, bags, votes):
    """Send the rows of a block down all trees of a task, tree by tree."""
    first, n_values, by_table = task[FIRST_TREE], task[N_VALUES], task[BY_TABLE] != 0
    n_trees = task[LAST_TREE] - first
    for tree in range(first, first + n_trees):
        n_rows = choose_rows(task, tree, start, end, bags, votes, room.goals)
        if task[MANY_SETS] != 0:
            walk(
                True, False, True, forest, block, True, task[WIDTH],
                room.goals, n_rows, tree, room.walkers, room.ended,
            )  # fmt: skip
        elif complete:
            walk(
                True, True, False, forest, block, task[HAS_SETS] != 0, task[WIDTH],
                room.goals, n_rows, tree, room.walkers, room.ended,
            )  # fmt: skip
        else:
            walk(
                True, False, False, forest, block, task[HAS_SETS] != 0, task[WIDTH],
                room.goals, n_rows, tree, room.walkers, room.ended,
            )  # fmt: skip
        if n_values != 0:
            for i in range(n_rows):
                row = room.goals[i]
                add_value(forest, by_table, n_values, room.ended[row], start + row, scores)
        else:
            for row in range(end - start):
                place = (start + row) * n_trees + tree - first
                nodes[place] = room.ended[row] - forest.root[tree]


@kernel
def predict_forest(values, slots, task, block, room, scores, nodes, bags, votes):
    """Add what the trees predict to ``scores``; if N_VALUES is 0 put leaves into ``nodes``.

    ``values`` is the table; ``task`` says which rows and which trees (see above); ``block``
    is room for the values of WIDTH rows, ``room`` for the walks. If MASKED, a tree leaves
    out the rows where ``bags``, with N_ROWS entries per tree, is not 0, and ``votes`` counts
    the trees of each row. Returns False if a value is infinite and CHECKED is set.
    """
    forest, room = load_forest(slots, 0), load_room(room, 0)
    table, block = bare(values), bare(block)
    scores, nodes, bags, votes = bare(scores), bare(nodes), bare(bags), bare(votes)
    for start in range(task[FIRST_ROW], task[LAST_ROW], task[WIDTH]):
        end = min(start + task[WIDTH], task[LAST_ROW])
        if task[CHECKED] != 0 and holds_infinite(
            values, task[ROW_STEP], task[COLUMN_STEP], task[N_COLUMNS], start, end
        ):
            return False
        if end - start <= FEW_ROWS and task[MASKED] == 0:
            for row in range(start, end):
                predict_row(forest, table, task, row, room, scores, nodes)
        else:
            complete = fill_block(forest, table, task, start, end, block)
            predict_block(
                forest, block, complete, task, start, end, room, scores, nodes, bags, votes
            )
    return True

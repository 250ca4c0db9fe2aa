"""Send rows down the packed trees of a forest.

A node is 16 bytes, as in kernels/traverse.py, and a leaf holds what it predicts itself::

    inner node  float64 threshold        | int32 first child         | int32 feature and flags
    leaf        float64 value or weight  | int32 negative, see below | int32 training rows

The first child is counted from the root of its tree. A category split has the number of
its bit set in the place of the threshold. The negative number of a leaf is ``~row``, row
being its row in the table of predictions, if the forest has one (see forest/store.py).
Where categories share codes, the sets are over codes, and tables come with codes instead.

Trees of a forest are large, so the time goes into waiting for nodes. Several walks go on
at once, each waiting for its own: of many rows down one tree, while the nodes of that tree
are in the cache, or of one row down many trees. Where a walk ends, the next one begins.
Which way a row goes cannot be foreseen, so there is no branch on it.

Where many rows go down a tree it pays to copy the tree first, into nodes that take few
instructions to ask, and to bring the values of each row side by side, as integer keys::

    inner node  int64 key of the threshold, or answers | int64 child << 32 | set << 31 | place
    leaf        float64 value or weight                | int64 negative << 32

Keys are in the order of the numbers. Where numbers are missing, a row has its keys twice,
once with a missing one as the least key and once as the largest; the place, of a key in the
row, says which of the two a node reads. The key of a category is its place in the 64
answers of a node that asks for a set: answer ``n + 1`` is 1 if category ``n`` goes right,
answer 0 is that of a missing value, and the last, always 1, that of categories in no set.
So neither kind of question takes a branch, or a look at a set elsewhere.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from llvmlite import ir
from numba import float32, int64, types, uint64
from numba.extending import intrinsic

from hornbeam.dtypes import WORD_BITS
from hornbeam.kernels.traverse import MISSING_RIGHT, holds_infinite
from hornbeam.runtime.kernel import inlined, kernel, part
from hornbeam.runtime.pointers import F8, I4, I8, U8, bare
from hornbeam.runtime.views import make_loader

CATEGORY = MISSING_RIGHT >> 1
FEATURE_MASK = CATEGORY - 1
WALKERS = 16  # walks that go on at once
FEW_ROWS = 16  # so many rows go down many trees at once, instead of many rows down a tree
MOST_ANSWERED = 62  # the first category that a node has no answer of its own for
_SET = 1 << 31  # flag of a copied node
_NARROW = (1 << 31) - 1  # the largest key of float32
_TILE = 32  # rows whose values are brought side by side at a time


class Forest(NamedTuple):
    """What prediction reads of a forest."""

    by_table: bool  # a leaf names a row of ``table``; otherwise it holds what it predicts
    has_sets: bool
    n_asked: int  # columns that the trees ask for
    threshold: F8  # two views of the same nodes: threshold[2 * node] and
    link: I4  # link[4 * node + 2], the child, and link[4 * node + 3], the feature
    root: I8  # number of each tree's first node
    set_start: I8
    set_words: U8
    table: F8
    n_known: I8  # per column: how many categories its sets can hold, 0 for numbers


class ForestTask(NamedTuple):
    """What a call is about: which rows of the table go down which trees."""

    row_step: int  # table[row * row_step + column * column_step]
    column_step: int
    n_columns: int
    is_checked: bool  # for infinite values
    n_values: int  # that a leaf adds to the scores of a row; 0: the leaves are asked for
    first_tree: int
    last_tree: int
    first_row: int
    last_row: int
    width: int  # rows of a block
    # for more than a few rows
    with_bags: bool = False
    n_rows: int = 0  # of a bag
    is_copied: bool = False  # trees are copied, and the values of a row brought side by side
    largest_key: int = 0


class WalkRoom(NamedTuple):
    """Room for what is known of the walks."""

    walkers: I8  # three words for each of WALKERS
    goals: I8  # the rows of a block, or the trees, to be walked
    ended: I8  # where each of them ended
    words: I8  # two views of the copy of a tree, two words per node
    values: F8


load_forest = make_loader(Forest)
load_task = make_loader(ForestTask)
load_room = make_loader(WalkRoom)


# --- codes ---------------------------------------------------------------------------------


@kernel
def code_categories(values, row_step, column_step, n_rows, columns, code_start, code_of_category):
    """Put codes in the place of the categories of some columns; unknown ones become missing.

    Infinite values stay, for `predict_forest` to find. ``values`` and the steps as there.
    """
    for i in range(len(columns)):
        first = code_start[columns[i]]
        n_known = code_start[columns[i] + 1] - first
        for row in range(n_rows):
            place = row * row_step + columns[i] * column_step
            x = values[place]
            if x >= 0 and x < n_known:
                values[place] = code_of_category[first + int64(x)]
            elif x != math.inf and x != -math.inf:
                values[place] = math.nan


# --- keys ----------------------------------------------------------------------------------


@intrinsic
def float_bits(typing_context: Any, x: Any) -> Any:
    """The bits of a float as a signed integer of the same size."""
    result = types.int64 if x == types.float64 else types.int32

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(sig.return_type.bitwidth))

    return result(x), generate


@inlined
def key_of(x, largest):
    """An integer that is the larger, the larger a number is; the two zeros have one key."""
    bits = int64(float_bits(x)) if x != 0 else int64(0)
    return bits ^ ((bits >> 63) & largest)


@inlined
def threshold_key(threshold, largest):
    """The largest key of a number that is not above a threshold."""
    if largest == _NARROW:
        narrow = float32(threshold)
        return key_of(narrow, largest) - int64(narrow > threshold)
    return key_of(threshold, largest)


@part
def misses_numbers(forest, table, task, start, end):
    """Whether any number that trees ask for is missing in these rows."""
    n_missing = int64(0)
    for tile in range(start, end, _TILE):
        for column in range(forest.n_asked):
            if forest.n_known[column] == 0:
                for row in range(tile, min(tile + _TILE, end)):
                    x = table[row * task.row_step + column * task.column_step]
                    n_missing += int64(x != x)
    return n_missing > 0


@part
def fill_block(forest, table, task, start, end, step, block):
    """Bring the keys of each row side by side, ``step`` of them (see above)."""
    row_step, column_step, n_asked = task.row_step, task.column_step, forest.n_asked
    largest = task.largest_key
    for tile in range(start, end, _TILE):
        for column in range(n_asked):
            n_known = forest.n_known[column]
            for row in range(tile, min(tile + _TILE, end)):
                x, place = table[row * row_step + column * column_step], (row - start) * step
                if n_known != 0:
                    known = x >= 0 and x < n_known
                    block[place + column] = min(int64(x), MOST_ANSWERED) + 1 if known else 0
                else:
                    key = key_of(x, largest)
                    block[place + column] = key if x == x else ~largest
                    block[place + step - n_asked + column] = key if x == x else largest


@part
def copy_tree(forest, task, tree, step, room):
    """Copy a tree into nodes that are asked by keys (see above)."""
    root, largest, has_sets = forest.root[tree], task.largest_key, forest.has_sets
    missing_largest = step - forest.n_asked
    for node in range(forest.root[tree + 1] - root):  # no branch: nobody foresees the leaves
        threshold = forest.threshold[2 * (root + node)]
        child = int64(forest.link[4 * (root + node) + 2])
        flags = int64(forest.link[4 * (root + node) + 3])
        is_set, to_right = (flags >> 29) & ~(child >> 63) & 1, (flags >> 30) & 1
        place = (flags & FEATURE_MASK) + (to_right & ~is_set) * missing_largest
        word = threshold_key(threshold, largest)
        if has_sets:
            number = int64(threshold if is_set != 0 else 0.0)
            answers = int64(~forest.set_words[number] << uint64(1)) | to_right
            word = answers if is_set != 0 else word
        word = float_bits(threshold) if child < 0 else word
        room.words[2 * node] = word
        room.words[2 * node + 1] = (child << 32) | (is_set << 31) | (0 if child < 0 else place)


# --- walks ---------------------------------------------------------------------------------


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
def goes_right(forest, has_sets, node, flags, x):
    """Whether a value goes right at a node (0 or 1)."""
    if has_sets and flags & CATEGORY != 0:
        right = in_right_set(forest, node, flags, x)
    else:
        right = int64(x > forest.threshold[2 * node]) | (int64(x != x) & (flags >> 30))
    return right


@inlined
def key_goes_right(has_sets, asked, link, key):
    """Whether a key goes right at a node of a copy (0 or 1)."""
    right = int64(key > asked)
    if has_sets:
        answer = (asked >> (int64(key) & 63)) & 1
        right = answer if link & _SET != 0 else right
    return right


@inlined
def walk(by_row, copied, has_sets, forest, table, origin, step, column_step, n_goals, tree, room):
    """Go down from roots to leaves; ``ended`` gets the leaf of each goal, as a node of its tree.

    If ``by_row`` the goals are rows, all to go down one tree, or its copy if ``copied``;
    ``table[origin + goal * step]`` is the first value of a row. Otherwise the goals are
    trees, for the row that begins at ``origin`` to go down. The next value of a row is
    ``column_step`` further. ``walkers`` holds of each walk where its row, or its tree, begins,
    its node, and its goal.
    """
    goals, walkers = room.goals, room.walkers
    root = forest.root[tree] if by_row and not copied else int64(0)
    n_walkers = min(n_goals, WALKERS)
    begun = int64(0)
    while begun < n_walkers:
        goal = goals[begun]
        own = origin + goal * step if by_row else forest.root[goal]
        walkers[3 * begun] = own
        walkers[3 * begun + 1] = root if by_row else own
        walkers[3 * begun + 2] = goal
        begun += 1
    while n_walkers > 0:
        walker = int64(0)
        while walker < n_walkers:
            own, node = walkers[3 * walker], walkers[3 * walker + 1]
            link = room.words[2 * node + 1] if copied else int64(forest.link[4 * node + 2])
            if link >= 0:
                if copied:
                    key = table[own + (link & (_SET - 1))]
                    child = link >> 32
                    right = key_goes_right(has_sets, room.words[2 * node], link, key)
                else:
                    flags = int64(forest.link[4 * node + 3])
                    place = (flags & FEATURE_MASK) * column_step
                    x = table[(own if by_row else origin) + place]
                    child = link + (root if by_row else own)
                    right = goes_right(forest, has_sets, node, flags, x)
                walkers[3 * walker + 1] = child + right
                walker += 1
                continue
            room.ended[walkers[3 * walker + 2]] = node - (root if by_row else own)
            if begun < n_goals:
                goal = goals[begun]
                own = origin + goal * step if by_row else forest.root[goal]
                walkers[3 * walker] = own
                walkers[3 * walker + 1] = root if by_row else own
                walkers[3 * walker + 2] = goal
                begun += 1
                walker += 1
            else:  # the last walker takes this place
                n_walkers -= 1
                walkers[3 * walker] = walkers[3 * n_walkers]
                walkers[3 * walker + 1] = walkers[3 * n_walkers + 1]
                walkers[3 * walker + 2] = walkers[3 * n_walkers + 2]


@inlined
def add_value(forest, by_table, n_values, entry, value, row, scores):
    """Add what a leaf predicts, a row of the table or a value, to the scores of a row."""
    if by_table:
        for number in range(n_values):
            scores[row * n_values + number] += forest.table[entry * n_values + number]
    else:
        scores[row] += value


@part
def choose_rows(task, tree, start, end, bags, votes, rows):
    """The rows of a block that a tree votes on, counted from its start; how many."""
    if not task.with_bags:
        for row in range(end - start):
            rows[row] = row
        return end - start
    n_chosen = int64(0)
    bag = (tree - task.first_tree) * task.n_rows + start
    for row in range(end - start):
        rows[n_chosen] = row
        n_chosen += int64(bags[bag + row] == 0)
    for i in range(n_chosen):
        votes[start + rows[i]] += 1
    return n_chosen


@part
def predict_row(forest, table, task, row, room, scores, nodes):
    """Send one row down all trees of a task, several trees at a time."""
    first, n_values, by_table = task.first_tree, task.n_values, forest.by_table
    n_trees, origin = task.last_tree - first, row * task.row_step
    for i in range(n_trees):
        room.goals[i] = first + i
    walk(
        False, False, forest.has_sets, forest, table, origin, int64(0), task.column_step,
        n_trees, first, room,
    )  # fmt: skip
    for tree in range(first, first + n_trees):
        leaf = forest.root[tree] + room.ended[tree]
        if n_values != 0:
            entry, value = int64(~forest.link[4 * leaf + 2]), forest.threshold[2 * leaf]
            add_value(forest, by_table, n_values, entry, value, row, scores)
        else:
            nodes[row * n_trees + tree - first] = room.ended[tree]


@part
def predict_rows(forest, table, block, step, task, start, end, room, scores, nodes, bags, votes):
    """Send many rows down all trees of a task, tree by tree.

    If trees are copied, ``block`` holds the keys of the rows, ``step`` for each.
    """
    first, n_values, by_table = task.first_tree, task.n_values, forest.by_table
    n_trees, has_sets, none = task.last_tree - first, forest.has_sets, int64(0)
    for tree in range(first, first + n_trees):
        n_rows = choose_rows(task, tree, start, end, bags, votes, room.goals)
        if not task.is_copied:
            walk(
                True, False, has_sets, forest, table, start * task.row_step, task.row_step,
                task.column_step, n_rows, tree, room,
            )  # fmt: skip
        else:
            copy_tree(forest, task, tree, step, room)
            if has_sets:
                walk(True, True, True, forest, block, none, step, none, n_rows, tree, room)
            else:
                walk(True, True, False, forest, block, none, step, none, n_rows, tree, room)
        if n_values == 0:
            for row in range(end - start):
                nodes[(start + row) * n_trees + tree - first] = room.ended[row]
            continue
        for i in range(n_rows):
            row = room.goals[i]
            leaf = room.ended[row]
            if task.is_copied:
                entry, value = ~(room.words[2 * leaf + 1] >> 32), room.values[2 * leaf]
            else:
                leaf += forest.root[tree]
                entry, value = int64(~forest.link[4 * leaf + 2]), forest.threshold[2 * leaf]
            add_value(forest, by_table, n_values, entry, value, start + row, scores)


@kernel
def predict_forest(values, slots, task, block, room, scores, nodes, bags, votes):
    """Add what the trees predict to ``scores``, or put leaves into ``nodes``.

    ``values`` is the table; ``task`` and ``room`` are the slots of a `ForestTask` and a
    `WalkRoom`; ``block`` is room for the keys, twice, of the rows of a block. With bags a tree
    leaves out the rows where its bag is not 0, and ``votes`` counts the trees of each row.
    Returns False if a value is infinite and that is checked.
    """
    forest, task, room = load_forest(slots, 0), load_task(task, 0), load_room(room, 0)
    table, block = bare(values), bare(block)
    scores, nodes, bags, votes = bare(scores), bare(nodes), bare(bags), bare(votes)
    for start in range(task.first_row, task.last_row, task.width):
        end = min(start + task.width, task.last_row)
        if task.is_checked and holds_infinite(
            values, task.row_step, task.column_step, task.n_columns, start, end
        ):
            return False
        if end - start <= FEW_ROWS and not task.with_bags:
            for row in range(start, end):
                predict_row(forest, table, task, row, room, scores, nodes)
            continue
        step = forest.n_asked
        if task.is_copied:
            if misses_numbers(forest, table, task, start, end):
                step = 2 * step
            fill_block(forest, table, task, start, end, step, block)
        predict_rows(forest, table, block, step, task, start, end, room, scores, nodes, bags, votes)
    return True

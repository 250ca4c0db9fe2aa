"""What growing an ID3 or C4.5 tree works on, as NamedTuples of arrays (pointers inside kernels).

A row whose value is missing goes down every branch with a fraction of its weight. So a
node does not own rows but *entries*: a row, its class, and the weight it has here. The
entries of the nodes that wait are a stack; those of finished leaves lie one leaf after
the other, so that the entries below any node are neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import float64, int64, types

from hornbeam.runtime.pointers import F8, I4, I8, U1, U4, U8
from hornbeam.runtime.views import make_loader, width_of


class Table(NamedTuple):
    """The training rows as codes, and the rules (read only)."""

    codes: U4  # codes[feature * N_ROWS + row]: rank or category number
    n_codes: I8  # per feature, missing not counted
    is_category: U1  # per feature: 0, 1, or MANY_CATEGORIES
    missing_is_branch: U1  # per feature: a missing value is one more category (ID3)
    is_counted: U1  # per feature: whether its gain is part of the average gain
    values: F8  # the distinct values of each number feature, ascending
    value_start: I8
    whole: I8  # settings, numbered below
    real: F8


# Table.is_category: a gain must prove itself beyond chance (hornbeam/chance.py)
MANY_CATEGORIES = 2
# Table.whole
N_ROWS = 0
N_FEATURES = 1
N_CLASSES = 2
MAX_DEPTH = 3
RATIO = 4  # 1: gain ratio behind the average-gain filter (C4.5), 0: gain (ID3)
CORRECTED = 5  # 1: thresholds pay log2(candidates) / n
GROUPING = 6  # 1: categories are merged into groups
CAPACITY = 7  # nodes
STACK_CAPACITY = 8  # entries that wait
LEAF_CAPACITY = 9  # entries of leaves
GROUP_CAPACITY = 10
CELLS = 11  # room of a histogram
TOGETHER = 12  # entries x features from which on all threads search a node
SEARCH_NUMBER = 13  # addresses of kernels
SEARCH_CATEGORY = 14
CHOOSE = 15
SPLIT = 16
GROUP = 17
N_WHOLE = 18
# Table.real
MIN_LEAF = 0
MIN_DECREASE = 1
SCALE = 2  # of fixed-point x * log2(x)
ROOT_WEIGHT = 3
MIN_SPLIT = 4  # weight of a node that may be split
N_REAL = 5


class Nodes(NamedTuple):
    """Nodes in the order they are made; the children of a node are neighbours."""

    child: I4  # the first one, 0 for a leaf
    branches: I4
    feature: I4
    kind: U1
    cut: I8  # THRESHOLD: the largest code that goes to branch 0
    groups: I8  # SUBSET: branch of category c is branch_of[groups + c]
    depth: I4
    first: I8  # of its entries among those of the leaves
    size: I8  # entries
    weight: F8
    counts: F8  # weight per class: counts[node * N_CLASSES + class]
    branch_of: I4


class Entries(NamedTuple):
    """Rows with the weight they have where they are."""

    row: I4  # the stack of nodes that wait: the top node's entries are the last ones
    label: I4
    weight: F8
    new_row: I4  # room to part entries
    new_label: I4
    new_weight: F8
    leaf_row: I4  # entries of finished leaves
    leaf_label: I4
    leaf_weight: F8
    waiting: I4  # the nodes on the stack


class Found(NamedTuple):
    """What the search has found, per feature."""

    gain: F8  # below 0: no split of this feature is allowed
    info: F8  # entropy of the split itself
    cut: I8
    words: I8  # shared by the team, see below


# Found.words, behind those of runtime.atomics
WORD_NODE = 41
WORD_MODE = 42
WORD_NODES = 43
WORD_WAITING = 44
WORD_STACK = 45
WORD_LEAVES = 46
WORD_GROUPS = 47
WORD_FULL = 48
WORD_CHOSEN = 49
SEARCHING, FINISHED = 1, 2
NODES_FULL, STACK_FULL, LEAVES_FULL, GROUPS_FULL = 1, 2, 3, 4  # WORD_FULL


class Scratch(NamedTuple):
    """One thread's room."""

    cells: F8  # weight per code and class
    left: F8
    right: F8
    keys: U8  # code << 32 | place, to be sorted
    new_keys: U8
    digits: I8
    branch_weight: F8
    branch_size: I8
    branch_place: I8
    group: I4  # grouping: of each category
    loss: F8  # grouping: what a merger of two groups costs ...
    saving: F8  # ... and saves


GROUPS = (Table, Nodes, Entries, Found, Scratch)
TABLE_AT, NODES_AT, ENTRIES_AT, FOUND_AT, SCRATCH_AT = (
    width_of(*GROUPS[:number]) for number in range(len(GROUPS))
)
load_table = make_loader(Table)
load_nodes = make_loader(Nodes)
load_entries = make_loader(Entries)
load_found = make_loader(Found)
load_scratch = make_loader(Scratch)

SLOTS = types.Array(int64, 1, "C")
# All kernels that are called by address: (slots, node, feature, first, last).
STEP_SIGNATURE = float64(SLOTS, int64, int64, int64, int64)
MISSING_CODE = 2**32 - 1
MOST_GROUPED = 128  # categories of a node that are merged pair by pair

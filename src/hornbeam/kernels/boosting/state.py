"""What growing a boosted tree works on, as NamedTuples of arrays (pointers inside kernels).

Gradient and hessian of a row are integers, packed into one word (`pack_slopes`)::

    word = (gradient << lane) + hessian

so that one addition per row and feature counts both, in a tile of one word per code. A
tile is emptied into a histogram of 64-bit sums before its lanes can overflow, after at
most FLUSH_ROWS rows. Integers make every sum exact: no result depends on who added what
first, and the histogram of a node is its parent's minus its sibling's, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import float64, int64

from hornbeam.runtime.pointers import F4, F8, I4, I8, SLOTS, U1, U8
from hornbeam.runtime.views import make_loader, width_of


class Table(NamedTuple):
    """The training rows as codes, and the rules (read only)."""

    by_row: U1  # codes[row * STRIDE + column], missing is 255; exclusive features share a column
    column: I8  # of each feature
    is_shared: U1  # whether a feature's column holds other features, too ...
    offset: I8  # ... and which of the column's codes are its own, without its default code:
    width: I8  # offset .. offset + width
    by_column: U1  # the same codes: codes[column * N_ROWS + row]
    n_codes: I8  # per feature, missing not counted
    cell_start: I8  # first cell of each feature; it has n_codes + 1, the last for missing
    is_category: U1
    monotone: I8  # per feature: +1, 0, -1
    groups: U1  # interaction constraints: groups[group * N_FEATURES + feature]
    draw_number: I8  # per feature: the number by which it is drawn
    entry_start: I8  # sparse table, by row: cells of its entries that are not zero ...
    entry_cell: I4
    column_start: I8  # ... and by feature: their rows and codes
    column_row: I4
    column_code: U1
    default: U1  # per feature: the code that is not counted in sparse or shared columns
    whole: I8  # settings, numbered below
    real: F8


# Table.whole
N_ROWS = 0
N_FEATURES = 1
STRIDE = 2
N_CELLS = 3
MAX_DEPTH = 4
MAX_LEAVES = 5
MIN_LEAF = 6
GROWTH = 7
CATEGORY_RULE = 8
LANE = 9  # bits of the hessian in a packed word
N_GROUPS = 10  # 0: no interaction constraints
N_SLOTS = 11  # histograms that are kept for subtraction
N_ACTIVE = 12  # features drawn for this tree
FEATURES_BY_LEVEL = 13  # how many of them each level may ask
FEATURES_BY_NODE = 14  # ... and each node
SEED = 15  # of this tree
N_DRAWN = 16  # rows drawn for this tree
DRAW_BELOW = 17  # rows with a smaller hash are drawn; negative: all rows
PLAIN = 18  # gains need no bounds and no step limit
DRAWS_FEATURES = 19  # levels or nodes draw features, or groups restrict them
SPARSE = 20  # there are entries instead of by_row and by_column
N_BUNDLES = 21  # columns that hold features drawn for this tree
N_COLUMNS = 22  # of by_row
# Addresses of the kernels that the growth loop calls (see ADR 009); 0 if this fit needs none
COUNT_SHARED = 23
COUNT_COLUMNS = 24
SEARCH_FEATURES = 25
SEARCH_CATEGORY = 26
SEARCH_BOUND = 27
CHOOSE_FEATURES = 28
MAKE_ROOT = 29
PLAN_BUILD = 30
SETTLE = 31
NEXT_SPLIT = 32
PART_TOGETHER = 33
PREPARE_SPARSE = 34
COUNT_AND_SEARCH = 35
ADOPT_NODES = 36
LAY_OUT_ROWS = 37
ADD_SHARED = 38
EMPTY_SHARED = 39
FILL_DEFAULT = 40
MARK_SIDES = 41
FORGET_LEAVES = 42
WALK_ROWS = 43
ORDER_CATEGORIES = 44
COUNT_HELD = 45  # 0: the rows of a side are judged by its hessian
N_WHOLE = 46

# Table.real
LAMBDA = 0
ALPHA = 1
MIN_HESSIAN = 2
MIN_GAIN = 3
MAX_STEP = 4
CATEGORY_LAMBDA = 5
CATEGORY_SMOOTH = 6
GRADIENT_UNIT = 7  # what one unit of a gradient is worth
HESSIAN_UNIT = 8
GRADIENT_SCALE = 9  # one over GRADIENT_UNIT
HESSIAN_SCALE = 10
N_REAL = 12


class Rows(NamedTuple):
    """The drawn rows in node order, twice: a split moves its rows to the other buffer.

    Memory is lent: the slopes of a tree are read once, and their words take their place.
    Where there are several scores, and so the next slopes are taken just before the next tree,
    the leaves of the rows then take that of the words.
    """

    slope: F4  # gradient and hessian of each row of the table, as numbers ...
    word: I8  # ... and packed, once the rows are laid out
    row: I4  # row[buffer * N_ROWS + place]
    leaf: I4  # leaf of each row of the table, -1 while it is not known
    flag: U1  # which side a row goes to, between the two steps of a partition
    counts: I8  # rows that go left, per chunk


class Nodes(NamedTuple):
    """Nodes while the tree grows, numbered as they are made; siblings are neighbours."""

    first: I8  # the node's rows are first .. last of its buffer
    last: I8
    buffer: I4
    depth: I4
    child: I4  # first of two children, 0 for a leaf
    slot: I4  # where its histogram is kept, -1: nowhere
    label: I4  # of its rows in Team.holder
    feature: I4  # of the best split found, -1: none
    cut: I4  # codes up to this one go left (numbers)
    missing_left: U1
    member: U8  # 4 words per node: the codes that go left (categories)
    gradient: I8
    hessian: I8
    left_gradient: I8  # of the best split
    left_hessian: I8
    least_rows: F8  # rows a child must seem to have, see `search`
    gain: F8
    value: F8
    lower: F8  # bounds of the value
    upper: F8
    left_value: F8
    right_value: F8
    groups: U1  # N_GROUPS per node: interaction groups that hold all features asked so far


class Team(NamedTuple):
    """What the threads share while they work on a node, and room of each thread."""

    words: I8  # layout of runtime/atomics.py, then the words below
    cells: I8  # histograms, slot by slot: the gradients of all cells, then the hessians
    sums: I8  # a histogram per thread, where threads share out rows
    tiles: I8  # TILE_STRIDE packed sums per thread and column
    active: I4  # features drawn for this tree, ascending
    bundle: I4  # columns that hold them, ascending ...
    bundle_start: I4  # ... and the drawn features of each: bundle_feature[start[k] : start[k + 1]]
    bundle_feature: I4
    may_ask: U1  # features that the one and the other new node may ask
    goes_left: U1  # 256 entries: the side of each code at the split being made
    frontier: I4
    free_slots: I4
    node_whole: I8  # what is searched: N_NODE_WHOLE whole numbers per thread and new node ...
    node_real: F8  # ... and N_NODE_REAL others
    best: F8  # the best split of each new node that each thread has found, N_BEST numbers
    best_whole: I8  # ... and N_BEST_WHOLE whole numbers
    member: U8  # ... and the codes that go left, 4 words
    sort_key: F8  # per thread: 256 categories in order
    sort_code: I4
    prefix: I8  # per thread: gradients left of each cut of a feature, then hessians
    held: I8  # per thread: rows in each cell of a feature, and in all; see COUNT_HELD
    column: U1  # codes of one feature of a sparse table, by row ...
    holder: I4  # ... and the label of the node that holds the row
    draw: U8  # keys of features while some are drawn


# Team.words beyond runtime/atomics.py
WORD_FLAGS = 64  # next chunk of rows to be flagged
WORD_MOVES = 72  # next chunk of rows to be moved
WORD_COUNTS = 80  # next chunk of rows to be counted
WORD_SEARCH = 88  # next block of columns to be searched
WORD_GRADIENT = 96  # sums of the root
WORD_HESSIAN = 97
WORD_NODE = 104  # node being split
WORD_MODE = 105
WORD_BUILD = 106  # node whose histogram is counted, -1: none
WORD_OTHER = 107  # node whose histogram is what remains, or is there already; -1: none
WORD_SECOND = 108  # a second node to be counted; -1: none
WORD_BY_COLUMN = 109  # threads share out columns, not rows
WORD_BUILD_SLOT = 110
WORD_OTHER_SLOT = 111
WORD_NODES = 112
WORD_LEAVES = 113
WORD_TAIL = 114  # of the frontier
WORD_FREE = 115  # free slots
N_WORDS = 128

# WORD_MODE
FINISHED, FLAGGING, SEARCHING = 0, 1, 2

# Team.node_whole
NODE_GRADIENT = 0
NODE_HESSIAN = 1
NODE_ENOUGH = 2
N_NODE_WHOLE = 8
# Team.node_real
NODE_ROWS_PER_HESSIAN = 0
NODE_LOWER = 1
NODE_UPPER = 2
NODE_OBJECTIVE = 3
N_NODE_REAL = 4

# Team.best
BEST_GAIN = 0
BEST_LEFT_VALUE = 1
BEST_RIGHT_VALUE = 2
N_BEST = 8
# Team.best_whole
BEST_FEATURE = 0
BEST_CUT = 1
BEST_MISSING_LEFT = 2  # 1, 0, or UNKNOWN: there is no missing value in the node
UNKNOWN = 2
BEST_GRADIENT = 3  # of the left side
BEST_HESSIAN = 4
N_BEST_WHOLE = 8

MISSING = 255  # code of a missing value
MOST_CUTS = 256  # room for the cuts of a feature
HELD_ROOM = 257  # room for the rows of its cells ...
ALL_HELD = 256  # ... and of all
MEMBER_WORDS = 4  # 256 codes
AHEAD = 16  # rows whose codes are fetched ahead of their turn
CHUNK = 4096  # rows that a thread takes at a time
FLUSH_ROWS = 4 * CHUNK  # rows that a tile can hold; lanes are made for as many
# Words per feature in a tile: not a power of two, or equal codes of many features would
# compete for the same places of the cache.
TILE_STRIDE = 257

TABLE_AT = 0
ROWS_AT = width_of(Table)
NODES_AT = width_of(Table, Rows)
TEAM_AT = width_of(Table, Rows, Nodes)
load_table = make_loader(Table)
load_rows = make_loader(Rows)
load_nodes = make_loader(Nodes)
load_team = make_loader(Team)

# Kernels that the growth loop calls by address: slots, then five whole numbers.
STEP_SIGNATURE = float64(SLOTS, *([int64] * 5))

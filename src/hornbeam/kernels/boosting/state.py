"""What growing a boosted tree works on, as NamedTuples that kernels see by name.

Gradient and hessian of a row are integers, packed into one word (`pack_slopes`)::

    word = (gradient << lane) + hessian

so that one addition per row and feature counts both, in a tile of one word per code. A
tile is emptied into a histogram of 64-bit sums before its lanes can overflow, after at
most FLUSH_ROWS rows. Integers make every sum exact: no result depends on who added what
first, and the histogram of a node is its parent's minus its sibling's, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

from hornbeam.kernels.boosting.steps import BoostSteps
from hornbeam.kernels.driver import Crew
from hornbeam.kernels.frontier import Frontier
from hornbeam.runtime.kernel import part
from hornbeam.runtime.pointers import F4, F8, I4, I8, U1, U8
from hornbeam.runtime.views import make_loader, width_of


class BoostPage(NamedTuple):
    """A page of the table: the codes of some neighbouring rows."""

    start: int  # its first row
    n_rows: int
    by_row: U1  # codes[(row - start) * stride + column], missing is 255; exclusive features ...
    by_column: U1  # ... share a column. The same codes: codes[column * n_rows + row - start]
    entry_start: I8  # sparse table, by row: cells of its entries that are not zero ...
    entry_cell: I4
    column_start: I8  # ... and by feature: their rows (less start) and codes
    column_row: I4
    column_code: U1
    rank: I4  # table with sorted lists: rank[column * n_rows + row - start], missing is -1; or of
    # the entries by feature


class BoostShape(NamedTuple):
    """How large the table is, and the room for its histograms."""

    n_rows: int
    n_pages: int
    first_row: int  # number of the first row in the whole table, of which this may be a part
    n_features: int
    stride: int  # from row to row of by_row
    n_columns: int  # of by_row
    n_cells: int
    n_groups: int  # 0: no interaction constraints
    n_slots: int  # histograms that are kept for subtraction
    most_nodes: int  # children that are counted ahead of their turn wait beyond these
    is_sparse: bool  # there are entries instead of by_row and by_column
    is_listed: bool  # rows are listed by value (kernels/boosting/listed.py); codes are ranks
    has_draw_weights: bool


class BoostSettings(NamedTuple):
    """The rules of growing, the same for all trees."""

    max_depth: int
    max_leaves: int
    min_leaf: int
    category_rule: int  # see CATEGORY_CODES
    is_plain: bool  # gains need no bounds and no step limit
    draws_rows: bool  # the root has been given its rows before the tree grows
    draws_features: bool  # levels or nodes draw features, or groups restrict them
    ahead: int  # nodes that are parted and counted together; 0: each when it is its turn
    is_part: bool  # the sums of other parts of the table must be added to those of this one
    alpha: float
    min_hessian: float
    min_gain: float
    max_step: float
    category_lambda: float
    category_smooth: float
    category_limit: int  # most categories on the smaller side of a split of many
    category_rows: float  # least rows of the categories between two places to cut


class BoostUnits(NamedTuple):
    """What the integers of a tree are worth."""

    lane: int = 0  # bits of the hessian in a packed word
    gradient: float = 1.0  # what one unit of a gradient is worth
    hessian: float = 1.0
    gradient_scale: float = 1.0  # one over that
    hessian_scale: float = 1.0


class BoostDraw(NamedTuple):
    """What is drawn for a tree."""

    seed: int = 0
    n_active: int = 0  # features drawn
    n_bundles: int = 0  # columns that hold them
    by_level: int = 0  # how many of the features each level may ask
    by_node: int = 0  # ... and each node


class BoostTable(NamedTuple):
    """The training rows as codes, and the rules (read only while a tree grows)."""

    pages: I8  # the slots of a `BoostPage` each, see `page_of`
    border: I8  # the rows of page p are border[p] .. border[p + 1]
    column: I8  # of each feature
    is_shared: U1  # whether a feature's column holds other features, too ...
    offset: I8  # ... and which of the column's codes are its own, without its default code:
    width: I8  # offset .. offset + width
    n_codes: I8  # per feature, missing not counted
    cell_start: I8  # first cell of each feature; it has n_codes + 1, the last for missing
    is_category: U1
    monotone: I8  # per feature: +1, 0, -1
    groups: U1  # interaction constraints: groups[group * n_features + feature]
    draw_number: I8  # per feature: the number by which it is drawn
    draw_weight: F8  # per feature: how much likelier than others it is drawn; empty: all alike
    default: I4  # per feature: the code that is not counted in sparse or shared columns
    shape: BoostShape
    rules: BoostSettings
    steps: BoostSteps
    # Written anew for each tree:
    units: BoostUnits = BoostUnits()
    draw: BoostDraw = BoostDraw()
    penalty: float = 0.0  # lambda


class BoostRows(NamedTuple):
    """The drawn rows in node order, twice: a split moves its rows to the other buffer.

    The rows of a page stay in the places of the page.
    Memory is lent: the slopes of a tree are read once, and their words take their place.
    Where there are several scores, and so the next slopes are taken just before the next tree,
    the leaves of the rows then take that of the words.
    """

    slope: F4  # gradient and hessian of each row of the table, as numbers ...
    word: I8  # ... and packed, once the rows are laid out
    row: I4  # row[buffer * n_rows + place]
    leaf: I4  # leaf of each row of the table, -1 while it is not known
    flag: U1  # which side a row goes to, between the two steps of a partition
    counts: I8  # rows that go left, per chunk of a node's rows, page after page
    waiting: I4  # rows on their way to a leaf (kernels/boosting/walk.py), in their own places


class BoostNodes(NamedTuple):
    """Nodes while the tree grows, numbered as they are made; siblings are neighbours."""

    first: I8  # rows of the node are first[node * n_pages + page] .. last[..] of its buffer
    last: I8
    middle: I8  # when they are parted: where those begin that go right, in the other buffer
    n_rows: I8  # in all pages
    buffer: I4
    depth: I4
    child: I4  # first of two children, 0 for a leaf
    slot: I4  # where its histogram is kept, -1: nowhere
    label: I4  # of its rows in BoostTeam.holder
    trail: U8  # TRAIL words per node, for rows that walk down a finished tree (walk.py)
    ahead: I4  # the child that has been counted and waits, -1: none
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
    groups: U1  # n_groups per node: interaction groups that hold all features asked so far


class BoostSearched(NamedTuple):
    """What is searched: of each new node, for each thread; see `search.place_of_search`."""

    gradient: I8
    hessian: I8
    enough: I8
    rows_per_hessian: F8
    lower: F8
    upper: F8
    objective: F8


class BoostBest(NamedTuple):
    """The best split of each new node that each thread has found."""

    gain: F8
    feature: I8
    cut: I8
    missing_left: I8  # 1, 0, or UNKNOWN: there is no missing value in the node
    gradient: I8  # of the left side
    hessian: I8
    left_value: F8
    right_value: F8
    member: U8  # the codes that go left, 4 words


class BoostTeam(NamedTuple):
    """What the threads share while they work on a node, and room of each thread."""

    crew: Crew
    words: I8  # of the crew, see below
    frontier: Frontier
    cells: I8  # histograms, slot by slot: the gradients of all cells, then the hessians
    sums: I8  # a histogram per thread, where threads share out rows
    tiles: I8  # TILE_STRIDE packed sums per thread and column
    active: I4  # features drawn for this tree, ascending
    bundle: I4  # columns that hold them, ascending ...
    bundle_start: I4  # ... and the drawn features of each: bundle_feature[start[k] : start[k + 1]]
    bundle_feature: I4
    may_ask: U1  # features that the one and the other new node may ask
    goes_left: U1  # 256 entries: the side of each code at the split being made
    free_slots: I4
    sort_key: F8  # per thread: 256 categories in order
    sort_code: I4
    prefix: I8  # per thread: gradients left of each cut of a feature, then hessians
    held: I8  # per thread: rows in each cell of a feature, and in all
    column: U1  # codes of one feature of a sparse table, by row; or the side of each row ...
    holder: I4  # ... and the label of the node that holds the row
    draw: U8  # keys of features while some are drawn
    job: I4  # nodes that are worked on together: counted ahead of their turn, or asked one question
    popped: I4  # of the frontier, to look for them
    taken: U1  # per child that may wait: whether it does ...
    is_left: U1  # ... and is the left one
    searched: BoostSearched
    best: BoostBest


# BoostTeam.words beyond runtime/atomics.py, kernels/frontier.py and kernels/driver.py: what
# threads count together, or tell each other. These are the only numbered places.
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
WORD_HOW = 109  # it is counted: BY_ROWS, ..
WORD_BUILD_SLOT = 110
WORD_OTHER_SLOT = 111
WORD_NODES = 112
WORD_LEAVES = 113
WORD_FREE = 114  # free slots
WORD_DRAWN = 115  # rows drawn for this tree
WORD_JOBS = 116  # nodes that are worked on together
WORD_DEPTH = 118  # of a symmetric tree so far
WORD_LABEL = 117  # labels that their children have got
N_WORDS = 128

# WORD_MODE: what the team does besides searching the nodes to be built. It lays out rows, parts a
# large node, or parts and counts nodes ahead of their turn.
PLANTING, SEARCHING, FLAGGING, COLLECTING = range(4)
# WORD_HOW: threads share out columns or rows, or the histogram is there
BY_ROWS, BY_COLUMNS, COUNTED = range(3)

UNKNOWN = 2
MISSING = 255  # code of a missing value
MOST_CUTS = 256  # room for the cuts of a feature
HELD_ROOM = 257  # room for the rows of its cells ...
ALL_HELD = 256  # ... and of all
LINE = 8  # numbers of a thread in arrays of all threads: a cache line of its own
MEMBER_WORDS = 4  # 256 codes
TRAIL = 5  # words: where to look, and the codes that go left
AHEAD = 16  # rows whose codes are fetched ahead of their turn
CHUNK = 4096  # rows that a thread takes at a time
FLUSH_ROWS = 4 * CHUNK  # rows that a tile can hold; lanes are made for as many
# Words per feature in a tile: not a power of two, or equal codes of many features would
# compete for the same places of the cache.
TILE_STRIDE = 257

TABLE_AT = 0
ROWS_AT = width_of(BoostTable)
NODES_AT = width_of(BoostTable, BoostRows)
TEAM_AT = width_of(BoostTable, BoostRows, BoostNodes)
load_table = make_loader(BoostTable)
load_rows = make_loader(BoostRows)
load_nodes = make_loader(BoostNodes)
load_team = make_loader(BoostTeam)
_load_page = make_loader(BoostPage)
_PAGE_WIDTH = width_of(BoostPage)


@part
def page_of(table, page):
    """A page of the table."""
    return _load_page(table.pages, page * _PAGE_WIDTH)

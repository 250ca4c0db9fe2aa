"""What growing a tree works on, as NamedTuples of arrays (pointers inside kernels).

`Problem` is read only. `Rows` is rearranged as nodes split, so that the rows of a node
are always neighbours. `Nodes` holds what is known of each node. A `Desk` is where the
threads that work together on a node agree on it; a `Scratch` belongs to one thread.
"""

from __future__ import annotations

from typing import NamedTuple

from hornbeam.runtime.pointers import F4, F8, I4, I8, U1, U4, U8
from hornbeam.runtime.views import make_loader, width_of


class Problem(NamedTuple):
    """What is to be fitted, and the rules (read only)."""

    bins: U1  # codes[feature * n_rows + row] if they are bytes, see data/coding.py
    ranks: U4  # ... or if they are four bytes wide; the other one is empty
    n_codes: I8  # per feature
    is_category: U1  # per feature: 0, 1, or MANY_CATEGORIES
    search: I8  # per feature: address of the search of kernels/split*.py that it gets
    monotone: I8  # per feature: +1, 0, -1
    borders: F8  # behind each bin, for random cuts: borders[border_start[feature] + code]
    border_start: I8
    places: F8  # where each code lies, for random cuts: places[place_start[feature] + code]
    place_start: I8
    class_start: I8  # classes of output o are class_start[o] .. class_start[o + 1]
    by_row: U1  # the same codes row by row, ROW_STRIDE apart; empty if ROW_STRIDE is 0
    value_at: I8  # per feature: its place in a row of values, -1 if it is not crowded
    narrow_values: F4  # values of crowded columns (data/coding.py), N_CROWDED per row, or ...
    wide_values: F8  # ... if they are eight bytes wide; the other one is empty, or both
    origin: I4  # row in the table of each row of a tile (see kernels/tile.py)
    whole: I8  # settings, numbered below
    real: F8  # settings, numbered below


# Problem.whole
N_ROWS = 0  # of the table
N_FEATURES = 1
BYTES = 2  # codes are bytes
N_LABELS = 3  # labels per row: outputs of a classifier, 0 for a regressor
N_STATS = 4  # statistics per row: weight, then sums and squares per output
N_TOTALS = 5  # statistics per node
N_OUTPUTS = 6
N_CLASSES = 7  # histogram cells per code
MAX_FEATURES = 8
MAX_DEPTH = 9
MIN_SPLIT = 10
MIN_LEAF = 11
MAX_LEAVES = 12
GROWTH = 13
RANDOM_CUTS = 14
CATEGORY_RULE = 15
ROWS_ONLY = 16  # the criterion needs single rows, not cells of a histogram
SCAN = 17  # address of the criterion's scan
SUMMARY = 18  # address of the criterion's summary
SEARCH_NUMBER = 19  # address of the search for number features that have no special one
VALUE_AT = 20  # which node total, divided by the weight, is the value that constraints bound
VALUE_IS_TOTAL = 21  # ... or is the value itself (medians)
CELL_LIMIT = 22
TASK_ROWS = 23  # smaller nodes are put aside: one thread grows them and all below them
KNOWS_CONSTANT = 24  # Nodes.constant is kept
CONSTRAINED = 25  # Nodes.lower and Nodes.upper are kept
CATEGORY_WORDS = 26  # words of the largest category set
THREADS = 27
CAPACITY = 28  # of Nodes and Desk.frontier
SET_CAPACITY = 29  # of Nodes.sets
MAX_CATEGORIES = 30
PLAN = 31  # address of a plan of kernels/features.py
TILED = 32  # the codes are those of a tile, rows are numbered within it
UNIT_WEIGHTS = 33  # every row weighs 1
WHOLE_WEIGHTS = 34  # every weight is a whole number, and none of their sums is rounded
SETTLE = 35  # address of kernels.settle.settle
ORDER = 36  # address of kernels.split.order_entries
SORT = 37  # address of kernels.order.sort_rows
KEEP_SET = 38  # address of kernels.split_categories.keep_category_set
HAND_ON_BOUNDS = 39  # address of kernels.constraints.hand_on_bounds
COUNT_CONSTANT = 40  # a constant feature counts towards MAX_FEATURES
NUMBER_ANEW = 41  # address of kernels.split.number_anew, 0 where it may not be used
ROW_STRIDE = 42  # of by_row, 0 if it is not there (kernels/ranges.py)
PART = 43  # address of a kernel of kernels/part.py
SIFT = 44  # address of kernels.heap.sift
COUNT = 45  # address of kernels.order.count_labels or count_sums
SEARCH_TOGETHER = 46  # address of a search for many features at once, 0 if there is none
LANE_ROWS = 47  # as many rows can a lane of a byte count or weigh
SEARCH_CATEGORY = 48  # address of the search for category features that have no special one
FILL = 49  # address of kernels.split_bins.fill_class_cells
RANDOM_TIES = 50  # equally good splits are told apart by chance, not by their features
LOGS = 51  # the second moment of a value is y log y, not its square
LANE_WIDTH = 52  # lanes of the features of a row: ROW_STRIDE, rounded up to whole vectors
GROW_BLOCK = 53  # address of kernels.block.grow_block, 0 where it may not be used
JUDGE_BLOCK = 54  # address of the criterion's kernel that it calls
PART_GROUPS = 55  # address of kernels.block.part_groups
ROOM_NODES = 56  # how many nodes a thread makes at once
ROOM_SETS = 57  # ... and how many words of category sets
N_CROWDED = 58  # features whose bins hold several values, if these are at hand
WIDE_VALUES = 59  # they are eight bytes wide
TIES = 60  # how features are compared: TIES_EXACT, or how large is what their scores round
SCORE_FORM = 61  # what a score is of a node as a whole
LIST_FROM = 62  # sets of features with more categories are lists of them, not bits
N_WHOLE = 63

# Problem.real
MIN_WEIGHT_LEAF = 0
MIN_DECREASE = 1
TOTAL_WEIGHT = 2
PERFECT_SCORE = 3  # of a split into pure children; infinite if unknown
SCORE_UNIT = 4  # outputs that a score adds up, and an impurity is the mean of
N_REAL = 5

# Problem.is_category: a split must prove itself beyond chance (hornbeam/chance.py)
MANY_CATEGORIES = 2
# SCORE_FORM: minus what the impurity makes of it, what the means explain, or nothing
MINUS_IMPURITY, EXPLAINED, DIFFERENCE = 0, 1, 2
# GROWTH: which node of the frontier is next
DEPTH_FIRST, LEVEL_WISE, BEST_FIRST = 0, 1, 2
GROWTH_CODES = {"depth": DEPTH_FIRST, "level": LEVEL_WISE, "leaf": BEST_FIRST}
# TIES (see kernels/ties.py)
TIES_EXACT, TIES_BY_IMPURITY, TIES_BY_CLASSES, TIES_BY_SQUARES = 0, 1, 2, 3
TIES_BY_DIFFERENCE, TIES_BY_LOGS, TIES_BY_MEDIANS = 4, 5, 6
# CATEGORY_RULE
BEST_SUBSET, ONE_AGAINST_REST, CAUTIOUS, RANDOM_SIDES = 0, 1, 2, 3
CATEGORY_CODES = {
    "subset": BEST_SUBSET,
    "one_vs_rest": ONE_AGAINST_REST,
    "cautious": CAUTIOUS,
    "random": RANDOM_SIDES,
}


class Rows(NamedTuple):
    """Rows in node order, with what the criterion sums carried along."""

    row: I4  # number of the row in the table
    labels: I4  # n_labels per row
    stats: F8  # n_stats per row


class Nodes(NamedTuple):
    """Nodes while the tree grows, numbered as they are made."""

    first: I4  # the node's rows are first .. last in Rows
    last: I4
    depth: I4
    state: U1
    child: I4  # first of two children
    feature: I4
    low_code: I8  # largest code on the left side of a number split, if it is no random cut
    high_code: I8  # smallest code on the right side, -1 if only missing values are there
    low_row: I4  # rows that have these codes
    high_row: I4
    missing_left: U1
    set_start: I8  # first word of the set of a category split
    set_length: I4  # how many words it has: fewer than a bit set if it is a list
    key: U8  # of the node's random numbers: a hash of the path from the root
    weight: F8
    impurity: F8
    gain: F8  # relative gain: (weight / total weight) * decrease of the impurity
    lower: F8  # bounds of the value under monotone constraints
    upper: F8
    threshold: F8  # of a random cut
    totals: F8  # n_totals per node
    constant: U1  # n_features per node: known to have one value in the node
    sets: U8  # bit sets of category splits, or lists of two categories per word


# Nodes.state
UNSEEN, READY, SPLIT, CLOSED = 0, 1, 2, 3


class Desk(NamedTuple):
    """What the threads that search one node together share."""

    words: I8  # layout of runtime/atomics.py, then the words below
    features: I8  # features to search
    frontier: I4  # nodes that wait
    best_score: F8  # the best split each thread has found: one entry per thread ...
    best_feature: I8
    best_cut: I8  # codes up to this one go left
    best_missing_left: I8
    best_threshold: F8
    tie: F8  # by how much the score of another feature must be larger to be better
    member: U1  # ... and MAX_CATEGORIES per thread: the side of each category
    feature_score: F8  # of a large node: the best score of each feature


# Desk.words beyond runtime/atomics.py
WORD_NODE = 41
WORD_FEATURES = 42  # how many features this node offers
WORD_FOUND = 43  # how many of those searched so far were not constant
WORD_HEAD, WORD_TAIL = 44, 45  # of the frontier
WORD_LEAVES = 46
WORD_TASKS = 47  # nodes put aside for single threads
WORD_SETS = 48  # words in use of Nodes.sets
WORD_STATUS = 49
WORD_DRAWN = 50  # how many of the features are searched in the first round
WORD_MORE = 51  # ... and when the present one is over
WORD_FIRST_WINS = 52  # of equally good splits the one found first is kept, as in forests

# WORD_STATUS
DONE, FULL, STOPPED = 0, 1, 2

# sides of a category in Desk.member
ABSENT, LEFT, RIGHT = 0, 1, 2


class Scratch(NamedTuple):
    """Working memory of one thread."""

    keys: U8  # one per row: (code << 32) | entry
    spare_keys: U8
    counters: I8  # radix sort
    cell_sums: F8  # histogram: n_stats per cell
    cell_rows: I4  # per cell
    cell_words: I8  # rows and weight per cell in one word (kernels/split_bins.py)
    occupied: U8  # a bit per code that has a cell in use
    sides: U1  # per code: goes left
    row_sides: U1  # per row of a node: its code, then whether it goes left
    low: U1  # per feature: smallest code of a node, see kernels/ranges.py
    high: U1  # ... largest known code plus 1
    top: U1  # ... largest code
    varies: U1  # ... whether it may have two codes, or one and missing values
    cuts: U1  # per feature: last code below its random cut, see kernels/split_cuts.py
    known_codes: U1  # per feature: the largest code that is not missing
    lane_counts: U1  # per class and feature: rows below the cut, then rows without a value
    lane_rows: I8  # ... in large nodes; or both in one word, see kernels/split_bins.py
    lane_sums: F8  # per statistic and feature: sums below the cut, then of rows without a value
    block_codes: U1  # codes of few rows, feature by feature (kernels/block.py)
    block_values: F8  # values of these rows, crowded feature by crowded feature
    block_stats: F8  # statistics of these rows, one after the other; then their values of y
    block_classes: U8  # per class: a bit for each of these rows that has it, in a node
    block_labels: U8  # ... in all of them
    block_groups: U8  # per category group of a node: its rows; then those on the left
    block_rows: U8  # per node that waits: its rows
    block_nodes: I4  # ... and its number
    labels: I4  # labels of a node's rows, its classes numbered anew
    new_number: I4  # of each class
    class_span: I8  # class_start for these numbers
    entry_labels: I4  # entries made of the cells in use
    entry_stats: F8
    entry_rows: I4
    group_start: I8  # keys of category group g are group_start[g] .. group_start[g + 1]
    group_order: I8
    group_spare: I8
    group_mean: F8
    total: F8  # what the node sums to
    start: F8  # what is on the left before the scan starts (missing values)
    left: F8
    right: F8
    order: F8  # room for order statistics (the absolute error)
    ask: I8  # question and answer of a scan, numbered below
    real: F8  # the same, real numbers
    spare_row: I4  # rows that go right while a node is parted; may share memory with keys
    spare_labels: I4
    spare_stats: F8
    tasks: I4  # nodes put aside for single threads (shared by all)


# Scratch.ask: what a scan or summary is asked ...
ASK_KEYS = 0  # number of keys whose code is not missing
ASK_IN_SPARE = 1  # the keys are in spare_keys
ASK_CELLS = 2  # entries are cells, not rows
ASK_FIRST, ASK_LAST = 3, 4  # the node's rows
ASK_ROWS = 5  # rows in the node
ASK_START_ROWS = 6  # rows on the left before the scan starts
ASK_MIN_LEAF = 7
ASK_MONOTONE = 8
ASK_N_STATS = 9
ASK_N_LABELS = 10
ASK_N_OUTPUTS = 11
ASK_N_TOTALS = 12
# ... and what it answers
ANSWER_KEY = 13  # index of the last key on the left
ANSWER_ROWS = 14  # rows on the left
ASK_ALL_KEYS = 15  # number of keys; those of missing values come last
ASK_WHOLE_WEIGHTS = 16  # weights are whole numbers, so that sums of them are exact
ASK_RANGES = 18  # low, high and top are known
ASK_ANEW = 17  # the node's classes are numbered anew
ASK_UNIT_WEIGHTS = 19  # every row weighs 1
N_ASK = 24

# Scratch.real
ASK_WEIGHT = 0
ASK_START_WEIGHT = 1
ASK_MIN_WEIGHT = 2
ASK_LOWER, ASK_UPPER = 3, 4
ANSWER_WEIGHT = 5  # summary: weight of the rows
ASK_TIE = 6  # by how much the score of another feature must be larger to be better
ASK_WHOLE = 7  # score of a split that changes nothing; only if ASK_OWED is not 0
ASK_OWED = 8  # share of a gain that many categories owe to chance
N_ASK_REAL = 9

# All of them lie one after the other in a thread's slots (runtime/pointers.py).
PROBLEM_AT = 0
ROWS_AT = width_of(Problem)
NODES_AT = width_of(Problem, Rows)
SCRATCH_AT = width_of(Problem, Rows, Nodes)
TEAM_DESK_AT = width_of(Problem, Rows, Nodes, Scratch)
OWN_DESK_AT = width_of(Problem, Rows, Nodes, Scratch, Desk)

load_problem = make_loader(Problem)
load_rows = make_loader(Rows)
load_nodes = make_loader(Nodes)
load_scratch = make_loader(Scratch)
load_desk = make_loader(Desk)

"""What growing a tree works on, as NamedTuples that kernels see by name (runtime/views.py).

`Problem` is read only: the table, the rules, and the kernels that are called by address. `Rows`
is rearranged as nodes split, so that the rows of a node are always neighbours. `Nodes` holds what
is known of each node. A `Desk` is where the threads that work together on a node agree on it; a
`Scratch` belongs to one thread.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from hornbeam.kernels.driver import Crew
from hornbeam.kernels.frontier import Frontier
from hornbeam.kernels.pieces import PageCodes
from hornbeam.runtime.pointers import F8, I4, I8, U1, U8
from hornbeam.runtime.views import (
    Bits,
    Slots,
    StepArray,
    ViewArray,
    make_loader,
    width_of,
    written,
)

# --- kernels that are called by address, so that a fit compiles only what it needs -------


class Search(Protocol):
    """Search the best split of a node on one feature; whether the feature varies there."""

    def __call__(self, slots: Slots, node: int, feature: int, rank: int, desk_at: int) -> bool: ...


class SearchTogether(Protocol):
    """Search many features of a node at once."""

    def __call__(self, slots: Slots, node: int, desk_at: int) -> None: ...


class GrowBlock(Protocol):
    """Grow a node of few rows, and all below it."""

    def __call__(self, slots: Slots, node: int, desk_at: int) -> None: ...


class Scan(Protocol):
    """Walk along the ordered entries of a node; the best score of a cut (see kernels/scan.py)."""

    def __call__(
        self,
        keys: U8,
        labels: I4,
        stats: F8,
        rows: I4,  # per entry
        class_start: I8,
        total: F8,
        start: F8,
        left: F8,
        right: F8,
        order: F8,
        ask: ScanQuestion,
    ) -> float: ...


class Summarise(Protocol):
    """Sum up the rows of a node; its impurity."""

    def __call__(
        self, labels: I4, stats: F8, class_start: I8, total: F8, order: F8, ask: ScanQuestion
    ) -> float: ...


class Plan(Protocol):
    """List the features of a node's next round, after so many that were drawn before."""

    def __call__(self, slots: Slots, node: int, desk_at: int, drawn: int) -> None: ...


class PartRows(Protocol):
    """Bring the rows of a node that go left before the others; where these begin."""

    def __call__(self, slots: Slots, node: int, desk_at: int, rank: int) -> int: ...


class OrderEntries(Protocol):
    """List the entries of a node by their codes; whether the feature varies."""

    def __call__(self, slots: Slots, node: int, feature: int) -> bool: ...


class SortRows(Protocol):
    """Sort some rows by their codes; how many of these are not missing."""

    def __call__(self, slots: Slots, feature: int, first: int, last: int) -> int: ...


class CountCells(Protocol):
    """Count some rows into one cell per code."""

    def __call__(self, slots: Slots, feature: int, first: int, last: int) -> None: ...


class FillCells(Protocol):
    """Fill the cells of a node on a feature whose codes are bytes."""

    def __call__(self, slots: Slots, node: int, feature: int) -> None: ...


class KeepSet(Protocol):
    """Write down which categories of a node go left."""

    def __call__(self, slots: Slots, node: int, rank: int, desk_at: int) -> None: ...


class AboutNode(Protocol):
    """Do something for a node."""

    def __call__(self, slots: Slots, node: int) -> None: ...


class JudgeBlock(Protocol):
    """Judge a split of few rows, each of them a bit; whether it is the best one so far."""

    def __call__(
        self, slots: Slots, feature: int, desk_at: int, here: Bits, left: Bits, missing: Bits
    ) -> bool: ...


class PartGroups(Protocol):
    """Part the categories of few rows at random; how many there are."""

    def __call__(self, slots: Slots, feature: int, node: int, here: Bits, missing: Bits) -> int: ...


class GrowSteps(NamedTuple):
    """The kernels that growing calls; those that a fit does not need are not there."""

    plan: Plan | None
    part: PartRows | None
    summarise: Summarise | None = None
    scan: Scan | None = None
    order: OrderEntries | None = None
    sort: SortRows | None = None
    count_cells: CountCells | None = None
    fill: FillCells | None = None
    search_number: Search | None = None  # for number features that have no special one
    search_category: Search | None = None
    search_together: SearchTogether | None = None
    keep_set: KeepSet | None = None
    hand_on_bounds: AboutNode | None = None
    number_anew: AboutNode | None = None
    grow_block: GrowBlock | None = None
    judge_block: JudgeBlock | None = None
    part_groups: PartGroups | None = None


# --- what is to be fitted ---------------------------------------------------------------


class CriterionSums(NamedTuple):
    """What the criterion sums, and how its scores are to be read."""

    n_labels: int  # labels per row: outputs of a classifier, 0 for a regressor
    n_stats: int  # statistics per row: weight, then sums and squares per output
    n_totals: int  # statistics per node
    n_outputs: int
    n_classes: int  # histogram cells per code
    rows_only: bool  # the criterion needs single rows, not cells of a histogram
    logs: bool  # the second moment of a value is y log y, not its square
    value_at: int  # which node total, divided by the weight, is the value that constraints bound
    value_is_total: bool  # ... or is the value itself (medians)
    score_form: int  # what a score is of a node as a whole
    score_unit: float  # outputs that a score adds up, and an impurity is the mean of
    perfect_score: float  # of a split into pure children; infinite if unknown


class SplitRules(NamedTuple):
    """Which nodes are split, and how."""

    max_features: int
    max_depth: int
    max_leaves: int
    min_split: int
    min_leaf: int
    min_decrease: float
    random_cuts: bool
    category_rule: int
    list_from: int  # sets of features with more categories are lists of them, not bits
    count_constant: bool  # a constant feature counts towards max_features
    random_ties: bool  # equally good splits are told apart by chance, not by their features
    ties: int  # how features are compared: TIES_EXACT, or how large is what their scores round
    constrained: bool  # Nodes.lower and Nodes.upper are kept
    knows_constant: bool  # Nodes.constant is kept


class Weights(NamedTuple):
    """What is known of the weights of a tree's rows."""

    unit: bool  # every row weighs 1
    whole: bool  # every weight is a whole number, and none of their sums is rounded
    lane_rows: int  # as many rows can a lane of a byte count or weigh
    min_leaf: float  # what a leaf must weigh


class GrowRoom(NamedTuple):
    """How much there is room for, and who shares it."""

    nodes: int  # of Nodes and the frontier
    sets: int  # words of Nodes.sets
    nodes_at_once: int  # how many nodes a thread makes at once
    sets_at_once: int  # ... and how many words of category sets
    task_rows: int  # smaller nodes are put aside: one thread grows them and all below them
    cells: int  # of a histogram
    threads: int


class Problem(NamedTuple):
    """What is to be fitted, and the rules (read only)."""

    pages: ViewArray[PageCodes]  # the codes, see kernels/pieces.py: of the table, or of a tile
    n_pages: int
    n_codes: I8  # per feature
    is_category: U1  # per feature: 0, 1, or MANY_CATEGORIES
    search: StepArray[Search]  # per feature: the search of kernels/split*.py that it gets
    monotone: I8  # per feature: +1, 0, -1
    borders: F8  # behind each bin, for random cuts: borders[border_start[feature] + code]
    border_start: I8
    places: F8  # where each code lies, for random cuts: places[place_start[feature] + code]
    place_start: I8
    class_start: I8  # classes of output o are class_start[o] .. class_start[o + 1]
    value_at: I8  # per feature: its place in a row of values, -1 if it is not crowded
    value_pages: ViewArray[PageCodes]  # where values are: pages of the table, also for a tile
    n_value_pages: int
    origin: I4  # row in the table of each row of a tile (see kernels/tile.py)
    n_features: int
    as_bytes: bool  # codes are bytes
    row_stride: int  # of PageCodes.by_row, 0 if it is not there (kernels/ranges.py)
    lane_width: int  # lanes of the features of a row: row_stride, rounded up to whole vectors
    n_crowded: int  # features whose bins hold several values, if these are at hand
    has_wide_values: bool  # they are eight bytes wide
    tiled: bool  # the codes are those of a tile, rows are numbered within it
    category_words: int  # words of the largest category set
    max_categories: int
    sums: CriterionSums
    rules: SplitRules
    weights: Weights
    room: GrowRoom
    steps: GrowSteps


# Problem.is_category: a split must prove itself beyond chance (hornbeam/chance.py)
MANY_CATEGORIES = 2
# SCORE_FORM: minus what the impurity makes of it, what the means explain, or nothing
MINUS_IMPURITY, EXPLAINED, DIFFERENCE = 0, 1, 2
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

    crew: Crew
    words: I8  # of the crew, see below
    frontier: Frontier
    features: I8  # features to search
    best_score: F8  # the best split each thread has found: one entry per thread ...
    best_feature: I8
    best_cut: I8  # codes up to this one go left
    best_missing_left: I8
    best_threshold: F8
    tie: F8  # by how much the score of another feature must be larger to be better
    member: U1  # ... and MAX_CATEGORIES per thread: the side of each category
    feature_score: F8  # of a large node: the best score of each feature


# Desk.words beyond runtime/atomics.py, kernels/frontier.py and kernels/driver.py
WORD_NODE = 43
WORD_FEATURES = 44  # how many features this node offers
WORD_FOUND = 45  # how many of those searched so far were not constant
WORD_LEAVES = 46
WORD_TASKS = 47  # nodes put aside for single threads
WORD_SETS = 48  # words in use of Nodes.sets
WORD_DRAWN = 50  # how many of the features are searched in the first round
WORD_MORE = 51  # ... and when the present one is over
WORD_FIRST_WINS = 52  # of equally good splits the one found first is kept, as in forests

# Sides of a category in Desk.member
ABSENT, LEFT, RIGHT = 0, 1, 2


@written
class ScanQuestion(NamedTuple):
    """What a scan or a summary is asked, and what it answers: a thread's own notes."""

    n_keys: int = 0  # whose code is not missing
    n_all_keys: int = 0  # those of missing values come last
    in_spare: int = 0  # the keys are in spare_keys
    cells: bool = False  # entries are cells, not rows
    has_ranges: bool = False  # low, high and top are known
    anew: bool = False  # the node's classes are numbered anew
    first: int = 0  # the node's rows
    last: int = 0
    n_rows: int = 0  # in the node
    n_stats: int = 0
    n_labels: int = 0
    n_outputs: int = 0
    n_totals: int = 0
    min_leaf: int = 0
    min_weight: float = 0.0
    unit_weights: bool = False
    whole_weights: bool = False  # sums of them are exact
    weight: float = 0.0
    start_rows: int = 0  # on the left before the scan starts
    start_weight: float = 0.0
    monotone: int = 0
    lower: float = 0.0
    upper: float = 0.0
    tie: float = 0.0  # by how much the score of another feature must be larger to be better
    owed: float = 0.0  # share of a gain that many categories owe to chance
    whole_score: float = 0.0  # of a split that changes nothing; only where something is owed
    best_key: int = 0  # answer of a scan: index of the last key on the left ...
    best_rows: int = 0  # ... and rows on the left
    summed_weight: float = 0.0  # answer of a summary


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
    ask: ScanQuestion
    spare_row: I4  # rows that go right while a node is parted; may share memory with keys
    spare_labels: I4
    spare_stats: F8
    tasks: I4  # nodes put aside for single threads (shared by all)


# All of them lie one after the other in a thread's slots (runtime/views.py).
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

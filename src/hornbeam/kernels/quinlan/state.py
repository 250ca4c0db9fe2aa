"""What growing an ID3 or C4.5 tree works on, as NamedTuples (runtime/views.py).

A row whose value is missing goes down every branch with a fraction of its weight. So a
node does not own rows but *entries*: a row, its class, and the weight it has here. The
entries of the nodes that wait are a stack; those of finished leaves lie one leaf after
the other, so that the entries below any node are neighbours.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from hornbeam.kernels.driver import Crew
from hornbeam.kernels.frontier import Frontier
from hornbeam.kernels.pieces import PageCodes
from hornbeam.runtime.pointers import F8, I4, I8, U1, U8
from hornbeam.runtime.views import Slots, ViewArray, make_loader, width_of


class GainOfFeature(Protocol):
    """Note the gain of a node's best split by one feature, if any is allowed."""

    def __call__(self, slots: Slots, node: int, feature: int, first: int, last: int) -> None: ...


class GroupCategories(Protocol):
    """Merge the categories of a node into groups; returns how many these are."""

    def __call__(self, slots: Slots, node: int, feature: int, first: int, last: int) -> int: ...


class SplitNode(Protocol):
    """Split a node; returns how many entries its children have, -1 if there is no room."""

    def __call__(self, slots: Slots, node: int, feature: int, first: int, last: int) -> int: ...


class QuinlanSettings(NamedTuple):
    """What is asked of a split, and of a node that is to be split."""

    by_ratio: bool  # by gain ratio behind the average-gain filter (C4.5), or by gain (ID3)
    is_corrected: bool  # thresholds pay log2(candidates) / n
    with_groups: bool  # categories are merged into groups
    min_leaf: float  # weight that two branches must have
    min_split: float  # weight of a node that may be split
    min_decrease: float  # gain, times the node's share of the weight
    max_depth: int


class QuinlanSteps(NamedTuple):
    """Kernels that are compiled apart."""

    search_number: GainOfFeature | None
    search_category: GainOfFeature | None
    group: GroupCategories | None  # only if there are groups
    split: SplitNode | None


class QuinlanCapacity(NamedTuple):
    """How much there is room for; while a kernel runs nothing grows."""

    nodes: int
    waiting: int  # entries of nodes that wait
    leaves: int  # entries of leaves
    groups: int  # entries of ``branch_of``


class QuinlanTable(NamedTuple):
    """The training rows as codes, and the rules (read only)."""

    n_features: int
    n_classes: int
    root_weight: float
    scale: float  # of fixed-point x * log2(x)
    n_cells: int  # room of a histogram
    n_together: int  # entries x features from which on all threads search a node
    pages: ViewArray[PageCodes]  # the codes: ranks or category numbers (kernels/pieces.py)
    n_pages: int
    n_codes: I8  # per feature, missing not counted
    is_category: U1  # per feature: 0, 1, or MANY_CATEGORIES
    missing_is_branch: U1  # per feature: a missing value is one more category (ID3)
    is_counted: U1  # per feature: whether its gain is part of the average gain
    values: F8  # the distinct values of each number feature, ascending
    value_start: I8
    settings: QuinlanSettings
    capacity: QuinlanCapacity
    steps: QuinlanSteps


# QuinlanTable.is_category: a gain must prove itself beyond chance (hornbeam/chance.py)
MANY_CATEGORIES = 2


class QuinlanNodes(NamedTuple):
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
    counts: F8  # weight per class: counts[node * n_classes + class]
    branch_of: I4


class QuinlanEntries(NamedTuple):
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


class QuinlanFound(NamedTuple):
    """What the crew shares, and what the search has found per feature."""

    crew: Crew
    words: I8  # of the crew, see below
    frontier: Frontier  # the nodes on the stack
    gain: F8  # below 0: no split of this feature is allowed
    unproven: F8  # gain of categories that explain no more than chance, where nothing else gains
    info: F8  # entropy of the split itself
    cut: I8


# QuinlanFound.words beyond runtime/atomics.py, kernels/frontier.py and kernels/driver.py
WORD_NODE = 43
WORD_NODES = 44
WORD_STACK = 45
WORD_LEAVES = 46
WORD_GROUPS = 47
WORD_FULL = 48
NODES_FULL, STACK_FULL, LEAVES_FULL, GROUPS_FULL = 1, 2, 3, 4  # WORD_FULL


class QuinlanScratch(NamedTuple):
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


GROUPS = (QuinlanTable, QuinlanNodes, QuinlanEntries, QuinlanFound, QuinlanScratch)
TABLE_AT, NODES_AT, ENTRIES_AT, FOUND_AT, SCRATCH_AT = (
    width_of(*GROUPS[:number]) for number in range(len(GROUPS))
)
load_table = make_loader(QuinlanTable)
load_nodes = make_loader(QuinlanNodes)
load_entries = make_loader(QuinlanEntries)
load_found = make_loader(QuinlanFound)
load_scratch = make_loader(QuinlanScratch)

MISSING_CODE = 2**32 - 1
MOST_GROUPED = 128  # categories of a node that are merged pair by pair

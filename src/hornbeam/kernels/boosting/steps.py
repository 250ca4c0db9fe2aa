"""Steps of growing a boosted tree: kernels called by address, and what each takes and returns.

A fit compiles those that it needs (see ADR 009). ``which`` is 0 for the node that is counted and
1 for its sibling, ``rank`` the thread, and ``size`` the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from hornbeam.runtime.views import Slots


class LayOutRows(Protocol):
    """Draw the rows of a tree, pack their slopes and add them up, with all threads."""

    def __call__(self, slots: Slots, size: int, rank: int) -> None: ...


class MakeRoot(Protocol):
    """Make the root of all drawn rows."""

    def __call__(self, slots: Slots, size: int) -> None: ...


class PlanBuild(Protocol):
    """Set the stage for counting a node and for what remains of its parent."""

    def __call__(self, slots: Slots, size: int) -> None: ...


class ChooseFeatures(Protocol):
    """Mark the features that a node may ask."""

    def __call__(self, slots: Slots, node: int, which: int) -> None: ...


class CountShared(Protocol):
    """Count a node's rows with all threads, each into a histogram of its own."""

    def __call__(self, slots: Slots, node: int, rank: int) -> None: ...


class CountColumns(Protocol):
    """Make a node's histogram for the columns ``place`` to ``place_end``."""

    def __call__(
        self, slots: Slots, node: int, slot: int, place: int, place_end: int, rank: int
    ) -> None: ...


class CountApart(Protocol):
    """Make a node's histogram in a slot with all threads, to be searched later."""

    def __call__(self, slots: Slots, node: int, slot: int, size: int, rank: int) -> None: ...


class Collect(Protocol):
    """Part and count the nodes that come next, with all threads."""

    def __call__(self, slots: Slots, size: int, rank: int) -> None: ...


class AddShared(Protocol):
    """Add up the histograms of all threads for one feature."""

    def __call__(self, slots: Slots, slot: int, feature: int, size: int) -> None: ...


class EmptyShared(Protocol):
    """Add a feature of a shared column to a histogram, and clear it in the tile."""

    def __call__(
        self, slots: Slots, at: int, base: int, feature: int, kept: int, counted: bool
    ) -> None: ...


class FillDefault(Protocol):
    """Give the cell of a feature that is not counted what remains of the node."""

    def __call__(self, slots: Slots, node: int, slot: int, feature: int) -> None: ...


class CountHeld(Protocol):
    """Count the rows of a node in each cell of a feature, for one thread."""

    def __call__(self, slots: Slots, node: int, feature: int, rank: int) -> None: ...


class SearchFeatures(Protocol):
    """Search the drawn features ``first`` to ``last`` for the best split of a node."""

    def __call__(
        self, slots: Slots, which: int, slot: int, first: int, last: int, rank: int
    ) -> None: ...


class SearchFeature(Protocol):
    """Search one feature for the best split of a node."""

    def __call__(self, slots: Slots, which: int, slot: int, feature: int, rank: int) -> None: ...


class MarkSides(Protocol):
    """Note to which side each code of a column goes at a node's split."""

    def __call__(self, slots: Slots, node: int) -> None: ...


class PrepareSparse(Protocol):
    """Write out the column of a split; False if a child would have too few rows."""

    def __call__(self, slots: Slots, node: int, size: int) -> bool: ...


class PartTogether(Protocol):
    """Part the rows of a node with all threads."""

    def __call__(self, slots: Slots, node: int, size: int, rank: int) -> None: ...


class SettleSplit(Protocol):
    """Make the children of a node, or send it back if one would have too few rows."""

    def __call__(self, slots: Slots, node: int, n_left: int, size: int) -> None: ...


class ForgetLeaves(Protocol):
    """Note that no row's leaf is known, with all threads."""

    def __call__(self, slots: Slots) -> None: ...


class WalkRows(Protocol):
    """Find the leaves of the rows ``start`` to ``stop`` that were not drawn."""

    def __call__(self, slots: Slots, start: int, stop: int) -> None: ...


class BoostSteps(NamedTuple):
    """The steps of a fit; None is what it does not need."""

    lay_out_rows: LayOutRows | None = None
    make_root: MakeRoot | None = None
    plan_build: PlanBuild | None = None
    choose_features: ChooseFeatures | None = None
    count_shared: CountShared | None = None
    count_columns: CountColumns | None = None
    add_shared: AddShared | None = None
    count_apart: CountApart | None = None  # where nodes are counted ahead of their turn
    collect: Collect | None = None
    empty_shared: EmptyShared | None = None
    fill_default: FillDefault | None = None
    count_held: CountHeld | None = None  # None: the rows of a side are judged by its hessian
    search_features: SearchFeatures | None = None
    search_bound: SearchFeature | None = None
    search_category: SearchFeature | None = None
    mark_sides: MarkSides | None = None
    prepare_sparse: PrepareSparse | None = None
    part_together: PartTogether | None = None
    settle: SettleSplit | None = None
    forget_leaves: ForgetLeaves | None = None
    walk_rows: WalkRows | None = None

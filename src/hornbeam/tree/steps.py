"""Which kernels a tree needs, and where they are.

Growing calls them by address, so that only what a fit needs is compiled, by two processes at
once where much of it is new (`runtime.companion`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hornbeam.criteria import Criterion
from hornbeam.data.coding import Codes
from hornbeam.dtypes import MAX_BINS, Array
from hornbeam.kernels import state as s
from hornbeam.kernels.block import (
    GROUPS_SIGNATURE,
    JUDGE_SIGNATURE,
    grow_block,
    part_groups,
    part_value_groups,
)
from hornbeam.kernels.constraints import BOUNDS_SIGNATURE, hand_on_bounds
from hornbeam.kernels.features import PLAN_SIGNATURE, plan_all, plan_drawn
from hornbeam.kernels.grow import EXPAND_SIGNATURE, expand
from hornbeam.kernels.heap import SIFT_SIGNATURE, sift
from hornbeam.kernels.lanes import BLOCK_LANES
from hornbeam.kernels.order import SORT_SIGNATURE, sort_rows
from hornbeam.kernels.part import PART_SIGNATURE, part_labelled, part_moments, part_rows
from hornbeam.kernels.scan import SCAN_SIGNATURE, SUMMARY_SIGNATURE
from hornbeam.kernels.settle import SETTLE_SIGNATURE, settle
from hornbeam.kernels.split import (
    NUMBER_SIGNATURE,
    ORDER_SIGNATURE,
    SEARCH_SIGNATURE,
    TOGETHER_SIGNATURE,
    number_anew,
    order_entries,
    search_number,
)
from hornbeam.kernels.split_bins import FILL_SIGNATURE, fill_class_cells
from hornbeam.kernels.split_categories import (
    KEEP_SIGNATURE,
    keep_category_set,
    search_category,
    search_random_category,
    search_single_category,
)
from hornbeam.kernels.split_random import search_random_number
from hornbeam.runtime.companion import Kernel, compile_all
from hornbeam.runtime.kernel import address_of
from hornbeam.tree.rules import WARY, GrowthRules

# Cells of a histogram that still live in the second-level cache.
CELL_LIMIT = 1 << 15


def usual_kernels(as_bytes: bool, classes: bool, draws: bool, random_cuts: bool) -> list[Kernel]:
    """What a fit will probably need, so that compiling can begin before the data are read."""
    plan = plan_drawn if draws or (as_bytes and random_cuts) else plan_all
    part = _part_kernel(as_bytes, 1 if classes else 0, 0 if classes else 3)
    kernels = [
        (expand, EXPAND_SIGNATURE),
        (settle, SETTLE_SIGNATURE),
        (plan, PLAN_SIGNATURE),
        (part, PART_SIGNATURE),
    ]
    if not as_bytes:
        search = search_random_number if random_cuts else search_number
        kernels += [
            (sort_rows, SORT_SIGNATURE),
            (order_entries, ORDER_SIGNATURE),
            (search, SEARCH_SIGNATURE),
        ]
    elif classes and random_cuts:
        kernels.append((grow_block, TOGETHER_SIGNATURE))
    elif classes:
        kernels.append((fill_class_cells, FILL_SIGNATURE))
    return kernels


def category_kernels(random_cuts: bool, category_split: str) -> list[Kernel]:
    """What a fit will need besides if the data have categories."""
    search = general_category_search(random_cuts, category_split)
    return [(keep_category_set, KEEP_SIGNATURE), (search, SEARCH_SIGNATURE)]


def choose_searches(
    codes: Codes, whole: Array, criterion: Criterion, rules: GrowthRules
) -> tuple[list[Any], Array]:
    """The kernels that search features, and which of them searches each one."""
    number = _number_search(criterion, rules, whole)
    pair = number
    if number is criterion.bins_search and criterion.pair_search is not None:
        pair = criterion.pair_search
    kernels = (number, pair, _category_search(criterion, rules, _is_special(number)))
    kind = np.where(codes.is_category != 0, 2, codes.n_codes == 2)
    kinds, which = np.unique(kind, return_inverse=True)
    return [kernels[place] for place in kinds], which


def choose_steps(
    codes: Codes, whole: Array, criterion: Criterion, rules: GrowthRules, searches: list[Any]
) -> dict[int, Kernel]:
    """The other kernels, by the place of their address in ``Problem.whole``."""
    number = _number_search(criterion, rules, whole)
    classes, n_totals = whole[s.N_LABELS] > 0, whole[s.N_TOTALS]
    has_categories = bool(codes.is_category.any())  # also if all of them are missing: no codes
    draws = whole[s.ROW_STRIDE] > 0 or rules.draws(len(codes.n_codes))
    part = _part_kernel(bool(whole[s.BYTES]), int(whole[s.N_LABELS]), int(whole[s.N_STATS]))
    steps: dict[int, Kernel] = {
        s.SUMMARY: (criterion.summary, SUMMARY_SIGNATURE),
        s.SETTLE: (settle, SETTLE_SIGNATURE),
        s.SEARCH_NUMBER: (number, SEARCH_SIGNATURE),
        s.PLAN: (plan_drawn if draws else plan_all, PLAN_SIGNATURE),
        s.PART: (part, PART_SIGNATURE),
    }
    if whole[s.GROWTH] == s.BEST_FIRST:
        steps[s.SIFT] = (sift, SIFT_SIGNATURE)
    if rules.monotone is not None:
        steps[s.HAND_ON_BOUNDS] = (hand_on_bounds, BOUNDS_SIGNATURE)
    if grows_blocks(criterion, rules, codes, whole):
        steps[s.GROW_BLOCK] = (grow_block, TOGETHER_SIGNATURE)
        steps[s.JUDGE_BLOCK] = (criterion.block_judge, JUDGE_SIGNATURE)
        if has_categories:
            steps[s.PART_GROUPS] = (part_groups if classes else part_value_groups, GROUPS_SIGNATURE)
    if not _is_special(number):
        steps |= _ordered_steps(criterion)
    elif classes:
        known = criterion.perfect_score == 0.0  # a user's criterion may tell classes apart
        if known and n_totals > 2 and not has_categories:
            steps[s.NUMBER_ANEW] = (number_anew, NUMBER_SIGNATURE)
        if has_categories or not rules.random_cuts:
            steps[s.FILL] = (fill_class_cells, FILL_SIGNATURE)
    if has_categories:
        steps[s.KEEP_SET] = (keep_category_set, KEEP_SIGNATURE)
        # the special search of the best split leaves more than two classes to the general one
        special = _special_category_search(criterion, rules)
        if special not in searches or (classes and n_totals > 2 and not rules.random_cuts):
            steps |= general_category_steps(criterion, rules)
    return steps


def set_addresses(whole: Array, steps: dict[int, Kernel], searches: Sequence[Any] = ()) -> None:
    """Compile what is new, all at once, and note where the steps are."""
    of_features = [(search, SEARCH_SIGNATURE) for search in searches]
    compile_all([(expand, EXPAND_SIGNATURE), *of_features, *steps.values()])
    for place, step in steps.items():
        whole[place] = address_of(*step)


def _number_search(criterion: Criterion, rules: GrowthRules, whole: Array) -> Any:
    """The kernel that searches a number feature: the most special one that applies."""
    special = criterion.cut_search if rules.random_cuts else criterion.bins_search
    few_cells = (MAX_BINS + 1) * whole[s.N_CLASSES] <= CELL_LIMIT
    if special is not None and whole[s.BYTES] and whole[s.N_OUTPUTS] == 1 and few_cells:
        return special
    return search_random_number if rules.random_cuts else search_number


def _is_special(search: Any) -> bool:
    return search not in (search_number, search_random_number)


def _category_search(criterion: Criterion, rules: GrowthRules, special: bool) -> Any:
    """The kernel that searches a category feature; ``special`` as that of numbers may be."""
    search = _special_category_search(criterion, rules)
    if special and rules.category_split in WARY and search is not None:
        return search
    return general_category_search(rules.random_cuts, rules.category_split)


def _special_category_search(criterion: Criterion, rules: GrowthRules) -> Any:
    return criterion.random_category_search if rules.random_cuts else criterion.category_search


def general_category_search(random_cuts: bool, category_split: str) -> Any:
    """The kernel that searches a category feature by the rule of a tree."""
    if random_cuts:
        return search_random_category
    return search_single_category if category_split == "one_vs_rest" else search_category


def _ordered_steps(criterion: Criterion) -> dict[int, Kernel]:
    """What searches need that bring the rows of a node into the order of a feature."""
    return {
        s.SCAN: (criterion.scan, SCAN_SIGNATURE),
        s.SORT: (sort_rows, SORT_SIGNATURE),
        s.ORDER: (order_entries, ORDER_SIGNATURE),
    }


def general_category_steps(criterion: Criterion, rules: GrowthRules) -> dict[int, Kernel]:
    """What a tree needs whose categories cannot be searched by the criterion's own kernel."""
    search = general_category_search(rules.random_cuts, rules.category_split)
    return _ordered_steps(criterion) | {s.SEARCH_CATEGORY: (search, SEARCH_SIGNATURE)}


def search_together(criterion: Criterion, rules: GrowthRules, problem: s.Problem) -> Any:
    """The kernel that searches many features of a node at once, None if there is none."""
    if not _may_search_together(rules, problem.whole):
        return None
    if rules.random_cuts:
        return criterion.cuts_search
    pairs = (problem.n_codes == 2) & (problem.is_category == 0)
    return criterion.pairs_search if np.count_nonzero(pairs) > 1 else None


def grows_blocks(criterion: Criterion, rules: GrowthRules, codes: Codes, whole: Array) -> bool:
    """Whether nodes of few rows may be grown with all below them (kernels/block.py)."""
    usual = rules.random_cuts and rules.monotone is None and rules.growth != "leaf"
    wary = rules.category_split in WARY or not codes.is_category.any()
    # Blocks round sums of values otherwise than the loop, which may grow small nodes, too, where
    # several threads share a tree. Only forests, with one thread a tree, have the values.
    same = criterion.summed == "classes" or codes.values is not None
    return bool(
        usual
        and same
        and wary
        and rules.min_samples_split <= BLOCK_LANES
        and criterion.block_judge is not None
        and _may_search_together(rules, whole)
    )


def _may_search_together(rules: GrowthRules, whole: Array) -> bool:
    """Whether a kernel may search many features of a node at once."""
    few_cells = whole[s.N_CLASSES] <= CELL_LIMIT // (MAX_BINS + 1)
    single = whole[s.N_OUTPUTS] == 1
    return bool(whole[s.ROW_STRIDE] and not rules.count_constant and single and few_cells)


def _part_kernel(as_bytes: bool, n_labels: int, n_stats: int) -> Any:
    """The kernel that parts the rows of a node: the most special one that applies."""
    if as_bytes and n_labels == 1:
        return part_labelled
    if as_bytes and n_labels == 0 and n_stats == 3:
        return part_moments
    return part_rows

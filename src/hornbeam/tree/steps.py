"""Which kernels a tree needs.

Growing calls them by address, so that only what a fit needs is compiled, by two processes at
once where much of it is new (`runtime.companion`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hornbeam.criteria import Criterion
from hornbeam.data.coding import Codes
from hornbeam.dtypes import MAX_BINS, Array
from hornbeam.kernels import state as s
from hornbeam.kernels.block import grow_block, part_groups, part_value_groups
from hornbeam.kernels.constraints import hand_on_bounds
from hornbeam.kernels.driver import DriverSteps, driver_kernels
from hornbeam.kernels.features import plan_all, plan_drawn
from hornbeam.kernels.frontier import ORDERS
from hornbeam.kernels.grow import search_node, take_node
from hornbeam.kernels.lanes import BLOCK_LANES
from hornbeam.kernels.order import sort_rows
from hornbeam.kernels.part import part_labelled, part_moments, part_rows
from hornbeam.kernels.settle import settle_node
from hornbeam.kernels.split import number_anew, order_entries, search_number
from hornbeam.kernels.split_bins import fill_class_cells
from hornbeam.kernels.split_categories import (
    keep_category_set,
    search_category,
    search_random_category,
    search_single_category,
)
from hornbeam.kernels.split_random import search_random_number
from hornbeam.runtime.companion import Kernel, compile_all
from hornbeam.runtime.views import StepArray, declared_signatures
from hornbeam.tree.rules import WARY, GrowthRules

# Cells of a histogram that still live in the second-level cache.
CELL_LIMIT = 1 << 15
TURN = DriverSteps(take=take_node, scan=search_node, settle=settle_node)


def usual_kernels(as_bytes: bool, classes: bool, draws: bool, random_cuts: bool) -> list[Kernel]:
    """What a fit will probably need, so that compiling can begin before the data are read."""
    plan = plan_drawn if draws or (as_bytes and random_cuts) else plan_all
    steps = [plan, _part_kernel(as_bytes, 1 if classes else 0, 0 if classes else 3)]
    if not as_bytes:
        steps += [sort_rows, order_entries, search_random_number if random_cuts else search_number]
    elif classes:
        steps.append(grow_block if random_cuts else fill_class_cells)
    return [*driver_kernels(TURN), *declared_signatures(steps)]


def category_kernels(random_cuts: bool, category_split: str) -> list[Kernel]:
    """What a fit will need besides if the data have categories."""
    return declared_signatures(
        [keep_category_set, general_category_search(random_cuts, category_split)]
    )


def with_steps(
    problem: s.Problem, codes: Codes, criterion: Criterion, rules: GrowthRules
) -> s.Problem:
    """Give a problem the kernels that it needs; compile those that are new, all at once."""
    searches, which = choose_searches(codes, problem, criterion, rules)
    steps = choose_steps(codes, problem, criterion, rules, searches)
    compile_steps((*searches, *steps))
    return problem._replace(search=StepArray(searches, which), steps=steps)


def compile_steps(steps: Iterable[Any]) -> None:
    """Compile those of some kernels that are new, all at once, and the driver."""
    chosen = [step for step in steps if step is not None]
    compile_all([*driver_kernels(TURN), *declared_signatures(chosen)])


def choose_searches(
    codes: Codes, problem: s.Problem, criterion: Criterion, rules: GrowthRules
) -> tuple[list[Any], Array]:
    """The kernels that search features, and which of them searches each one."""
    number = _number_search(criterion, rules, problem)
    pair = number
    if number is criterion.bins_search and criterion.pair_search is not None:
        pair = criterion.pair_search
    kernels = (number, pair, _category_search(criterion, rules, _is_special(number)))
    kind = np.where(codes.is_category != 0, 2, codes.n_codes == 2)
    kinds, which = np.unique(kind, return_inverse=True)
    return [kernels[place] for place in kinds], which


def choose_steps(
    codes: Codes,
    problem: s.Problem,
    criterion: Criterion,
    rules: GrowthRules,
    searches: Sequence[Any],
) -> s.GrowSteps:
    """The other kernels."""
    number = _number_search(criterion, rules, problem)
    classes, n_totals = problem.sums.n_labels > 0, problem.sums.n_totals
    has_categories = bool(codes.is_category.any())  # also if all of them are missing: no codes
    draws = problem.row_stride > 0 or rules.draws(len(codes.n_codes))
    steps: dict[str, Any] = {
        "plan": plan_drawn if draws else plan_all,
        "part": _part_kernel(problem.as_bytes, problem.sums.n_labels, problem.sums.n_stats),
        "summarise": criterion.summary,
        "search_number": number,
    }
    if rules.monotone is not None:
        steps["hand_on_bounds"] = hand_on_bounds
    if grows_blocks(criterion, rules, codes, problem):
        steps["grow_block"], steps["judge_block"] = grow_block, criterion.block_judge
        if has_categories:
            steps["part_groups"] = part_groups if classes else part_value_groups
    if not _is_special(number):
        steps |= _ordered_steps(criterion)
    elif classes:
        known = criterion.perfect_score == 0.0  # a user's criterion may tell classes apart
        if known and n_totals > 2 and not has_categories:
            steps["number_anew"] = number_anew
        if has_categories or not rules.random_cuts:
            steps["fill"] = fill_class_cells
    if has_categories:
        steps["keep_set"] = keep_category_set
        # the special search of the best split leaves more than two classes to the general one
        special = _special_category_search(criterion, rules)
        if special not in searches or (classes and n_totals > 2 and not rules.random_cuts):
            steps |= general_category_steps(criterion, rules)
    return s.GrowSteps(**steps)


def _number_search(criterion: Criterion, rules: GrowthRules, problem: s.Problem) -> Any:
    """The kernel that searches a number feature: the most special one that applies."""
    special = criterion.cut_search if rules.random_cuts else criterion.bins_search
    few_cells = (MAX_BINS + 1) * problem.sums.n_classes <= CELL_LIMIT
    if special is not None and problem.as_bytes and problem.sums.n_outputs == 1 and few_cells:
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


def _ordered_steps(criterion: Criterion) -> dict[str, Any]:
    """What searches need that bring the rows of a node into the order of a feature."""
    return {"scan": criterion.scan, "sort": sort_rows, "order": order_entries}


def general_category_steps(criterion: Criterion, rules: GrowthRules) -> dict[str, Any]:
    """What a tree needs whose categories cannot be searched by the criterion's own kernel."""
    search = general_category_search(rules.random_cuts, rules.category_split)
    return _ordered_steps(criterion) | {"search_category": search}


def search_together(criterion: Criterion, rules: GrowthRules, problem: s.Problem) -> Any:
    """The kernel that searches many features of a node at once, None if there is none."""
    if not _may_search_together(rules, problem):
        return None
    if rules.random_cuts:
        return criterion.cuts_search
    pairs = (problem.n_codes == 2) & (problem.is_category == 0)
    return criterion.pairs_search if np.count_nonzero(pairs) > 1 else None


def grows_blocks(
    criterion: Criterion, rules: GrowthRules, codes: Codes, problem: s.Problem
) -> bool:
    """Whether nodes of few rows may be grown with all below them (kernels/block.py)."""
    usual = rules.random_cuts and rules.monotone is None and not ORDERS[rules.growth].by_gain
    wary = rules.category_split in WARY or not codes.is_category.any()
    # Blocks round sums of values otherwise than the loop, which may grow small nodes, too, where
    # several threads share a tree. Only forests, with one thread a tree, have the values.
    same = criterion.summed == "classes" or codes.pages.codes[0].values is not None
    return bool(
        usual
        and same
        and wary
        and rules.min_samples_split <= BLOCK_LANES
        and criterion.block_judge is not None
        and _may_search_together(rules, problem)
    )


def _may_search_together(rules: GrowthRules, problem: s.Problem) -> bool:
    """Whether a kernel may search many features of a node at once."""
    few_cells = problem.sums.n_classes <= CELL_LIMIT // (MAX_BINS + 1)
    single = problem.sums.n_outputs == 1
    return bool(problem.row_stride and not rules.count_constant and single and few_cells)


def _part_kernel(as_bytes: bool, n_labels: int, n_stats: int) -> Any:
    """The kernel that parts the rows of a node: the most special one that applies."""
    if as_bytes and n_labels == 1:
        return part_labelled
    if as_bytes and n_labels == 0 and n_stats == 3:
        return part_moments
    return part_rows

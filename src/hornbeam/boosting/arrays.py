"""What the kernels of boosting work on, made from a coded table and the rules of growing."""

from __future__ import annotations

from typing import Any

import numpy as np

from hornbeam.boosting.defaults import LEAF
from hornbeam.boosting.listed_table import ListedLayout, ListedTable
from hornbeam.boosting.rules import BoostRules, draws_features, is_plain
from hornbeam.boosting.table import CodedTable, DenseLayout, row_stride
from hornbeam.data.pages import Page
from hornbeam.data.sparse_coding import SparseCodes
from hornbeam.dtypes import Array
from hornbeam.kernels.boosting import state as s
from hornbeam.kernels.boosting.steps import BoostSteps
from hornbeam.kernels.driver import Crew, DriverSteps
from hornbeam.kernels.frontier import Frontier, new_frontier
from hornbeam.kernels.state import CATEGORY_CODES
from hornbeam.runtime.views import make_slots, new_arrays

_UNLIMITED = 2**31 - 1


def make_table(
    table: CodedTable,
    pages: list[s.BoostPage],
    rules: BoostRules,
    max_leaves: int,
    n_slots: int,
    steps: BoostSteps,
) -> s.BoostTable:
    """The table and the rules as kernels read them; ``pages`` must be kept as long."""
    codes, n_features, column = table.codes, table.n_features, table.column_of_feature
    monotone = np.zeros(n_features) if rules.monotone is None else rules.monotone[column]
    groups = np.zeros(0) if rules.groups is None else rules.groups[:, column]
    default = codes.zero_code if isinstance(codes, SparseCodes) else table.bundles.default
    shape = s.BoostShape(
        n_rows=table.n_rows,
        n_pages=len(pages),
        first_row=0,
        n_features=n_features,
        stride=row_stride(table.bundles.n_columns),
        n_columns=table.bundles.n_columns,
        n_cells=table.n_cells,
        n_groups=0 if rules.groups is None else len(rules.groups),
        n_slots=n_slots,
        most_nodes=2 * max_leaves,
        is_sparse=isinstance(codes, SparseCodes),
        is_listed=isinstance(table, ListedTable),
        has_draw_weights=rules.feature_weight is not None,
    )
    settings = s.BoostSettings(
        max_depth=_UNLIMITED if rules.max_depth is None else rules.max_depth,
        max_leaves=max_leaves,
        min_leaf=max(1, rules.min_samples_leaf),
        category_rule=CATEGORY_CODES[rules.category_split],
        is_plain=is_plain(rules),
        draws_rows=rules.sampling.draws,
        draws_features=draws_features(rules),
        ahead=rules.ahead,
        is_part=False,
        alpha=rules.reg_alpha,
        min_hessian=rules.min_child_weight,
        min_gain=rules.min_split_gain,
        max_step=rules.max_delta_step,
        category_lambda=rules.category_l2,
        category_smooth=rules.category_smooth,
        category_limit=_UNLIMITED if rules.category_limit is None else rules.category_limit,
        category_rows=float(rules.category_rows),
    )
    return s.BoostTable(
        pages=make_slots(*pages),
        border=table.pages.border,
        column=np.ascontiguousarray(table.bundles.column, np.int64),
        is_shared=table.bundles.is_shared,
        offset=table.bundles.offset,
        width=table.bundles.width,
        n_codes=codes.n_codes,
        cell_start=table.cell_start,
        is_category=codes.is_category,
        monotone=np.ascontiguousarray(monotone, np.int64),
        groups=np.ascontiguousarray(groups, np.uint8).ravel(),
        draw_number=np.ascontiguousarray(draw_numbers(table, rules), np.int64),
        draw_weight=draw_weights(table, rules),
        default=np.ascontiguousarray(default, np.int32),
        shape=shape,
        rules=settings,
        steps=steps,
    )


def draw_numbers(table: CodedTable, rules: BoostRules) -> Array:
    """The number by which each feature is drawn: the same in whatever order the columns are."""
    of_column = rules.draw_number
    column, n_features = table.column_of_feature, table.n_features
    if of_column is None or n_features == len(of_column):
        return np.arange(n_features) if of_column is None else of_column
    # the first feature of each column has its number, and the others come behind all of these
    first = np.arange(n_features) < len(of_column)
    numbers: Array = np.empty(n_features, np.int64)
    numbers[np.lexsort((of_column[column], ~first))] = np.arange(n_features)
    return numbers


def draw_weights(table: CodedTable, rules: BoostRules) -> Array:
    """How likely each feature is drawn, as its column is; empty if all are alike."""
    if rules.feature_weight is None:
        return np.zeros(0)
    weights: Array = rules.feature_weight[table.column_of_feature]
    return weights


def make_pages(table: CodedTable) -> list[s.BoostPage]:
    """The pages of a table as kernels read them."""
    return [_make_page(page) for page in table.pages]


def _make_page(page: Page[Any]) -> s.BoostPage:
    layout, arrays = page.codes, {}
    if isinstance(layout, ListedLayout):
        arrays = {"rank": layout.rank, "column_start": layout.column_start}
        arrays["column_row"] = layout.column_row
    elif isinstance(layout, DenseLayout):
        arrays = {"by_row": layout.by_row.ravel(), "by_column": layout.by_column.ravel()}
    else:
        names = ("column_start", "column_row", "column_code")
        arrays = {name: getattr(layout.codes, name) for name in names}
        arrays |= {"entry_start": layout.entry_start, "entry_cell": layout.entry_cell}
    missing = [name for name in s.BoostPage._fields[2:] if name not in arrays]
    made: s.BoostPage = new_arrays(
        s.BoostPage, dict.fromkeys(missing, 0), start=page.start, n_rows=page.n_rows, **arrays
    )
    return made


def new_nodes(shape: s.BoostShape, most: int, **lengths: int) -> s.BoostNodes:
    """Room for so many nodes; ``lengths`` are of arrays that are longer or shorter than usual."""
    usual = dict.fromkeys(s.BoostNodes._fields, most)
    usual |= dict.fromkeys(("first", "last", "middle"), most * shape.n_pages)
    usual |= {"member": most * s.MEMBER_WORDS, "groups": most * shape.n_groups, "trail": 0}
    nodes: s.BoostNodes = new_arrays(s.BoostNodes, usual | lengths)
    return nodes


def new_team(
    turn: DriverSteps | None = None,
    frontier: Frontier | None = None,
    searchers: int = 0,
    **lengths: int,
) -> s.BoostTeam:
    """What threads share, with arrays of these lengths; ``searchers`` of them look for splits.

    Those that grow trees have a turn and a frontier.
    """
    words = np.zeros(s.N_WORDS, np.int64)
    views = ("crew", "words", "frontier", "searched", "best")
    names = [name for name in s.BoostTeam._fields if name not in views]
    room = s.LINE * searchers
    team: s.BoostTeam = new_arrays(
        s.BoostTeam,
        dict.fromkeys(names, 0) | lengths,
        crew=Crew(words, DriverSteps() if turn is None else turn),
        words=words,
        frontier=new_frontier(LEAF, 0) if frontier is None else frontier,
        searched=new_arrays(s.BoostSearched, dict.fromkeys(s.BoostSearched._fields, room)),
        best=new_arrays(
            s.BoostBest,
            dict.fromkeys(s.BoostBest._fields, room) | {"member": room * s.MEMBER_WORDS},
        ),
    )
    return team

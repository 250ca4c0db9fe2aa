"""Send the rows of a table down the trees of a forest, from as many threads as pay."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from hornbeam.dtypes import NODE, Array
from hornbeam.kernels.forest import (
    FEW_ROWS,
    MOST_ANSWERED,
    WALKERS,
    Forest,
    ForestTask,
    WalkRoom,
    predict_forest,
)
from hornbeam.runtime.team import thread_count
from hornbeam.runtime.views import make_slots, remembered_slots
from hornbeam.tree.predict import Cells, Outputs, cells_of, check_width, send_down
from hornbeam.tree.sets import SharedCodes

# Rows that one call of the kernel is given. The more, the more often a node is used again
# while it is in the cache, and the fewer times a tree is copied, as long as the keys of the rows
# stay in the last-level cache. A thread has as many calls as the other threads.
_LEAST_ROWS, _MOST_ROWS = 256, 1 << 16
_BLOCK_BYTES = 1 << 23
# So many nodes of a tree are copied, at most, for each row that walks on the copy: more where
# the tree asks for sets, since the copy spares looking them up.
_NODES_PER_ROW = {"numbers": 10, "sets": 40}
_SECONDS_PER_STEP = 3e-9
_SECONDS_PER_VALUE = 5e-10


class Walks:
    """A forest made ready for prediction; safe to share by threads."""

    def __init__(self, forest: Forest, n_values: int, codes: SharedCodes) -> None:
        self.forest = forest
        self.codes = codes
        self._coded_columns = codes.columns[codes.columns < forest.n_asked]
        self.n_columns = forest.n_asked  # that a table must have
        self.n_values = n_values
        self.slots = make_slots(forest)
        self.n_trees = len(forest.root) - 1
        of_one_word = bool(np.all(np.diff(forest.set_start) == 1))
        largest = forest.set_words.max(initial=0)
        self._copyable = of_one_word and int(largest) >> MOST_ANSWERED == 0
        steps = 1.5 * np.log2(np.diff(forest.root) + 1)
        self._seconds = steps * _SECONDS_PER_STEP + n_values * _SECONDS_PER_VALUE
        self._own = threading.local()

    def run(
        self,
        matrix: Any,
        n_jobs: int | None,
        first: int,
        last: int,
        scores: Array | None = None,
        nodes: Array | None = None,
        checked: bool = True,
        bags: Array | None = None,
        votes: Array | None = None,
    ) -> bool:
        """Add to scores, or fill in nodes; False if an infinite value was met.

        Where ``bags`` (rows, trees first:last) is not 0 a row is left out; ``votes`` counts
        the trees that it was not left out of.
        """
        check_width(matrix.shape[1], self.n_columns)
        n_all, coded = matrix.shape[0], len(self._coded_columns) > 0
        if n_all <= FEW_ROWS and type(matrix) is np.ndarray and bags is None and not coded:
            cells = cells_of(matrix)  # a row takes seven microseconds, with no time for more
            return self._walk(cells, 0, n_all, first, last, checked, scores, nodes, None, None)
        seconds_per_row = float(self._seconds[first:last].sum())
        itemsize = _KEY_BYTES.get(matrix.dtype.char, 8)

        def chunk_rows(n_rows: int) -> int:
            if n_rows <= FEW_ROWS:
                return FEW_ROWS
            n_threads = thread_count(n_jobs, n_rows * seconds_per_row)
            most = _BLOCK_BYTES // (itemsize * max(1, self.n_columns))
            most = min(max(most, _LEAST_ROWS), _MOST_ROWS)
            per_thread = -(-n_rows // (n_threads * most))
            return max(-(-n_rows // (n_threads * per_thread)), _LEAST_ROWS)

        def walk(cells: Cells, first_row: int, last_row: int, outputs: Outputs) -> bool:
            return self._walk(cells, first_row, last_row, first, last, checked, *outputs)

        outputs = (scores, nodes, bags, votes)
        prepare = self._coded if coded else None
        return send_down(matrix, walk, outputs, n_jobs, seconds_per_row, chunk_rows, prepare)

    def _walk(
        self,
        cells: Cells,
        first_row: int,
        last_row: int,
        first: int,
        last: int,
        checked: bool,
        scores: Array | None,
        nodes: Array | None,
        bags: Array | None,
        votes: Array | None,
    ) -> bool:
        """Send neighbouring rows down the trees ``first:last``."""
        flat, n_rows, itemsize = cells[0], last_row - first_row, cells[0].itemsize
        n_values = 0 if scores is None else self.n_values
        flat_scores = _NO_SCORES if scores is None else scores.reshape(-1)
        flat_nodes = _NO_NODES if nodes is None else nodes.reshape(-1)
        flat_bags = _NO_BAGS if bags is None else np.ascontiguousarray(bags.T).reshape(-1)
        own = self._own_room()
        usual = (*cells[1:], checked, n_values, first, last)
        if n_rows <= FEW_ROWS and bags is None:  # no block is made of so few
            task = remembered_slots(ForestTask, *usual, first_row, last_row, FEW_ROWS)
            block = _NO_BLOCK[itemsize]
        else:
            n_nodes = self.forest.root[last] - self.forest.root[first]
            per_row = _NODES_PER_ROW["sets" if self.forest.has_sets else "numbers"]
            copied = self._copyable and n_nodes <= per_row * n_rows * (last - first)
            full = ForestTask(
                *usual,
                first_row=first_row,
                last_row=last_row,
                width=n_rows,
                with_bags=bags is not None,
                n_rows=0 if bags is None else len(bags),
                is_copied=copied,
                largest_key=np.iinfo(_KEYS[itemsize]).max,
            )
            task = make_slots(full)
            n_keys = 2 * max(1, self.n_columns) * n_rows if copied else 0
            block = np.empty(n_keys, _KEYS[itemsize])
        finite: bool = predict_forest(
            flat, self.slots, task, block, own.slots, flat_scores, flat_nodes, flat_bags,
            _NO_NODES if votes is None else votes,
        )  # fmt: skip
        return finite

    def _coded(self, matrix: Array) -> Array:
        """The table with codes in the place of categories that share them."""
        return self.codes.coded(matrix, self._coded_columns)

    def _own_room(self) -> _OwnRoom:
        """The working memory of this thread."""
        own: _OwnRoom | None = getattr(self._own, "room", None)
        if own is None:
            most = max(_MOST_ROWS, self.n_trees)
            n_copied = int(np.diff(self.forest.root).max()) if self._copyable else 0
            lengths = 3 * WALKERS, most, most, 2 * n_copied
            walkers, goals, ended, words = (np.zeros(length, np.int64) for length in lengths)
            room = WalkRoom(walkers, goals, ended, words, words.view(np.float64))
            own = self._own.room = _OwnRoom(room, make_slots(room))
        return own


class _OwnRoom(NamedTuple):
    """Working memory of one thread.

    Whoever runs a kernel on the slots holds the arrays, too: when the interpreter ends it clears
    what belongs to threads, also to one that is in a kernel at that time.
    """

    arrays: WalkRoom
    slots: Array


_NO_SCORES, _NO_NODES, _NO_BAGS = np.empty(0), np.empty(0, NODE), np.empty(0, np.uint8)
_KEYS: dict[int, type[np.signedinteger[Any]]] = {4: np.int32, 8: np.int64}  # by bytes of a value
_KEY_BYTES = {"f": 4}  # by type of a value, 8 of all others
_NO_BLOCK = {size: np.empty(0, key) for size, key in _KEYS.items()}

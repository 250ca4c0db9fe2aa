"""Send the rows of a table down the trees of a forest, from as many threads as pay."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from hornbeam.dtypes import NODE, Array
from hornbeam.kernels.forest import (
    FEW_ROWS,
    MOST_ANSWERED,
    WALKERS,
    Forest,
    ForestTask,
    WalkRoom,
    code_categories,
    predict_forest,
)
from hornbeam.runtime.team import run_parallel, thread_count
from hornbeam.runtime.views import make_slots, remembered_slots

# Rows that one call of the kernel is given. The more, the more often a node is used again
# while it is in the cache, and the fewer times a tree is copied, as long as the keys of the rows
# stay in the last-level cache. A thread has as many calls as the other threads.
_LEAST_ROWS, _MOST_ROWS = 256, 1 << 16
_BLOCK_BYTES = 1 << 23
# So many nodes of a tree are copied, at most, for each row that walks on the copy: more where
# the tree asks for sets, since the copy spares looking them up.
_NODES_PER_ROW = {"numbers": 10, "sets": 40}
_DENSE_BYTES = 1 << 23  # rows of a sparse matrix are made dense in pieces of this size
_CODED_BYTES = 1 << 24  # ... and categories become codes in pieces of this size
_SECONDS_PER_STEP = 3e-9
_SECONDS_PER_VALUE = 5e-10


class SharedCodes(NamedTuple):
    """Codes of categories, which sets of some columns are over (see `ForestStore`)."""

    columns: Array
    code_start: Array
    code_of_category: Array


class Walks:
    """A forest made ready for prediction; safe to share by threads."""

    def __init__(self, forest: Forest, n_values: int, codes: SharedCodes | None) -> None:
        self.forest = forest
        self.codes = codes
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
        is_coded: bool = False,
    ) -> bool:
        """Add to scores, or fill in nodes; False if an infinite value was met.

        Where ``bags`` (trees first:last, rows) is not 0 a row is left out; ``votes`` counts
        the trees that it was not left out of. A table that ``is_coded`` is dense and has codes
        in the place of categories that share them.
        """
        n_rows, n_columns = matrix.shape
        if n_columns < self.n_columns:
            raise ValueError(
                f"the table has {n_columns} columns, but the trees ask for column "
                f"{self.n_columns - 1}: give all the columns of the training table"
            )
        if (self.codes is not None and not is_coded) or scipy.sparse.issparse(matrix):
            return self._run_in_pieces(
                matrix, n_jobs, first, last, scores, nodes, checked, bags, votes
            )
        matrix = _plain(matrix)
        size = matrix.itemsize
        row_step, column_step = matrix.strides[0] // size, matrix.strides[1] // size
        n_values = 0 if scores is None else self.n_values
        flat = matrix.ravel(order="K")
        flat_scores = _NO_SCORES if scores is None else scores.reshape(-1)
        flat_nodes = _NO_NODES if nodes is None else nodes.reshape(-1)
        flat_bags = _NO_BAGS if bags is None else bags.reshape(-1)
        votes = _NO_NODES if votes is None else votes
        if n_rows <= FEW_ROWS and bags is None:  # no block is made of so few
            no_block, own = _NO_BLOCK[size], self._own_room()
            few = remembered_slots(
                ForestTask, row_step, column_step, n_columns, checked, n_values, first, last, 0,
                n_rows, FEW_ROWS,
            )  # fmt: skip
            finite: bool = predict_forest(
                flat, self.slots, few, no_block, own.slots, flat_scores, flat_nodes, flat_bags,
                votes,
            )  # fmt: skip
            return finite
        seconds = n_rows * float(self._seconds[first:last].sum())
        n_threads = thread_count(n_jobs, seconds)
        n_asked = max(1, self.n_columns)
        most = min(max(_BLOCK_BYTES // (size * n_asked), _LEAST_ROWS), _MOST_ROWS)
        per_thread = -(-n_rows // (n_threads * most))
        width = max(-(-n_rows // (n_threads * per_thread)), _LEAST_ROWS)
        n_chunks = -(-n_rows // width)
        n_nodes = self.forest.root[last] - self.forest.root[first]
        per_row = _NODES_PER_ROW["sets" if self.forest.has_sets else "numbers"]
        copied = self._copyable and n_nodes <= per_row * min(width, n_rows) * (last - first)
        task = ForestTask(
            row_step=row_step,
            column_step=column_step,
            n_columns=n_columns,
            is_checked=checked,
            n_values=n_values,
            first_tree=first,
            last_tree=last,
            first_row=0,
            last_row=n_rows,
            width=width,
            with_bags=bags is not None,
            n_rows=n_rows,
            is_copied=copied,
            largest_key=np.iinfo(_KEYS[size]).max,
        )
        all_finite = np.ones(n_chunks, bool)

        def predict(chunk: int) -> None:
            first_row = chunk * width
            part = task._replace(first_row=first_row, last_row=min(n_rows, first_row + width))
            block = np.empty(2 * n_asked * width if copied else 0, _KEYS[size])
            own = self._own_room()
            all_finite[chunk] = predict_forest(
                flat, self.slots, make_slots(part), block, own.slots, flat_scores, flat_nodes,
                flat_bags, votes,
            )  # fmt: skip

        run_parallel(predict, n_chunks, n_jobs, seconds)
        return bool(all_finite.all())

    def _run_in_pieces(
        self,
        matrix: Any,
        n_jobs: int | None,
        first: int,
        last: int,
        scores: Array | None,
        nodes: Array | None,
        checked: bool,
        bags: Array | None,
        votes: Array | None,
    ) -> bool:
        """As `run`; each piece is made dense, and its categories become codes."""
        is_sparse = scipy.sparse.issparse(matrix)
        matrix = matrix.tocsr() if is_sparse else matrix
        n_rows, n_columns = matrix.shape
        step = max(1, (_DENSE_BYTES if is_sparse else _CODED_BYTES) // (8 * max(1, n_columns)))
        for start in range(0, n_rows, step):
            rows = slice(start, start + step)
            some = [None if array is None else array[rows] for array in (scores, nodes, votes)]
            some_bags = None if bags is None else np.ascontiguousarray(bags[:, rows])
            piece = self._coded(matrix[rows].toarray() if is_sparse else matrix[rows])
            rest = some[0], some[1], checked, some_bags, some[2]
            if not self.run(piece, n_jobs, first, last, *rest, is_coded=True):
                return False
        return True

    def _coded(self, matrix: Array) -> Array:
        """The table with codes in the place of categories that share them."""
        if self.codes is None:
            return matrix
        coded = np.array(matrix)
        row_step, column_step = (stride // coded.itemsize for stride in coded.strides)
        code_categories(coded.ravel("K"), row_step, column_step, len(coded), *self.codes)
        return coded

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
_NO_BLOCK = {size: np.empty(0, key) for size, key in _KEYS.items()}


def _plain(matrix: Array) -> Array:
    """The matrix as the kernels are compiled for, which spares compiling them for others."""
    flags = matrix.flags
    contiguous = flags.c_contiguous or flags.f_contiguous
    return matrix if contiguous and flags.aligned and flags.writeable else matrix.copy()

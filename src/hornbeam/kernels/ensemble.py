"""Send rows down many trees.

A small tree is not walked at all. Its leaves are numbered from left to right and each gets
a bit; a row that goes right at a node cannot end in the leaves on the left of that node,
so their bits are cleared. After all nodes the lowest bit that is left is the row's leaf
(Lucchese et al. 2015, "QuickScorer"). No step depends on the one before it, so a node is
asked of a vector of rows at once, with two instructions and no indirect access::

    bits &= keep[node] if x[column[node]] > cut[node] else all

A tree of more than 32 leaves has several chunks of 32 bits. A tree of very many leaves, or
with a multiway split, is walked.

Rows are handled in blocks that are copied, column by column, to where they stay in the
cache while all trees look at them: ``block[column * width + lane]`` is a value of a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import int64, types, uint32, uint64
from numba.extending import intrinsic

from hornbeam.dtypes import PLANE, THRESHOLD, WORD_BITS
from hornbeam.kernels.traverse import (
    FEATURE_MASK,
    LANES,
    branch_of_category,
    holds_infinite,
    walk_in_step,
)
from hornbeam.runtime.atomics import trailing_zeros
from hornbeam.runtime.kernel import inlined, kernel, part
from hornbeam.runtime.pointers import F8, I4, I8, U1, U4, U8, bare, data_of
from hornbeam.runtime.views import make_loader

CHUNK_BITS = 32
ALL_BITS = 2**32 - 1
GROUP = 16  # rows of a block are padded to a multiple of this
_WIDE_GROUP = 64

# How the leaf of a row is found, for each tree.
BY_BITS, BY_STEPS, BY_QUESTIONS = 0, 1, 2


class Packed(NamedTuple):
    """Trees made ready for prediction (read only)."""

    n_trees: int
    n_used: int  # columns of a block
    n_values: int  # of a leaf
    by_row: bool  # the values of a row lie side by side in a block: all is walked by questions
    # one entry per tree
    method: U1
    first_chunk: I8  # and one more at the end
    root: I8  # number of its first node
    first_leaf: I8
    score: I8  # which score its first value is added to
    # one entry per leaf, left to right: its number in its own tree, and what it predicts
    node_of_leaf: I4
    value: F8
    # which column of the table each column of a block is
    used: I4
    # questions of a chunk, three runs: missing goes left, missing goes right, category sets
    span: I8  # where the runs of chunk c begin: span[3 * c]; the end of all at the end
    keep: U4
    column: I4
    node: I4
    # one entry per node; threshold and link are two views of 16 bytes (see kernels/traverse)
    threshold: F8  # where categories are asked: how many are known
    link: I4
    missing: I4  # branch of a missing value
    kind: U1
    leaf_of_node: I4
    set_start: I8
    set_words: U8
    # the terms of the planes, node by node, and the end
    first_term: I8
    term_column: I4
    term_weight: F8
    term_missing: F8


class EnsembleTask(NamedTuple):
    """What a call is about: which rows of the table go down which trees."""

    row_step: int  # table[row * row_step + column * column_step]
    column_step: int
    n_columns: int
    is_checked: bool  # for infinite values
    n_scores: int  # of a row; 0: the leaves are asked for
    first_tree: int
    last_tree: int
    first_row: int
    last_row: int
    width: int  # rows of a block


load_packed, load_task = make_loader(Packed), make_loader(EnsembleTask)


def _make_sift(n_vectors: int, n_lanes: int) -> Any:
    """An intrinsic that clears the bits of ``n_vectors * n_lanes`` rows of a block.

    It is written in vectors by hand because the bits then stay in registers while the
    nodes pass by; a compiled loop would load and store them for every node.
    """

    @intrinsic
    def sift(
        typing_context: Any, block: Any, cuts: Any, keep: Any, column: Any, bits: Any,
        width: Any, lane: Any, first: Any, middle: Any, last: Any,
    ) -> Any:  # fmt: skip
        """``first:middle`` are nodes where missing goes left, ``middle:last`` right."""
        signature = types.void(block, cuts, keep, column, bits, *5 * [types.int64])

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pointers = [
                data_of(context, builder, kind, value)
                for kind, value in zip(sig.args[:5], args[:5], strict=True)
            ]
            width, lane, first, middle, last = args[5:]
            vectors = _Vectors(builder, pointers, n_lanes, n_vectors, width, lane)
            rest = [vectors.all_bits] * n_vectors
            rest = vectors.ask(first, middle, rest, builder.fcmp_ordered)
            rest = vectors.ask(middle, last, rest, builder.fcmp_unordered)
            vectors.store(rest)
            return context.get_dummy_value()

        return signature, generate

    return sift


class _Vectors:
    """Builds the instructions of `sift`."""

    def __init__(
        self, builder: Any, pointers: Any, n_lanes: int, n_vectors: int, width: Any, lane: Any
    ) -> None:
        self.builder, self.n_lanes, self.n_vectors = builder, n_lanes, n_vectors
        self.block, self.cuts, self.keep, self.column, self.target = pointers
        self.width, self.lane = width, lane
        self.bits = ir.VectorType(ir.IntType(32), n_lanes)
        self.values = ir.VectorType(self.block.type.pointee, n_lanes)
        self.value_bytes = 4 if isinstance(self.block.type.pointee, ir.FloatType) else 8
        self.all_bits = ir.Constant(self.bits, [-1] * n_lanes)

    def ask(self, first: Any, last: Any, bits: list[Any], compare: Any) -> list[Any]:
        """A loop over nodes; returns the bits that are left."""
        builder, word = self.builder, ir.IntType(64)
        before = builder.block
        test, body, after = (builder.append_basic_block(name) for name in ("test", "ask", "asked"))
        builder.branch(test)
        builder.position_at_end(test)
        node = builder.phi(word)
        left = [builder.phi(self.bits) for _ in bits]
        builder.cbranch(builder.icmp_signed("<", node, last), body, after)
        builder.position_at_end(body)
        cut = self._spread(self._element(self.cuts, node), self.values)
        keep = self._spread(self._element(self.keep, node), self.bits)
        column = builder.sext(self._element(self.column, node), word)
        start = builder.add(builder.mul(column, self.width), self.lane)
        kept = []
        for number, now in enumerate(left):
            values = builder.load(self._place(self.block, start, number, self.values))
            values.align = self.value_bytes
            right = compare(">", values, cut)
            kept.append(builder.and_(now, builder.select(right, keep, self.all_bits)))
        node.add_incoming(first, before)
        node.add_incoming(builder.add(node, ir.Constant(word, 1)), body)
        for now, old, new in zip(left, bits, kept, strict=True):
            now.add_incoming(old, before)
            now.add_incoming(new, body)
        builder.branch(test)
        builder.position_at_end(after)
        return left

    def store(self, bits: list[Any]) -> None:
        """Write the bits of all rows."""
        for number, vector in enumerate(bits):
            place = self._place(self.target, self.lane, number, self.bits)
            self.builder.store(vector, place).align = 4

    def _element(self, pointer: Any, index: Any) -> Any:
        return self.builder.load(self.builder.gep(pointer, [index]))

    def _place(self, pointer: Any, start: Any, number: int, kind: Any) -> Any:
        index = self.builder.add(start, ir.Constant(start.type, number * self.n_lanes))
        return self.builder.bitcast(self.builder.gep(pointer, [index]), kind.as_pointer())

    def _spread(self, value: Any, kind: Any) -> Any:
        """A vector of copies of one value."""
        word = ir.IntType(32)
        one = self.builder.insert_element(
            ir.Constant(kind, ir.Undefined), value, ir.Constant(word, 0)
        )
        zeros = ir.Constant(ir.VectorType(word, self.n_lanes), [0] * self.n_lanes)
        return self.builder.shuffle_vector(one, one, zeros)


_sift = _make_sift(1, GROUP)
_sift_wide = _make_sift(2, _WIDE_GROUP // 2)


@part
def fill_block(values, task, packed, start, end, block):
    """Copy the columns that the trees ask, for the rows from start to end."""
    row_step, column_step, width = task.row_step, task.column_step, task.width
    if packed.by_row:
        for lane in range(end - start):
            for column in range(packed.n_used):
                place = (start + lane) * row_step + int64(packed.used[column]) * column_step
                block[lane * packed.n_used + column] = values[place]
        return
    for column in range(packed.n_used):
        first = start * row_step + int64(packed.used[column]) * column_step
        for lane in range(end - start):
            block[column * width + lane] = values[first + lane * row_step]


@part
def sift_sets(packed, block, width, n_lanes, first, last, bits):
    """Clear bits at the nodes of a chunk that ask for categories."""
    for question in range(first, last):
        node = int64(packed.node[question])
        words = packed.set_start[node]
        keep = packed.keep[question]
        column = int64(packed.column[question]) * width
        missing_left = uint64(1 - packed.missing[node])
        if packed.set_start[node + 1] - words == 1:  # LLVM makes vectors of this loop
            word = packed.set_words[words]
            for lane in range(n_lanes):
                x = block[column + lane]
                known = (x >= 0) & (x < WORD_BITS)
                left = (word >> uint64(x)) & uint64(1) if known else missing_left
                bits[lane] &= uint32(ALL_BITS) if left != 0 else keep
        else:
            limit = packed.threshold[2 * node]
            for lane in range(n_lanes):
                x = block[column + lane]
                known = (x >= 0) & (x < limit)
                category = uint64(x) if known else uint64(0)
                word = packed.set_words[words + int64(category >> uint64(6))]
                left = (word >> (category & uint64(63))) & uint64(1) if known else missing_left
                bits[lane] &= uint32(ALL_BITS) if left != 0 else keep


@part
def find_by_bits(packed, cuts, tree, block, width, n_lanes, bits, leaves):
    """Leaf of each row of a block, by clearing the bits of leaves that cannot be."""
    first, last = packed.first_chunk[tree], packed.first_chunk[tree + 1]
    for chunk in range(last - 1, first - 1, -1):
        begin, middle = packed.span[3 * chunk], packed.span[3 * chunk + 1]
        sets, end = packed.span[3 * chunk + 2], packed.span[3 * chunk + 3]
        lane = 0
        while lane + _WIDE_GROUP <= n_lanes:
            _sift_wide(
                block, cuts, packed.keep, packed.column, bits, width, lane, begin, middle, sets
            )
            lane += _WIDE_GROUP
        while lane < n_lanes:
            _sift(block, cuts, packed.keep, packed.column, bits, width, lane, begin, middle, sets)
            lane += GROUP
        if sets < end:
            sift_sets(packed, block, width, n_lanes, sets, end, bits)
        base = (chunk - first) * CHUNK_BITS
        if chunk == last - 1:
            for lane in range(n_lanes):
                leaves[lane] = uint32(base + trailing_zeros(uint64(bits[lane])))
        else:  # a leaf in a lower chunk wins
            for lane in range(n_lanes):
                if bits[lane] != 0:
                    leaves[lane] = uint32(base + trailing_zeros(uint64(bits[lane])))


@part
def find_by_steps(packed, tree, block, width, n_lanes, leaves):
    """Leaf of each row of a block, walking; for trees with thresholds only."""
    root = packed.root[tree]
    for group in range(0, n_lanes, LANES):
        walk_in_step(
            block, group, 1, width, LANES, packed.threshold, packed.link, root, leaves, group
        )
    for lane in range(n_lanes):
        leaves[lane] = packed.leaf_of_node[int64(leaves[lane])]


@inlined
def beyond_plane(packed, node, block, origin, step):
    """Whether the weighted sum of a node's terms is above its threshold (0 or 1)."""
    total = 0.0
    for term in range(packed.first_term[node], packed.first_term[node + 1]):
        x = block[origin + int64(packed.term_column[term]) * step]
        total += packed.term_weight[term] * x if x == x else packed.term_missing[term]
    return int64(total > packed.threshold[2 * node])


@part
def find_by_questions(packed, tree, block, width, n_rows, leaves):
    """Leaf of each row of a block, walking; for every kind of split."""
    step = 1 if packed.by_row else width
    for lane in range(n_rows):
        origin = lane * packed.n_used if packed.by_row else lane
        node = packed.root[tree]
        target = int64(packed.link[4 * node + 2])
        while target != node:
            kind = packed.kind[node]
            if kind == PLANE:
                branch = beyond_plane(packed, node, block, origin, step)
            else:
                x = block[origin + int64(packed.link[4 * node + 3] & FEATURE_MASK) * step]
                branch = int64(packed.missing[node])
                threshold = packed.threshold[2 * node]
                if kind == THRESHOLD:
                    branch = int64(x > threshold) if x == x else branch
                elif x >= 0 and x < threshold:
                    first, last = packed.set_start[node], packed.set_start[node + 1]
                    branch = branch_of_category(
                        kind, packed.set_words, first, last, branch, int64(x)
                    )
            node = target + branch
            target = int64(packed.link[4 * node + 2])
        leaves[lane] = packed.leaf_of_node[node]


@part
def add_values(packed, tree, leaves, n_rows, start, n_scores, scores):
    """Add what the leaves of a tree predict to the scores of a block's rows."""
    n_values = packed.n_values
    first = packed.first_leaf[tree] * n_values
    place = start * n_scores + packed.score[tree]
    if n_scores == 1:
        for lane in range(n_rows):
            scores[place + lane] += packed.value[first + int64(leaves[lane])]
    elif n_values == 1:
        for lane in range(n_rows):
            scores[place + lane * n_scores] += packed.value[first + int64(leaves[lane])]
    else:
        for lane in range(n_rows):
            leaf = first + int64(leaves[lane]) * n_values
            for number in range(n_values):
                scores[place + lane * n_scores + number] += packed.value[leaf + number]


@kernel
def predict_rows(values, cuts, slots, task, block, bits, leaves, scores, nodes):
    """Add what the trees predict to ``scores``, or put leaves into ``nodes``.

    ``values`` is the table and ``cuts`` the thresholds of the chunks, in the same type;
    ``task`` is the slots of an `EnsembleTask`; ``block``, ``bits`` and ``leaves``
    are room for a block of rows. Returns False if a value is infinite and that is checked.
    """
    packed, task = load_packed(slots, 0), load_task(task, 0)
    table, cuts, block, bits, leaves = (
        bare(values),
        bare(cuts),
        bare(block),
        bare(bits),
        bare(leaves),
    )
    scores, nodes = bare(scores), bare(nodes)
    width, n_scores, n_trees = task.width, task.n_scores, packed.n_trees
    for start in range(task.first_row, task.last_row, width):
        end = min(start + width, task.last_row)
        if task.is_checked and holds_infinite(
            values, task.row_step, task.column_step, task.n_columns, start, end
        ):
            return False
        fill_block(table, task, packed, start, end, block)
        n_rows = end - start
        n_lanes = (n_rows + GROUP - 1) // GROUP * GROUP
        for tree in range(task.first_tree, task.last_tree):
            method = packed.method[tree]
            if method == BY_BITS:
                find_by_bits(packed, cuts, tree, block, width, n_lanes, bits, leaves)
            elif method == BY_STEPS:
                find_by_steps(packed, tree, block, width, n_lanes, leaves)
            else:
                find_by_questions(packed, tree, block, width, n_rows, leaves)
            if n_scores != 0:
                add_values(packed, tree, leaves, n_rows, start, n_scores, scores)
            else:
                first = packed.first_leaf[tree]
                for lane in range(n_rows):
                    leaf = first + int64(leaves[lane])
                    nodes[(start + lane) * n_trees + tree] = packed.node_of_leaf[leaf]
    return True

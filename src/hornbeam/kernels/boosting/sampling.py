"""Draw the rows of a tree, each with a probability of its own, and weigh them by one over it.

What rows are drawn is a function of the seed of the tree, their numbers in the whole table and
their slopes: threads, chunks and pages change nothing. Rows fall into cells by a key that their
slopes give them, and the rows of a cell are drawn alike::

    key of a row, as float32:   exponent (8 bits)   mantissa (23 bits)
    its cell:                   ---------- the first 15 bits ---------

so that keys of one cell differ by less than 1 in 128, and one pass counts the rows of all cells.
Who draws (boosting/sampling.py) then says for each cell, of all hashes, which share draws a row.

Slopes are weighed before they are rounded to integers, so sums of integers stay exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import float32, float64, int64, types, uint64

from hornbeam.kernels.boosting.partition import (
    end_of_chunk,
    note_drawn,
    page_of_laid_out,
    sum_counts,
)
from hornbeam.kernels.boosting.state import (
    CHUNK,
    LINE,
    NODES_AT,
    ROWS_AT,
    TABLE_AT,
    TEAM_AT,
    WORD_COUNTS,
    WORD_FLAGS,
    WORD_MOVES,
    load_nodes,
    load_rows,
    load_table,
    load_team,
)
from hornbeam.kernels.slopes import bits_of_single
from hornbeam.runtime.atomics import STOP, atomic_add, atomic_load, barrier
from hornbeam.runtime.kernel import kernel, part
from hornbeam.runtime.pointers import F4, F8, I8, bare
from hornbeam.runtime.random import derive
from hornbeam.runtime.views import ViewArray, make_loader

# What the key of a row is: none, |g h|, or the root of g^2 + lambda h^2; of several scores summed.
NO_KEY, PRODUCT, NORM = range(3)
HASH_BITS = 31  # of a row's hash, which is below the limit of its cell if the row is drawn
_CELL_SHIFT = 16
N_CELLS = 1 << (31 - _CELL_SHIFT)
WHOLE_BITS = 30  # of a slope in the sums that lambda is made of


class ScoreSlopes(NamedTuple):
    """The slopes of one of the scores that trees are grown for together."""

    slope: F4  # gradient and hessian of row i: slope[2 * i], and the next


class RowSample(NamedTuple):
    """How the rows of a tree are drawn."""

    slopes: ViewArray[ScoreSlopes]
    n_scores: int
    key: int
    reweighs: bool  # otherwise all drawn rows count alike
    keeps_weights: bool  # the weights of rows are asked for later
    limit: I8  # of each cell: rows with smaller hashes are drawn ...
    weight: F8  # ... and their slopes are multiplied with this
    counts: I8  # per thread: rows in each cell
    sums: I8  # per thread, at [LINE * rank]: |gradients| and hessians as whole numbers
    peak: F8  # per thread, at [LINE * rank]: the largest of both after they are weighed
    row_weight: F8  # of each drawn row, if they are kept
    penalty: float = 0.0  # lambda of the key
    gradient_scale: float = 1.0  # what makes whole numbers of slopes
    hessian_scale: float = 1.0


load_sample = make_loader(RowSample)


@part
def add_to_key(sample, slope, row):
    """What one score adds to the key of a row, or to its square."""
    gradient, hessian = float64(slope[2 * row]), float64(slope[2 * row + 1])
    if sample.key == PRODUCT:
        return abs(gradient * hessian)
    return gradient * gradient + sample.penalty * hessian * hessian


@part
def cell_of(sample, row):
    """The cell that a row falls into by its key."""
    total = add_to_key(sample, sample.slopes[0].slope, row)  # as a rule it is the only one
    for k in range(1, sample.n_scores):
        total += add_to_key(sample, sample.slopes[k].slope, row)
    if sample.key == NORM:
        total = math.sqrt(total)
    return int64(bits_of_single(float32(total))) >> _CELL_SHIFT


@kernel
def sum_slopes(slots, sample_slots, rank):
    """Add up |gradients| and hessians of all rows and scores as whole numbers."""
    slots, sample_slots = bare(slots), bare(sample_slots)
    n_rows, words = load_table(slots, TABLE_AT).shape.n_rows, load_team(slots, TEAM_AT).words
    sample = load_sample(sample_slots, 0)
    gradients, hessians = int64(0), int64(0)
    while True:
        start = CHUNK * atomic_add(words, WORD_COUNTS, 1)
        if start >= n_rows or atomic_load(words, STOP) != 0:
            break
        for k in range(sample.n_scores):
            slope = sample.slopes[k].slope
            for row in range(start, end_of_chunk(start, n_rows)):
                gradients += int64(np.rint(abs(slope[2 * row]) * sample.gradient_scale))
                hessians += int64(np.rint(abs(slope[2 * row + 1]) * sample.hessian_scale))
    sample.sums[LINE * rank] = gradients
    sample.sums[LINE * rank + 1] = hessians


@kernel
def count_cells(slots, sample_slots, rank):
    """Count the rows of each cell."""
    slots, sample_slots = bare(slots), bare(sample_slots)
    n_rows, words = load_table(slots, TABLE_AT).shape.n_rows, load_team(slots, TEAM_AT).words
    sample, own = load_sample(sample_slots, 0), N_CELLS * rank
    while True:
        start = CHUNK * atomic_add(words, WORD_COUNTS, 1)
        if start >= n_rows or atomic_load(words, STOP) != 0:
            return
        for row in range(start, end_of_chunk(start, n_rows)):
            sample.counts[own + cell_of(sample, row)] += 1


@part
def draw_chunk(table, rows, sample, start, stop):
    """List the drawn rows of a chunk in the other buffer; returns how many there are."""
    n_rows, first_row, seed = table.shape.n_rows, table.shape.first_row, table.draw.seed
    first = place = n_rows + start
    limit, by_key = sample.limit[0], sample.key != NO_KEY
    for row in range(start, stop):
        if by_key:
            limit = sample.limit[cell_of(sample, row)]
        rows.row[place] = row  # without a branch: the next row takes its place if it is not drawn
        place += int64(derive(seed, first_row + row) >> uint64(64 - HASH_BITS)) < limit
    return place - first


@part
def weigh_row(sample, row, peak):
    """Weigh the slopes of a drawn row; returns the largest ones so far."""
    weight = sample.weight[cell_of(sample, row)]
    top_gradient, top_hessian = peak
    for k in range(sample.n_scores):
        slope = sample.slopes[k].slope
        slope[2 * row] = gradient = float32(slope[2 * row] * weight)
        slope[2 * row + 1] = hessian = float32(slope[2 * row + 1] * weight)
        top_gradient = max(top_gradient, abs(float64(gradient)))
        top_hessian = max(top_hessian, float64(hessian))
    if sample.keeps_weights:
        sample.row_weight[row] = weight
    return top_gradient, top_hessian


@kernel
def draw_rows(slots, sample_slots, rank, size):
    """Draw the rows of a tree, weigh their slopes and give the rows to the root."""
    slots, sample_slots = bare(slots), bare(sample_slots)
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    sample, words, border = load_sample(sample_slots, 0), team.words, table.border
    page, passed = int64(0), int64(0)
    while True:
        chunk = atomic_add(words, WORD_FLAGS, 1)
        page, passed = page_of_laid_out(table, chunk, page, passed)
        start = border[page] + (chunk - passed) * CHUNK
        if start >= border[page + 1]:
            break
        stop = end_of_chunk(start, border[page + 1])
        rows.counts[chunk] = draw_chunk(table, rows, sample, start, stop)
    barrier(words, size)
    if atomic_load(words, STOP) != 0:
        return
    if rank == 0:
        note_drawn(table, rows, nodes)
    peak = 0.0, 0.0
    page, passed, n_rows = int64(0), int64(0), table.shape.n_rows
    while True:
        chunk = atomic_add(words, WORD_MOVES, 1)
        page, passed = page_of_laid_out(table, chunk, page, passed)
        start = border[page] + (chunk - passed) * CHUNK
        if start >= border[page + 1]:
            break
        place = border[page] + sum_counts(rows, passed, chunk)
        for k in range(rows.counts[chunk]):
            row = int64(rows.row[n_rows + start + k])
            rows.row[place + k] = row
            if sample.reweighs:
                peak = weigh_row(sample, row, peak)
    sample.peak[LINE * rank], sample.peak[LINE * rank + 1] = peak


_SLOTS = types.Array(int64, 1, "C")
COUNT_SIGNATURE = types.void(_SLOTS, _SLOTS, int64)
DRAW_SIGNATURE = types.void(_SLOTS, _SLOTS, int64, int64)

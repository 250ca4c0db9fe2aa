"""Coordinate descent on a parabola: the kernels of the linear booster.

Columns are compressed: entries ``start[j]`` to ``start[j + 1]`` of ``row`` and ``value`` are what
column j holds besides zeros, in ascending order of the rows. Each sum is made by one thread, entry
by entry, so that no number of threads changes it, and entries of zero add nothing.
"""

from __future__ import annotations

from numba import int64

from hornbeam.runtime.kernel import kernel


@kernel
def sum_columns(start, row, value, gradient, hessian, sums, first, last):
    """Sums of g x, h x and h x^2 of the columns ``first`` to ``last``, three per column."""
    for j in range(first, last):
        slope, moment, square = 0.0, 0.0, 0.0
        for place in range(start[j], start[j + 1]):
            i, x = int64(row[place]), value[place]
            slope += gradient[i] * x
            moment += hessian[i] * x
            square += hessian[i] * x * x
        sums[3 * j], sums[3 * j + 1], sums[3 * j + 2] = slope, moment, square


@kernel
def sum_gradients(start, row, value, gradient, slopes, first, last):
    """Sums of g x of the columns ``first`` to ``last``."""
    for j in range(first, last):
        slope = 0.0
        for place in range(start[j], start[j + 1]):
            slope += gradient[int64(row[place])] * value[place]
        slopes[j] = slope


@kernel
def multiply_column(start, row, value, hessian, scratch, j, last, product):
    """Sums of h x_j x_k for the columns k from ``j`` to ``last``.

    ``scratch`` has a zero for each row, before and after.
    """
    for place in range(start[j], start[j + 1]):
        i = int64(row[place])
        scratch[i] = hessian[i] * value[place]
    for k in range(j, last):
        total = 0.0
        for place in range(start[k], start[k + 1]):
            total += scratch[int64(row[place])] * value[place]
        product[k - j] = total
    for place in range(start[j], start[j + 1]):
        scratch[int64(row[place])] = 0.0


@kernel
def move_gradients(start, row, value, hessian, change, shift, columns, rows, gradient):
    """Gradients of the parabola after the coefficients of some columns have changed.

    ``columns`` and ``rows`` are two ends each: of the columns, and of the rows to see to.
    """
    for i in range(rows[0], rows[1]):
        gradient[i] += hessian[i] * shift
    for j in range(columns[0], columns[1]):
        if change[j] == 0.0:
            continue
        low, high = start[j], start[j + 1]
        while low < high:  # the first entry that is not before the rows
            middle = (low + high) >> 1
            if int64(row[middle]) < rows[0]:
                low = middle + 1
            else:
                high = middle
        while low < start[j + 1] and int64(row[low]) < rows[1]:
            i = int64(row[low])
            gradient[i] += hessian[i] * value[low] * change[j]
            low += 1


@kernel
def descend(product, slope, at, change, sign, penalties, most):
    """Minimise s d + d C d / 2 + lambda / 2 |w + d|^2 + alpha |w + d| by one coordinate at a time.

    ``product`` is C, row by row, ``slope`` is s and is left as s + C d, ``at`` is w, ``change`` is
    d, which begins at 0, and ``penalties`` are alpha and lambda. A ``sign`` of 1 or -1 is the one
    that w + d may have. Ends after ``most`` rounds, or when none of the last one matters; returns
    how many there were.
    """
    size, alpha, penalty = len(slope), penalties[0], penalties[1]
    for number in range(most):
        moved, reach = 0.0, 0.0
        for j in range(size):
            bend = product[j * size + j]
            before = at[j] + change[j]
            # S(C_jj w_j - s_j, alpha) / (C_jj + lambda), where S moves towards 0 by alpha
            pull = bend * before - slope[j]
            if pull > alpha:
                pull -= alpha
            elif pull < -alpha:
                pull += alpha
            else:
                pull = 0.0
            after = pull / (bend + penalty) if bend > 0.0 else 0.0
            if after * sign[j] < 0.0:
                after = 0.0
            step = after - before
            if step != 0.0:
                change[j] = after - at[j]  # exactly -w where nothing is left
                for k in range(size):
                    slope[k] += product[j * size + k] * step
            moved = max(moved, bend * step * step)
            reach = max(reach, bend * after * after)
        if moved <= 1e-20 * reach:
            return number + 1
    return most

"""Fit a linear model round by round: ``booster="linear"``.

Around the present scores the loss is a parabola in the coefficients w, with gradient g_i and
hessian h_i in every row. A round minimises

    sum_i g_i (x_i d + c) + h_i (x_i d + c)^2 / 2 + lambda |w + d|^2 / 2 + alpha |w + d|_1

over the steps d and c (which no penalty touches) by coordinate descent, and takes the share
``learning_rate`` of the step, or less if the objective would not fall. c = -(G + A d) / H with the
sums G of g, H of h and A of h x, so that columns are centred, whatever they are in the table.

Columns of up to `WHOLE` terms are multiplied with each other once per round, and the descent runs
on the products. More are worked on in blocks of `BLOCK`, and the gradients follow each block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.boosting.engine import RoundReport, Rounds, Talk
from hornbeam.boosting.linear import (
    MISSING,
    NUMBER,
    LinearRounds,
    LinearTerms,
    check_size,
    linear_scores,
)
from hornbeam.boosting.rows import Scale
from hornbeam.boosting.scores import RowScores
from hornbeam.data.schema import Schema
from hornbeam.dtypes import Array
from hornbeam.kernels.boosting import linear as kernels
from hornbeam.losses import Loss, check_slopes
from hornbeam.runtime.team import run_parallel, thread_count

WHOLE, BLOCK = 128, 32
_PASSES = 10_000  # of coordinate descent over all columns at once,
_FEW_PASSES = 10  # over one of several blocks,
_SWEEPS = 30  # and over all blocks; the next round goes on from there
_SETTLED = 1e-9  # share of the largest coefficient by which none changes in a sweep,
_CONVERGED = 1e-7  # or, over the root of the number of rows, in a round: gradients are float32
_CONVERGED_CLASSES = 1e-8
_HALVINGS = 40
_BARELY = 1e-13  # of the objective: less is rounding
_DENSE = 0.5  # columns with more entries are centred as they are laid out
_FLAT = 1e-13  # share of its square that is left of a column that does not vary
_SECONDS_PER_ENTRY = 2e-9


@dataclass(frozen=True)
class LinearRules:
    """Penalties, and the signs that coefficients of features may have (0: any)."""

    reg_lambda: float
    reg_alpha: float
    monotone: Array | None = None


@dataclass(frozen=True, eq=False)
class LinearCourse:
    """What is boosted: rows to learn from, and rows to watch by name, with their scores."""

    matrix: Any
    scores: RowScores
    offset: Array | float  # scores that rows have besides those of the model
    validation: Mapping[str, tuple[Any, RowScores, Array | float]]
    schema: Schema
    start: Array
    before: LinearRounds | None = None

    @cached_property
    def design(self) -> Design:
        """The columns of the terms."""
        return lay_out(self.matrix, self.schema, None if self.before is None else self.before.terms)


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of the terms, compressed; those that are mostly filled are centred."""

    start: Array
    row: Array
    value: Array
    shift: Array  # what was taken off each column
    terms: LinearTerms
    n_rows: int

    @property
    def size(self) -> int:
        """How many columns there are."""
        return len(self.shift)


def lay_out(matrix: Any, schema: Schema, terms: LinearTerms | None = None) -> Design:
    """The columns of all terms that the training rows ask for, or of those of an earlier fit."""
    columns: list[tuple[Array, Array]] = []
    kinds: list[int] = []
    features: list[int] = []
    n_rows, n_features = matrix.shape
    sparse = scipy.sparse.issparse(matrix)
    matrix = scipy.sparse.csc_array(matrix) if sparse else matrix
    check_size(matrix.data if sparse else matrix)
    fill = np.zeros(n_features) if terms is None else terms.fill
    every = np.arange(n_rows, dtype=np.int32)
    for feature in range(n_features):
        if sparse:
            place = slice(matrix.indptr[feature], matrix.indptr[feature + 1])
            rows, values = matrix.indices[place].astype(np.int32), matrix.data[place]
            values = values.astype(np.float64)
        else:
            rows, values = every, np.array(matrix[:, feature], np.float64)
        lacks = np.isnan(values)
        if schema.is_category[feature]:  # of a dense table: sparse ones hold numbers only
            codes = np.where(lacks, -1, values).astype(np.int64)
            order = np.argsort(codes, kind="stable").astype(np.int32)
            there, first = np.unique(codes[order], return_index=True)
            for code, members in zip(there, np.split(order, first[1:]), strict=True):
                if code >= 0:
                    columns.append((members, np.ones(len(members))))
                    kinds.append(int(code))
        else:
            known = values[~lacks]
            if terms is None and len(known):
                # one by one, so that zeros that are not there change nothing
                fill[feature] = np.add.accumulate(known)[-1] / (n_rows - lacks.sum())
            values[lacks] = fill[feature]
            columns.append((rows[values != 0.0], values[values != 0.0]))
            kinds.append(NUMBER)
        if lacks.any():
            columns.append((rows[lacks], np.ones(int(lacks.sum()))))
            kinds.append(MISSING)
        features += [feature] * (len(kinds) - len(features))
    return _compressed(columns, np.array(features), np.array(kinds), fill, n_rows, terms)


def _compressed(
    columns: Sequence[tuple[Array, Array]],
    features: Array,
    kinds: Array,
    fill: Array,
    n_rows: int,
    terms: LinearTerms | None,
) -> Design:
    if terms is not None:  # a model that goes on has the terms that it has
        known = {pair: at for at, pair in enumerate(zip(features, kinds, strict=True))}
        none = (np.zeros(0, np.int32), np.zeros(0))
        places = [known.get(pair) for pair in zip(terms.feature, terms.kind, strict=True)]
        columns = [none if place is None else columns[place] for place in places]
    shift, spread = np.zeros(len(columns)), np.zeros(len(columns))
    laid: list[tuple[Array, Array]] = []
    for place, (rows, values) in enumerate(columns):
        mean = (np.add.accumulate(values)[-1] if len(values) else 0.0) / max(1, n_rows)
        square = np.add.accumulate((values - mean) ** 2)[-1] if len(values) else 0.0
        spread[place] = np.sqrt((square + (n_rows - len(values)) * mean**2) / max(1, n_rows))
        if len(values) > _DENSE * n_rows:
            full = np.zeros(n_rows)
            full[rows] = values
            rows, values = np.arange(n_rows, dtype=np.int32), full - mean
            shift[place] = mean
        laid.append((rows, values))
    if terms is None:
        terms = LinearTerms(features.astype(np.int32), kinds.astype(np.int32), fill, spread)
    lengths = np.array([len(rows) for rows, _ in laid], np.int64)
    return Design(
        np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        np.concatenate([np.zeros(0, np.int32), *(rows for rows, _ in laid)]).astype(np.int32),
        np.concatenate([np.zeros(0), *(values for _, values in laid)]),
        shift,
        terms,
        n_rows,
    )


def boost_linear(
    course: LinearCourse,
    rules: LinearRules,
    rounds: Rounds,
    talk: Talk | None,
    n_jobs: int | None,
    measure_train: bool = False,
    grown: list[Array] | None = None,
) -> list[Array]:
    """Fit the coefficients; ``talk`` is told of every round and returns True to stop.

    Returns coefficients and intercepts after each round; rounds end when nothing moves any more.
    """
    scores, loss = course.scores, course.scores.loss
    before = course.before
    design = course.design
    solver = _Solver(design, rules, n_jobs)
    result: list[Array] = [] if grown is None else grown
    if before is None:
        at = LinearRounds(design.terms, np.zeros((0, 0, 0)), course.start).coefficients()
    else:
        at = before.coefficients()
    watched = {"": (course.matrix, scores, course.offset), **course.validation}
    objective = _Objective(scores, rules, n_jobs)
    _move(scores, linear_scores(design.terms, at, course.matrix), course.offset)
    cost = objective.at(at)
    for number in range(rounds.first_round, rounds.first_round + rounds.n_rounds):
        steps = solver.steps(scores, at, rounds.order)
        if solver.is_done(at, steps):
            break
        rate = rounds.rate_of(number)
        for _ in range(_HALVINGS):
            tried = at + rate * steps
            _move(scores, linear_scores(design.terms, tried, course.matrix), course.offset)
            found = objective.at(tried)
            if not objective.tells or found <= cost + _BARELY * abs(cost):
                break
            rate *= 0.5
        else:
            _move(scores, linear_scores(design.terms, at, course.matrix), course.offset)
            break
        at, cost = tried, found
        result.append(at)
        for matrix, held, offset in list(watched.values())[1:]:
            _move(held, linear_scores(design.terms, at, matrix), offset)
        report = RoundReport(
            number + 1,
            scores.mean_loss(n_jobs) if measure_train else np.nan,
            {name: held.mean_loss(n_jobs) for name, (_, held, _) in course.validation.items()},
        )
        if talk is not None and talk(report):
            break
    check_slopes(loss, scores.peak, rounds.order)
    return result


def _move(scores: RowScores, found: Array, offset: Array | float) -> None:
    scores.score[:] = (found.T + offset).ravel()


class _Objective:
    """The loss of all rows, and the penalties."""

    def __init__(self, scores: RowScores, rules: LinearRules, n_jobs: int | None) -> None:
        self.scores, self.rules, self.n_jobs = scores, rules, n_jobs
        weight = scores.weight
        self.weight = float(weight.sum() if len(weight) > 1 else weight[0] * scores.n_rows)
        # NDCG is not what the gradients of a ranking go down
        self.tells = scores.loss.task != "ranking"

    def at(self, coefficients: Array) -> float:
        """The objective where the scores are."""
        if not self.tells:
            return 0.0
        own = coefficients[:, :-1]
        penalty = 0.5 * self.rules.reg_lambda * np.sum(own**2)
        penalty += self.rules.reg_alpha * np.sum(np.abs(own))
        return float(self.weight * self.scores.mean_loss(self.n_jobs) + penalty)


class _Solver:
    """Finds the steps that minimise the parabola of a round."""

    def __init__(self, design: Design, rules: LinearRules, n_jobs: int | None) -> None:
        self.design, self.rules, self.n_jobs = design, rules, n_jobs
        size = design.size
        self.width = size if size <= WHOLE else BLOCK
        self.blocks = [(k, min(k + self.width, size)) for k in range(0, size, max(1, self.width))]
        self.entries = (design.start, design.row, design.value)
        self.penalties = np.array([rules.reg_alpha, rules.reg_lambda])
        self.sign = np.zeros(size)
        if rules.monotone is not None:
            numbers = design.terms.kind == NUMBER
            self.sign[numbers] = rules.monotone[design.terms.feature[numbers]]
        self.products: list[Array] = []
        self.desks: list[Any] = []

    def steps(self, scores: RowScores, at: Array, order: int) -> Array:
        """Steps of all coefficients and intercepts, (n_scores, n_terms + 1)."""
        n_scores = scores.loss.n_scores
        scores.take_slopes(self.n_jobs)
        steps = np.zeros_like(at)
        for which in range(n_scores):
            if n_scores > 1:
                if not self.desks:
                    self.desks.append(scores.new_desk())
                desk = self.desks[0]
                scores.take_slopes_of(which, desk, 0.0)
                peak, slope = desk.peak, desk.arrays.slope
            else:
                peak, slope = scores.peak, scores.slope
            check_slopes(scores.loss, peak, order)
            gradient, hessian = slope[::2].astype(np.float64), slope[1::2].astype(np.float64)
            keeps = n_scores == 1 and scores.loss.constant_hessian
            steps[which] = self._solve(gradient, hessian, at[which, :-1], keeps)
        if n_scores > 1 and scores.loss.link_name == "softmax":  # all scores can move together
            steps[:, -1] -= np.mean(steps[:, -1])
        return steps

    def is_done(self, at: Array, steps: Array) -> bool:
        """Whether no coefficient moves by more than rounding."""
        spread = self.design.terms.spread
        moved = np.abs(steps[:, :-1] * spread).max(initial=0.0)
        reach = np.abs(at[:, :-1] * spread).max(initial=0.0)
        lifted, level = np.abs(steps[:, -1]).max(), np.abs(at[:, -1]).max()
        centre = np.abs((steps[:, :-1] * self.design.shift).sum(axis=1) + steps[:, -1]).max()
        several = len(at) > 1  # they approach the optimum in many small steps
        rounding = (_CONVERGED_CLASSES if several else _CONVERGED) / np.sqrt(self.design.n_rows)
        return bool(
            moved <= rounding * reach and min(lifted, centre) <= rounding * max(reach, level)
        )

    def _solve(self, gradient: Array, hessian: Array, at: Array, keeps: bool) -> Array:
        """The steps of one score; ``keeps``: hessians are those of the last round."""
        design, size = self.design, self.design.size
        sums = np.zeros(3 * size)
        self._in_parallel(
            lambda first, last: kernels.sum_columns(
                *self.entries, gradient, hessian, sums, first, last
            ),
            len(design.value),
        )
        slope, moment, square = (sums[k::3].copy() for k in range(3))
        total, weight = float(np.sum(gradient)), float(np.sum(hessian))
        if weight <= 0.0:
            return np.zeros(size + 1)
        if not (keeps and self.products):
            self.products = [
                self._multiply(hessian, moment, square, weight, b) for b in self.blocks
            ]
        change, shift = np.zeros(size), -total / weight
        slope -= moment * (total / weight)
        if len(self.blocks) > 1:
            kernels.move_gradients(
                *self.entries, hessian, change, shift, np.zeros(2, np.int64),
                np.array([0, design.n_rows]), gradient,
            )  # fmt: skip
        passes = _PASSES if len(self.blocks) <= 1 else _FEW_PASSES
        for _ in range(_SWEEPS):
            moved = 0.0
            for number, (first, last) in enumerate(self.blocks):
                if len(self.blocks) > 1:
                    self._sum_again(gradient, slope, moment, weight, first, last)
                step, reached = np.zeros(last - first), at[first:last] + change[first:last]
                kernels.descend(
                    self.products[number], slope[first:last], reached, step,
                    self.sign[first:last], self.penalties, passes,
                )  # fmt: skip
                change[first:last] = reached + step - at[first:last]  # exactly -w at zero
                lift = -float(np.sum(moment[first:last] * step)) / weight
                shift += lift
                moved = max(moved, np.abs(step * design.terms.spread[first:last]).max(initial=0.0))
                if len(self.blocks) > 1 and step.any():
                    self._follow(gradient, hessian, step, lift, first, last)
            reach = np.abs((at + change) * design.terms.spread).max(initial=0.0)
            if len(self.blocks) <= 1 or moved <= _SETTLED * reach:
                break
        # the columns are centred: in the user's units the intercept makes up for it
        return np.append(change, shift - float(np.sum(change * design.shift)))

    def _multiply(
        self, hessian: Array, moment: Array, square: Array, weight: float, block: tuple[int, int]
    ) -> Array:
        """The products of the centred columns of a block with each other, row by row."""
        first, last = block
        size = last - first
        product = np.zeros((size, size))

        def work(place: int) -> None:
            own = np.zeros(size - place)
            scratch = free.pop()
            kernels.multiply_column(*self.entries, hessian, scratch, first + place, last, own)
            free.append(scratch)
            product[place, place:] = own

        start = self.design.start
        seconds = (start[last] - start[first]) * size * 0.5 * _SECONDS_PER_ENTRY
        n_threads = min(size, thread_count(self.n_jobs, seconds))
        free = [np.zeros(len(hessian)) for _ in range(n_threads)]
        run_parallel(work, size, n_threads, seconds)
        product += np.triu(product, 1).T
        product -= np.outer(moment[first:last], moment[first:last]) / weight
        flat = product.diagonal() <= _FLAT * square[first:last]
        product[flat] = 0.0
        product[:, flat] = 0.0
        return product.ravel()

    def _sum_again(
        self, gradient: Array, slope: Array, moment: Array, weight: float, first: int, last: int
    ) -> None:
        """Gradients of a block where the other blocks have moved."""
        kernels.sum_gradients(*self.entries, gradient, slope, first, last)
        slope[first:last] -= moment[first:last] * (float(np.sum(gradient)) / weight)

    def _follow(
        self, gradient: Array, hessian: Array, step: Array, lift: float, first: int, last: int
    ) -> None:
        """Let the gradients of all rows follow the steps of a block."""
        change = np.zeros(self.design.size)
        change[first:last] = step
        kernels.move_gradients(
            *self.entries, hessian, change, lift, np.array([first, last]),
            np.array([0, len(gradient)]), gradient,
        )  # fmt: skip

    def _in_parallel(self, work: Any, n_entries: int) -> None:
        """Let threads work on columns, some at a time."""
        size, seconds = self.design.size, n_entries * _SECONDS_PER_ENTRY
        step = max(1, size // 64)
        ends = [(first, min(first + step, size)) for first in range(0, size, step)]
        run_parallel(lambda k: work(*ends[k]), len(ends), self.n_jobs, seconds)


def model_of_rounds(
    course: LinearCourse, grown: Sequence[Array], n_rounds: int, scale: Scale, loss: Loss
) -> dict[str, Any]:
    """The fitted attributes of a model of so many rounds, those of an earlier fit included."""
    before = course.before
    terms = course.design.terms
    earlier = [] if before is None else list(before.path)
    path = np.array([*earlier, *grown][:n_rounds])
    path = path.reshape(len(path), loss.n_scores, len(terms.feature) + 1)
    model = LinearRounds(terms, path, course.start).scaled(scale.up)
    return {
        "ensemble_": model,
        "linear_": model,
        "link_": loss.link_name,
        "n_iter_": len(path),
        "bundles_": [],
    }


# What only trees can do, and what must be as it is without: the parameter, and why.
_ONLY_TREES = (
    ("drop_rate", (0.0,), "there are no trees to drop"),
    ("interaction_constraints", (None,), "its features add up, and none of them interact"),
    ("feature_weights", (None,), "it draws no features"),
    ("subsample", (1.0,), "every round looks at all rows"),
    ("sampling", ("uniform",), "every round looks at all rows"),
    ("colsample_bytree", (1.0,), "it draws no features"),
    ("colsample_bylevel", (1.0,), "it draws no features"),
    ("colsample_bynode", (1.0, "auto"), "it draws no features"),
    ("max_delta_step", (0.0,), "a step that would not lower the loss is shortened anyway"),
)


def check_linear(estimator: Any, loss: Loss) -> None:
    """Raise a ValueError if an estimator asks for what a linear model cannot do."""
    for name, usual, reason in _ONLY_TREES:
        value = getattr(estimator, name)
        if not any(value is one or (type(value) is not bool and value == one) for one in usual):
            raise ValueError(
                f"{name}={value!r:.60} does not go with booster='linear': {reason}. Set it to "
                f"{usual[0]!r}, or take booster='trees'."
            )
    if loss.leaf_rule != "newton":
        raise ValueError(
            f"The loss {loss.name!r} has no second derivative to fit a linear model by: take "
            "'huber' or 'log_cosh', or booster='trees'."
        )


__all__ = ["LinearCourse", "LinearRules", "boost_linear", "check_linear", "model_of_rounds"]

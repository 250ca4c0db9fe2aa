"""Streams of weighted values that are hard for a quantile sketch, made from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

import hornbeam as hb

Stream = tuple[np.ndarray, np.ndarray]
ORDERS = ("random", "ascending", "descending", "zigzag", "shrinking")
KINDS = ("distinct", "duplicates", "constant", "clusters", "infinite")
WEIGHTS = ("even", "uniform", "heavy", "one", "zeros", "growing")


def make_stream(seed: int, most_rows: int) -> Stream:
    """Values and weights; which kind they are is drawn."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, most_rows + 1))
    kind, order, weighing = (random.choice(names) for names in (KINDS, ORDERS, WEIGHTS))
    values = random.normal(size=n)
    if kind == "duplicates":
        values = np.round(values * random.choice([0.5, 2.0, 10.0]))
    elif kind == "constant":
        values = np.full(n, values[0])
    elif kind == "clusters":
        values = np.round(values) + 1e-9 * random.normal(size=n)
    elif kind == "infinite":
        values[random.random(n) < 0.1] = np.inf
        values[random.random(n) < 0.1] = -np.inf
    if order != "random":
        values = np.sort(values)
    if order == "descending":
        values = values[::-1]
    elif order == "zigzag":  # smallest, largest, second smallest, ...
        values = np.stack([values, values[::-1]], axis=1).ravel()[:n]
    elif order == "shrinking":  # from both ends to the middle, blocks of a kind far apart
        values = values[np.argsort(-np.abs(np.arange(n) - n / 2), kind="stable")]
    weights = np.ones(n)
    if weighing == "uniform":
        weights = random.random(n)
    elif weighing == "heavy":
        weights = np.exp(random.normal(scale=4.0, size=n))
    elif weighing == "one":
        weights[random.integers(n)] = 10.0 * n
    elif weighing == "zeros":
        weights = (random.random(n) < 0.3).astype(float)
    elif weighing == "growing":
        weights = 1.001 ** np.arange(n)
    if not weights.any():
        weights[0] = 1.0
    return values, weights


def make_sketch(seed: int, stream: Stream, eps: float, numbered: bool) -> Any:
    """Add a stream in random batches to random sketches, and merge these in a random order."""
    random = np.random.default_rng(seed)
    values, weights = stream
    n, n_cuts = len(values), int(random.integers(0, 12))
    borders = np.unique([0, n, *random.integers(0, n + 1, size=n_cuts).tolist()])
    sketches = [hb.QuantileSketch(eps) for _ in range(int(random.integers(1, 5)))]
    batches = list(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True))
    for at in random.permutation(len(batches)):
        start, stop = batches[at]
        chosen = sketches[random.integers(len(sketches))]
        chosen.add(values[start:stop], weights[start:stop], start if numbered else None)
    while len(sketches) > 1:
        other = sketches.pop(int(random.integers(len(sketches))))
        sketches[random.integers(len(sketches))].merge(other)
    return sketches[0]


def worst_error(sketch: Any, stream: Stream) -> float:
    """By how much ranks and quantiles of a sketch are off, as a share of the total weight."""
    values, weights = stream
    order = np.argsort(values, kind="stable")
    values, cumulated = values[order], np.cumsum(weights[order])
    total = cumulated[-1]

    def up_to(x: Any, side: Any) -> Any:
        return np.append(0.0, cumulated)[np.searchsorted(values, x, side)]

    finite = np.unique(values)
    with np.errstate(invalid="ignore"):
        between = (finite[1:] + finite[:-1]) / 2.0
    x = np.concatenate([finite, between[~np.isnan(between)], [-np.inf, np.inf]])
    worst = float(np.abs(sketch.rank(x) - up_to(x, "right") / total).max())
    q = np.linspace(0.0, 1.0, 101)
    found = sketch.quantile(q)
    assert np.isin(found, values).all()
    too_far = np.maximum(up_to(found, "left") / total - q, q - up_to(found, "right") / total)
    return max(worst, float(too_far.max()))

"""The weighted quantile sketch against sorting everything."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.data import sketch as module
from tests.data.streams import make_sketch, make_stream, worst_error

ROUNDING = 1e-12


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that short streams have many levels: a level may cost eps / 12 here."""
    monkeypatch.setattr(module, "_MOST_LEVELS", 12)


def contents(sketch: Any) -> bytes:
    """All that it says."""
    return sketch._summary().tobytes()


@pytest.mark.quick
@pytest.mark.mission("X4")
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    eps=st.sampled_from([0.9, 0.5, 0.2, 0.1, 0.05]),
    numbered=st.booleans(),
)
def test_no_rank_is_off_by_more_than_eps(seed: int, eps: float, numbered: bool) -> None:
    stream = make_stream(seed, 6000)
    sketch = make_sketch(seed, stream, eps, numbered)
    assert sketch.n_rows == len(stream[0])
    assert sketch.weight == pytest.approx(stream[1].sum(), rel=1e-9)
    assert worst_error(sketch, stream) <= sketch.error + ROUNDING
    assert sketch.error <= eps


@pytest.mark.mission("X4")
def test_blocks_of_many_levels(small_blocks: None) -> None:
    for seed in range(300):
        stream = make_stream(seed, 20_000)
        sketch = make_sketch(seed, stream, 0.8, bool(seed % 2))
        assert worst_error(sketch, stream) <= sketch.error + ROUNDING
        assert sketch.error <= 0.8
        assert sketch._summary().shape[1] <= 17 * 16 * 4  # some blocks of each level


@pytest.mark.quick
@pytest.mark.mission("X4")
def test_numbered_pages_make_the_same_sketch_in_any_order(small_blocks: None) -> None:
    values, weights = make_stream(3, 5000)
    values, weights = np.resize(values, 5000), np.resize(weights, 5000)
    whole = contents(hb.QuantileSketch(0.3).add(values, weights))
    for n_pages in (1, 2, 7):
        borders = np.linspace(0, 5000, n_pages + 1).astype(int)
        pages = list(itertools.pairwise(borders.tolist()))
        one = hb.QuantileSketch(0.3)
        for start, stop in reversed(pages):
            one.add(values[start:stop], weights[start:stop], first_row=start)
        assert contents(one) == whole
        parts = [
            hb.QuantileSketch(0.3).add(values[a:b], weights[a:b], first_row=a) for a, b in pages
        ]
        merged = hb.QuantileSketch(0.3)
        for at in np.random.default_rng(n_pages).permutation(n_pages):
            merged.merge(parts[at])
        assert contents(merged) == whole


@pytest.mark.quick
def test_batches_do_not_matter() -> None:
    values = np.random.default_rng(0).normal(size=30_000)
    one, other = hb.QuantileSketch(0.05).add(values), hb.QuantileSketch(0.05)
    for batch in np.array_split(values, 113):
        other.add(batch)
    assert contents(one) == contents(other)
    assert one.error > 0.0  # something was left out
    assert contents(pickle.loads(pickle.dumps(one))) == contents(one)


@pytest.mark.quick
def test_few_values_are_exact() -> None:
    sketch = hb.QuantileSketch(0.1).add([3.0, 1.0, 2.0, 2.0], [1.0, 2.0, 0.0, 5.0])
    assert sketch.error == 0.0
    assert sketch.rank([0.5, 1.0, 1.5, 2.0, 3.0]).tolist() == [0.0, 0.25, 0.25, 0.875, 1.0]
    assert sketch.quantile([0.0, 0.2, 0.5, 1.0]).tolist() == [1.0, 1.0, 2.0, 3.0]
    assert sketch.candidates(0.001).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.quick
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), eps=st.sampled_from([0.5, 0.1, 0.03]))
def test_between_candidates_lies_little_weight(seed: int, eps: float) -> None:
    values, weights = make_stream(seed, 3000)
    sketch = hb.QuantileSketch(0.01).add(values, weights)
    cuts = sketch.candidates(eps)
    assert len(cuts) <= np.ceil(1 / eps) + 1
    assert cuts[0] == values[weights > 0].min()
    assert cuts[-1] == values[weights > 0].max()
    for low, high in itertools.pairwise(cuts.tolist()):
        inside = weights[(values > low) & (values < high)].sum()
        assert inside <= (eps + sketch.error + ROUNDING) * weights.sum()


@pytest.mark.quick
def test_pruning_costs_what_it_says() -> None:
    values, weights = make_stream(8, 4000)
    sketch = hb.QuantileSketch(0.05).add(values, weights).prune(41)
    assert sketch._summary().shape[1] <= 41
    assert sketch.error <= 1 / 40 + ROUNDING
    assert worst_error(sketch, (values, weights)) <= sketch.error + ROUNDING
    more = make_stream(9, 4000)
    sketch.add(*more).merge(hb.QuantileSketch(0.05).add(*more))
    both = tuple(np.concatenate([a, b, b]) for a, b in zip((values, weights), more, strict=True))
    assert worst_error(sketch, both) <= sketch.error + ROUNDING
    assert sketch.n_rows == len(both[0])


@pytest.mark.quick
def test_what_is_merged_stays_as_it_is() -> None:
    one, other = (hb.QuantileSketch(0.2).add(np.arange(3000.0) + k) for k in range(2))
    before = contents(other)
    one.merge(other)
    assert contents(other) == before
    assert (one.n_rows, other.n_rows) == (6000, 3000)


@pytest.mark.quick
@pytest.mark.parametrize("eps", [0, 0.0, 1, 2, -0.1, float("nan"), "small", None])
def test_eps_must_be_a_share(eps: Any) -> None:
    with pytest.raises(ValueError, match="eps is the largest error of a rank as a share"):
        hb.QuantileSketch(eps)
    with pytest.raises(ValueError, match="there are no quantiles: add values"):
        hb.QuantileSketch().quantile(0.5)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan],), r"values\[1\] is NaN, which has no rank"),
        ((["a"],), "values must hold numbers"),
        (([[1.0]],), r"values has shape \(1, 1\)"),
        (([1.0, 2.0], [1.0]), "There are 2 values, but 1 weights"),
        (([1.0, 2.0], [1.0, -2.0]), r"weights\[1\] is -2: weights must be finite and not negative"),
        (([1.0], [np.nan]), r"weights\[0\] is nan"),
        (([1.0], [np.inf]), r"weights\[0\] is inf"),
        (([1.0], None, -1), "first_row is the number of a row, from 0 on, but is -1"),
        (([1.0], None, 2.5), "first_row is the number of a row"),
        (([1.0], None, 2), "Some of the rows 2 to 2 are in the sketch already"),
        (([1.0], None, 2**62), "is beyond what a sketch of eps=0.1 holds"),
    ],
)
def test_bad_batches(arguments: tuple[Any, ...], message: str) -> None:
    sketch = hb.QuantileSketch(0.1).add([5.0, 6.0, 7.0])
    with pytest.raises(ValueError, match=message):
        sketch.add(*arguments)
    assert sketch.n_rows == 3


@pytest.mark.quick
def test_bad_questions() -> None:
    sketch, empty = hb.QuantileSketch(0.1).add([5.0]), hb.QuantileSketch(0.1).add([1.0], [0.0])
    with pytest.raises(ValueError, match=r"q is a share of the weight, from 0 to 1, but is 1\.5"):
        sketch.quantile(1.5)
    with pytest.raises(ValueError, match="q is a share"):
        sketch.quantile(np.nan)
    for ask in (lambda: empty.rank(1.0), empty.candidates, lambda: empty.error):
        with pytest.raises(ValueError, match="holds 1 rows and no weight"):
            ask()
    with pytest.raises(ValueError, match="do not merge: their blocks differ"):
        sketch.merge(hb.QuantileSketch(0.2))
    with pytest.raises(ValueError, match="does not merge with itself"):
        sketch.merge(sketch)
    with pytest.raises(TypeError, match="merge takes another QuantileSketch"):
        sketch.merge([1.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="prune keeps 2 values at least, but n_values is 1"):
        sketch.prune(1)
    with pytest.raises(ValueError, match="eps is the largest error"):
        sketch.candidates(2)

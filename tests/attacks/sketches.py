"""Streams that are hard for a quantile sketch: no rank is off by more than ``eps``."""

from __future__ import annotations

import numpy as np

from hornbeam.data import sketch as module
from tests.attacks.guard import Attack, Failure
from tests.data.streams import make_sketch, make_stream, worst_error

KINDS = ("short", "long")
_MOST_ROWS = {"short": 400, "long": 20_000}
_ROUNDING = 1e-12
module._MOST_LEVELS = 12  # blocks so small that these streams have many levels


def attack(attack: Attack, number: int) -> str:
    """Cut a stream at random, merge the sketches of its pieces, and sort it to compare."""
    seed = attack.seed * 10**9 + number
    random = np.random.default_rng([seed, 1])
    eps = float(random.choice([0.9, 0.8, 0.5, 0.2, 0.1, 0.05]))
    stream = make_stream(seed, _MOST_ROWS[attack.kind])
    sketch = make_sketch(seed, stream, eps, bool(random.integers(2)))
    worst = worst_error(sketch, stream)
    if worst > sketch.error + _ROUNDING or sketch.error > eps:
        raise Failure(f"eps={eps}, error={sketch.error}, and a rank is off by {worst}.")
    return "exact" if sketch.error == 0.0 else "within eps"

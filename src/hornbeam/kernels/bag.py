"""Bootstrap samples: how often each row is in the bag of a tree."""

from __future__ import annotations

from hornbeam.runtime.kernel import kernel
from hornbeam.runtime.random import draw_below


@kernel
def draw_bag(key, n_draws, counts):
    """Draw rows with replacement; ``counts`` says how often each was drawn."""
    n_rows = len(counts)
    for row in range(n_rows):
        counts[row] = 0
    for draw in range(n_draws):
        counts[draw_below(key, draw, n_rows)] += 1

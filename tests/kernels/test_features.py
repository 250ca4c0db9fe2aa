"""The list of features that a node is searched on."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit, uint64

from hornbeam.forest.bags import derive_key
from hornbeam.kernels.features import list_features
from hornbeam.kernels.state import WORD_FEATURES
from hornbeam.runtime.team import new_shared


class Rules(NamedTuple):
    """What `list_features` reads of the rules ..."""

    max_features: int
    random_ties: bool


class Table(NamedTuple):
    """... and of a problem."""

    n_features: int
    rules: Rules


class Paper(NamedTuple):
    """What it writes of a desk."""

    words: Any
    features: Any


@njit
def _list(problem, desk, varies, everyone, key):
    list_features(problem, desk, varies, everyone, uint64(key))


@pytest.mark.parametrize("n_features", [1, 2, 9, 40])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("everyone", [False, True])
@pytest.mark.parametrize("random_ties", [False, True])
def test_features_that_vary_are_listed_in_any_order(n_features, share, everyone, random_ties):
    random = np.random.default_rng(n_features)
    problem = Table(n_features, Rules(n_features, random_ties))
    for key in range(20):
        varies = (random.random(n_features) < share).astype(np.uint8)
        desk = Paper(new_shared(), np.zeros(n_features, np.int64))
        _list(problem, desk, varies, everyone, key)
        listed: list[int] = []
        for feature in np.flatnonzero(varies | everyone):
            place = len(listed)
            other = ((derive_key(key, place) >> 32) * (place + 1)) >> 32
            listed.append(feature)
            if random_ties:
                listed[place], listed[other] = listed[other], feature
        assert desk.words[WORD_FEATURES] == len(listed)
        assert np.array_equal(desk.features[: len(listed)], listed)


def test_every_order_is_as_likely_as_another():
    """Of tied features any one comes first, also of two neighbours."""
    problem = Table(4, Rules(4, True))
    orders = Counter()
    for key in range(2400):
        desk = Paper(new_shared(), np.zeros(4, np.int64))
        _list(problem, desk, np.ones(4, np.uint8), False, np.uint64(derive_key(7, key)))
        orders[tuple(desk.features)] += 1
    assert len(orders) == 24
    assert sum((n - 100) ** 2 / 100 for n in orders.values()) < 50  # chi squared, 23 of freedom

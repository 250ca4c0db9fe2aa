"""Categories that no row has do not change a tree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("with_missing", [False, True])
def test_few_categories_are_parted_as_many_are(weighted, n_classes, with_missing):
    """More than 64 codes take more than one word."""
    random = np.random.default_rng(n_classes)
    codes = random.integers(-1 if with_missing else 0, [[2], [6], [40]], (3, 600))
    y = (codes.sum(axis=0) + (random.random(600) < 0.2)) % n_classes
    weight = random.integers(1, 3, 600) if weighted else None

    def table(n_more):
        names = [f"{number:03d}" for number in range(40 + n_more)]
        counts = (2, 6, 40)
        columns = [
            pd.Categorical.from_codes(code, names[: count + n_more])
            for code, count in zip(codes, counts, strict=True)
        ]
        return pd.DataFrame(dict(zip("abc", columns, strict=True)))

    few, many = (
        hb.ExtraTreesClassifier(n_estimators=5, random_state=0, min_samples_split=2).fit(
            table(n_more), y, sample_weight=weight
        )
        for n_more in (0, 64)
    )
    assert few.store_.n_nodes > 100
    assert np.array_equal(few.apply(table(0)), many.apply(table(64)))
    assert np.array_equal(few.predict_proba(table(0)), many.predict_proba(table(64)))

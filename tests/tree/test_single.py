"""One tree of an ensemble, shown like any other."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.tree.single import SingleTree

pytestmark = pytest.mark.quick


def test_a_tree_alone_is_shown_like_an_estimator() -> None:
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) // 5 * 1.0
    model = hb.DecisionTreeRegressor(max_depth=2).fit(X, y)
    alone = SingleTree(model.tree_, model.schema_, model.criterion)
    assert alone.n_outputs_ == 1
    assert hb.export_text(alone) == hb.export_text(model)
    assert hb.tree_svg(alone) == hb.tree_svg(model)
    assert str(hb.export_rules(alone)) == str(hb.export_rules(model))

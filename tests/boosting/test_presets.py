"""Presets name parameters that exist, with values that are allowed."""

from __future__ import annotations

import pytest

import hornbeam as hb
from hornbeam.boosting.presets import PRESETS, preset_parameters
from hornbeam.params import check_params

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_set_of_parameters(name: str) -> None:
    for maker in (
        hb.GradientBoostingRegressor,
        hb.GradientBoostingClassifier,
        hb.GradientBoostingRanker,
    ):
        model = maker.preset(name)
        check_params(model)
        for parameter, value in PRESETS[name].items():
            assert getattr(model, parameter) == value
    assert preset_parameters(name, {"max_depth": 2})["max_depth"] == 2
    assert PRESETS[name].get("max_depth") != 2  # the preset itself stays


def test_an_unknown_preset_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="no preset 'x'; there are 'friedman', 'xgboost'"):
        preset_parameters("x", {})

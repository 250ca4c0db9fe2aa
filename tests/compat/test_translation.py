"""The tables of other libraries: complete, exact, and the pages made from them in step."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from hornbeam.compat.__main__ import PEERS, pages
from hornbeam.compat.translation import (
    Translation,
    absent,
    chosen,
    converted,
    renamed,
    same,
    unneeded,
)

DOCS = Path(__file__).resolve().parents[2] / "docs" / "compat"

TOY = Translation(
    "Toyland",
    "Toy",
    "GradientBoostingRegressor",
    (
        *same("learning_rate"),
        renamed("rounds", "n_estimators"),
        converted("share", "twice the value", "subsample", lambda v, known: v * known["n_samples"]),
        chosen("objective", "loss", {"l2": "squared_error"}, "write loss='squared_error'."),
        absent("device", (None, "cpu"), "leave it away, everything runs on the CPU."),
        unneeded("silent", "nothing is said"),
    ),
    {"reg_lambda": 0.0},
)
GIVEN = {
    "learning_rate": 0.1,
    "rounds": 7,
    "share": 0.25,
    "objective": "l2",
    "device": "cpu",
    "silent": 3,
}


@pytest.mark.quick
def test_every_kind_of_row():
    assert TOY.to_ours(GIVEN, n_samples=2) == {
        "reg_lambda": 0.0,
        "learning_rate": 0.1,
        "n_estimators": 7,
        "subsample": 0.5,
        "loss": "squared_error",
    }


@pytest.mark.quick
@pytest.mark.parametrize(
    "change, message",
    [
        ({"device": "gpu"}, r"Toy\(device='gpu'\) has no equivalent here: leave it away"),
        ({"objective": "l1"}, r"Toy\(objective='l1'\).*write loss='squared_error'"),
        ({"objective": ["l2"]}, r"Toy\(objective=\['l2'\]\)"),
    ],
)
def test_what_has_no_equivalent_says_what_to_write(change, message):
    with pytest.raises(ValueError, match=message):
        TOY.to_ours({**GIVEN, **change}, n_samples=2)


@pytest.mark.quick
@pytest.mark.parametrize("peer", ["sklearn"])
def test_tables_have_the_parameters_of_the_constructors(peer):
    module = importlib.import_module(f"hornbeam.compat.{peer}")
    for translation in module.TRANSLATIONS:
        ours = getattr(module, translation.theirs)
        assert list(inspect.signature(ours).parameters) == [
            row.theirs for row in translation.parameters
        ]


@pytest.mark.quick
@pytest.mark.parametrize("peer", PEERS)
def test_pages_are_made_from_the_tables(peer):
    assert (DOCS / f"{peer}.md").read_text(encoding="utf-8") == pages()[peer], (
        "python -m hornbeam.compat docs/compat writes them anew"
    )

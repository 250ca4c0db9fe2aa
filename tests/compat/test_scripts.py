"""Scripts of other libraries' users run with only the imports changed, and reach as much."""

from __future__ import annotations

import json

import pytest

from benchmarks.scripts import REACHED, names, run, with_our_imports

# A few hundred test rows tell no more: three of 400 classes, or the draw of the rows of a tree.
NOISE = 0.01

PEERS = json.loads(REACHED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", names())
def test_as_good_as_the_peer(name: str) -> None:
    ours, theirs = run(name, ours=True), PEERS[name]
    assert ours.keys() == theirs.keys()
    behind = {metric: (ours[metric], theirs[metric]) for metric in ours}
    behind = {name: pair for name, pair in behind.items() if pair[0] < pair[1] - NOISE}
    assert not behind


@pytest.mark.quick
def test_only_imports_are_changed() -> None:
    source = "import xgboost as xgb\nfrom lightgbm import LGBMClassifier\nx = 'import xgboost as'\n"
    assert with_our_imports(source) == (
        "import hornbeam.compat.xgboost as xgb\n"
        "from hornbeam.compat.lightgbm import LGBMClassifier\n"
        "x = 'import xgboost as'\n"
    )

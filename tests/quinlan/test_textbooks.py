"""The trees of the textbooks, node by node, and the errors that others report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from quinlan import tables

import hornbeam as hb
from hornbeam.tree.importance import relative_gain


def questions(model: Any) -> list[str]:
    """One line per branch and leaf, without decoration and notes."""
    lines = [line for line in hb.export_text(model).splitlines() if line.startswith("|")]
    return [line.replace("|   ", "  ").replace("|--- ", "") for line in lines]


PLAY_TENNIS = """\
outlook = overcast
  class: yes
outlook = rain
  wind = strong
    class: no
  wind = weak
    class: yes
outlook = sunny
  humidity = high
    class: no
  humidity = normal
    class: yes"""


@pytest.mark.quick
@pytest.mark.mission("T2")
def test_play_tennis_by_id3() -> None:
    X, y = tables.read(tables.TENNIS)
    tree = hb.ID3Classifier().fit(X, y)
    assert "\n".join(questions(tree)) == PLAY_TENNIS
    assert tree.tree_.n_samples.tolist() == [14, 4, 5, 5, 2, 3, 3, 2]
    entropy = [0.940, 0.0, 0.971, 0.971, 0.0, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(tree.tree_.impurity, entropy, atol=5e-4)
    # gain of outlook 0.247; below it, wind and humidity explain everything that is left
    gains = relative_gain(tree.tree_)
    np.testing.assert_allclose(gains[[0, 2, 3]], [0.247, 5 / 14 * 0.971, 5 / 14 * 0.971], atol=5e-4)
    assert tree.score(X, y) == 1.0


@pytest.mark.mission("T3")
def test_play_tennis_by_c45_is_the_same_tree() -> None:
    X, y = tables.read(tables.TENNIS)
    assert "\n".join(questions(hb.C45Classifier().fit(X, y))) == PLAY_TENNIS


@pytest.mark.mission("T2")
def test_a_gain_that_is_too_small_is_no_split() -> None:
    """wind has a relative gain of 5/14 * 0.971 = 0.347 below rain, outlook 0.247 at the root."""
    X, y = tables.read(tables.TENNIS)
    assert hb.ID3Classifier(min_impurity_decrease=0.246).fit(X, y).tree_.node_count == 8
    assert hb.ID3Classifier(min_impurity_decrease=0.247).fit(X, y).tree_.node_count == 1


@pytest.mark.mission("T3")
def test_golf() -> None:
    """Quinlan 1993, figure 2-1: humidity is cut at 75, a value that occurs."""
    X, y = tables.read(tables.GOLF)
    assert questions(hb.C45Classifier().fit(X, y)) == [
        "outlook = overcast", "  class: yes",
        "outlook = rain", "  windy = false", "    class: yes", "  windy = true", "    class: no",
        "outlook = sunny", "  humidity <= 75.00", "    class: yes",
        "  humidity >  75.00", "    class: no",
    ]  # fmt: skip


@pytest.mark.quick
@pytest.mark.mission("T3")
def test_golf_with_a_missing_value() -> None:
    """Quinlan 1993, chapter 3: (3.4/0.4), (3.2), (2.4/0.4), and 0.44 for play."""
    X, y = tables.golf_with_a_hole()
    tree = hb.C45Classifier().fit(X, y)
    leaves = tree.tree_.weight[tree.tree_.is_leaf]
    np.testing.assert_allclose(leaves, [42 / 13, 3, 2 + 5 / 13, 2, 3 + 5 / 13])
    day = pd.DataFrame(
        {"outlook": ["sunny"], "temperature": [70], "humidity": [None], "windy": ["false"]}
    )
    expected = 2.0 / 5.4 * 1.0 + 3.4 / 5.4 * (0.4 / 3.4)  # as the book computes it
    proba = tree.predict_proba(day)[0]
    assert proba[1] == pytest.approx(expected, abs=0.005)
    assert proba.round(2).tolist() == [0.56, 0.44]


@pytest.mark.mission("T3")
def test_contact_lenses() -> None:
    """The tree that J48 prints (Witten and Frank)."""
    X, y = tables.lenses()
    tree = hb.C45Classifier().fit(X, y)
    assert questions(tree) == [
        "tears = normal", "  astigmatism = no", "    class: soft",
        "  astigmatism = yes", "    prescription = hypermetrope", "      class: none",
        "    prescription = myope", "      class: hard",
        "tears = reduced", "  class: none",
    ]  # fmt: skip
    assert tree.score(X, y) == pytest.approx(22 / 24)


@pytest.mark.mission("T2")
def test_watermelons() -> None:
    """Zhou, figure 4.4: texture gains 0.381; touch below rough, root below clear.

    The figure's branch for white melons, which has no row, is in the tree but not printed:
    such a melon goes down the branches of the others.
    """
    X, y = tables.read(tables.MELONS)
    tree = hb.ID3Classifier().fit(X, y)
    assert relative_gain(tree.tree_)[0] == pytest.approx(0.381, abs=5e-4)
    assert questions(tree) == [
        "texture = blurred", "  class: no",
        "texture = clear", "  root = curly", "    class: yes",
        "  root = slight", "    colour = black", "      touch = hard", "        class: yes",
        "      touch = soft", "        class: no", "    colour = green", "      class: yes",
        "  root = stiff", "    class: no",
        "texture = rough", "  touch = hard", "    class: no", "  touch = soft", "    class: yes",
    ]  # fmt: skip


@pytest.mark.mission("T3")
def test_watermelons_with_missing_values() -> None:
    """Zhou, figure 4.9: by gain and fractions; rows 8 and 10 go into three branches.

    Branches without rows are not printed (colour = white, navel = flat).
    """
    X, y = tables.melons_alpha()
    tree = hb.ID3Classifier(missing="fractions").fit(X, y)
    np.testing.assert_allclose(tree.tree_.weight[1:4], [3 + 2 / 5, 7 + 14 / 15, 5 + 2 / 3])
    assert questions(tree) == [
        "texture = blurred", "  colour = black", "    class: yes", "  colour = green",
        "    class: no", "  colour = white", "    class: no",
        "texture = clear", "  root = curly", "    class: yes",
        "  root = slight", "    colour = black", "      touch = hard", "        class: yes",
        "      touch = soft", "        class: no", "    colour = green", "      class: yes",
        "  root = stiff", "    class: no",
        "texture = rough", "  sound = crisp", "    class: no", "  sound = dull",
        "    navel = dented", "      class: yes",
        "    navel = sunken", "      class: no", "  sound = low", "    class: no",
    ]  # fmt: skip


@pytest.mark.mission("T3")
def test_id3_is_fooled_by_an_id_number_and_c45_is_not() -> None:
    """The sources' example: a number for every row has the largest gain and says nothing."""
    X, y = tables.read(tables.TENNIS)
    X.insert(0, "day", [f"D{i}" for i in range(14)])
    fooled, sober = hb.ID3Classifier().fit(X, y), hb.C45Classifier().fit(X, y)
    assert fooled.tree_.feature[0] == 0
    assert fooled.tree_.node_count == 15
    assert sober.feature_names_in_[sober.tree_.feature[0]] == "outlook"
    assert 0 not in sober.tree_.feature


# Training and test errors (percent) and nodes of Weka 3.6.14's J48 on the same rows, from
# `python -m benchmarks.weka`; docs/quinlan.md has the whole table.
J48 = {
    "house_votes_84": ((17, 2.45, 7.34), (7, 2.76, 7.34)),
    "uci_soybean": ((165, 2.93, 9.36), (83, 4.30, 8.77)),
    "uci_labor": ((18, 4.76, 26.67), (3, 16.67, 13.33)),
    "uci_hypothyroid": ((34, 0.21, 0.53), (27, 0.21, 0.42)),
}


@pytest.mark.parametrize("name", J48)
@pytest.mark.mission("T3")
def test_the_trees_of_j48(shared_data: Path, name: str) -> None:
    """Unpruned the same size and errors; pruned within two nodes and two test rows of soybean."""
    from benchmarks import shared

    whole = shared.load(name)
    assert whole is not None
    data = whole.split(0)
    for pruning, reference in zip((None, "pessimistic"), J48[name], strict=True):
        tree = hb.C45Classifier(pruning=pruning).fit(data.X, data.y)
        nodes, training, test = reference
        found = [
            100 * (1 - tree.score(data.X, data.y)),
            100 * (1 - tree.score(data.X_test, data.y_test)),
        ]
        if pruning is None:
            assert tree.tree_.node_count == nodes
            np.testing.assert_allclose(found, [training, test], atol=0.006)
        else:
            assert abs(tree.tree_.node_count - nodes) <= 2
            np.testing.assert_allclose(found, [training, test], atol=1.2)

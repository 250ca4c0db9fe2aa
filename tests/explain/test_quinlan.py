"""explain_split for ID3 and C4.5: what is recomputed is what the tree has."""

from __future__ import annotations

import numpy as np
import pytest
from explain.test_split import PLAY, TENNIS
from tree.test_oracle import random_classes, random_table, random_weights

import hornbeam as hb


def check_tree(model, X, y, weight):
    model.fit(X, y, weight)
    tree = model.tree_
    for node in range(tree.node_count):
        found = hb.explain_split(model, node, X, y, weight)
        assert str(found)
        if tree.is_leaf[node]:
            assert found.winner is None and found.reason.startswith("A leaf")
            continue
        winner = found.winner
        assert winner.feature == tree.feature[node]
        assert "raised" not in found.reason
        first = int(tree.first_child[node])
        if winner.unknown == 0.0:
            weights = tree.weight[first : first + int(tree.n_branches[node])]
            shown = [side.weight for side in winner.sides]
            assert shown == pytest.approx(weights[weights > 0].tolist())
        if tree.threshold[node] == tree.threshold[node]:
            cuts = found.cuts(winner.feature)
            best = [cut["threshold"] for cut in cuts if cut["gain"] >= cuts[0]["gain"] - 1e-9]
            assert tree.threshold[node] in best


@pytest.mark.parametrize("correction", [True, False])
def test_the_recomputed_choice_is_the_stored_split_of_c45(correction):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 50))
        X = random_table(rng, n, n_categories=4, missing=seed % 2 == 0)
        model = hb.C45Classifier(
            pruning=None, mdl_correction=correction, min_samples_leaf=1 + seed % 3
        )
        check_tree(model, X, random_classes(rng, n), random_weights(rng, n))


def test_the_recomputed_choice_is_the_stored_split_of_id3():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 50))
        X = random_table(rng, n, n_categories=4, missing=seed % 2 == 0).astype(str)
        check_tree(hb.ID3Classifier(), X, random_classes(rng, n), random_weights(rng, n))


@pytest.mark.quick
def test_play_tennis_as_in_the_books():
    text = str(hb.explain_split(hb.ID3Classifier().fit(TENNIS, PLAY), 0, TENNIS, PLAY))
    assert "gain = 0.940 - 4/14*0.000 - 5/14*0.971 - 5/14*0.971 = 0.247" in text
    found = hb.explain_split(hb.C45Classifier(pruning=None).fit(TENNIS, PLAY), 0, TENNIS, PLAY)
    assert "gain ratio = 0.247 / 1.577 = 0.156" in str(found)
    gains = {c.name: round(c.gain, 3) for c in found.candidates}
    assert gains == {"outlook": 0.247, "temperature": 0.029, "humidity": 0.152, "wind": 0.048}


@pytest.mark.quick
def test_a_missing_value_is_taken_out_of_the_gain():
    """Quinlan's book: with outlook of one day unknown its gain is 13/14 * (0.961 - 0.747)."""
    X = TENNIS.copy()
    X.loc[11, "outlook"] = None
    model = hb.C45Classifier(pruning=None).fit(X, PLAY)
    found = hb.explain_split(model, 0, X, PLAY)
    outlook = found.candidates[0]
    assert outlook.gain == pytest.approx(0.199, abs=5e-4)
    assert outlook.split_information == pytest.approx(1.809, abs=5e-4)
    assert found.gain_formula(outlook).startswith("gain = 13/14*(0.961 - ")


@pytest.mark.quick
def test_another_table_is_noticed():
    model = hb.C45Classifier(pruning=None).fit(TENNIS, PLAY)
    with pytest.raises(ValueError, match="not the table that the tree was grown on"):
        hb.explain_split(model, 0, TENNIS, np.where(np.arange(14) < 7, "no", "yes"))

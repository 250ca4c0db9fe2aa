"""One tree of an ensemble: what is drawn, and that it is said which one it is."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import hornbeam as hb
from hornbeam.compat.lightgbm import LGBMClassifier
from hornbeam.compat.sklearn import GradientBoostingClassifier

RNG = np.random.default_rng(0)
X = RNG.random((120, 3))
Y = (X[:, 0] + X[:, 1] > 1).astype(int)
FITTED: list[Any] = [
    hb.RandomForestClassifier(4, random_state=0),
    hb.ExtraTreesRegressor(4, random_state=0),
    hb.GradientBoostingClassifier(n_estimators=4),
    hb.AdaBoostClassifier(n_estimators=4),
    hb.BaggingClassifier(hb.DecisionTreeClassifier(max_depth=2), 4),
    hb.IsolationForest(n_estimators=4, random_state=0),
    GradientBoostingClassifier(n_estimators=4),
    LGBMClassifier(n_estimators=4, verbose=-1),
]


@pytest.mark.quick
@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_a_tree_of_an_ensemble_is_shown_and_named(model: Any) -> None:
    model.fit(X, Y)
    first, third = hb.export_text(model), hb.export_text(model, tree_index=2)
    assert "This is tree 0 of 4 (0 to 3); tree_index= shows another one." in first
    assert "This is tree 2 of 4 (0 to 3)." in third and first != third
    assert hb.export_text(model, tree_index=-2) == third
    assert "tree 2 of 4" in hb.tree_svg(model, tree_index=2)
    assert "tree 0 of 4" in str(hb.export_rules(model))
    assert "tree 1 of 4" in (hb.export_graphviz(model, tree_index=1) or "")
    with pytest.raises(IndexError, match="tree_index=4 must be from 0 to 3"):
        hb.export_text(model, tree_index=4)
    with pytest.raises(TypeError, match="tree_index must be a whole number, not 'a'"):
        hb.plot_tree(model, tree_index="a")  # type: ignore[arg-type]


@pytest.mark.quick
def test_the_tree_of_a_forest_is_that_of_its_estimators() -> None:
    forest = hb.RandomForestClassifier(4, random_state=0).fit(X, Y)
    shown = hb.export_text(forest, tree_index=3).split("This is tree")[0]
    assert hb.export_text(forest[3]).startswith(shown)


@pytest.mark.quick
def test_what_has_no_tree_is_told_apart_from_what_is_not_fitted() -> None:
    for model in (hb.RandomForestClassifier(), hb.GradientBoostingRegressor(), LGBMClassifier()):
        with pytest.raises(NotFittedError, match="is not fitted: call fit first"):
            hb.export_text(model)
    with pytest.raises(TypeError, match="A fitted tree is needed, and this LogisticRegression"):
        hb.export_text(LogisticRegression().fit(X, Y))
    bag = hb.BaggingClassifier(LogisticRegression(), 2).fit(X, Y)
    with pytest.raises(TypeError, match="Member 0 of this BaggingClassifier is a LogisticRegr"):
        hb.export_text(bag)
    with pytest.raises(ValueError, match="There is one tree, so tree_index=1"):
        hb.export_text(hb.DecisionTreeClassifier().fit(X, Y), tree_index=1)


@pytest.mark.quick
def test_importances_have_names() -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b<i>", "c"])
    for model in (*FITTED[:5], *FITTED[6:]):
        if isinstance(model, hb.BaggingClassifier):
            continue
        table = hb.importance_table(model.fit(frame, Y))
        by_hand = dict(zip(frame.columns, model.feature_importances_, strict=True))
        assert dict(table) == pytest.approx(by_hand)
        assert list(table.values()) == sorted(by_hand.values(), reverse=True)
    assert table.to_frame().columns.tolist() == ["feature", "importance"]
    assert "b&lt;i&gt;" in table._repr_html_() and "<i>" not in table._repr_html_()
    boosted = hb.GradientBoostingClassifier(n_estimators=3).fit(X, Y)
    other = hb.importance_table(boosted, boosted.importances("permutation", X, Y))
    assert list(hb.importance_table(boosted)) and set(other) == {"x0", "x1", "x2"}
    with pytest.raises(ValueError, match="There are 2 importances, but 3 columns"):
        hb.importance_table(boosted, [1, 2])
    with pytest.raises(NotFittedError):
        hb.importance_table(hb.DecisionTreeClassifier())


@pytest.mark.quick
def test_importances_are_drawn() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    frame = {f"column ${number}$ " + "x" * 90: X[:, number] for number in range(3)}
    import pandas as pd

    axes = hb.plot_importance(hb.RandomForestClassifier(3).fit(pd.DataFrame(frame), Y))
    axes.figure.canvas.draw()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 3 and all(len(label) < 70 and r"\$" in label for label in labels)
    assert hb.plot_importance(FITTED[0], n_features=2, ax=axes) is axes


@pytest.mark.quick
def test_representations_are_short(tmp_path: Path) -> None:
    import pandas as pd

    wide = pd.DataFrame({f"c{number}": list("abcdefghijklmnopqrst") * 6 for number in range(40)})
    tree = hb.DecisionTreeClassifier().fit(wide, Y)
    shown = repr(tree.schema_)
    assert shown.splitlines()[0] == "Schema of 40 columns, unseen categories: missing"
    assert len(shown.splitlines()) == 26 and "... 16 more" in shown
    assert "category  " in shown and "20: 'a', 'b'" in shown and ", ..." in shown
    assert repr(tree.tree_) == (
        f"<Tree of {tree.tree_.node_count:,} nodes, {tree.tree_.n_leaves:,} of them leaves>"
    )
    boosted = hb.GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    assert "<SingleTree on 3 columns: <Tree of" in repr(boosted.tree(0))
    choice = hb.choose_ccp_alpha(hb.DecisionTreeClassifier(), X, Y, cv=3)
    assert repr(choice).startswith("<AlphaChoice: ccp_alpha=") and len(repr(choice)) < 120
    assert repr(hb.plot_tree(tree, path=tmp_path / "a.svg")) == "<drawing in a file>"
    pytest.importorskip("matplotlib").use("agg")
    drawn = hb.plot_tree(tree)
    assert isinstance(drawn, list) and repr(drawn) == f"<drawing of {len(drawn)} artists>"


@pytest.mark.quick
@pytest.mark.parametrize("model", FITTED[:6], ids=lambda model: type(model).__name__)
def test_models_go_through_open_files(model: Any, tmp_path: Path) -> None:
    model.fit(X, Y)
    room = io.BytesIO()
    model.save(room)
    room.seek(0)
    assert hb.load(room).digest() == model.digest()
    model.save(tmp_path / "model")
    assert room.getvalue() == (tmp_path / "model").read_bytes()
    with open(tmp_path / "model", "rb") as file:
        assert hb.load(file).digest() == model.digest()
    with pytest.raises(hb.ModelFileError, match="Cannot load from a file"):
        hb.load(io.BytesIO(room.getvalue()[:-3]))
    with pytest.raises(hb.ModelFileError, match="opened as text"):
        hb.load(io.StringIO("model"))  # type: ignore[arg-type]


@pytest.mark.quick
def test_a_long_name_leaves_the_threshold_and_the_share_to_be_seen() -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["<b>" + "long " * 40, "b", "c"])
    labels = np.where(X[:, 0] <= 0.5, "no", "x" * 200)
    tree = hb.DecisionTreeClassifier(max_depth=1).fit(frame, labels)
    drawn = hb.tree_svg(tree).replace("&lt;", "<").replace("\xa0", " ")
    threshold = f"{tree.tree_.threshold[0]:.3f}".rstrip("0")
    assert f"… <= {threshold}</text>" in drawn and "x…  100%</text>" in drawn
    report = tree.explain_split(0, frame, labels)._repr_html_()
    assert "overflow-wrap:anywhere" in report and "<b>long" not in report

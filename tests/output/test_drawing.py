"""Pictures of trees: nothing overlaps, names are safe, both tools draw the same."""

from __future__ import annotations

import builtins
import itertools
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model.handmade import (
    Column,
    Node,
    StandIn,
    leaf,
    multiway,
    number,
    pairs,
    steps,
    subset,
    weather,
)
from model.strategies import estimators

from hornbeam.errors import MissingDependencyError
from hornbeam.output.colors import class_color
from hornbeam.output.drawing import plot_tree
from hornbeam.output.layout import TidyLayout
from hornbeam.output.nodes import view_of
from hornbeam.output.picture import Look, Picture, draw_picture, text_width
from hornbeam.output.svg import tree_svg

matplotlib.use("Agg")
from matplotlib import pyplot

pytestmark = pytest.mark.mission("T12")

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _no_figures_left() -> Any:
    pyplot.close("all")
    yield
    pyplot.close("all")


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def binary(depth: int) -> Node:
    if depth == 0:
        return leaf(float(depth))
    return number(0, float(depth), binary(depth - 1), binary(depth - 1))


# --- layout ---------------------------------------------------------------------------------


@st.composite
def shapes(draw: Any) -> list[list[int]]:
    """Children per node, numbered level by level."""
    children: list[list[int]] = []
    count, limit = 1, draw(st.integers(1, 60))
    while len(children) < count:
        size = draw(st.integers(0, 4)) if count < limit else 0
        children.append(list(range(count, count + size)))
        count += size
    return children


@given(shapes(), st.data())
def test_layout_keeps_order_distance_and_centres(children: list[list[int]], data: Any) -> None:
    n = len(children)
    widths = data.draw(st.lists(st.floats(1, 50), min_size=n, max_size=n))
    x = TidyLayout(children, widths, 5.0).positions()
    assert min(x[i] - widths[i] / 2 for i in range(n)) == pytest.approx(0.0)
    level = [0]
    while level:
        for left, right in itertools.pairwise(level):
            assert x[right] - x[left] >= (widths[left] + widths[right]) / 2 + 5 - 1e-6
        for node in level:
            if children[node]:
                ends = x[children[node][0]], x[children[node][-1]]
                assert x[node] == pytest.approx(sum(ends) / 2)
        level = [child for node in level for child in children[node]]


def test_layout_is_compact_and_symmetric() -> None:
    children = [[1, 2], [3, 4], [5, 6], [], [], [], []]
    x = TidyLayout(children, [10.0] * 7, 2.0).positions()
    assert x == pytest.approx([23.0, 11.0, 35.0, 5.0, 17.0, 29.0, 41.0])


def test_layout_of_a_long_chain() -> None:
    children = _chain(10_000)
    x = TidyLayout(children, [1.0] * len(children), 1.0).positions()
    assert len(x) == 20_001 and max(x) > 9000


def _chain(length: int) -> list[list[int]]:
    """Every second child goes on: 0 -> (1, 2), 2 -> (3, 4), ..."""
    children: list[list[int]] = [[1, 2]]
    for i in range(1, length):
        children += [[], [2 * i + 1, 2 * i + 2]]
    return [*children, [], []]


# --- the picture ------------------------------------------------------------------------------


def picture_of(estimator: StandIn, **look: Any) -> Picture:
    return draw_picture(view_of(estimator), Look(**look))


@settings(max_examples=40)
@given(estimators())
def test_boxes_do_not_overlap_and_stay_inside(estimator: StandIn) -> None:
    picture = picture_of(estimator)
    spans = []
    for box in picture.boxes:
        left, right = box.x - box.width / 2, box.x + box.width / 2
        assert left >= 0 and right <= picture.width
        assert box.y >= 0 and box.y + box.height <= picture.height
        spans.append((left, right, box.y, box.y + box.height))
    for i, a in enumerate(spans):
        for b in spans[:i]:
            assert a[0] >= b[1] or b[0] >= a[1] or a[2] >= b[3] or b[2] >= a[3]


def test_wide_trees_are_cut_where_they_stop_being_legible() -> None:
    tree = StandIn().with_tree(binary(8), [Column("x")])
    boxes = picture_of(tree).boxes
    assert sum(box.stub for box in boxes) == 64
    assert boxes[-1].lines[0].text == "… 2 more levels"
    assert len(picture_of(tree, max_depth=8).boxes) == 511
    stubs = [box.lines[0].text for box in picture_of(tree, max_depth=0).boxes[1:]]
    assert stubs == ["… 8 more levels"]
    fifty = StandIn().with_tree(binary(5), [Column("x")])
    assert not any(box.stub for box in picture_of(fifty).boxes)


def test_a_split_with_thousands_of_branches() -> None:
    names = [f"n{i}" for i in range(3000)]
    root = multiway(0, *(leaf(float(i)) for i in range(3000)))
    boxes = picture_of(StandIn().with_tree(root, [Column("c", *names)])).boxes
    columns = [Column("c", *names[:40])]
    assert len(boxes) == 17 and boxes[-1].lines[0].text == "… 2,985 more"
    few = StandIn().with_tree(multiway(0, *(leaf(float(i)) for i in range(40))), columns)
    assert len(draw_picture(view_of(few, max_categories=None), Look()).boxes) == 41


def test_a_deep_chain_can_be_drawn_in_full() -> None:
    root = leaf(0.0)
    for level in range(2000):
        root = number(0, float(-level), root, leaf(1.0))
    tree = StandIn().with_tree(root, [Column("x")])
    assert len(picture_of(tree, max_depth=5000).boxes) == 4001
    assert len(picture_of(tree).boxes) < 200


# --- SVG ------------------------------------------------------------------------------------


@pytest.mark.quick
def test_svg_says_what_the_tree_says() -> None:
    found = texts(tree_svg(weather()))
    for words in ("outlook?", "humidity <= 77.5", "yes, missing", "sunny", "4 rows", "gini 0.5"):
        assert words in found
    assert "yes \u00a075%" in found
    root = ElementTree.fromstring(tree_svg(weather()))
    assert root.tag == f"{SVG}svg"
    assert tree_svg(weather())._repr_svg_() == str(tree_svg(weather()))


def test_notes_say_what_the_picture_does_not_show() -> None:
    note = "Categories that were not there in fit count as missing."
    assert texts(tree_svg(weather()))[-1] == note
    third = StandIn().with_tree(number(0, 1 / 3, leaf(1.0), leaf(2.0)), [Column("x")])
    assert texts(tree_svg(third))[-1] == "Numbers are rounded; precision=None shows them exactly."
    exact = texts(tree_svg(third, precision=None))
    assert "x <= 0.3333333333333333" in exact and "rounded" not in exact[-1]
    names = [f"city {i}" for i in range(40)]
    root = subset(0, tuple(range(12)), leaf(1.0), leaf(2.0))
    long = StandIn().with_tree(root, [Column("city", *names)])
    assert texts(tree_svg(long))[-1] == "Long lists are cut; max_categories=None shows them whole."
    whole = texts(tree_svg(long, max_categories=None))
    assert f"city in {{{', '.join(names[:12])}}}" in whole and "cut" not in whole[-1]


def test_missing_values_are_marked_where_they_come() -> None:
    below = number(0, 1.0, leaf(1.0), leaf(2.0), missing=1)
    tree = StandIn().with_tree(number(0, 5.0, below, leaf(3.0), missing=1), [Column("x")])
    answers = [box.answer for box in picture_of(tree).boxes]
    assert answers == ["", "yes", "no, missing", "yes", "no"]
    assert "missing" not in " ".join(texts(tree_svg(tree, show_missing=False))[:-1])


def test_svg_options() -> None:
    plain = tree_svg(
        weather(), impurity=False, node_ids=True, proportion=True, filled=False, rounded=False
    )
    found = texts(plain)
    assert "node #0" in found and "100% of the rows" in found
    assert not any("gini" in text for text in found)
    assert class_color(0) not in plain and 'rx="0"' in plain
    assert "[a, 0]" in texts(tree_svg(pairs()))
    assert "class 0 \u00a0100%" in texts(tree_svg(digits()))
    assert any("weight 2.5" in text for text in texts(tree_svg(steps())))


def digits() -> StandIn:
    root = number(0, 1.0, leaf(1.0, 0.0), leaf(0.0, 1.0))
    return StandIn().with_tree(root, [Column("x")], np.array([0, 1]))


def test_names_cannot_break_out_of_the_svg() -> None:
    evil = "</text><script>alert('1')</script>&\"\x00\x1b\ud800\uffff"
    root = multiway(0, leaf(1.0, 0.0), leaf(0.0, 1.0))
    tree = StandIn().with_tree(root, [Column(evil, evil, "b")], np.array([evil, "<b>"]))
    svg = tree_svg(tree)
    svg.encode("utf-8")
    tags = {element.tag for element in ElementTree.fromstring(svg).iter()}
    assert tags == {SVG + name for name in ("svg", "title", "rect", "g", "path", "text")}
    assert "<script" not in svg and "&lt;/text&gt;" in svg


def test_long_names_are_cut_but_told_in_the_title() -> None:
    name = "a very long name of a column that nobody can read in a box"
    svg = tree_svg(StandIn().with_tree(binary(1), [Column(name)]))
    assert any("…" in text and text.endswith("<= 1") for text in texts(svg))
    titles = [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    assert any(f"{name} <= 1" in title for title in titles)


@settings(max_examples=30)
@given(estimators())
def test_every_tree_gives_well_formed_svg(estimator: StandIn) -> None:
    ElementTree.fromstring(tree_svg(estimator))


# --- matplotlib -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [weather, steps, pairs])
def test_plot_shows_the_same_words_as_the_svg(make: Any) -> None:
    artists = plot_tree(make())
    shown = [artist.get_text() for artist in artists if hasattr(artist, "get_text")]
    expected = [text.replace("\u00a0", " ") for text in texts(tree_svg(make()))]
    assert sorted(shown) == sorted(expected)


def test_plot_draws_where_it_should(tmp_path: Path) -> None:
    figure, axes = pyplot.subplots()
    plot_tree(weather(), ax=axes)
    assert len(axes.texts) > 10
    plot_tree(weather())  # the axes have data now: a new figure of the right size
    assert len(pyplot.get_fignums()) == 2
    fresh = pyplot.figure(figsize=(8, 5))
    artists = plot_tree(weather(), path=tmp_path / "tree.png", fontsize=5)
    assert artists[-1].figure is fresh
    assert (tmp_path / "tree.png").read_bytes()[:4] == b"\x89PNG"
    assert {text.get_fontsize() for text in fresh.axes[0].texts} == {5.0}
    assert figure.axes == [axes]


def test_words_fit_into_their_boxes() -> None:
    """The estimate of widths is not narrower than what matplotlib's font needs."""
    figure = pyplot.figure()
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for words in ("petal width (cm) <= 0.8", "1,797 rows", "MMMWWW", "squared_error 5929.885"):
        for bold in (False, True):
            weight = "bold" if bold else "normal"
            text = figure.text(0, 0, words, fontsize=11, fontweight=weight)
            pixels = text.get_window_extent(renderer).width
            assert pixels * 72 / figure.dpi <= text_width(words, bold) + 12


def test_dollars_are_not_mathematics() -> None:
    tree = StandIn().with_tree(binary(1), [Column("price $a_b$ and $")])
    artists = plot_tree(tree)
    pyplot.gcf().canvas.draw()
    assert any("$a_b$" in getattr(a, "get_text", str)() for a in artists)


def test_svg_needs_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_matplotlib(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    assert plot_tree(weather(), path=tmp_path / "tree.svg") == []
    ElementTree.parse(tmp_path / "tree.svg")
    with pytest.raises(MissingDependencyError, match="pip install matplotlib"):
        plot_tree(weather())


@pytest.mark.skipif(os.name == "nt", reason="there are no named pipes there")
@pytest.mark.parametrize("name", ["tree.svg", "tree.png"])
def test_what_is_no_regular_file_is_not_drawn_over(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(FileExistsError, match="is a named pipe, not a regular file"):
        plot_tree(weather(), path=tmp_path / name)
    assert os.listdir(tmp_path) == [name]


def test_files_are_named_as_matplotlib_names_them(tmp_path: Path) -> None:
    plot_tree(weather(), path=tmp_path / "tree")
    assert (tmp_path / "tree.png").read_bytes()[:4] == b"\x89PNG"
    plot_tree(weather(), path=str(tmp_path / "tree.pdf"))
    assert (tmp_path / "tree.pdf").read_bytes()[:4] == b"%PDF"
    with pytest.raises(ValueError, match="bmp"):
        plot_tree(weather(), path=tmp_path / "tree.bmp")
    assert sorted(os.listdir(tmp_path)) == ["tree.pdf", "tree.png"]


def test_colors_of_many_classes_differ() -> None:
    assert len({class_color(number) for number in range(60)}) == 60

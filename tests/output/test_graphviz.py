"""Trees in the language of Graphviz."""

from __future__ import annotations

import io
import re

import pytest

import hornbeam as hb

TREE = hb.DecisionTreeClassifier(max_depth=2).fit(
    [["red", 1.0], ["blue", 2.0], ["red", 3.0], ["green", 4.0]], ["no", "yes", "no", "yes"]
)


def test_every_box_and_every_way_is_there(tmp_path):
    text = hb.export_graphviz(TREE, class_names=['"no"', "yes\\n"])
    assert text.startswith("digraph Tree {") and text.endswith("}")
    boxes = re.findall(r"^\d+ \[label=", text, re.MULTILINE)
    ways = re.findall(r"^\d+ -> \d+", text, re.MULTILINE)
    assert len(boxes) == TREE.tree_.node_count == len(ways) + 1
    assert '"' not in re.sub(r'"(?:[^"\\]|\\.)*"', "", text)  # names are escaped
    file = io.StringIO()
    assert hb.export_graphviz(TREE, file) is None
    hb.export_graphviz(TREE, tmp_path / "tree.dot")
    assert file.getvalue() == hb.export_graphviz(TREE) == (tmp_path / "tree.dot").read_text()


@pytest.mark.parametrize(
    "option, line",
    [
        ({"rotate": True}, "rankdir=LR;"),
        ({"leaves_parallel": True}, "{rank=same; 1; 2};"),
        (
            {"rounded": False, "fontname": "sans"},
            'node [shape=box, style="filled", fontname="sans"];',
        ),
    ],
)
def test_options_of_the_peer(option, line):
    assert line in hb.export_graphviz(TREE, **option).splitlines()

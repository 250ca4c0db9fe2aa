"""Trees and rules as text, letter by letter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from model.handmade import Column, StandIn, leaf, multiway, number, pairs, steps, subset, weather
from model.strategies import estimators
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from sklearn.tree import export_text as sklearn_text

from hornbeam.data.schema import Schema
from hornbeam.output.text import Rule, export_rules, export_text

pytestmark = pytest.mark.mission("T12")

WEATHER = """\
|--- outlook = sunny
|   |--- humidity <= 77.50 or missing
|   |   |--- class: yes
|   |--- humidity >  77.50
|   |   |--- class: no
|--- outlook = overcast
|   |--- class: yes
|--- outlook = rain or missing
|   |--- wind = strong or missing
|   |   |--- class: no
|   |--- wind = calm
|   |   |--- class: yes
Categories that were not there in fit count as missing.
"""

STEPS = """\
|--- x <= 2.00
|   |--- x <= 1.00
|   |   |--- value: [1.50]
|   |--- x >  1.00
|   |   |--- value: [2.25]
|--- x >  2.00 or missing
|   |--- slope <= 0.0001
|   |   |--- value: [10.00]
|   |--- slope >  0.0001 or missing
|   |   |--- x <= 8.00 or missing
|   |   |   |--- value: [3.00]
|   |   |--- x >  8.00
|   |   |   |--- value: [-1e+12]
"""

PAIRS = """\
|--- x <= 0.50
|   |--- weights: [5.00, 2.50, 2.50] [10.00, 0.00] class: [a, 0]
|--- x >  0.50 or missing
|   |--- weights: [0.00, 0.00, 10.00] [2.50, 7.50] class: [c, 1]
Weights are of the classes [a, b, c] [0, 1].
"""

CUT = """\
|-- x <= 2.0
|  |-- truncated branch of depth 2
|-- x >  2.0 or missing
|  |-- truncated branch of depth 3
Numbers are rounded; decimals=None shows them exactly.
Deep branches are cut; max_depth=None shows them.
"""


@pytest.mark.quick
def test_trees_letter_by_letter() -> None:
    assert export_text(weather()) == WEATHER
    assert export_text(steps()) == STEPS
    assert export_text(pairs(), show_weights=True) == PAIRS
    assert export_text(steps(), max_depth=0, spacing=2, decimals=1) == CUT


def test_extras_and_other_names() -> None:
    text = export_text(
        weather(),
        feature_names=["h", "o", "w"],
        class_names=["stay", "play"],
        show_samples=True,
        show_impurity=True,
        show_weights=True,
        show_missing=False,
    )
    assert "|   |   |--- samples: 4 gini: 0.00 weights: [1.00, 3.00] class: play\n" in text
    assert "|   |--- h <= 77.50\n" in text and "or missing" not in text
    assert "Where missing values go is left out; show_missing=True says it.\n" in text
    assert text.endswith("Weights are of the classes [stay, play].\n")


def as_hornbeam(tree: SklearnTree, names: list[str], classes: np.ndarray) -> StandIn:
    inner = tree.tree_

    def convert(i: int) -> Any:
        made = leaf(*inner.value[i].ravel(), rows=int(inner.n_node_samples[i]))
        if inner.children_left[i] >= 0:
            children = [convert(inner.children_left[i]), convert(inner.children_right[i])]
            return number(int(inner.feature[i]), float(inner.threshold[i]), *children)
        return made

    return StandIn().with_tree(convert(0), [Column(name) for name in names], classes)


@pytest.mark.parametrize("options", [{}, {"max_depth": 1}, {"show_weights": True, "decimals": 1}])
def test_numbers_and_classes_read_as_in_scikit_learn(options: dict[str, Any]) -> None:
    iris = load_iris()
    theirs = SklearnTree(random_state=0).fit(iris.data, iris.target)
    ours = as_hornbeam(theirs, iris.feature_names, theirs.classes_)
    expected = sklearn_text(theirs, feature_names=iris.feature_names, **options)
    lines = export_text(ours, show_missing=False, **options).splitlines(keepends=True)
    assert "".join(line for line in lines if line.startswith("|")) == expected


def test_long_sets_are_shortened_and_the_shorter_side_is_told() -> None:
    names = [f"city {i}" for i in range(40)]
    root = subset(0, tuple(range(12)), leaf(1.0), subset(0, (12,), leaf(2.0), leaf(3.0)))
    tree = StandIn().with_tree(root, [Column("city", *names)])
    first = "{city 0, city 1, city 2, city 3, city 4, city 5, … (6 more)}"
    lines = export_text(tree).splitlines()
    assert lines[0] == f"|--- city in {first}"
    assert lines[2] == f"|--- city not in {first} or missing"
    assert lines[3] == "|   |--- city = city 12"
    assert lines[5] == "|   |--- city != city 12 or missing"
    assert lines[-1] == "Long lists are cut; max_categories=None shows them whole."
    whole = export_text(tree, max_categories=None).splitlines()
    assert whole[0] == f"|--- city in {{{', '.join(names[:12])}}}"
    assert "max_categories" not in whole[-1]


@pytest.mark.parametrize("unseen", ["missing", "error", "other"])
def test_not_equal_is_said_only_of_what_takes_everything_else(unseen: str) -> None:
    """An unseen district goes with the missing ones, is refused, or is in the set of the node."""
    few = [Column("district", "north", "south", "east")]
    root = subset(0, (0,), leaf(1.0), leaf(2.0), missing=0)
    tree = StandIn().with_tree(root, few)
    tree.schema_ = Schema(tree.schema_.columns, True, unseen)
    lines = [line[5:] for line in export_text(tree).splitlines()[::2]]
    assert lines[0] == "district = north or missing"
    assert lines[1] == {"missing": "district in {south, east}"}.get(unseen, "district != north")
    many = [Column("district", *(f"d{i}" for i in range(20)))]
    tree = StandIn().with_tree(root, many)
    assert export_text(tree).splitlines()[2] == "|--- district != d0 and not missing"
    tree = StandIn().with_tree(subset(0, (0,), leaf(1.0), leaf(2.0), missing=1), many)
    assert export_text(tree).splitlines()[2] == "|--- district != d0 or missing"


def test_missing_values_are_named_only_where_they_come() -> None:
    """Once a question on the column has sent them elsewhere, they are of no concern."""
    below = number(0, 1.0, leaf(1.0), leaf(2.0), missing=1)
    tree = StandIn().with_tree(number(0, 5.0, below, leaf(3.0), missing=1), [Column("x")])
    assert export_text(tree).splitlines()[:3] == [
        "|--- x <= 5.00",
        "|   |--- x <= 1.00",
        "|   |   |--- value: [1.00]",
    ]
    assert export_text(tree).count("missing") == 1
    assert [rule.conditions[0] for rule in export_rules(tree)] == [
        "x <= 1.00",
        "1.00 < x <= 5.00",
        "x > 5.00 or missing",
    ]


def test_numbers_can_be_exact() -> None:
    third = 1 / 3
    root = number(0, third, leaf(1e-20), leaf(-2.0 * third), missing=0)
    tree = StandIn().with_tree(root, [Column("x")])
    assert export_text(tree, decimals=None).splitlines() == [
        "|--- x <= 0.3333333333333333 or missing",
        "|   |--- value: [1e-20]",
        "|--- x >  0.3333333333333333",
        "|   |--- value: [-0.6666666666666666]",
    ]
    assert str(export_rules(tree, decimals=3)).splitlines()[-1] == (
        "Numbers are rounded; decimals=None shows them exactly."
    )
    whole = StandIn().with_tree(number(0, 3.0, leaf(1.0), leaf(2.5)), [Column("x")])
    assert "rounded" not in export_text(whole) + str(export_rules(whole))


def test_questions_about_being_missing() -> None:
    root = number(
        0, np.inf, leaf(1.0), subset(1, (0, 1), leaf(2.0), leaf(3.0), missing=1), missing=1
    )
    tree = StandIn().with_tree(root, [Column("x"), Column("c", "a", "b")])
    lines = export_text(tree).splitlines()
    assert lines[0] == "|--- x is not missing"
    assert lines[2] == "|--- x is missing"
    assert lines[3] == "|   |--- c is not missing"
    assert lines[5] == "|   |--- c is missing"


def test_names_stay_on_their_line() -> None:
    root = subset(0, (0,), leaf(0.0, 1.0), leaf(1.0, 0.0))
    column = Column("two\nlines", "tab\there", "plain")
    text = export_text(StandIn().with_tree(root, [column], np.array(["\x01", "b\u2028"])))
    assert text.splitlines() == [
        '|--- "two\\nlines" = "tab\\there"',
        '|   |--- class: "b\\u2028"',
        '|--- "two\\nlines" = plain or missing',
        '|   |--- class: "\\x01"',
        "Categories that were not there in fit count as missing.",
    ]


def test_names_that_could_be_misread_are_in_quotes() -> None:
    root = subset(0, (0, 1), leaf(1.0), leaf(0.0), missing=1)
    column = Column("a <= b", "red, blue", "missing", 'say "no"', "two words (here)", "x and y")
    lines = export_text(StandIn().with_tree(root, [column])).splitlines()
    assert lines[0] == '|--- "a <= b" in {"red, blue", "missing"}'
    assert lines[2] == '|--- "a <= b" not in {"red, blue", "missing"} or missing'
    root = multiway(0, *(leaf(float(i)) for i in range(5)), missing=0)
    lines = export_text(StandIn().with_tree(root, [column])).splitlines()
    assert [line.removeprefix('|--- "a <= b" = ') for line in lines[4:10:2]] == [
        '"say \\"no\\""',
        "two words (here)",
        '"x and y"',
    ]
    mixed = Column("size", 1, "1", "2")
    lines = export_text(StandIn().with_tree(multiway(0, leaf(0.0), leaf(1.0), leaf(2.0)), [mixed]))
    assert [line for line in lines.splitlines() if "=" in line] == [
        "|--- size = 1",
        '|--- size = "1"',
        '|--- size = "2" or missing',
    ]


def test_a_single_leaf() -> None:
    tree = StandIn().with_tree(leaf(3.0, rows=1), [Column("x")])
    assert export_text(tree) == "|--- value: [3.00]\n"
    assert str(export_rules(tree)) == "always then 3.00 (1 row)"


def test_a_tree_thousands_deep() -> None:
    root = leaf(0.0)
    for level in range(3000):
        root = number(0, float(-level), root, leaf(1.0))
    tree = StandIn().with_tree(root, [Column("x")])
    assert "truncated branch of depth 2990" in export_text(tree)
    assert export_text(tree, max_depth=4000).count("\n") == 3000 * 2 + 3001
    assert len(export_rules(tree)) == 3001


def test_mistakes_in_the_call() -> None:
    with pytest.raises(ValueError, match=r"feature_names has 1 names, but .* 3 features"):
        export_text(weather(), feature_names=["a"])
    with pytest.raises(ValueError, match="class_names must name 2 classes"):
        export_text(weather(), class_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="class_names must name 3 and 2 classes"):
        export_rules(pairs(), class_names=["a", "b"])
    with pytest.raises(ValueError, match="max_depth must be >= 0"):
        export_text(weather(), max_depth=-1)
    with pytest.raises(ValueError, match="whole number >= 0, or None, not -1"):
        export_text(weather(), decimals=-1)
    with pytest.raises(ValueError, match="max_categories must be a whole number >= 1, or None"):
        export_rules(weather(), max_categories=0)
    with pytest.raises(NotFittedError, match="This StandIn is not fitted"):
        export_text(StandIn())
    with pytest.raises(TypeError, match="A fitted tree estimator is needed, not 'oak'"):
        export_rules("oak")


# --- rules ----------------------------------------------------------------------------------

WEATHER_RULES = """\
if outlook = sunny and (humidity <= 77.50 or missing) then yes (2 rows; 100% yes)
if outlook = sunny and humidity > 77.50 then no (3 rows; 100% no)
if outlook = overcast then yes (4 rows; 100% yes)
if (outlook = rain or missing) and (wind = strong or missing) then no (2 rows; 100% no)
if (outlook = rain or missing) and wind = calm then yes (4 rows; 75% yes, 25% no)
Categories that were not there in fit count as missing."""

STEPS_RULES = """\
if x <= 1.00 then 1.50 (4 rows)
if 1.00 < x <= 2.00 then 2.25 (5 rows)
if (x > 2.00 or missing) and slope <= 0.0001 then 10.00 (6 rows)
if (2.00 < x <= 8.00 or missing) and (slope > 0.0001 or missing) then 3.00 (10 rows)
if x > 8.00 and (slope > 0.0001 or missing) then -1e+12 (1 row, weight 2.5)"""


@pytest.mark.quick
def test_rules_letter_by_letter() -> None:
    assert str(export_rules(weather())) == WEATHER_RULES
    assert repr(export_rules(steps())) == STEPS_RULES
    assert str(export_rules(pairs())[0]) == (
        "if x <= 0.50 then [a, 0] (10 rows; 50% a, 25% b, 25% c; 100% 0)"
    )


def test_parts_of_a_rule() -> None:
    rules = export_rules(weather())
    assert len(rules) == 5 and len(rules[1:3]) == 2
    rule = rules[-1]
    assert isinstance(rule, Rule)
    assert rule.conditions == ("outlook = rain or missing", "wind = calm")
    assert (rule.prediction, rule.n_samples, rule.weight, rule.leaf) == ("yes", 4, 4.0, 7)
    assert rule.shares == ({"no": 0.25, "yes": 0.75},)
    assert rule.value.tolist() == [0.25, 0.75]


def test_shares_do_not_round_to_certainty() -> None:
    root = leaf(0.9999, 0.0001, 0.0, 0.0, 0.0, rows=10_000)
    tree = StandIn().with_tree(root, [Column("x")], np.array(list("abcde")))
    rules = export_rules(tree)
    assert str(rules[0]) == "always then a (10,000 rows; 99.9% a, 0.1% b)"
    assert rules.notes == ("Numbers are rounded; decimals=None shows them exactly.",)
    assert str(export_rules(tree, decimals=None)) == (
        "always then a (10,000 rows; 99.99% a, 0.01% b)"
    )
    root = leaf(0.4, 0.3, 0.1, 0.1, 0.1)
    tree = StandIn().with_tree(root, [Column("x")], np.array(list("abcde")))
    rules = export_rules(tree)
    assert str(rules[0]).endswith("40% a, 30% b, 10% c, …)")
    assert rules.notes == ("Long lists are cut; max_categories=None shows them whole.",)
    whole = export_rules(tree, max_categories=None)
    assert str(whole).endswith("40% a, 30% b, 10% c, 10% d, 10% e)")


@settings(max_examples=40)
@given(estimators())
def test_every_tree_has_a_text_and_a_rule_per_leaf(estimator: StandIn) -> None:
    rules = export_rules(estimator)
    assert sorted(rule.leaf for rule in rules) == np.flatnonzero(estimator.tree_.is_leaf).tolist()
    text = export_text(estimator)
    assert text.count("class: ") + text.count("value: ") == len(rules)


def test_multiway_rules_name_each_category() -> None:
    root = multiway(0, leaf(1.0), leaf(2.0), leaf(3.0), missing=0)
    tree = StandIn().with_tree(root, [Column("size", 1, 2.5, True)])
    assert [rule.conditions for rule in export_rules(tree)] == [
        ("size = 1 or missing",),
        ("size = 2.5",),
        ("size = True",),
    ]


def test_twenty_thousand_categories() -> None:
    names, count = [f"n{i}" for i in range(20_000)], 20_000
    root = multiway(0, *(leaf(float(i), rows=1) for i in range(count - 1)), leaf(0.0, rows=2))
    tree = StandIn().with_tree(root, [Column("c", *names)])
    assert export_text(tree).count("\n") == 2 * count + 1
    assert str(export_rules(tree)[7]) == "if c = n7 then 7.00 (1 row)"

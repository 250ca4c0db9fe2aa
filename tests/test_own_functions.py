"""A user's own function that does not compile gets a sentence that names the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hornbeam as hb

X = np.random.default_rng(0).normal(size=(50, 2))


def unknown_name(y: float, score: float) -> float:
    return (y - scroe) ** 2  # type: ignore[name-defined]  # noqa: F821


def array_method(y: Any, score: Any) -> Any:
    part = y - score
    return part.sum()


def imports(y: float, score: float) -> float:
    import math

    return math.sqrt(abs(y - score))


def text(y: float, score: float) -> Any:
    return "far"


def no_score(y: float) -> float:
    return y


LOSSES: dict[str, tuple[Any, str]] = {
    "unknown name": (unknown_name, "'scroe' is not defined"),
    "method": (
        array_method,
        r"attribute 'sum' of type float64, in line \d+ of .*`return p",
    ),
    "import": (imports, r"opcode \(IMPORT_NAME\).*, in line \d+ of .*: `import math`"),
    "text": (text, "what it returns is not a number"),
    "arguments": (no_score, "does not take two numbers"),
}


@pytest.mark.parametrize("case", LOSSES)
def test_a_loss(case: str) -> None:
    loss, words = LOSSES[case]
    with pytest.raises(TypeError, match=words) as caught:
        hb.GradientBoostingRegressor(loss=loss, n_estimators=2).fit(X, X[:, 0])
    message = str(caught.value)
    assert message.startswith(f"The loss {loss.__name__!r} ") and "\n" not in message
    assert message.endswith("in the part of Python that Numba understands.")
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_criterion() -> None:
    def attribute(counts: Any, weight: Any) -> Any:
        return counts.no_such_thing

    def lonely(counts: Any) -> float:
        return 0.0

    for criterion, words in (
        (attribute, r"no_such_thing.*, in line \d+ of .*: `return counts.no_such_thing`\. It"),
        (lonely, "it does not take counts, weight. It must be a function lonely"),
    ):
        with pytest.raises(TypeError, match=words) as caught:
            hb.DecisionTreeClassifier(criterion=criterion).fit(X, X[:, 0] > 0)
        assert "\n" not in str(caught.value)

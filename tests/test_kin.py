"""What `groups` and `time` of ``fit`` say reaches every split that any estimator makes."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import hornbeam as hb
from hornbeam.data.folds import Split, Splits

RNG = np.random.default_rng(0)
N_ROWS = 400
X = RNG.normal(size=(N_ROWS, 4))
Y = X[:, 0] + RNG.normal(size=N_ROWS)
LABELS = (Y > 0).astype(int)
GROUPS, TIME = np.arange(N_ROWS) // 8, np.arange(N_ROWS) // 5
WEIGHT = (np.arange(N_ROWS) % 7 > 0).astype(float)  # rows of weight 0 shift the numbers of others
STOPPED = {"early_stopping": True, "n_estimators": 6}
PRUNED = {"pruning": "reduced_error"}


def classifiers() -> dict[str, Any]:
    boosting, tree = hb.GradientBoostingClassifier(**STOPPED), hb.DecisionTreeClassifier(**PRUNED)
    members = [("boosting", boosting), ("tree", tree)]
    inner = hb.StackingClassifier(members, cv=2)
    return {
        "boosting, early stopping": boosting,
        "boosting, trial": hb.GradientBoostingClassifier(n_estimators=6, early_stopping=False),
        "forest, trial": hb.RandomForestClassifier(6, min_samples_split="auto"),
        "extra trees, trial": hb.ExtraTreesClassifier(6, min_samples_split="auto"),
        "tree, pruning": tree,
        "adaboost, early stopping": hb.AdaBoostClassifier(**STOPPED),
        "adaboost, calibrate": hb.AdaBoostClassifier(n_estimators=3, calibrate=True),
        "adaboost of trees that prune": hb.AdaBoostClassifier(tree, n_estimators=2),
        "bagging of boosting": hb.BaggingClassifier(boosting, 2),
        "votes": hb.VotingClassifier(members, voting="soft", weights="held_out", cv=2),
        "stack": hb.StackingClassifier(members, cv=2),
        "stack, fold_mean": hb.StackingClassifier(
            members, LogisticRegression(), cv=2, refit="fold_mean"
        ),
        "stack in a stack": hb.StackingClassifier([("stack", inner), members[1]], inner, cv=2),
        "blend": hb.BlendingClassifier(members),
    }  # fmt: skip


def regressors() -> dict[str, Any]:
    boosting = hb.GradientBoostingRegressor(**STOPPED)
    sure: dict[str, Any] = {"loss": "quantile", "quantile": 0.8, "calibrate": True}
    members = [("boosting", boosting), ("line", Ridge())]
    return {
        "boosting": boosting,
        "boosting, calibrate": hb.GradientBoostingRegressor(n_estimators=6, **sure),
        "forest, calibrate": hb.RandomForestRegressor(6, leaf_samples=True, calibrate=True),
        "extra trees, calibrate": hb.ExtraTreesRegressor(6, leaf_samples=True, calibrate=True),
        "tree, pruning": hb.DecisionTreeRegressor(**PRUNED),
        "adaboost": hb.AdaBoostRegressor(**STOPPED),
        "bagging of boosting": hb.BaggingRegressor(boosting, 2),
        "votes": hb.VotingRegressor(members, weights="held_out", cv=2),
        "stack": hb.StackingRegressor(members, Ridge(), cv=2),
        "blend": hb.BlendingRegressor(members),
    }


CASES = [(name, model, LABELS) for name, model in classifiers().items()]
CASES += [(name, model, Y) for name, model in regressors().items()]


@pytest.fixture
def splits_made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Splits, Split]]:
    """All splits of rows that are made, with who has made them."""
    made: list[tuple[Splits, Split]] = []

    def noted(name: str) -> Any:
        method = getattr(Splits, name)

        def call(self: Splits, *arguments: Any, **more: Any) -> Any:
            found = method(self, *arguments, **more)
            made.extend((self, s) for s in ([found] if isinstance(found, Split) else found))
            return found

        return call

    for name in ("hold_out", "hold_out_evenly", "halves", "pair", "folds"):
        monkeypatch.setattr(Splits, name, noted(name))
    return made


@pytest.mark.mission("E9", "E10")
@pytest.mark.parametrize("kind", ["groups", "time"])
@pytest.mark.parametrize(("name", "model", "y"), CASES, ids=[f"{c[0]}-{c[2].dtype}" for c in CASES])
def test_every_split_of_every_estimator_respects_them(
    name: str, model: Any, y: Any, kind: str, splits_made: list[tuple[Splits, Split]]
) -> None:
    belongs = GROUPS if kind == "groups" else TIME
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=0)
    more = {} if name.startswith("stack") else {"sample_weight": WEIGHT}
    model.fit(X, y, **more, **{kind: belongs})
    assert splits_made, f"{name} parts no rows"
    for splits, (learnt, held) in splits_made:
        known = getattr(splits.kin, kind)
        assert known is not None and len(known) == splits.n_rows
        assert learnt.any() and held.any() and not (learnt & held).any()
        if kind == "groups":
            assert not set(known[learnt]) & set(known[held])
        else:
            assert known[learnt].max() < known[held].min()


def test_a_ranker_keeps_queries_and_groups_apart(
    splits_made: list[tuple[Splits, Split]],
) -> None:
    qid, y = np.arange(N_ROWS) // 4, (Y > 0.5).astype(int)
    ranker = hb.GradientBoostingRanker(random_state=0, **STOPPED)
    ranker.fit(X, y, qid=qid, groups=GROUPS)
    assert splits_made
    for splits, (learnt, held) in splits_made:
        known = splits.kin.groups
        assert not set(known[learnt]) & set(known[held])
        assert len(np.unique(known)) == N_ROWS // 8  # eight rows of a group: two queries


@pytest.mark.quick
def test_nothing_else_splits_rows() -> None:
    """Whoever imports scikit-learn's splitters would go past what the user says of the rows."""
    package = Path(hb.__file__).parent
    allowed = {"cli/train.py"}  # which parts rows for its report before any estimator sees them
    # These do as scikit-learn's estimators do, whose fit knows no groups.
    allowed |= {"compat/sklearn_hist.py", "compat/sklearn_gradient.py"}
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "sklearn.model_selection":
                assert str(path.relative_to(package)) in allowed, path

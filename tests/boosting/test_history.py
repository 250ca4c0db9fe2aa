"""What a fit tells of its rounds: a bar, a frame, a plot, callbacks; silence unless asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.boosting.engine import RoundReport
from hornbeam.boosting.history import Watch

Regressor = hb.GradientBoostingRegressor
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
LEVEL = X[:, 0] + rng.normal(0, 0.1, 200)
FEW: dict[str, Any] = {"n_estimators": 6, "min_samples_leaf": 5, "random_state": 0}


def test_a_bar_on_stderr_only_when_asked_for(capfd: Any) -> None:
    Regressor(**FEW).fit(X, LEVEL, X_val=X, y_val=LEVEL)
    capfd.readouterr()  # the notice of a first compilation
    for verbose in (None, 0):
        Regressor(**FEW, verbose=verbose).fit(X, LEVEL, X_val=X, y_val=LEVEL)
        out, err = capfd.readouterr()
        assert (out, err) == ("", "")
    model = Regressor(**FEW, verbose=1).fit(X, LEVEL, X_val=X, y_val=LEVEL)
    out, err = capfd.readouterr()
    assert out == ""
    assert "boosting" in err and "6/6" in err and "half squared error" in err
    last = f"{model.history_['train'][-1]:.5g}"
    assert last in " ".join(err.split())


def test_the_frame_has_a_row_per_round() -> None:
    model = Regressor(**FEW, early_stopping=True).fit(X, LEVEL)
    frame = model.history()
    assert frame.columns.tolist() == ["train", "validation"]
    assert frame.index.name == "round" and frame.index.tolist() == list(range(1, 7))
    assert frame["validation"].tolist() == model.history_["validation"].tolist()
    assert len(Regressor(**FEW).fit(X, LEVEL).history()) == 0
    # rounds of a warm start that were watched from then on only: the others are unknown
    warm = Regressor(**{**FEW, "n_estimators": 3}, warm_start=True)
    warm.fit(X, LEVEL, callbacks=[lambda report: False])
    warm.set_params(n_estimators=5).fit(X, LEVEL, X_val=X, y_val=LEVEL, callbacks=[bool])
    frame = warm.history()
    assert frame["train"].notna().all() and len(frame) == warm.n_iter_
    assert frame["validation"].isna().tolist()[:3] == [True] * 3


def test_the_plot_has_a_line_per_loss() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    model = Regressor(**FEW, early_stopping=True).fit(X, LEVEL)
    axes = model.plot_history()
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    assert set(lines) == {"train", "validation"}
    np.testing.assert_array_equal(lines["train"], model.history_["train"])
    assert axes.get_xlabel() == "round"
    _, mine = plt.subplots()
    assert model.plot_history(ax=mine) is mine
    plt.close("all")
    with pytest.raises(ValueError, match="The fit measured no losses: pass X_val"):
        Regressor(**FEW).fit(X, LEVEL).plot_history()


def test_callbacks_hear_every_round_and_may_stop() -> None:
    heard: list[RoundReport] = []

    def listen(report: RoundReport) -> bool:
        heard.append(report)
        return report.number == 4

    model = Regressor(**FEW).fit(X, LEVEL, callbacks=[listen, lambda report: None])
    assert [report.number for report in heard] == [1, 2, 3, 4] and model.n_iter_ == 4
    for report, stage in zip(heard, model.staged_predict(X), strict=True):
        assert report.train_loss == pytest.approx(0.5 * np.mean((stage - LEVEL) ** 2))
        assert report.valid_loss is None


@pytest.mark.mission("G3")
@pytest.mark.parametrize(
    ("losses", "patience", "tol", "expected"),
    [
        ([3, 2, 1, 1, 1, 1], 2, 0.0, (3, 5)),
        ([3, 2, 2.5, 1, 2, 2], 2, 0.0, (4, 6)),
        ([3, 2.99, 2.98, 2.97], 2, 0.1, (1, 3)),
        ([np.nan, np.nan, np.nan], 2, 0.0, (1, 3)),
    ],
)
def test_patience(losses: Any, patience: int, tol: float, expected: Any) -> None:
    """The best round, and the round after which the fit stops."""
    watch = Watch(10, "loss", patience, tol, 0, (), None)
    stopped = None
    for number, loss in enumerate(losses, 1):
        if watch(RoundReport(number, loss, {"validation": float(loss)})):
            stopped = number
            break
    assert (watch.best_round(10), stopped) == expected

"""The progress bar: shown when asked for, or on a terminal when it takes long."""

from __future__ import annotations

import io
import os
import sys
import types
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam import progress
from hornbeam.progress import ProgressBar


def test_long_work_shows_itself_on_a_terminal(monkeypatch, capfd):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with ProgressBar("trees", 3, None) as quick:
        quick.show(1, "loss")
        assert quick.bar is None and not quick.silent
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    with ProgressBar("trees", 3, None) as slow:
        slow.show(1, "loss 0.25")
    err = capfd.readouterr().err
    assert "trees" in err and "1/3" in err and "0.25" in err


def test_zero_is_silent_and_one_is_not(capfd):
    for verbose, said in ((0, False), (None, False), (1, True)):
        with ProgressBar("trees", 2, verbose) as bar:
            bar.show(2)
        assert bool(capfd.readouterr().err) == said


class Broken(io.StringIO):
    """A terminal that is gone."""

    def isatty(self):
        return True

    def write(self, text):
        raise BrokenPipeError(32, "Broken pipe")

    def flush(self):
        raise BrokenPipeError(32, "Broken pipe")


class Odd:
    """Has nothing that a file has."""


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


def broken_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "w")


STREAMS = {
    "none": lambda: None,
    "closed": closed,
    "broken": Broken,
    "pipe": broken_pipe,
    "odd": Odd,
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("verbose", [1, None])
def test_the_work_goes_on_where_nothing_can_be_shown(kind, verbose, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.0)
    stdout, stream = sys.stdout, STREAMS[kind]()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressBar("trees", 3, verbose) as bar:
        for number in range(3):
            bar.show(number)
    assert sys.stderr is stream and sys.stdout is stdout


@pytest.mark.parametrize("kind", ["none", "closed", "broken"])
def test_no_fit_fails_by_its_progress_bar(kind, monkeypatch):
    monkeypatch.setattr(sys, "stderr", STREAMS[kind]())
    X = np.arange(40.0).reshape(-1, 1)
    y = np.arange(40) % 2
    few = {"n_estimators": 3, "verbose": 1, "random_state": 0}
    for model in (
        hb.RandomForestClassifier(**few),
        hb.ExtraTreesRegressor(**few),
        hb.RandomTreesEmbedding(**few),
        hb.GradientBoostingRegressor(learning_rate=0.1, **few),
        hb.BaggingClassifier(**few),
    ):
        model.fit(X, y)
        assert len(model.estimators_ if hasattr(model, "estimators_") else model.trees_) == 3


class ZMQInteractiveShell:
    """What IPython calls the shell of a notebook."""


def in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend to run in a notebook; returns what its cell shows, one text after the other."""
    shown: list[str] = []

    class Handle:
        def update(self, bar: Any) -> None:
            shown.append(bar._repr_mimebundle_()["text/plain"])

    def display(bar: Any, display_id: bool) -> Handle:
        assert display_id
        Handle().update(bar)
        return Handle()

    python = types.ModuleType("IPython")
    python.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
    shows = types.ModuleType("IPython.display")
    shows.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", shows)
    return shown


@pytest.mark.quick
def test_long_work_shows_itself_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = in_a_notebook(monkeypatch)
    with progress.ProgressBar("trees", 4, None) as bar:
        bar.show(1)
        assert shown == []  # it may be done soon
        bar.started -= 10
        bar.show(2, "loss 0.5")
        bar.show(4, "loss 0.4")
    assert len(shown) == 2 and shown[0].startswith("trees █") and "2/4" in shown[0]
    assert shown[1].endswith("4/4, 0 s left loss 0.4") and "░" not in shown[1]
    with progress.ProgressBar("trees", 4, 0) as bar:
        bar.started -= 10
        bar.show(2)
    assert len(shown) == 2

"""Dates in files of the command line, and identities, which are warned of once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hornbeam import cli


@pytest.mark.quick
def test_dates_in_a_file_are_asked_and_printed_as_dates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    days = np.datetime64("2024-01-01") + np.arange(400)
    lines = [f"K{i};{day};{'yes' if i >= 150 else 'no'}" for i, day in enumerate(days)]
    Path("shop.csv").write_text("\n".join(["id;since;left", *lines]) + "\n", encoding="utf-8")
    options = ["--n-estimators", "5", "--seed", "0"]
    with pytest.warns(UserWarning, match="'id' .* identifies rows") as warned:
        assert cli.main(["train", "shop.csv", "--target", "left", *options]) == 0
    found = capsys.readouterr()
    assert "since <= 2024-05-" in found.out + found.err
    assert len(warned) == 1  # though two models are fitted
    assert cli.main(["info", "shop.hornbeam"]) == 0
    assert "moment [" in capsys.readouterr().out
    assert cli.main(["predict", "shop.hornbeam", "shop.csv", "--out", "found.csv"]) == 0
    assert Path("found.csv").read_text().splitlines()[-1].strip('"') == "yes"

"""The record of digests: what it keeps of a fit, and that no change escapes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import digests
from benchmarks.digest_cases import Case, all_cases
from benchmarks.digest_tables import strange_rows

CASES = [
    Case("DecisionTreeClassifier", "gaps two whole-weights", {"n_jobs": 1}),
    Case("DecisionTreeClassifier", "gaps two whole-weights", {"n_jobs": 2}),
    Case("DecisionTreeRegressor", "small mixed", {"max_depth": 3}),
    Case("RandomForestRegressor", "tiny20", {"oob_score": True}),
    Case("BaggingClassifier", "ties"),
    Case("ID3Classifier", "numbers"),  # raises: ID3 takes no numbers
]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "all_cases", lambda: iter(CASES))


@pytest.mark.quick
def test_what_was_recorded_compares_equal_until_something_changes(
    few: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "digests.json"
    assert digests.main(["record", str(file)]) == 0
    assert digests.main(["compare", str(file)]) == 0
    assert capsys.readouterr().out == "6 fits, 1 of them raise\n" * 2

    record = json.loads(file.read_text(encoding="utf-8"))
    changed, gone, error = (CASES[place].name for place in (2, 3, 5))
    assert record[error]["error"].startswith("ValueError: ")
    record[changed]["output"] = "0" * digests.HEX_DIGITS
    record["of the past"] = record.pop(gone)
    file.write_text(json.dumps(record), encoding="utf-8")
    assert digests.main(["compare", str(file)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"differs in output: {changed}",
        "missing: of the past",
        f"new: {gone}",
    ]
    assert digests.main(["compare", str(file), "--only", "n_jobs"]) == 0


@pytest.mark.quick
def test_a_model_that_depends_on_threads_is_named() -> None:
    first, second = {"model": "a", "output": "b"}, {"model": "a", "output": "c"}
    assert digests.by_threads({"tree | n_jobs=1": first, "tree | n_jobs=2": first}) == []
    named = digests.by_threads({"tree | n_jobs=1": first, "tree | n_jobs=2": second})
    assert named == ["depends on threads: tree | n_jobs=2"]


@pytest.mark.quick
def test_every_case_has_a_name_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HORNBEAM_DATA", raising=False)
    names = [case.name for case in all_cases()]
    assert len(names) == len(set(names)) >= 300


@pytest.mark.quick
def test_strange_rows_have_gaps_and_categories_that_fit_has_not_seen() -> None:
    X = Case("C45Classifier", "mixed").read().X
    rows = strange_rows(X)
    assert list(rows) == list(X)
    assert (rows["town"] == "never seen").any() and rows["town"].isna().any()
    assert rows["age"].isna().any() and not X["age"].isna().any()

"""Dates, times and durations are numbers with a unit and a zone, and are printed as dates."""

from __future__ import annotations

import datetime as dt
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.data.schema import Schema
from hornbeam.data.times import TimeScale, from_numpy_times, reads_like_dates

DAYS = pd.date_range("2024-03-01", periods=60, freq="D")
LATE = np.arange(60) >= 30
BERLIN = DAYS.tz_localize("Europe/Berlin")


def column_of(X: Any) -> Any:
    return Schema.learn(X)[0].columns[0]


# the same days as every kind of column that there is for them
SAME_DAYS: dict[str, Any] = {
    "numpy, days": DAYS.to_numpy().astype("M8[D]")[:, None],
    "numpy, hours": DAYS.to_numpy().astype("M8[h]")[:, None],
    "numpy, nanoseconds": DAYS.to_numpy().astype("M8[ns]")[:, None],
    "pandas": pd.DataFrame({"d": DAYS}),
    "pandas on Arrow": pd.DataFrame({"d": pd.array(DAYS, dtype="timestamp[ms][pyarrow]")}),
    "dates of pandas on Arrow": pd.DataFrame({"d": pd.array(DAYS.date, dtype="date32[pyarrow]")}),
    "dates of Python": pd.DataFrame({"d": DAYS.date}),
    "moments of Python": pd.DataFrame({"d": pd.Series(list(DAYS), dtype=object)}),
    "periods": pd.DataFrame({"d": DAYS.to_period("D")}),
    "periods as objects": pd.DataFrame({"d": pd.Series(list(DAYS.to_period("D")), dtype=object)}),
    "polars, dates": pl.DataFrame({"d": DAYS.date}),
    "polars, moments": pl.DataFrame({"d": DAYS.to_pydatetime()}),
    "arrow, date32": pa.table({"d": pa.array(DAYS.date)}),
    "arrow, timestamp": pa.table({"d": pa.array(DAYS.to_pydatetime(), pa.timestamp("s"))}),
}


@pytest.mark.quick
@pytest.mark.parametrize("X", SAME_DAYS.values(), ids=SAME_DAYS.keys())
@pytest.mark.filterwarnings("ignore:X (has|does not have) ")
def test_days_are_days_in_whatever_they_come(X: Any) -> None:
    schema, matrix = Schema.learn(X)
    scale = schema.columns[0].time
    assert scale is not None and (scale.kind, scale.zone) == ("moment", None)
    assert [scale.words(number) for number in matrix[:, 0]] == [str(day) for day in DAYS.date]
    tree = hb.DecisionTreeClassifier().fit(X, LATE)
    assert "<= 2024-03-30 12:00" in hb.export_text(tree)
    for other in SAME_DAYS.values():  # whatever the unit there
        assert (tree.predict(other) == LATE).all()


@pytest.mark.quick
def test_moments_with_a_zone_are_counted_in_utc_and_printed_there() -> None:
    column = column_of(pd.DataFrame({"d": BERLIN}))
    assert column.time.zone == "Europe/Berlin"
    tree = hb.DecisionTreeClassifier().fit(pd.DataFrame({"d": BERLIN}), np.arange(60) >= 31)
    assert "d <= 2024-03-31 12:30+0200" in hb.export_text(tree)  # that day has 23 hours
    tokyo = pl.DataFrame({"d": BERLIN.tz_convert("Asia/Tokyo").to_pydatetime()})
    assert (tree.predict(tokyo) == (np.arange(60) >= 31)).all()
    objects = pd.DataFrame({"d": pd.Series(list(BERLIN), dtype=object)})
    assert column_of(objects).time.zone == "Europe/Berlin"
    assert (tree.predict(objects) == (np.arange(60) >= 31)).all()


@pytest.mark.quick
def test_missing_moments_are_missing() -> None:
    gone = DAYS.where(np.arange(60) % 3 > 0)
    for X in (
        pd.DataFrame({"d": gone}),
        pd.DataFrame({"d": pd.Series([None if day is pd.NaT else day for day in gone], dtype="O")}),
        pl.from_pandas(pd.DataFrame({"d": gone})),
        pa.Table.from_pandas(pd.DataFrame({"d": gone})),
        pd.DataFrame({"d": gone.to_period("D")}),
    ):
        matrix = Schema.learn(X)[1]
        assert np.isnan(matrix[:, 0]).tolist() == (np.arange(60) % 3 == 0).tolist()
    tree = hb.DecisionTreeClassifier().fit(pd.DataFrame({"d": gone}), LATE)
    assert len(tree.predict(pd.DataFrame({"d": [None, None]}))) == 2  # nothing is of any kind


@pytest.mark.quick
def test_durations_and_times_of_day() -> None:
    waits = pd.DataFrame({"wait": pd.to_timedelta(np.arange(60) * 7, unit="min")})
    tree = hb.DecisionTreeClassifier().fit(waits, LATE)
    assert "wait <= 03:26:30" in hb.export_text(tree)
    for other in (pl.from_pandas(waits), pa.Table.from_pandas(waits)):
        assert (tree.predict(other) == LATE).all()
    assert "days" in TimeScale("duration", "D").words(-3.25)
    clock = pl.DataFrame({"at": [dt.time(number // 3, 20 * (number % 3)) for number in range(60)]})
    tree = hb.DecisionTreeClassifier().fit(clock, LATE)
    assert "at <= 09:50" in hb.export_text(tree)
    objects = pd.DataFrame({"at": clock["at"].to_list()})
    assert (tree.predict(objects) == LATE).all()


@pytest.mark.quick
def test_words_of_scales() -> None:
    assert TimeScale("moment", "us").words(1.5e6) == "1970-01-01 00:00:02"
    assert TimeScale("moment", "us").words(1.5e6, exact=True) == "1970-01-01 00:00:01.5"
    assert TimeScale("moment", "D", "UTC").words(0.5) == "1970-01-01 12:00 UTC"
    assert TimeScale("moment", "D").words(-1.0) == "1969-12-31"
    assert TimeScale("moment", "D").words(1e7).startswith("29349-01-26")  # beyond what Python has
    assert TimeScale("moment", "s", "UTC+02:00").words(0.0) == "1970-01-01 02:00+0200"
    assert TimeScale("moment", "s", "../../etc/passwd").words(0.0).startswith("1970-01-01 00:00")
    assert TimeScale("duration", "s").words(-90061.0) == "-1 day 01:01:01"
    assert TimeScale("duration", "s").words(0.0) == "0 days"
    assert TimeScale("time of day", "s").words(0.0) == "00:00"


@pytest.mark.quick
@settings(max_examples=60, deadline=None)
@given(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)), st.sampled_from("sD"))
def test_words_are_the_moment(moment: dt.datetime, unit: str) -> None:
    numbers, scale = from_numpy_times(np.array([moment], f"M8[{unit}]"))
    seconds = np.datetime64(moment, unit).astype("M8[s]")
    expected = str(seconds).replace("T", " ").removesuffix(":00").removesuffix(" 00:00")
    assert scale.words(float(numbers[0])) == expected


@pytest.mark.quick
def test_rules_drawings_and_explanations_print_dates() -> None:
    X = pd.DataFrame({"day": DAYS, "n": np.arange(60.0) % 7})
    tree = hb.DecisionTreeClassifier(max_depth=2).fit(X, LATE)
    assert "day <= 2024-03-30 12:00" in str(hb.export_rules(tree))
    assert "day <= 2024-03-30 12:00" in re.sub(r"\s+", " ", str(tree.explain_split(0, X, LATE)))
    assert "2024-03-30 12:00" in hb.tree_svg(tree)
    assert "2024-03-30 12:00" in (hb.export_graphviz(tree) or "")
    c45 = hb.C45Classifier().fit(X, LATE)
    assert "day <= 2024-03-30" in hb.export_text(c45)
    assert "2024-03-30" in str(c45.explain_split(0, X, LATE))
    assert "2024-03-30" in str(c45.rules(X, LATE))
    boosted = hb.GradientBoostingClassifier(n_estimators=2, min_samples_leaf=1).fit(X, LATE)
    assert "2024-03-30" in hb.export_text(boosted.estimators_[0, 0])
    forest = hb.RandomForestClassifier(3, random_state=0).fit(X, LATE)
    assert "day" in hb.export_text(forest[0]) and "2024-" in hb.export_text(forest[0])


@pytest.mark.quick
def test_rounding_of_moments_is_said() -> None:
    seconds = pd.DataFrame({"d": DAYS + pd.to_timedelta(np.arange(60) * 0.25, unit="s")})
    tree = hb.DecisionTreeClassifier(max_depth=1).fit(seconds, LATE)
    assert "decimals=None" in hb.export_text(tree)
    assert "d <= 2024-03-30 12:00:07.375" in hb.export_text(tree, decimals=None)
    whole = hb.DecisionTreeClassifier(max_depth=1).fit(pd.DataFrame({"d": DAYS}), LATE)
    assert "decimals=None" not in hb.export_text(whole)


@pytest.mark.quick
def test_models_of_dates_are_saved_with_unit_and_zone(tmp_path: Path) -> None:
    X = pd.DataFrame({"d": BERLIN, "n": np.arange(60)})
    for model in (
        hb.DecisionTreeClassifier(max_depth=3),
        hb.RandomForestClassifier(5),
        hb.GradientBoostingClassifier(n_estimators=3),
        hb.C45Classifier(),
    ):
        model.fit(X, LATE).save(tmp_path / "model")
        same = hb.load(tmp_path / "model")
        assert same.schema_ == model.schema_ and same.digest() == model.digest()
        assert (same.predict(X) == model.predict(X)).all()


@pytest.mark.quick
@pytest.mark.parametrize(
    "time",
    [
        {"kind": "moment", "unit": "D"},
        {"kind": "day", "unit": "D", "zone": None},
        {"kind": "moment", "unit": "ns", "zone": None},
        {"kind": "duration", "unit": "s", "zone": "UTC"},
        {"kind": "moment", "unit": "s", "zone": 3},
        [],
    ],
)
def test_hostile_scales_in_files_are_refused(time: Any) -> None:
    content = Schema.learn(pd.DataFrame({"d": DAYS}))[0].to_dict()
    assert Schema.from_dict(content).to_dict() == content
    content["columns"][0]["time"] = time
    with pytest.raises(ValueError, match="column 0 of the schema"):
        Schema.from_dict(content)


OTHERS: dict[str, tuple[Any, str]] = {
    "numbers": (pd.DataFrame({"d": [1.0]}), r"held dates .*moment \[us, Europe.*numbers now"),
    "an array": (np.array([[1.0]]), "holds numbers now"),
    "text": (pd.DataFrame({"d": ["2024-01-01"]}), "text or bools now.*pandas.to_datetime"),
    "no zone": (pd.DataFrame({"d": DAYS}), "no time zone now.*tz_localize\\('Europe/Berlin'"),
    "durations": (pd.DataFrame({"d": [pd.Timedelta(1)]}), r"dates or times \(duration"),
}


@pytest.mark.quick
@pytest.mark.parametrize(("X", "words"), OTHERS.values(), ids=OTHERS.keys())
@pytest.mark.filterwarnings("ignore:X does not have")
def test_other_kinds_in_predict_are_refused(X: Any, words: str) -> None:
    tree = hb.DecisionTreeClassifier().fit(pd.DataFrame({"d": BERLIN}), LATE)
    with pytest.raises(ValueError, match=words):
        tree.predict(X)


@pytest.mark.quick
def test_dates_where_numbers_were_are_refused() -> None:
    tree = hb.DecisionTreeClassifier().fit(pd.DataFrame({"d": np.arange(60)}), LATE)
    with pytest.raises(ValueError, match=r"held numbers in fit \(int64\) but holds dates"):
        tree.predict(pd.DataFrame({"d": DAYS}))


@pytest.mark.quick
def test_dates_as_categories_keep_their_names() -> None:
    X = pd.DataFrame({"d": np.repeat(BERLIN[:6], 10)})
    tree = hb.DecisionTreeClassifier(categorical_features=["d"]).fit(X, np.arange(60) % 20 < 10)
    labels = column_categories(tree)
    assert labels[0] == "2024-02-29 23:00 UTC"
    there = pd.DataFrame({"d": X["d"].dt.tz_convert("Asia/Tokyo")})
    assert (tree.predict(there) == tree.predict(X)).all()


def column_categories(tree: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = tree.schema_.columns[0].categories
    return found


@pytest.mark.quick
def test_text_that_is_dates_gets_a_hint() -> None:
    text = pd.DataFrame({"day": DAYS.strftime("%d.%m.%Y"), "n": np.arange(60)})
    with pytest.warns(UserWarning, match=r"'day' .*like dates, such as '01.*to_datetime\(X\['day'"):
        hb.DecisionTreeClassifier(max_depth=1).fit(text, LATE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hb.DecisionTreeClassifier(max_depth=1).fit(
            pd.DataFrame({"day": pd.Categorical(list(text["day"].iloc[:30]) * 2)}), LATE
        )


@pytest.mark.quick
def test_what_reads_like_dates() -> None:
    assert reads_like_dates(["2024-01-02", "2024-1-2 03:04", "02/01/2024", "2024-01-02T03:04:05Z"])
    assert reads_like_dates(["1.2.2024 3:04 PM", "2024/01/02 03:04:05.678+02:00"])
    for no in (["2024"], ["2024-01-02", "unknown"], ["1.2.3", "4.5.6"], ["2024-01-02", 1], []):
        assert not reads_like_dates(no)


MIXED: dict[str, tuple[list[Any], str]] = {
    "numbers as text": ([1, "2"], r"for numbers X\['a'\] = X\['a'\].astype\(float\)"),
    "numbers and text": ([1, "x"], r"X\['a'\] = X\['a'\].map\(str, na_action=\"ignore\"\)"),
    "bools and numbers": ([True, 2.5], r"for numbers X\['a'\] = X\['a'\].astype\(float\)"),
    "dates and text": ([DAYS[0], "x"], r"X\['a'\] = pandas.to_datetime\(X\['a'\], errors="),
    "dates and durations": ([DAYS[0], DAYS[1] - DAYS[0]], "of type Timedelta in row 1"),
    "with and without a zone": ([DAYS[0], BERLIN[0]], r"to_datetime\(X\['a'\], utc=True\)"),
}


@pytest.mark.quick
@pytest.mark.parametrize(("pair", "words"), MIXED.values(), ids=MIXED.keys())
def test_mixed_objects_get_the_line_to_write(pair: list[Any], words: str) -> None:
    X = pd.DataFrame({"a": pd.Series(pair * 30, dtype=object)})
    with pytest.raises(TypeError, match=words):
        hb.DecisionTreeClassifier().fit(X, LATE)


@pytest.mark.quick
@pytest.mark.parametrize("name", ["numbers as text", "numbers and text", "dates and text"])
@pytest.mark.parametrize("framed", [True, False])
def test_the_lines_of_the_error_work(name: str, framed: bool) -> None:
    values = pd.Series(MIXED[name][0] * 30, dtype=object)
    X: Any = values.to_frame("a") if framed else values.to_numpy(object).reshape(-1, 1)
    with pytest.raises(TypeError) as caught:
        hb.DecisionTreeClassifier().fit(X, LATE)
    lines = re.findall(r"for \w+ (X\[.+?\] = .+?)(?=, for \w+ X|, or drop it)", str(caught.value))
    assert len(lines) == (1 if name == "numbers and text" else 2)
    for line in lines:
        if "to_datetime" in line and not framed:
            continue  # an array of objects keeps whatever it holds
        again = X.copy()
        exec(line, {"X": again, "pandas": pd})
        hb.DecisionTreeClassifier().fit(again, LATE)


@pytest.mark.quick
def test_durations_in_months_are_refused() -> None:
    with pytest.raises(TypeError, match="column 0 holds durations in months, whose length nobody"):
        hb.DecisionTreeClassifier().fit(np.arange(60).astype("m8[M]")[:, None], LATE)


@pytest.mark.quick
def test_nanoseconds_are_parts_of_microseconds() -> None:
    X = (np.datetime64("2024-01-01", "ns") + np.arange(60) * np.timedelta64(500, "ns"))[:, None]
    numbers, scale = from_numpy_times(X[:, 0])
    assert scale.unit == "us" and np.diff(numbers).tolist() == [0.5] * 59
    assert (hb.DecisionTreeClassifier().fit(X, LATE).predict(X) == LATE).all()

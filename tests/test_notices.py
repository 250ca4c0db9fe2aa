"""Warnings that point to the user's own line, and that an ensemble does not repeat."""

from __future__ import annotations

import warnings

import pytest

from hornbeam import notices


@pytest.mark.quick
def test_a_warning_points_to_the_line_outside_of_hornbeam() -> None:
    with pytest.warns(UserWarning, match="this and that") as said:
        notices.warn("this and that")
    assert said[0].filename == __file__


@pytest.mark.quick
def test_silence_ends_with_its_block_and_is_not_broken_inside() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with notices.silenced(True):
            notices.warn("not heard")
            with notices.silenced(False):
                notices.warn("not heard either")
        with notices.silenced(False):
            notices.warn("heard")
    assert [str(warning.message) for warning in said] == ["heard"]

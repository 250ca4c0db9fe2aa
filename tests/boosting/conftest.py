"""What tests of boosting share."""

from __future__ import annotations

from typing import Any

import pytest

from hornbeam.boosting import scores


@pytest.fixture
def real_threads(monkeypatch: Any) -> None:
    """As many threads as ``n_jobs`` says, also where they do not pay."""
    monkeypatch.setattr(scores, "LEAST_SECONDS", 0.0)

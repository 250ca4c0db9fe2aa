"""When to stop early: what ``early_stopping`` and ``n_iter_no_change`` say together."""

from __future__ import annotations

from typing import Any

from sklearn.utils._param_validation import StrOptions

from hornbeam.params import COUNT, Parameter


def stopping_parameter(doc: str) -> Parameter:
    """Declare ``early_stopping``; the sentence says what stopping is."""
    doc = f"{doc} 'auto': if `n_iter_no_change` is given."
    return Parameter("bool or 'auto'", doc, ["boolean", StrOptions({"auto"})])


def patience_parameter(doc: str, usual: int) -> Parameter:
    """Declare ``n_iter_no_change``; the sentence says what is counted."""
    doc = f"{doc} A number switches early stopping on; None: {usual}, if it is on."
    return Parameter("int or None", doc, [COUNT, None])


def patience_of(estimator: Any, usual: int) -> int | None:
    """How long an estimator waits for something better; None if it does not stop early."""
    given, asked = estimator.n_iter_no_change, estimator.early_stopping
    if asked == "auto":
        return None if given is None else int(given)
    if not asked:
        return None
    return usual if given is None else int(given)

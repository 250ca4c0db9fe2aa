"""What a member says of rows, as a block of columns: shares of classes, decisions or values."""

from __future__ import annotations

from typing import Any

import numpy as np

from hornbeam.combine.members import call_member, member_classes, member_shares
from hornbeam.dtypes import Array

METHODS = ("predict_proba", "decision_function", "predict")


def method_of(name: str, estimator: Any, wanted: str, order: tuple[str, ...] = METHODS) -> str:
    """Which method of a classifier is asked: the one that is wanted, or the first it has.

    Parameters
    ----------
    name : str
        Of the member, for an error.
    estimator : estimator
    wanted : str
        ``"auto"``, or one of `METHODS`.
    order : tuple of str
        What ``"auto"`` tries.
    """
    for method in order if wanted == "auto" else (wanted,):
        if hasattr(estimator, method):
            return method
    raise ValueError(
        f"Underlying estimator {name} does not implement the method {wanted}: it is a "
        f"{type(estimator).__name__}. Choose stack_method='auto' or 'predict', or another member."
    )


def ask(member: Any, X: Any, method: str, classes: Array | None, alone: bool) -> Array:
    """What a member predicts for rows: an array of shape (n_rows, n_values).

    Classes that it has not seen are improbable; with `decision_function` they are an error.
    A class that is predicted by its name is a vote: 1 for it, and 0 for the others.
    """
    if classes is None:
        block = np.asarray(call_member(member, "predict", X, alone), np.float64)
        block = block.reshape(len(block), -1)
        if block.shape[1] != 1:
            raise ValueError(f"it predicts {block.shape[1]} numbers for a row, not one.")
    elif method == "decision_function":
        block = np.asarray(call_member(member, method, X, alone), np.float64)
        block = block.reshape(len(block), -1)
        if len(member_classes(member, classes)) < len(classes):
            missing = sorted(set(classes.tolist()) - set(member.classes_.tolist()))
            raise ValueError(
                f"it has not seen the class {missing[0]!r}, so it decides between fewer classes "
                "than there are. Choose stack_method='predict_proba' or 'predict', fewer folds, "
                "or leave the class out."
            )
    else:
        voting = "soft" if method == "predict_proba" else "hard"
        block = member_shares(member, X, classes, voting, alone)
    if not np.isfinite(block).all():
        row = int(np.argmin(np.isfinite(block).all(axis=1)))
        raise ValueError(
            f"it predicts {block[row].tolist()} for row {row} of those that it was asked about. "
            "Members must predict finite numbers."
        )
    return block


def features_of(block: Array, method: str, n_classes: int) -> Array:
    """The columns that a final estimator learns from: of two shares that add up to 1, one."""
    return block[:, 1:] if n_classes == 2 and method != "decision_function" else block

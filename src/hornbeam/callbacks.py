"""Callbacks of scikit-learn 1.9 and later, which are told of every step of a fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has none

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Adds nothing."""

    def with_callbacks(method: Any) -> Any:
        """Leave a method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Told", "with_callbacks"]

Fitted = Callable[[], dict[str, Any]]  # makes the fitted attributes as they are at this step


class Told:
    """Tells the callbacks of an estimator of the steps of its fit, if it has any.

    Parameters
    ----------
    estimator : estimator
        With `CallbackSupportMixin`; its method ``fit`` is decorated by `with_callbacks`.
    n_steps : int
        As many steps as there can be.
    X, y, sample_weight
        As ``fit`` got them.
    """

    def __init__(
        self, estimator: Any, n_steps: int, X: Any, y: Any = None, sample_weight: Any = None
    ) -> None:
        self.estimator, self.n_told, self.root = estimator, 0, None
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self.data = {"X": X, "y": y, "metadata": metadata}
        if {"_skl_callbacks", "_parent_callback_ctx"} & vars(estimator).keys():
            self.root = estimator._init_callback_context(max_subtasks=n_steps)
            self.root.call_on_fit_task_begin(estimator=estimator, **self.data)

    @property
    def listens(self) -> bool:
        """Whether anybody listens."""
        return self.root is not None

    def step(self, fitted: Fitted | None = None) -> bool:
        """Tell of one more step that is done; True if the fit is to stop."""
        if self.root is None:
            return False
        task = self.root.subcontext(task_name="step")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        self.n_told += 1
        return bool(
            task.call_on_fit_task_end(
                estimator=self.estimator, **self.data, reconstruction_attributes=fitted
            )
        )

    def up_to(self, number: int) -> None:
        """Tell of all steps up to this one that have not been told of."""
        while self.root is not None and self.n_told < number:
            self.step()

    def end(self, fitted: Fitted | None = None) -> None:
        """Tell that all is done."""
        if self.root is not None:
            self.root.call_on_fit_task_end(
                estimator=self.estimator, **self.data, reconstruction_attributes=fitted
            )

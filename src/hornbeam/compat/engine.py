"""What every class for scripts of another library does with the engine that it has fitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hornbeam.boosting.base import BaseGradientBoosting
from hornbeam.errors import ModelFileError, contradictions
from hornbeam.model.state import has_model

# What everybody looks for on a fitted estimator: the adapter says what its engine says.
SHOWN = ("n_features_in_", "feature_names_in_", "classes_", "n_classes_")


class WithEngine(BaseEstimator):  # type: ignore[misc]
    """Mixin of adapters: ``engine_`` is fitted, saved and asked."""

    _engine_class: ClassVar[type[BaseGradientBoosting]]

    engine_: BaseGradientBoosting

    @property
    def _engine(self) -> Any:
        check_is_fitted(self)
        return self.engine_

    def __sklearn_is_fitted__(self) -> bool:
        return "engine_" in self.__dict__

    def _adopt(self, engine: Any) -> None:
        """Take a fitted engine, and what everybody looks for on a fitted estimator."""
        self.engine_ = engine
        for name, value in _shown(engine).items():
            setattr(self, name, value)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        checked = dict(state)
        with contradictions("The pickled model"):
            if "engine_" in checked:
                engine = checked["engine_"]
                if not isinstance(engine, self._engine_class) or not has_model(vars(engine)):
                    raise ModelFileError(
                        f"The engine of a {type(self).__name__} must be a fitted "
                        f"{self._engine_class.__name__}, but is {type(engine).__name__}."
                    )
                checked = {name: value for name, value in checked.items() if name not in SHOWN}
                checked |= _shown(engine)
                self._check_rest(checked)
        super().__setstate__(checked)

    def _check_rest(self, state: Mapping[str, Any]) -> None:
        """Raise unless what is pickled besides the engine can be used."""

    def save(self, path: Any, **options: Any) -> None:
        """Save the fitted engine, which `hb.load` reads as the class of ours that it is.

        Parameters
        ----------
        path : path
        **options
            As of our own classes.
        """
        self._engine.save(path, **options)

    def digest(self) -> str:
        """Return a SHA-256 of the model: equal digests mean equal models, bit for bit."""
        return str(self._engine.digest())


def _shown(engine: Any) -> dict[str, Any]:
    return {name: vars(engine)[name] for name in SHOWN if name in vars(engine)}

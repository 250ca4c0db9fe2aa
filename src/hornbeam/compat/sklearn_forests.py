"""Forests whose trees show themselves in scikit-learn's arrays."""

from __future__ import annotations

from typing import Any

from hornbeam.compat.sklearn_trees import showing_arrays
from hornbeam.forest import embedding, estimators


class ShowsTrees:
    """Mixin for a forest whose ``estimators_`` have scikit-learn's arrays as their ``tree_``."""

    def _tree(self, number: int) -> Any:
        return showing_arrays(super()._tree(number))  # type: ignore[misc]


class RandomForestClassifier(ShowsTrees, estimators.RandomForestClassifier):
    """`hornbeam.RandomForestClassifier` whose trees have scikit-learn's arrays."""


class RandomForestRegressor(ShowsTrees, estimators.RandomForestRegressor):
    """`hornbeam.RandomForestRegressor` whose trees have scikit-learn's arrays."""


class ExtraTreesClassifier(ShowsTrees, estimators.ExtraTreesClassifier):
    """`hornbeam.ExtraTreesClassifier` whose trees have scikit-learn's arrays."""


class ExtraTreesRegressor(ShowsTrees, estimators.ExtraTreesRegressor):
    """`hornbeam.ExtraTreesRegressor` whose trees have scikit-learn's arrays."""


class RandomTreesEmbedding(ShowsTrees, embedding.RandomTreesEmbedding):
    """`hornbeam.RandomTreesEmbedding` whose trees have scikit-learn's arrays."""

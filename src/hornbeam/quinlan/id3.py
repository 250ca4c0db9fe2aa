"""ID3: `ID3Classifier` (Quinlan 1986)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.data.columns import Numbers, listed, numbers_to_categories
from hornbeam.data.matrix import assemble
from hornbeam.data.reader import TrainingTable
from hornbeam.data.schema import ColumnSchema, Schema
from hornbeam.model.registry import register_estimator
from hornbeam.params import declared
from hornbeam.quinlan.base import QuinlanTree
from hornbeam.quinlan.grower import Grown, QuinlanRules


@register_estimator
@declared
class ID3Classifier(QuinlanTree):
    """A classification tree on categories, grown by information gain.

    A node asks for the category with the largest gain and has a branch for each one. No
    feature is asked twice on a path. A node is a leaf when its rows are of one class, when
    no feature is left, or when the best relative gain, its share of all weight times the
    gain, is below ``min_impurity_decrease``.

    The missing values of a column that has some in ``fit`` are one more category. With
    ``missing="fractions"`` a row that lacks a value goes down every branch with a fraction of
    its weight, as in C4.5; so does in ``predict``, in any case, a row with a category that no
    training row of the node had.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    schema_ : Schema
        Names and categories of the columns.
    classes_ : array
    n_classes_ : int
    n_outputs_ : int
        Always 1.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    feature_importances_ : array

    Examples
    --------
    >>> import hornbeam as hb
    >>> X = [["sunny", "high"], ["sunny", "normal"], ["overcast", "high"], ["rain", "normal"]]
    >>> tree = hb.ID3Classifier().fit(X, ["no", "yes", "yes", "yes"])
    >>> tree.predict([["rain", "high"], ["sunny", "high"]]).tolist()
    ['yes', 'no']
    """

    _keeps_identities = True  # it is known for taking them

    def __init__(
        self,
        *,
        min_impurity_decrease: float = 0.0,
        max_depth: int | None = None,
        numeric: str = "error",
        missing: str = "category",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        unseen: str = "missing",
        n_jobs: int | None = None,
    ) -> None:
        self.min_impurity_decrease = min_impurity_decrease
        self.max_depth = max_depth
        self.numeric = numeric
        self.missing = missing
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.n_jobs = n_jobs

    def _read(self, X: Any, sample_weight: Any) -> TrainingTable:
        table = super()._read(X, sample_weight)
        numbers = np.flatnonzero(~table.schema.is_category)
        if not len(numbers):
            return table
        if self.numeric == "error":
            _refuse_numbers(table.schema, numbers.tolist())
        return TrainingTable(*all_categories(table.schema, table.matrix), table.weight)

    def _growth_rules(self, total: float) -> QuinlanRules:
        return QuinlanRules(
            ratio=False,
            # without a bound the crumbs of single rows would be split for ever
            min_split=1.0 if self.missing == "fractions" else 0.0,
            min_decrease=float(self.min_impurity_decrease),
            max_depth=self.max_depth,
            missing_is_branch=self.missing == "category",
        )

    def _prune_grown(self, grown: Grown) -> None:
        """ID3 does not prune."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def _refuse_numbers(schema: Schema, numbers: list[int]) -> None:
    names = [schema.feature_names[feature] for feature in numbers]
    first = schema.columns[numbers[0]]
    more = f" (and so do {listed(names[1:])})" if len(names) > 1 else ""
    raise ValueError(
        f"ID3 splits on categories, but column {first.name!r} holds numbers ({first.dtype})"
        f"{more}. Use C45Classifier, which finds thresholds; or discretise the column, for "
        "instance with sklearn.preprocessing.KBinsDiscretizer; or set numeric='categories' to "
        "take each distinct value as a category."
    )


def all_categories(schema: Schema, matrix: Any) -> tuple[Schema, Any]:
    """Take each distinct value of the number columns as a category."""
    if scipy.sparse.issparse(matrix):
        raise TypeError(
            "Sparse data was passed, but ID3 takes numbers as categories only from dense "
            "tables. Use X.toarray(), or C45Classifier, which takes sparse matrices."
        )
    columns, parts = [], []
    for feature, column in enumerate(schema.columns):
        values = matrix[:, feature]
        if column.kind == "category":
            columns.append(column)
            parts.append(np.where(np.isnan(values), -1, values).astype(np.int64))
            continue
        numbers = Numbers(values, None, column.dtype, column.time)
        found = numbers_to_categories(numbers, repr(column.name))
        columns.append(ColumnSchema(column.name, "category", column.dtype, tuple(found.labels)))
        parts.append(found.codes)
    titles = [column.name for column in columns]
    return Schema(tuple(columns), schema.named, schema.unseen), assemble(parts, titles)

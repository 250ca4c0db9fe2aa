"""C4.5: `C45Classifier` (Quinlan 1993, release 8)."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.target import check_length
from hornbeam.model.registry import register_estimator
from hornbeam.output.names import LISTED
from hornbeam.output.nodes import view_of
from hornbeam.params import declared
from hornbeam.quinlan.base import QuinlanTree, as_counts
from hornbeam.quinlan.grower import Grown, QuinlanRules
from hornbeam.quinlan.pruning import collapse, prune
from hornbeam.quinlan.rules import RuleSet, as_dense, extract_rules


@register_estimator
@declared
class C45Classifier(QuinlanTree):
    """A classification tree as Quinlan's C4.5 grows it.

    Splits are chosen by gain ratio among the features whose gain is at least the average.
    Categories get a branch each, numbers a threshold. Rows with missing values go down every
    branch with a fraction of their weight, in ``fit`` and in ``predict``. The grown tree is
    pruned by pessimistic errors.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    schema_ : Schema
        Names, kinds and categories of the columns.
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
    >>> X = [["sunny", 85.0], ["sunny", 90.0], ["sunny", 70.0], ["sunny", 65.0], ["rain", 80.0]]
    >>> y = ["stay", "stay", "play", "play", "play"]
    >>> tree = hb.C45Classifier(pruning=None).fit(X, y)
    >>> tree.predict([["sunny", 72.0], ["rain", 88.0]]).tolist()
    ['play', 'stay']
    >>> tree.predict_proba([["sunny", None]]).round(2).tolist()
    [[0.6, 0.4]]
    """

    _declared_as = {  # noqa: RUF012
        "min_samples_leaf": "c45_min_samples_leaf",
        "pruning": "c45_pruning",
        "confidence": "pruning_confidence",
    }

    def __init__(
        self,
        *,
        min_samples_leaf: int | float = 2,
        max_depth: int | None = None,
        mdl_correction: bool = True,
        grouping: bool = False,
        pruning: str | None = "pessimistic",
        confidence: float = 0.25,
        raising: bool = True,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        unseen: str = "missing",
        n_jobs: int | None = None,
    ) -> None:
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.mdl_correction = mdl_correction
        self.grouping = grouping
        self.pruning = pruning
        self.confidence = confidence
        self.raising = raising
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.n_jobs = n_jobs

    def _growth_rules(self, total: float) -> QuinlanRules:
        share = not isinstance(self.min_samples_leaf, Integral)
        return QuinlanRules(
            ratio=True,
            min_leaf=float(self.min_samples_leaf) * (total if share else 1.0),
            max_depth=self.max_depth,
            corrected=self.mdl_correction,
            grouping=self.grouping,
            beyond_chance=True,
        )

    def _prune_grown(self, grown: Grown) -> None:
        collapse(grown)
        if self.pruning is not None:
            prune(grown, float(self.confidence), self.raising)

    def rules(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        decimals: int | None = 2,
        max_categories: int | None = LISTED,
    ) -> RuleSet:
        """Turn the fitted tree into a set of rules that predicts on its own.

        Each path becomes a rule; conditions are dropped that do not lower the pessimistic
        error, and rules that save no error. The set is usually shorter than the tree.

        Parameters
        ----------
        X, y, sample_weight
            What was passed to `fit`.
        decimals : int or None, default 2
            Digits behind the point in the words of the rules; None shows numbers exactly.
        max_categories : int or None, default 6
            How many categories of a set to list before "… (n more)"; None lists all.

        Returns
        -------
        RuleSet
            Print it, or call its ``predict``.

        Examples
        --------
        >>> import hornbeam as hb
        >>> X = [["red", 1.0], ["red", 2.0], ["red", 8.0], ["red", 9.0], ["blue", 5.0]] * 4
        >>> y = ["low", "low", "high", "high", "high"] * 4
        >>> tree = hb.C45Classifier().fit(X, y)
        >>> print(tree.rules(X, y))
        if x1 > 2 then high (12 rows, 0 wrong)
        otherwise low
        The first rule that holds decides; a missing value fulfils no condition.
        """
        check_is_fitted(self)
        matrix = as_dense(self.schema_.read(X, type(self).__name__))
        weight, labels = self._weigh(y, sample_weight)
        check_length(labels, len(matrix))
        if not np.array_equal(np.unique(np.asarray(y)), self.classes_):
            raise ValueError(
                "y has other classes than in fit: rules are made of the tree and the rows it was "
                "fitted on. Pass the X and y of fit."
            )
        counted = weight > 0.0
        view = view_of(self, decimals=decimals, trim=True, max_categories=max_categories)
        return extract_rules(
            view,
            self,
            matrix[counted],
            labels[counted],
            as_counts(weight[counted]),
            self.confidence,
        )

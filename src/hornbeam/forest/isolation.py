"""Isolation forest: rows that few random questions set apart are anomalies.

``fit`` grows trees on small samples with random cuts; a row's score tells how short its way
to a leaf is, on average over the trees (Liu, Ting and Zhou 2008, "Isolation Forest").
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from hornbeam.callbacks import CallbackSupportMixin, Told, with_callbacks
from hornbeam.data.reader import TrainingTable, read_table
from hornbeam.data.sampling import Sampler, SampleSize
from hornbeam.data.schema import Schema
from hornbeam.dtypes import Array
from hornbeam.fitting import fitting, forget
from hornbeam.forest.isolation_growth import (
    IsolationRules,
    average_path,
    grow_isolation_trees,
)
from hornbeam.forest.isolation_savable import SavableIsolation
from hornbeam.model.registry import register_estimator
from hornbeam.notices import warn
from hornbeam.params import COUNT, PARAMETERS, Parameter, check_params, check_values, declared
from hornbeam.progress import ProgressBar
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.single import SingleTree
from hornbeam.tree.storage import Trees

_AUTO_ROWS = 256  # what the paper found to be enough
_BATCH = 100  # trees, after which the bar moves
_AUTO_OFFSET = -0.5  # a row that is as hard to isolate as the average one
_SHARE = Interval(RealNotInt, 0.0, 1.0, closed="right")

PARAMETERS.update(
    {
        "isolation_trees": Parameter("int", "Number of trees.", [COUNT]),
        "isolation_samples": Parameter(
            "'auto', int or float",
            "Rows that each tree sees; a float is a share of all rows, 'auto' means 256, or all "
            "if there are fewer. More rows hide anomalies behind each other.",
            [StrOptions({"auto"}), COUNT, _SHARE],
        ),
        "contamination": Parameter(
            "'auto' or float",
            "Share of the training rows that `predict` calls anomalies; 'auto': those with an "
            "anomaly score above 0.5. `set_contamination` changes it after the fit.",
            [StrOptions({"auto"}), Interval(Real, 0.0, 0.5, closed="right")],
        ),
        "isolation_features": Parameter(
            "int or float", "Columns that each tree may ask; a float is a share.", [COUNT, _SHARE]
        ),
        "isolation_bootstrap": Parameter(
            "bool", "Draw the rows of a tree with replacement.", ["boolean"]
        ),
        "extension_level": Parameter(
            "int",
            "0: a node cuts one column. Above: a node parts its rows by a random plane through "
            "so many further number columns (the extended isolation forest).",
            [Interval(Integral, 0, None, closed="left")],
        ),
        "isolation_warm_start": Parameter(
            "bool",
            "Keep the trees of the last `fit` and add some up to `n_estimators`; the same as "
            "growing them all at once.",
            ["boolean"],
        ),
        "isolation_verbose": Parameter(
            "int or None",
            "1: show a progress bar; 0: never; None: on a terminal, when it takes long.",
            [Interval(Integral, 0, None, closed="left"), None],
        ),
        "isolation_unseen": Parameter(
            "{'other', 'missing', 'error'}",
            "What a category means that was not there in fit: a rare category (which makes a "
            "row stand out), a missing value (which does not), or an error.",
            PARAMETERS["unseen"].constraints,
        ),
    }
)


@register_estimator
@declared
class IsolationForest(
    SavableIsolation,
    CallbackSupportMixin,  # type: ignore[misc]
    OutlierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Find anomalies: rows that few random questions set apart from the others.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    trees_ : sequence of Tree
        The trees as flat arrays; the value of a leaf is the path length of its rows. Not
        there for hyperplanes.
    estimators_ : list of SingleTree
        The same trees, to be drawn and to be asked for path lengths.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this.
    max_samples_ : int
        Rows that each tree saw.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Notes
    -----
    A missing value goes where a random row of the node goes that has a value, so it makes a
    row neither easier nor harder to isolate. Categories are parted into two random sets;
    categories that a node has not seen go to the side with fewer rows.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X = [[0.1], [0.2], [0.15], [0.12], [0.18], [0.11], [9.0]]
    >>> forest = hb.IsolationForest(random_state=0).fit(X)
    >>> forest.predict(X).tolist()
    [1, 1, 1, 1, 1, 1, -1]
    >>> forest.top(X, 10).tolist()
    [6]
    """

    _declared_as = {  # noqa: RUF012
        "n_estimators": "isolation_trees",
        "max_samples": "isolation_samples",
        "max_features": "isolation_features",
        "bootstrap": "isolation_bootstrap",
        "warm_start": "isolation_warm_start",
        "unseen": "isolation_unseen",
        "verbose": "isolation_verbose",
    }

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        max_samples: int | float | str = "auto",
        contamination: float | str = "auto",
        max_features: int | float = 1.0,
        bootstrap: bool = False,
        extension_level: int = 0,
        categorical_features: Any = "from_dtype",
        unseen: str = "other",
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.contamination = contamination
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.extension_level = extension_level
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting --------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, list, sparse matrix, or a pandas, polars or Arrow table. Strings,
            bools and categoricals are categories; NaN, None and NA are missing.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Rows are drawn with probabilities by their weights, those of weight 0 never.

        Returns
        -------
        self
        """
        check_params(self)
        earlier = self._earlier()
        if earlier is None:
            forget(self)
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        else:
            seed = self.seed_
        known = None if earlier is None else self.schema_
        name = type(self).__name__
        table = read_table(
            X, sample_weight, name, self.categorical_features, self.unseen, schema=known
        )
        schema, matrix = table.schema, table.matrix
        weight = None if sample_weight is None else table.weight
        rules = self._rules(schema, table.n_rows, weight, seed)
        told = Told(self, self.n_estimators, X, y, sample_weight)
        trees = self._grow(schema, matrix, weight, rules, earlier, told)
        told.end()
        with fitting(self) as forest:
            forest._set_fitted(table, weight, rules)
            forest.ensemble_ = Ensemble(trees, np.zeros(len(trees), np.int64), 1, np.zeros(1))
            forest._set_offset(matrix)
        return self

    def _earlier(self) -> Any:
        """The trees to go on with, if there are any."""
        if not self.warm_start or "ensemble_" not in self.__dict__:
            return None
        if self.n_estimators < self.ensemble_.n_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {self.ensemble_.n_trees} "
                "trees that the warm-started forest has."
            )
        return self.ensemble_

    def _rules(
        self, schema: Schema, n_rows: int, weight: Array | None, seed: int
    ) -> IsolationRules:
        """The parameters of sampling and growing as numbers."""
        n_numbers = schema.n_features - int(schema.is_category.sum())
        if self.extension_level > max(0, n_numbers - 1):
            raise ValueError(
                f"extension_level={self.extension_level} needs planes through "
                f"{self.extension_level + 1} number columns, but X has {n_numbers}. Choose at "
                f"most {max(0, n_numbers - 1)}."
            )
        n_drawable = n_rows if weight is None else int(np.count_nonzero(weight))
        size = SampleSize(
            n_rows=self._sample_size(n_rows, n_drawable),
            n_features=_share_of(self.max_features, schema.n_features),
            bootstrap=bool(self.bootstrap),
        )
        return IsolationRules(size, int(self.extension_level) + 1, seed)

    def _sample_size(self, n_rows: int, n_drawable: int) -> int:
        if self.max_samples == "auto":
            wanted = _AUTO_ROWS
        elif isinstance(self.max_samples, Integral):
            wanted = int(self.max_samples)
            if wanted > n_rows:
                warn(
                    f"max_samples ({wanted}) is greater than the total number of samples "
                    f"({n_rows}). max_samples will be set to n_samples for estimation.",
                )
        else:
            wanted = max(1, int(float(self.max_samples) * n_rows))
        return min(wanted, n_drawable)

    def _grow(
        self,
        schema: Schema,
        matrix: Any,
        weight: Array | None,
        rules: IsolationRules,
        earlier: Any,
        told: Told,
    ) -> Trees:
        """The trees up to ``n_estimators``, behind those that are there already."""
        if earlier is not None:
            self._check_same_rules(rules)
        parts = [] if earlier is None else [earlier.trees]
        n_trees = sum(map(len, parts))
        with ProgressBar("trees", self.n_estimators, self.verbose) as bar:
            while n_trees < self.n_estimators:
                some = min(_BATCH, self.n_estimators - n_trees)
                parts.append(
                    grow_isolation_trees(
                        matrix, schema.n_categories, rules, weight, n_trees, some, self.n_jobs
                    )
                )
                n_trees += some
                bar.show(n_trees)
                told.up_to(n_trees)
        return Trees.join(parts)

    def _check_same_rules(self, rules: IsolationRules) -> None:
        if rules != self.rules_:
            raise ValueError(
                f"warm_start=True goes on with a forest of {self.rules_}, but the parameters and "
                f"this table make {rules}. Fit anew with warm_start=False."
            )

    def _set_fitted(
        self, table: TrainingTable, weight: Array | None, rules: IsolationRules
    ) -> None:
        self.__dict__ |= table.attributes()
        self.n_outputs_ = 1
        self.rules_, self.seed_, self.max_samples_ = rules, rules.seed, rules.n_rows
        self.n_rows_in_, self.weighted_, self._weight = table.n_rows, weight is not None, weight

    def _set_offset(self, matrix: Any) -> None:
        self.offset_, self.training_scores_ = _AUTO_OFFSET, np.empty(0)
        if self.contamination != "auto":
            scores = self._normality(self.ensemble_.scores(matrix, self.n_jobs))
            self.training_scores_ = np.sort(scores)
            self.offset_ = _offset(self.training_scores_, self.contamination)

    def set_contamination(self, contamination: float | str, X: Any = None) -> IsolationForest:
        """Choose anew which share of the rows `predict` calls anomalies, without a new fit.

        Parameters
        ----------
        contamination : float or 'auto'
            As in the constructor.
        X : table of shape (n_samples, n_features), optional
            The rows that the share is of. Not needed after a fit with a number as
            `contamination`, which has kept the scores of the training rows.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        check_values(type(self), {"contamination": contamination})
        scores = self.training_scores_ if X is None else np.sort(self.score_samples(X))
        if contamination != "auto" and not len(scores):
            raise ValueError(
                f"set_contamination({contamination!r}) needs the scores of the training rows, "
                "which a fit with contamination='auto' does not compute. Pass these rows as X."
            )
        changes = {
            "contamination": contamination,
            "training_scores_": scores,
            "offset_": _offset(scores, contamination),
        }
        self.__dict__.update(changes)  # all at once, or nothing if one is interrupted before
        return self

    # --- using the forest ---------------------------------------------------------------

    def path_length(self, X: Any) -> Array:
        """Return the mean path length of each row over the trees: E(h(x)) of the paper.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            Questions up to a leaf, and what is expected beyond it.
        """
        return self._total_path(X)[:, 0] / self.ensemble_.n_trees

    def _total_path(self, X: Any) -> Array:
        if "ensemble_" not in self.__dict__:
            check_is_fitted(self)
        name = type(self).__name__
        if self.schema_.takes_as_is(X, name):
            total = self.ensemble_.scores(X, self.n_jobs)
            if total is not None:
                return total
        # something else than a plain array, or one with an infinite value: read says so
        return self.ensemble_.scores(self.schema_.read(X, name), self.n_jobs)  # type: ignore[return-value]

    def _normality(self, total_path: Any) -> Array:
        """Minus the anomaly score, from the summed path lengths."""
        usual = float(average_path(self.max_samples_))
        if usual == 0.0:  # trees of a single row tell nothing
            return np.full(len(total_path), _AUTO_OFFSET)
        return -np.exp2(-total_path[:, 0] / (self.ensemble_.n_trees * usual))

    def score_samples(self, X: Any) -> Array:
        """Return minus the anomaly score of each row: the lower, the more abnormal.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            In [-1, 0], as scikit-learn has it.
        """
        return self._normality(self._total_path(X))

    def anomaly_score(self, X: Any) -> Array:
        """Return the anomaly score of the paper, 2 ** (-E(h(x)) / c(max_samples_)).

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            Near 1: an anomaly; well below 0.5: an ordinary row; all near 0.5: there are no
            anomalies to speak of.
        """
        return -self.score_samples(X)

    def decision_function(self, X: Any) -> Array:
        """Return ``score_samples(X) - offset_``: negative for anomalies.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Array:
        """Tell anomalies from other rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            -1 for an anomaly, 1 for any other row.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    def top(self, X: Any, q: float) -> Array:
        """Return the q% most anomalous rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        q : float
            Percentage, above 0 and up to 100.

        Returns
        -------
        array of int64
            Numbers of ``ceil(q / 100 * n_samples)`` rows, the most anomalous first; of rows
            with equal scores the earlier ones first.
        """
        if not isinstance(q, Real) or not 0.0 < q <= 100.0:
            raise ValueError(f"q={q!r} must be a percentage above 0 and up to 100.")
        scores = self.score_samples(X)
        # 0.07 * 100 is a little above 7, which is not meant to be 8 rows
        count = min(len(scores), math.ceil(round(float(q) * len(scores) / 100.0, 9)))
        return np.argsort(scores, kind="stable")[: max(1, count)]

    # --- looking at the forest ------------------------------------------------------------

    @property
    def trees_(self) -> Trees:
        """The trees."""
        check_is_fitted(self)
        if self.ensemble_.trees.planes is not None:
            raise AttributeError(
                "The trees of a forest with hyperplanes (extension_level="
                f"{self.rules_.plane_size - 1}) have no questions on single columns to show."
            )
        return self.ensemble_.trees

    def tree(self, number: int) -> SingleTree:
        """Return one tree to look at, with `hb.export_text`, `hb.plot_tree` or `hb.tree_svg`.

        Parameters
        ----------
        number : int
            Which of ``trees_``.

        Returns
        -------
        SingleTree
            Its values are path lengths, its impurities what is expected beyond a node.
        """
        return SingleTree(self.trees_[number], self.schema_, "questions left")

    @property
    def estimators_(self) -> list[SingleTree]:
        """The trees, each as `tree` returns it."""
        return [self.tree(number) for number in range(len(self.trees_))]

    @property
    def estimators_samples_(self) -> list[Array]:
        """Which training rows each tree saw; drawn again, as in the fit."""
        sampler = self._sampler_again()
        if self.weighted_ and self._weight is None:
            raise AttributeError(
                "This forest was fitted with sample_weight, which a model file does not hold, so "
                "the samples of its trees cannot be drawn again."
            )
        return list(sampler.rows(0, self.ensemble_.n_trees).astype(np.int64))

    @property
    def estimators_features_(self) -> list[Array]:
        """Which columns each tree may ask."""
        return list(self._sampler_again().features(0, self.ensemble_.n_trees).astype(np.int64))

    def _sampler_again(self) -> Sampler:
        check_is_fitted(self)
        shape = (self.n_rows_in_, self.n_features_in_)
        return Sampler(self.seed_, shape, self.rules_.size, self._weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        return tags


def _offset(scores: Array, contamination: float | str) -> float:
    """Below which score a row is an anomaly."""
    if contamination == "auto":
        return _AUTO_OFFSET
    return float(np.percentile(scores, 100.0 * float(contamination)))


def _share_of(value: int | float, n_features: int) -> int:
    """A number of columns, given as such or as a share."""
    if isinstance(value, Integral):
        return min(int(value), n_features)
    return max(1, int(float(value) * n_features))

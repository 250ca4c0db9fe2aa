"""Learning to rank: `GradientBoostingRanker` (LambdaMART)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hornbeam.boosting.base import COMMON, BaseGradientBoosting
from hornbeam.boosting.defaults import Auto
from hornbeam.boosting.queries import QueryOrder, read_queries, take_column
from hornbeam.boosting.rows import Given, TrainingRows, read_one_column, read_sets
from hornbeam.boosting.schedule import Rate
from hornbeam.data.folds import Splits
from hornbeam.data.reader import read_table
from hornbeam.dtypes import Array
from hornbeam.model.registry import register_estimator
from hornbeam.params import declared


@register_estimator
@declared
class GradientBoostingRanker(BaseGradientBoosting):
    """Rank documents within queries by LambdaMART, which aims at NDCG.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    trees_ : sequence of Tree
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_iter_ : int
        Rounds in the model.
    learning_rate_ : float
        The learning rate, also where it was found (``learning_rate="auto"``); of a schedule
        the mean.
    growth_ : str
        How the trees were grown, also where that was found (``growth="auto"``).
    colsample_bynode_ : float
        The share of the features that a node could ask, also where that was found.
    history_ : dict of str to array
        What was measured after each round: 1 - NDCG@10 by the name of the rows, "train",
        "validation" or yours, and what ``scoring`` asks for.
    bundles_ : list of lists of int
        The columns of X that were counted together, bundle by bundle.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    feature_importances_ : array
    coef_, intercept_, term_names_ : array, float or array, list of str
        Only with ``booster='linear'``: the coefficients, and what they belong to. Without
        categories and missing values these are the features.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X, relevance = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 2]
    >>> ranker = hb.GradientBoostingRanker(min_samples_leaf=1)
    >>> scores = ranker.fit(X, relevance, group=[2, 2]).predict(X)
    >>> bool(scores[1] > scores[0] and scores[3] > scores[2])
    True
    """

    _task = "ranking"
    _declared_as = {**COMMON, "loss": "ranking_loss", "scoring": "ranking_scoring"}  # noqa: RUF012

    def __init__(
        self,
        *,
        loss: str = "lambdamart",
        booster: str = "trees",
        n_estimators: int = 100,
        learning_rate: Rate = "auto",
        max_leaf_nodes: int | None = 31,
        max_depth: int | Auto | None = "auto",
        min_samples_leaf: int | Auto = "auto",
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        reg_lambda: float | Auto = "auto",
        reg_alpha: float = 0.0,
        max_delta_step: float = 0.0,
        growth: str = "auto",
        order: int = 2,
        subsample: float = 1.0,
        sampling: str = "uniform",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        colsample_bynode: float | Auto = "auto",
        feature_weights: Any = None,
        max_bins: int = 255,
        split: str = "histogram",
        candidates: str = "global",
        eps: float = 0.03,
        bundle_features: bool = True,
        max_conflict_rate: float = 0.0,
        categorical_features: Any = "from_dtype",
        category_split: str = "subset",
        category_smooth: float | Auto = "auto",
        category_l2: float = 10.0,
        category_limit: int | None = None,
        category_rows: int = 0,
        unseen: str = "missing",
        monotonic_cst: Any = None,
        interaction_constraints: Any = None,
        query: str | int | None = None,
        drop_rate: float = 0.0,
        skip_drop: float = 0.5,
        early_stopping: bool | Auto = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-7,
        scoring: Any = "loss",
        warm_start: bool = False,
        verbose: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.booster = booster
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.min_split_gain = min_split_gain
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.max_delta_step = max_delta_step
        self.growth = growth
        self.order = order
        self.subsample = subsample
        self.sampling = sampling
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.colsample_bytree = colsample_bytree
        self.colsample_bylevel = colsample_bylevel
        self.colsample_bynode = colsample_bynode
        self.feature_weights = feature_weights
        self.max_bins = max_bins
        self.split = split
        self.candidates = candidates
        self.eps = eps
        self.bundle_features = bundle_features
        self.max_conflict_rate = max_conflict_rate
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.category_smooth = category_smooth
        self.category_l2 = category_l2
        self.category_limit = category_limit
        self.category_rows = category_rows
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.interaction_constraints = interaction_constraints
        self.query = query
        self.drop_rate = drop_rate
        self.skip_drop = skip_drop
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        group: Any = None,
        qid: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        group_val: Any = None,
        qid_val: Any = None,
        init_score: Any = None,
        groups: Any = None,
        time: Any = None,
        callbacks: Sequence[Callable[..., Any]] = (),
    ) -> Self:
        """Learn to rank.

        Which rows belong to one query is said in one of three ways: ``group``, ``qid`` or
        the parameter ``query`` of the estimator.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Relevance of each document to its query: 0, 1, 2, ...
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the documents; a query counts by their mean.
        group : array-like of int, optional
            Number of rows of each query, in the order of the rows.
        qid : array-like of shape (n_samples,), optional
            The query of each row; the rows of a query need not be neighbours.
        X_val, y_val, sample_weight_val, group_val, qid_val : optional
            Rows to watch NDCG on, and to stop by; dicts for several sets, see
            `GradientBoostingRegressor.fit`.
        init_score : array-like of shape (n_samples,), optional
            Scores to start from.
        groups, time : array-like of shape (n_samples,), optional
            Which rows, and so which queries, belong together, and when they were; see
            `GradientBoostingRegressor.fit`.
        callbacks : sequence of functions
            See `GradientBoostingRegressor.fit`.

        Returns
        -------
        self
        """
        given = self._in_query_order(X, y, sample_weight, init_score, group, qid, (groups, time))
        sets = read_sets(
            X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val,
            init_score=None, group_val=group_val, qid_val=qid_val,
        )  # fmt: skip
        valid = {name: self._in_query_order(*parts) for name, parts in sets.items()}
        return self._fit(given, valid, callbacks)

    def _in_query_order(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        init_score: Any,
        group: Any,
        qid: Any,
        kin: tuple[Any, Any] = (None, None),
    ) -> Given:
        if self.query is not None:
            X, qid = take_column(X, self.query)
        order: QueryOrder = read_queries(group, qid, X)
        return Given(
            order.sort(X), order.sort(y), order.sort(sample_weight), order.sort(init_score),
            order.groups, (order.sort(kin[0]), order.sort(kin[1])),
        )  # fmt: skip

    def _read_target(self, y: Any, weight: Array, fitted: dict[str, Any], again: bool) -> Any:
        fitted["n_outputs_"] = 1
        return read_one_column(y, type(self).__name__), weight

    def _splits(self, rows: TrainingRows, random: Any) -> Splits:
        """Whole queries."""
        assert rows.groups is not None  # a ranker reads its queries first
        sizes = np.diff(rows.groups)
        queries = np.repeat(np.arange(len(sizes)), sizes)
        return Splits(len(rows.target), random, kin=rows.kin.joined(queries))

    def predict(self, X: Any, *, n_rounds: int | None = None) -> Array:
        """Score each row: within a query, the larger score ranks first.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        n_rounds : int, optional
            Predict with the first so many rounds; None: with all.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._scores(X, n_rounds)[:, 0]

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, group: Any = None, qid: Any = None
    ) -> float:
        """Return NDCG@10, averaged over queries.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Relevance of each document to its query.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the documents; a query counts by their mean.
        group, qid : optional
            Which rows belong to one query, as in `fit`.

        Returns
        -------
        float
            At most 1; a query that has nothing relevant counts as 1.
        """
        check_is_fitted(self)
        given = self._in_query_order(X, y, sample_weight, None, group, qid)
        table = read_table(given.X, given.sample_weight, type(self).__name__, schema=self.schema_)
        rows = self._read_rows(given, table, {}, True)
        loss = self._resolve_loss(rows, {})
        scores = self._row_scores(rows, loss, self.ensemble_.start, self)
        return 1.0 - scores.mean_loss(self.n_jobs)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Score each row after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,)
        """
        for scores in self._staged_scores(X):
            yield scores[:, 0]

    def _features(self, X: Any) -> Any:
        """The query column is not learnt from, and need not be there in predict."""
        return X if self.query is None else take_column(X, self.query, missing_ok=True)[0]

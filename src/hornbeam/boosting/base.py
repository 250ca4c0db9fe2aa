"""What the estimators of gradient boosting share: how they are fitted, and how they are used.

``fit`` is the whole story: learn the schema, code the columns, boost, store the trees.
"""

from __future__ import annotations

import copy
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hornbeam.boosting.build import build_trees
from hornbeam.boosting.calibration import find_shifts, moved
from hornbeam.boosting.constraints import read_feature_weights, read_groups
from hornbeam.boosting.defaults import ALTERNATE, LEAF, SYMMETRIC, Auto, Settings, Shape, settle
from hornbeam.boosting.engine import Course, Rounds, boost
from hornbeam.boosting.grower import USUAL_KERNELS, GrownTree
from hornbeam.boosting.history import TRAIN, VALIDATION, Watch, history_frame, plot_history
from hornbeam.boosting.importance import importances
from hornbeam.boosting.linear import LINEAR, LinearPredictor, LinearRounds, term_names
from hornbeam.boosting.linear_fit import (
    LinearCourse,
    LinearRules,
    boost_linear,
    check_linear,
    model_of_rounds,
)
from hornbeam.boosting.listed_table import list_table, list_table_like
from hornbeam.boosting.parameters import USUAL_PATIENCE
from hornbeam.boosting.presets import preset_parameters
from hornbeam.boosting.queries import count_rows
from hornbeam.boosting.rows import (
    NO_SCALE,
    Given,
    Scale,
    TrainingRows,
    find_scale,
    lay_out_init,
    moderate,
    read_init,
    read_sets,
    warn_of_heaviest,
)
from hornbeam.boosting.rules import BoostRules, draws_all
from hornbeam.boosting.sampling import choose_sampling
from hornbeam.boosting.savable import SavableBoosting
from hornbeam.boosting.schedule import Rate, is_auto, is_schedule, read_schedule
from hornbeam.boosting.scores import RowScores
from hornbeam.boosting.scoring import LOSS, Scorer, Scoring, WatchedRows, read_scoring, uneven
from hornbeam.boosting.symmetric import USUAL_KERNELS as SYMMETRIC_KERNELS
from hornbeam.boosting.table import code_table, code_table_like
from hornbeam.boosting.trial import USUAL_RATE, Leader, Pace, find_pace, watched_losses
from hornbeam.callbacks import CallbackSupportMixin, Told, with_callbacks
from hornbeam.data.coding import Codes
from hornbeam.data.facets import add_facets
from hornbeam.data.folding import warn_of_folding
from hornbeam.data.folds import Kin, Splits
from hornbeam.data.infinities import infinities_are_numbers
from hornbeam.data.reader import TrainingTable, read_table
from hornbeam.data.schema import Schema
from hornbeam.data.target import check_length
from hornbeam.dtypes import Array
from hornbeam.fitting import become, forget
from hornbeam.losses import Loss, LossOptions, apply_link, resolve
from hornbeam.notices import warn
from hornbeam.params import check_params, unknown_parameter
from hornbeam.runtime.companion import begin
from hornbeam.stopping import patience_of
from hornbeam.tree.constraints import read_monotone
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.single import SingleTree
from hornbeam.tree.storage import Tree, Trees

_IN_HISTOGRAMS = "split='histogram' tells all of them apart."
_TELL_ALL_APART = "category_split='subset' tells all of them apart."

_HELD_KEY = 1  # tells these draws from others with the same seed
_HARDLY = 1e-6  # of the spread of y, or of all hessians
_HEAVY = 1e3  # times the usual weight: no longer a matter of course

# Parameters that have another declaration here than in other estimators.
COMMON = {
    "max_leaf_nodes": "boosting_leaves",
    "max_depth": "boosting_depth",
    "min_samples_leaf": "boosting_samples_leaf",
    "growth": "boosting_growth",
    "max_bins": "boosting_bins",
    "split": "boosting_split",
}


class BaseGradientBoosting(
    SavableBoosting,
    CallbackSupportMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """What all three share."""

    _task: str
    _called: str  # by those whose engine this is
    loss: Any
    booster: str
    n_estimators: int
    learning_rate: Rate
    max_leaf_nodes: int | None
    max_depth: int | Auto | None
    min_samples_leaf: int | Auto
    min_child_weight: float
    min_split_gain: float
    reg_lambda: float | Auto
    reg_alpha: float
    max_delta_step: float
    growth: str
    order: int
    subsample: float
    sampling: str
    top_rate: float
    other_rate: float
    colsample_bytree: float
    colsample_bylevel: float
    colsample_bynode: float | Auto
    feature_weights: Any
    max_bins: int
    split: str
    candidates: str
    eps: float
    bundle_features: bool
    max_conflict_rate: float
    categorical_features: Any
    category_split: str
    category_smooth: float | Auto
    category_limit: int | None
    category_rows: int
    category_l2: float
    unseen: str
    monotonic_cst: Any
    interaction_constraints: Any
    drop_rate: float
    skip_drop: float
    early_stopping: bool | Auto
    validation_fraction: float
    n_iter_no_change: int | None
    tol: float
    scoring: Any
    warm_start: bool
    verbose: int | None
    random_state: Any
    n_jobs: int | None

    ensemble_: Ensemble
    link_: str
    learning_rate_: float
    growth_: str
    colsample_bynode_: float
    history_: dict[str, Array]
    calibration_: Array  # only if it was asked for

    @property
    def _name(self) -> str:
        """What errors call the estimator: its class, or what stands in front of it."""
        return self.__dict__.get("_called", type(self).__name__)

    # --- fitting --------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        init_score: Any = None,
        groups: Any = None,
        time: Any = None,
        callbacks: Sequence[Callable[..., Any]] = (),
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, list, sparse matrix, or a pandas, polars or Arrow table. Strings,
            bools and categoricals are categories; NaN, None and NA are missing.
        y : array-like of shape (n_samples,)
            Target; must not be missing.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; rows of weight 0 are left out.
        X_val, y_val, sample_weight_val : optional
            Rows to watch the loss and ``scoring`` on, and to stop by. Several sets of rows: a
            dict of tables by name, and dicts of the same names for the others; the first one
            is what stopping goes by.
        init_score : array-like of shape (n_samples,) or (n_samples, n_scores), optional
            Scores to start from, instead of the best constant. They are not part of the
            model: add them to its `decision_function` yourself.
        groups, time : array-like of shape (n_samples,), optional
            Which rows belong together, and when they were: wherever rows are held out from
            others, no group is on both sides, and only earlier rows are learnt from.
        callbacks : sequence of functions
            Each is called after every round with a report: ``number`` of the round from 1 on,
            ``train_loss``, ``valid_loss`` (None without validation rows), and by the names of
            the validation rows ``losses`` and ``scores`` (of ``scoring``, by its names).
            Losses are as in ``history_``. One that returns True ends the fit.

        Returns
        -------
        self
        """
        given = Given(X, y, sample_weight, init_score, kin=(groups, time))
        valid = {
            name: Given(*parts)
            for name, parts in read_sets(
                X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val
            ).items()
        }
        return self._fit(given, valid, callbacks)

    def _fit(self, given: Given, valid: Mapping[str, Given], callbacks: Sequence[Any]) -> Any:
        check_params(self)
        rates = None
        if is_schedule(self.learning_rate):
            rates = read_schedule(self.learning_rate, self.n_estimators)
        _check_callbacks(callbacks)
        self._check_calibration()
        before = self._kept_from_before()
        if before is None:
            forget(self)
        become(self, self._boost(given, valid, callbacks, before, rates))
        return self

    def _boost(
        self,
        given: Given,
        valid: Mapping[str, Given],
        callbacks: Sequence[Any],
        before: Any,
        rates: list[float] | None,
    ) -> dict[str, Any]:
        """Boost; returns all fitted attributes."""
        begin(USUAL_KERNELS)
        read, fitted = self._read(given, before)
        schema, seed = read.schema, fitted["seed_"]
        rows = self._read_rows(given, read, fitted)
        if before is not None:
            _check_classes(before, fitted)
        start = None if before is None else before.ensemble_.start
        scale = find_scale(self.loss, rows.target, rows.init_score, start)
        rows = rows.scaled(scale)
        loss = self._resolve_loss(rows, fitted)
        scorers = read_scoring(self.scoring)
        watched = {
            name: self._read_watched(some, name, fitted, loss).scaled(scale)
            for name, some in valid.items()
        }
        if not watched and self._patience is not None:
            rows, watched[VALIDATION] = self._hold_out(rows, seed)
        self._check_scoring(watched)
        if self.booster == LINEAR:
            asked = Asked(given, valid, callbacks, before, rates)
            return self._boost_linear(asked, rows, watched, fitted, loss, scorers, scale)
        course = self._lay_out(rows, watched, schema, loss, before, scale, seed)
        table, n_before = course.table, 0 if before is None else before.n_iter_
        n_classes = fitted.get("n_classes_", 1)
        shape = Shape(
            table.n_rows,
            schema.n_features,
            table.n_cuts,
            self._task,
            n_classes,
            int(np.max(schema.n_categories, initial=0)),
        )
        rules = self._rules(schema, loss, settle(self, shape), scale)
        coded = replace(rows, matrix=table)
        growth, share, rate = self._pace(coded, loss, rules, seed, before)
        rules = replace(rules, growth=growth, colsample_bynode=share)
        fitted["growth_"] = growth
        fitted["learning_rate_"] = rate if rates is None else float(np.mean(rates))
        fitted["colsample_bynode_"] = share
        _warn_of_idle_weights(rules)
        fitted["bundles_"] = table.bundled_columns
        rounds = Rounds(
            max(0, self.n_estimators - n_before),
            rate if rates is None else rates,
            self.order,
            self.drop_rate,
            self.skip_drop,
            seed,
            n_before,
            () if before is None else _root_weights(before.ensemble_.trees),
        )
        scoring = self._scoring(scorers, course, watched, valid, fitted, scale)
        told = Told(self, rounds.n_rounds, given.X, given.y, given.sample_weight)
        grown: list[GrownTree] = []

        def so_far() -> dict[str, Any]:
            """The fitted attributes as they are after a round."""
            scaled = [copy.copy(tree) for tree in grown]
            for tree in scaled:
                tree.value = scale.up(tree.value, tree.child == 0)
            done, start = n_before + len(scaled) // loss.n_scores, scale.up(course.start)
            return fitted | _model_of(before, scaled, course, rules, start, done)

        if told.listens:
            callbacks = [*callbacks, lambda report: told.step(so_far)]
        with self._watch(course, callbacks, before, n_before, scale, scoring) as watch:
            boost(course, rules, rounds, watch, self.n_jobs, watch.wants_train_loss, grown)
        if grown and all(len(tree.child) == 1 for tree in grown):
            _explain_no_split(float(grown[0].hessian[0]), course.scores, rules)
        elif grown:
            _explain_small_steps(course, rounds.distance)
        for tree in grown:
            tree.value = scale.up(tree.value, tree.child == 0)
        n_kept = watch.best_round(n_before + len(grown) // loss.n_scores)
        fitted |= _model_of(before, grown, course, rules, scale.up(course.start), n_kept)
        fitted["history_"] = watch.history()
        if self._calibrates:
            all_rounds = replace(rounds, n_rounds=n_kept, first_round=0, hessians=())
            fitted["calibration_"] = scale.up(self._calibrate(coded, loss, rules, all_rounds))
        told.end(lambda: fitted)
        return fitted

    def _boost_linear(
        self,
        asked: Asked,
        rows: TrainingRows,
        watched: Mapping[str, TrainingRows],
        fitted: dict[str, Any],
        loss: Loss,
        scorers: Mapping[str, Scorer | None],
        scale: Scale,
    ) -> dict[str, Any]:
        """Boost a linear model; returns all fitted attributes."""
        before, schema = asked.before, fitted["schema_"]
        check_linear(self, loss)
        penalty = 1.0 if isinstance(self.reg_lambda, str) else float(self.reg_lambda)
        rules = LinearRules(
            penalty, scale.of_gradients(self.reg_alpha), read_monotone(self.monotonic_cst, schema)
        )
        earlier = None if before is None else before.linear_.scaled(scale.down)
        start = self._start(rows, loss) if earlier is None else earlier.start
        course = LinearCourse(
            rows.matrix,
            self._row_scores(rows, loss, start, None),
            self._offset(rows, loss),
            {
                name: (
                    some.matrix,
                    self._row_scores(some, loss, start, None),
                    self._offset(some, loss),
                )
                for name, some in watched.items()
            },
            schema,
            start,
            earlier,
        )
        n_before = 0 if before is None else before.n_iter_
        rate = 1.0 if is_auto(self.learning_rate) else usual_rate(self.learning_rate)
        fitted["learning_rate_"] = rate if asked.rates is None else float(np.mean(asked.rates))
        n_rounds = max(0, self.n_estimators - n_before)
        rounds = Rounds(n_rounds, asked.rates or rate, self.order, first_round=n_before)
        scoring = self._scoring(scorers, course, watched, asked.valid, fitted, scale)
        told = Told(self, n_rounds, asked.given.X, asked.given.y, asked.given.sample_weight)
        grown: list[Array] = []

        def so_far() -> dict[str, Any]:
            """The fitted attributes as they are after a round."""
            return fitted | model_of_rounds(course, grown, n_before + len(grown), scale, loss)

        callbacks = asked.callbacks
        if told.listens:
            callbacks = [*callbacks, lambda report: told.step(so_far)]
        with self._watch(course, callbacks, before, n_before, scale, scoring) as watch:
            boost_linear(course, rules, rounds, watch, self.n_jobs, watch.wants_train_loss, grown)
        n_kept = watch.best_round(n_before + len(grown))
        fitted |= model_of_rounds(course, grown, n_kept, scale, loss)
        fitted["history_"] = watch.history()
        told.end(lambda: fitted)
        return fitted

    def _offset(self, rows: TrainingRows, loss: Loss) -> Array | float:
        """Scores that rows have besides those of the model."""
        return 0.0 if rows.init_score is None else lay_out_init(rows.init_score, loss.n_scores)

    def _read(self, given: Given, before: Any) -> tuple[TrainingTable, dict[str, Any]]:
        """The table, and what is known before y is read, as fitted attributes."""
        with infinities_are_numbers():
            table = read_table(
                given.X,
                given.sample_weight,
                self._name,
                self.categorical_features,
                self.unseen,
                schema=None if before is None else before.schema_,
            )
        fitted = table.attributes()
        fitted["seed_"] = self._seed() if before is None else before.seed_
        return table, fitted

    def _seed(self) -> int:
        """What all draws follow from.

        Who asked for nothing random gets the same model from every fit, even where
        ``colsample_bynode="auto"`` draws features.
        """
        shares = [self.subsample, self.colsample_bytree, self.colsample_bylevel]
        if self.colsample_bynode != "auto":
            shares.append(self.colsample_bynode)
        asked = self._patience is not None or self.drop_rate > 0.0 or min(shares) < 1.0
        asked = asked or self.sampling != "uniform"
        if self.random_state is None and not asked:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _resolve_loss(self, rows: TrainingRows, fitted: dict[str, Any]) -> Loss:
        """The compiled loss, once it is known that the targets suit it."""
        options = LossOptions(
            getattr(self, "quantile", 0.5),
            getattr(self, "huber_quantile", 0.9),
            getattr(self, "tweedie_power", 1.5),
        )
        loss = resolve(
            self.loss,
            task=self._task,  # type: ignore[arg-type]
            n_classes=fitted.get("n_classes_", 0),
            options=options,
            y=rows.target,
            weight=rows.weight,
        )
        loss.check_target(rows.target)
        return loss

    def _read_watched(
        self, valid: Given, rows: str, fitted: dict[str, Any], loss: Loss
    ) -> TrainingRows:
        """Read the rows to watch; an error says that it is about them."""
        try:
            name, schema = self._name, fitted["schema_"]
            with infinities_are_numbers():
                read = read_table(valid.X, valid.sample_weight, name, schema=schema)
            watched = self._read_rows(valid, read, fitted, True)
            loss.check_target(watched.target)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            where = "X_val, y_val" if rows == VALIDATION else f"X_val[{rows!r}], y_val[{rows!r}]"
            raise kind(f"In the validation rows ({where}): {error}") from error
        return watched

    def _lay_out(
        self,
        rows: TrainingRows,
        watched: Mapping[str, TrainingRows],
        schema: Schema,
        loss: Loss,
        before: Any,
        scale: Scale,
        seed: int,
    ) -> Course:
        """Code the rows to learn from, and those to watch, and give them their first scores."""
        start = self._start(rows, loss) if before is None else scale.down(before.ensemble_.start)
        scores = self._row_scores(rows, loss, start, before, scale)

        def widen(codes: Codes) -> Codes:
            """Tell apart the categories of columns that have more of them than bins."""
            if self.category_split != "subset":
                names = schema.feature_names
                warn_of_folding(codes, rows.matrix, names, False, _TELL_ALL_APART)
                return codes
            # those of the first tree, also where a fit goes on from an earlier one
            first = scores if before is None else self._row_scores(rows, loss, start, None, scale)
            slopes = first.first_slopes(self.n_jobs)
            return add_facets(codes, rows.matrix, slopes, self.max_bins, seed, rows.kin)

        kinds = (schema.is_category, schema.n_categories)
        if self.split == "histogram":
            conflicts = float(self.max_conflict_rate) if self.bundle_features else None
            make_like: Any = code_table_like
            table = code_table(rows.matrix, *kinds, self.max_bins, self.n_jobs, widen, conflicts)
        else:
            make_like = list_table_like
            table = list_table(rows.matrix, *kinds, self.max_bins, self.n_jobs)
            if isinstance(table.codes, Codes):
                names = schema.feature_names
                warn_of_folding(table.codes, rows.matrix, names, False, _IN_HISTOGRAMS)
        validation = {
            name: (
                make_like(table, some.matrix, self.n_jobs),
                self._row_scores(some, loss, start, before, scale),
            )
            for name, some in watched.items()
        }
        return Course(table, scores, validation, start)

    def _check_scoring(self, watched: Mapping[str, TrainingRows]) -> None:
        """Scores are measured on rows that are not learnt from."""
        if self.scoring != LOSS and not watched:
            raise ValueError(
                f"scoring={self.scoring!r:.60} is measured on validation rows, and there are none: "
                "pass X_val and y_val to fit, or set n_iter_no_change, which holds some out."
            )

    def _scoring(
        self,
        scorers: Mapping[str, Scorer | None],
        course: Course | LinearCourse,
        watched: Mapping[str, TrainingRows],
        valid: Mapping[str, Given],
        fitted: dict[str, Any],
        scale: Scale,
    ) -> Scoring | None:
        """Who measures what ``scoring`` asks for; None if that is nothing but the loss."""
        if all(scorer is None for scorer in scorers.values()):
            return None
        loss = course.scores.loss
        model: Any = object.__new__(type(self))
        none = Ensemble([], [], loss.n_scores, scale.up(course.start))
        params = self.get_params(deep=False)
        vars(model).update({**params, **fitted, "ensemble_": none, "link_": loss.link_name})
        rows = {}
        for name, some in watched.items():
            given = valid[name].X if name in valid else some.matrix
            X = given if count_rows(given) == len(some.target) else some.matrix
            y = self._known_target(scale.up(some.target), fitted)
            group = None if some.groups is None else np.diff(some.groups)
            scores = course.validation[name][1]
            rows[name] = WatchedRows(X, y, uneven(some.weight), scores, group)
        return Scoring(scorers, rows, model, scale)

    def _known_target(self, target: Array, fitted: dict[str, Any]) -> Array:
        """Targets as the user knows them."""
        return target

    def _start(self, rows: TrainingRows, loss: Loss) -> Array:
        """Where boosting starts: at the best constants, or at the scores that rows have."""
        if rows.init_score is not None:
            return np.zeros(loss.n_scores)
        return loss.start(rows.target, rows.weight)

    def _pace(
        self, coded: TrainingRows, loss: Loss, rules: BoostRules, seed: int, before: Any
    ) -> Pace:
        """How trees are grown, of which share of the features, and the learning rate.

        All are as given, as in the fit that this one continues, or tried out.
        """
        growths, shares = [rules.growth], [rules.colsample_bynode]
        finds_rate, given = is_auto(self.learning_rate), usual_rate(self.learning_rate)
        draws = self.colsample_bynode == "auto" and shares[0] < 1.0
        if before is not None:
            rate = before.learning_rate_ if finds_rate else given
            share = before.colsample_bynode_ if draws else shares[0]
            return Pace(before.growth_, share, rate)
        if self.growth == "auto" and rules.growth == ALTERNATE:
            growths.append(LEAF)
        if not finds_rate:
            growths = growths[-1:]  # it is not worth a trial
        rate = given
        # rounds that drop others say little of those that do not, and NDCG is too rough
        untold = self.drop_rate > 0.0 or self._task == "ranking"
        if untold or not (finds_rate or draws):
            return Pace(growths[-1], shares[0], rate)
        if draws:
            shares.append(1.0)
        if ALTERNATE in growths:
            begin(SYMMETRIC_KERNELS)

        def losses(
            learnt: TrainingRows,
            watched: TrainingRows,
            growth: str,
            share: float,
            leader: Leader | None,
        ) -> Array:
            course = self._course(learnt, watched, loss)
            tried = replace(rules, growth=growth, colsample_bynode=share)
            return watched_losses(course, tried, self.order, seed, self.n_jobs, leader)

        pace = find_pace(coded, self._splits, growths, shares, losses, seed)
        return pace if finds_rate else pace._replace(rate=rate)

    def _course(self, learnt: TrainingRows, watched: TrainingRows, loss: Loss) -> Course:
        """Some of the rows, which are coded, to learn from, and others to watch."""
        start = self._start(learnt, loss)
        scores, held = (self._row_scores(some, loss, start, None) for some in (learnt, watched))
        return Course(learnt.matrix, scores, {VALIDATION: (watched.matrix, held)}, start)

    @property
    def _patience(self) -> int | None:
        """Rounds without improvement that end the fit; None if none do."""
        return patience_of(self, USUAL_PATIENCE)

    @property
    def _calibrates(self) -> bool:
        """Whether quantiles are to be moved to where they hold for new rows."""
        return bool(getattr(self, "calibrate", False))

    def _check_calibration(self) -> None:
        if self._calibrates and self.loss != "quantile":
            raise ValueError(
                f"calibrate=True moves quantiles to where they hold for new rows, but loss="
                f"{self.loss!r:.60} predicts none: set loss='quantile', or calibrate=False."
            )

    def _calibrate(
        self, coded: TrainingRows, loss: Loss, rules: BoostRules, rounds: Rounds
    ) -> Array:
        """By how much each quantile must be moved, by models that are boosted as this one was."""

        def predict(learnt: TrainingRows, held: TrainingRows) -> Array:
            course = self._course(learnt, replace(held, init_score=None), loss)
            boost(course, rules, rounds, None, self.n_jobs)
            _, scores = course.validation[VALIDATION]
            return loss.link(scores.score.reshape(loss.n_scores, -1).T)

        return find_shifts(coded, predict, loss.settings, rounds.seed, self.verbose)

    def _watch(
        self,
        course: Course | LinearCourse,
        callbacks: Sequence[Any],
        before: Any,
        n_before: int,
        scale: Scale,
        scoring: Scoring | None,
    ) -> Watch:
        """Somebody who is told of every round."""
        return Watch(
            rounds=self.n_estimators,
            metric=course.scores.loss.metric,
            patience=self._patience,
            tol=self.tol,
            verbose=self.verbose,
            callbacks=callbacks,
            history=None if before is None else before.history_,
            n_before=n_before,
            scale=scale,
            scoring=scoring,
            train_loss=bool(course.validation),
        )

    def _row_scores(
        self, rows: TrainingRows, loss: Loss, start: Array, before: Any, scale: Scale = NO_SCALE
    ) -> RowScores:
        """Scores of some rows: where boosting starts, or where an earlier fit left them."""
        if before is not None:
            at: Array = scale.down(before.ensemble_.scores(rows.matrix, self.n_jobs).T)
        else:
            at = start.reshape(-1, 1)
        if rows.init_score is not None:
            at = at + lay_out_init(rows.init_score, loss.n_scores)
        return RowScores(loss, rows.target, rows.weight, at, self.order, rows.groups)

    def _kept_from_before(self) -> Any:
        """The estimator itself if this fit goes on where the last one ended."""
        if self._patience is not None and self.drop_rate > 0.0:
            raise ValueError(
                f"Early stopping does not go with drop_rate={self.drop_rate}: later rounds "
                "change the trees of earlier ones, so there is no best round to go back to."
            )
        if not self.warm_start or "ensemble_" not in self.__dict__:
            return None
        if (self.booster == LINEAR) != isinstance(self.ensemble_, LinearRounds):
            raise ValueError(
                f"warm_start=True goes on with a model of another booster than {self.booster!r}. "
                "Set warm_start=False, or booster as it was."
            )
        if self.drop_rate > 0.0:
            raise ValueError(
                f"warm_start=True does not go with drop_rate={self.drop_rate}: dropping changes "
                "the trees of earlier rounds. Fit all rounds at once."
            )
        if self.n_estimators < self.n_iter_:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {self.n_iter_} rounds "
                "that the warm-started model has."
            )
        return self

    @abstractmethod
    def _read_target(self, y: Any, weight: Array, fitted: dict[str, Any], again: bool) -> Any:
        """The target as float64, and the weights; note what was learnt in ``fitted``."""

    def _read_rows(
        self, given: Given, read: TrainingTable, fitted: dict[str, Any], again: bool = False
    ) -> TrainingRows:
        """Read y and what else is said of the rows of a table."""
        n_rows = read.n_rows
        target, weight = self._read_target(given.y, read.weight, fitted, again)
        check_length(target, n_rows)
        init = None if given.init_score is None else read_init(given.init_score, n_rows)
        kin = Kin.read(*given.kin, n_rows)
        rows = TrainingRows(read.matrix, target, moderate(weight), init, given.groups, kin)
        rows = rows if (weight > 0).all() else rows.chosen(weight > 0)
        if not again:
            warn_of_heaviest(rows.weight)
        return rows

    def _hold_out(self, rows: TrainingRows, seed: int) -> tuple[TrainingRows, TrainingRows]:
        """Part the rows at random into those to learn from and those to watch."""
        learnt, held = self._splits(rows, (seed, _HELD_KEY)).hold_out(self.validation_fraction)
        if not held.any() or not learnt.any():
            raise ValueError(
                f"Early stopping with validation_fraction={self.validation_fraction} leaves "
                f"{int(held.sum())} of {len(held)} rows to validate on, and {int(learnt.sum())} to "
                "learn from. Choose another fraction, or pass X_val and y_val to fit."
            )
        return rows.chosen(learnt), rows.chosen(held)

    def _splits(self, rows: TrainingRows, random: Any) -> Splits:
        """Who parts the rows."""
        return Splits(len(rows.target), random, kin=rows.kin)

    def _rules(
        self, schema: Schema, loss: Loss, settings: Settings, scale: Scale = NO_SCALE
    ) -> BoostRules:
        """The parameters of growing as numbers."""
        monotone = read_monotone(self.monotonic_cst, schema)
        if monotone is not None and loss.n_scores > 1:
            raise ValueError(
                "monotonic_cst needs one score per row, but the loss "
                f"{loss.name!r} has {loss.n_scores}: constrain a model of two classes or a "
                "regression."
            )
        depth, levels, limit = settings.max_depth, settings.levels, self.category_limit
        return BoostRules(
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=None if depth is None else min(depth, 2**31 - 1),
            levels=None if levels is None else min(levels, 2**31 - 1),
            min_samples_leaf=min(settings.min_samples_leaf, 2**31 - 1),
            min_child_weight=float(self.min_child_weight),
            min_split_gain=scale.of_gradients(self.min_split_gain, 2),
            reg_lambda=settings.reg_lambda,
            lambda_falls=settings.lambda_falls,
            reg_alpha=scale.of_gradients(self.reg_alpha),
            max_delta_step=float(scale.down(np.asarray(self.max_delta_step))),
            growth=self._growth(settings),
            sampling=choose_sampling(
                self.sampling, float(self.subsample), float(self.top_rate), float(self.other_rate)
            ),
            colsample_bytree=float(self.colsample_bytree),
            colsample_bylevel=float(self.colsample_bylevel),
            colsample_bynode=settings.colsample_bynode,
            category_split=self.category_split,
            category_smooth=settings.category_smooth,
            category_l2=float(self.category_l2),
            category_limit=limit if limit is None else min(int(limit), 2**31 - 1),
            category_rows=min(int(self.category_rows), 2**31 - 1),
            monotone=monotone,
            groups=read_groups(self.interaction_constraints, schema),
            draw_number=_draw_number(schema),
            split=self.split,
            candidates=self.candidates,
            eps=float(self.eps),
            feature_weight=read_feature_weights(self.feature_weights, schema),
        )

    def _growth(self, settings: Settings) -> str:
        """How trees are grown; symmetric ones ask questions of histograms."""
        growth = settings.growth
        if self.split == "histogram" or growth not in (SYMMETRIC, ALTERNATE):
            return growth
        if self.growth == "auto":
            return LEAF
        raise ValueError(
            f"growth={growth!r} asks all nodes of a level one question of their histograms, and "
            f"split={self.split!r} makes none: set split='histogram', or growth='level'."
        )

    def set_params(self, **params: Any) -> Any:
        """Set parameters, as everywhere; an unknown name gets a hint.

        Parameters
        ----------
        **params

        Returns
        -------
        self
        """
        known = self.get_params(deep=True)
        for name in params:
            if name not in known and "__" not in name:
                raise ValueError(unknown_parameter(type(self), name))
        return super().set_params(**params)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Any:
        """Make an estimator with the settings of a published algorithm.

        Parameters
        ----------
        name : {"friedman", "xgboost", "lightgbm", "catboost"}
        **changes
            Parameters to set otherwise.

        Returns
        -------
        estimator

        Examples
        --------
        >>> import hornbeam as hb
        >>> hb.GradientBoostingRegressor.preset("xgboost", n_estimators=10).growth
        'level'
        """
        return cls(**preset_parameters(name, changes))

    # --- using the model ----------------------------------------------------------------

    def _features(self, X: Any) -> Any:
        """The part of a table that was learnt from."""
        return X

    def _scores(self, X: Any, n_rounds: int | None = None) -> Array:
        """Scores of each row, (n_rows, n_scores), after all rounds or the first so many."""
        if "ensemble_" not in self.__dict__:
            check_is_fitted(self)
        last = self._last_tree(n_rounds)
        name, X = self._name, self._features(X)
        if self.schema_.takes_as_is(X, name):
            scores = self.ensemble_.scores(X, self.n_jobs, last=last)
            if scores is not None:
                return scores
        scores = self.ensemble_.scores(self._matrix(X), self.n_jobs, last=last)
        assert scores is not None  # there are no infinite values left
        return scores

    def _last_tree(self, n_rounds: int | None) -> int | None:
        """How many trees the first rounds have; None are all."""
        if n_rounds is None:
            return None
        whole = isinstance(n_rounds, (Integral, np.integer)) and not isinstance(n_rounds, bool)
        if not whole or not 0 <= n_rounds <= self.n_iter_:
            raise ValueError(
                f"n_rounds must be a whole number from 0 to the {self.n_iter_} rounds of the "
                f"model, or None for all of them, but is {n_rounds!r:.60}."
            )
        return int(n_rounds) * self.ensemble_.n_scores

    def _matrix(self, X: Any) -> Any:
        """A table as floats without infinite values."""
        with infinities_are_numbers():
            return self.schema_.read(X, self._name)

    def _staged_scores(self, X: Any) -> Iterator[Array]:
        check_is_fitted(self)
        matrix = self._matrix(self._features(X))
        every = self.ensemble_.n_scores
        for scores in self.ensemble_.staged_scores(matrix, self.n_jobs, every):
            assert scores is not None  # there are no infinite values left
            yield scores

    def _linked(self, scores: Array) -> Array:
        """Predictions on the user's scale."""
        single = self.ensemble_.n_scores == 1
        predictions = apply_link(self.link_, scores[:, 0] if single else scores)
        shifts = self.__dict__.get("calibration_")
        return predictions if shifts is None else moved(predictions, shifts)

    def apply(self, X: Any, *, n_rounds: int | None = None) -> Array:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        n_rounds : int, optional
            Only those of the first so many rounds; None: of all.

        Returns
        -------
        array of int32 of shape (n_samples, n_iter_), or (n_samples, n_iter_, n_scores) if a
        round has several trees, as with more than two classes
        """
        check_is_fitted(self)
        self._check_trees("apply returns leaves")
        last = self._last_tree(n_rounds)
        matrix = self._matrix(self._features(X))
        leaves = self.ensemble_.leaves(matrix, self.n_jobs, last)
        assert leaves is not None  # there are no infinite values left
        n_scores = self.ensemble_.n_scores
        return leaves if n_scores == 1 else leaves.reshape(len(leaves), -1, n_scores)

    def _check_trees(self, what: str) -> None:
        """Raise a ValueError unless there are trees."""
        check_is_fitted(self)
        if isinstance(self.ensemble_, LinearRounds):
            raise ValueError(
                f"{what}, but with booster='linear' there are no trees: see coef_ and intercept_."
            )

    def _linear(self, name: str) -> LinearRounds:
        """The linear model; without one there is no attribute of this name."""
        if not isinstance(self.__dict__.get("ensemble_"), LinearRounds):
            raise AttributeError(
                f"{type(self).__name__} has no {name}: only models that are fitted with "
                "booster='linear' do."
            )
        return self.ensemble_  # type: ignore[return-value]

    @property
    def coef_(self) -> Array:
        """The coefficients of ``term_names_``; of a classifier one row per score."""
        found = self._linear("coef_").coefficients()[:, :-1]
        return found[0] if self._task != "classification" and len(found) == 1 else found

    @property
    def intercept_(self) -> Any:
        """What a score is where all columns are 0; of a classifier one per score."""
        found = self._linear("intercept_").coefficients()[:, -1]
        alone = self._task != "classification" and len(found) == 1
        return float(found[0]) if alone else found

    @property
    def term_names_(self) -> list[str]:
        """What the coefficients belong to: columns, their categories, or their missing values."""
        return term_names(self._linear("term_names_").terms, self.schema_)

    @property
    def trees_(self) -> Sequence[Tree]:
        """The trees, ``n_scores`` of them per round."""
        check_is_fitted(self)
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
            Its values are what the leaves add to a score.
        """
        self._check_trees("tree returns one of its trees")
        return SingleTree(self.trees_[number], self.schema_, "objective")

    @property
    def n_estimators_(self) -> int:
        """Rounds in the model, as `n_iter_`."""
        check_is_fitted(self)
        return self.n_iter_

    @property
    def estimators_(self) -> Array:
        """The trees to look at, an array of one row per round and one column per score."""
        check_is_fitted(self)
        trees = np.empty(len(self.trees_), object)
        trees[:] = [self.tree(number) for number in range(len(trees))]
        return trees.reshape(-1, self.ensemble_.n_scores)

    @property
    def train_score_(self) -> Array:
        """Loss of the training rows after each round, ``history_["train"]``."""
        return self._curve(TRAIN)

    @property
    def validation_score_(self) -> Array:
        """Loss of the validation rows after each round, ``history_["validation"]``."""
        return self._curve(VALIDATION)

    def _curve(self, name: str) -> Array:
        check_is_fitted(self)
        if name not in self.history_:
            raise AttributeError(
                f"The history holds no losses of {name!r} rows. They are measured if fit gets "
                "X_val and y_val or callbacks, stops early, or shows its progress."
            )
        return self.history_[name]

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the gain of all splits."""
        return self.importances("gain")

    def importances(self, kind: str = "gain", X: Any = None, y: Any = None) -> Array:
        """Return how important each feature is.

        Parameters
        ----------
        kind : {"gain", "split", "cover", "squared", "permutation"}
            Share in the gain of all splits; in their number; in the hessian of the nodes
            they split; Friedman's squared relative importance averaged over trees; or the
            loss of score when a column of (X, y) is shuffled.
        X, y
            Rows to shuffle, for "permutation".

        Returns
        -------
        array of shape (n_features,)
        """
        check_is_fitted(self)
        return importances(self, kind, X, y)

    def history(self) -> Any:
        """Return the losses of each round as a pandas data frame."""
        check_is_fitted(self)
        return history_frame(self.history_)

    def plot_history(self, ax: Any = None) -> Any:
        """Draw the losses of each round; returns the matplotlib axes."""
        check_is_fitted(self)
        return plot_history(self.history_, ax)

    def predictor(self) -> Any:
        """Return an object for serving: no validation beyond the shape, thread-safe."""
        from hornbeam.boosting.predictor import Predictor

        check_is_fitted(self)
        if isinstance(self.ensemble_, LinearRounds):
            return LinearPredictor(
                self.ensemble_, self._linked, self.n_features_in_, getattr(self, "classes_", None)
            )
        return Predictor(
            self.ensemble_, self._linked, self.n_features_in_, getattr(self, "classes_", None)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def _model_of(
    before: Any,
    grown: Sequence[GrownTree],
    course: Course,
    rules: BoostRules,
    start: Array,
    n_rounds: int,
) -> dict[str, Any]:
    """The fitted attributes of a model of so many rounds, those of an earlier fit included."""
    loss = course.scores.loss
    trees = build_trees(grown, course.table.codes, rules)
    if before is not None:
        trees = Trees.join([before.ensemble_.trees, trees])
    trees = trees[: n_rounds * loss.n_scores]
    scores_of_trees = np.arange(len(trees)) % loss.n_scores
    ensemble = Ensemble(trees, scores_of_trees, loss.n_scores, start)
    return {"ensemble_": ensemble, "link_": loss.link_name, "n_iter_": n_rounds}


class Asked(NamedTuple):
    """What the user asks of a fit."""

    given: Given
    valid: Mapping[str, Given]
    callbacks: Sequence[Any]
    before: Any  # the estimator, if it goes on
    rates: list[float] | None  # of a schedule


def usual_rate(learning_rate: Any) -> float:
    """The learning rate as far as it is one number: what is usual, as given, or a mean."""
    if is_auto(learning_rate):
        return USUAL_RATE
    return USUAL_RATE if is_schedule(learning_rate) else float(learning_rate)


def _warn_of_idle_weights(rules: BoostRules) -> None:
    """Warn if features have weights to be drawn by, and none are drawn."""
    weights = rules.feature_weight
    if weights is None or not draws_all(rules) or len(set(weights[weights > 0.0])) < 2:
        return
    warn(
        "feature_weights say how likely features are drawn, but every node may ask all of them: "
        "set colsample_bytree, colsample_bylevel or colsample_bynode below 1."
    )


def _root_weights(trees: Trees) -> tuple[float, ...]:
    """The sum of hessians in the root of each tree."""
    return tuple(trees.nodes.weight[trees.node_start[:-1]])


def _check_classes(before: Any, fitted: dict[str, Any]) -> None:
    """A model that goes on learning keeps its classes."""
    if "classes_" not in fitted:
        return
    classes, earlier = fitted["classes_"], before.classes_
    if not np.array_equal(classes, earlier):
        raise ValueError(
            f"warm_start=True goes on with a model of the classes {earlier.tolist()[:10]}, but y "
            f"holds {classes.tolist()[:10]}. Fit a new model, or pass rows of the same classes."
        )


def _draw_number(schema: Schema) -> Array | None:
    """The place of each column's name in the alphabet; None for a table without names.

    Features are drawn by it, so that what is drawn does not depend on the order of columns.
    """
    if not schema.named:
        return None
    places: Array = np.argsort(np.argsort(schema.feature_names, kind="stable"))
    return places


def _explain_no_split(hessian: float, scores: RowScores, rules: BoostRules) -> None:
    """Warn if no tree has a split for a reason that somebody should act on."""
    varies = np.ptp(scores.target) > 0.0
    if hessian < 2.0 * rules.min_child_weight:
        reason = (
            f"the hessians of all rows add up to {hessian:.3g}, less than twice "
            f"min_child_weight={rules.min_child_weight:g}: choose a smaller one, or scale y or "
            "sample_weight"
        )
    elif scores.loss.n_scores == 1 and scores.peak[0] == 0.0 and varies:
        reason = "all gradients round to zero: scale y, so that its values are not so small"
    elif scores.heaviest > _HEAVY and varies:
        reason = (
            f"one row weighs as much as {scores.heaviest:.3g} rows of usual weight: no cut leaves "
            f"enough hessian for min_child_weight={rules.min_child_weight:g} beside it. Check "
            "sample_weight and class_weight"
        )
    elif (
        varies
        and scores.loss.n_scores == 1
        and hessian - scores.peak[1] < max(rules.min_child_weight, _HARDLY * hessian)
    ):
        reason = "one row has nearly all of the hessian: scale y, or choose another loss"
    else:
        return
    warn(f"No tree has a split, since {reason}.")


def _explain_small_steps(course: Course, distance: float) -> None:
    """Warn if all trees together hardly move the scores, compared with the targets."""
    scores = course.scores
    if scores.loss.task != "regression" or scores.loss.link_name not in ("identity", "quantiles"):
        return
    moved, spread = np.ptp(scores.score - course.start[0]), np.ptp(scores.target)
    if scores.loss.n_scores == 1 and moved < _HARDLY * min(1.0, distance) * spread:
        warn(
            f"The predictions differ by {moved:.2g} only, and y by {spread:.2g}: the steps of the "
            f"loss {scores.loss.name!r} are too small for such targets. Scale y."
        )


def _check_callbacks(callbacks: Any) -> None:
    """Callbacks are functions, and there may be several."""
    if isinstance(callbacks, Sequence) and all(callable(callback) for callback in callbacks):
        return
    raise TypeError(
        "callbacks must be a list of functions that take the report of a round, but is "
        f"{callbacks!r:.60}."
    )

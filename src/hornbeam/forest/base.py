"""What all forests share: many CART trees, grown on bags of the rows.

``fit`` is the whole story: read the data as a single tree would, draw a bag for each tree,
grow the trees, and score them on the rows that were not in their bags.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hornbeam.callbacks import CallbackSupportMixin, Told, with_callbacks
from hornbeam.data.coding import encode_like
from hornbeam.data.folds import Kin
from hornbeam.data.schema import Schema
from hornbeam.dtypes import Array
from hornbeam.fitting import become, forget, learnt
from hornbeam.forest.bags import Bags, TreeSamples, count_draws
from hornbeam.forest.growing import Plantation
from hornbeam.forest.out_of_bag import OutOfBag, equal_classes, permutation_importances
from hornbeam.forest.parameters import USUAL_PATIENCE
from hornbeam.forest.savable import SavableForest
from hornbeam.forest.store import ForestStore
from hornbeam.forest.trial import TRIED, find_rules
from hornbeam.notices import warn
from hornbeam.params import check_params
from hornbeam.progress import ProgressBar
from hornbeam.stopping import patience_of
from hornbeam.tree.estimators import CartTree
from hornbeam.tree.reader import CartReader, count_features
from hornbeam.tree.rules import WARY
from hornbeam.tree.task import Task
from hornbeam.tree.traversal import decision_path

# Trees that are grown between two looks at the score when fitting may stop early.
BATCH = 10
# Of equally good splits any one is taken, so that trees differ; a single tree takes the first.
RANDOM_TIES = True
# Few rows that are far out may matter most; a forest can afford to lose some of the other cuts.
WIDE_CUTS = 1 / 16


class ForestTrees(Sequence[Any]):
    """The trees of a forest as estimators, each made when it is asked for."""

    def __init__(self, forest: BaseForest) -> None:
        self._forest = forest

    def __len__(self) -> int:
        return self._forest.store_.n_trees

    @overload
    def __getitem__(self, index: int) -> CartTree: ...

    @overload
    def __getitem__(self, index: slice) -> list[CartTree]: ...

    def __getitem__(self, index: int | slice) -> CartTree | list[CartTree]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._forest._tree(number) for number in numbers]
        return self._forest._tree(numbers)

    def __iter__(self) -> Iterator[CartTree]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} trees of {self._forest}>"


class BaseForest(
    SavableForest,
    CallbackSupportMixin,  # type: ignore[misc]
    MultiOutputMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """What all forests share."""

    n_estimators: int
    bootstrap: bool
    oob_score: Any
    max_samples: Any
    min_samples_split: Any
    ccp_alpha: float
    constant_features: str
    early_stopping: bool | Literal["auto"]
    n_iter_no_change: int | None
    tol: float
    random_state: Any
    warm_start: bool
    verbose: int | None
    n_jobs: int | None

    # --- fitting --------------------------------------------------------------------

    @abstractmethod
    def _template(self) -> CartTree:
        """The tree that this is a forest of."""

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, time: Any = None
    ) -> Any:
        """Grow the forest.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, list, sparse matrix, or a pandas, polars or Arrow table. Strings,
            bools and categoricals are categories; NaN, None and NA are missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target; must not be missing.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; rows of weight 0 are left out.
        groups, time : array-like of shape (n_samples,), optional
            Which rows belong together, and when they were: bags hold whole groups, and wherever
            rows are held out from others, only earlier rows are learnt from.

        Returns
        -------
        self
        """
        earlier = self._earlier() if self.warm_start else {}
        if not earlier:
            forget(self)
        check_params(self)
        self._check_bags_wanted(time)
        reader = self._reader()
        table, fitted = reader.read(X, sample_weight)
        seed = fitted["seed_"] = earlier["seed_"] if earlier else self._draw_seed()
        y = self._target(y, table.n_rows, seed)
        task = self._refine(reader.task(table, y, fitted), reader, table.schema)
        n_drawable = int(np.count_nonzero(task.target.weight))
        n_draws = count_draws(self.bootstrap, self.max_samples, n_drawable)
        kin = Kin.read(groups, time, table.n_rows)
        bags = Bags.of(seed, task.target.weight, n_draws, kin)
        fitted |= {"n_rows_in_": bags.n_rows, "n_draws_": bags.n_draws, "_bags": bags}
        self._check_fits(earlier, fitted)
        task = self._settle(task, bags, earlier, fitted)
        told = Told(self, -(-self.n_estimators // BATCH), X, y, sample_weight)
        self._grow(task, bags, y, earlier, fitted, told)
        self._note(task, bags, y, fitted)
        told.end(lambda: fitted)
        become(self, fitted)
        return self

    def _reader(self) -> CartReader:
        wary = getattr(self, "category_split", None) in ("auto", *WARY)
        return CartReader(self._template(), type(self).__name__, wary, WIDE_CUTS)

    def _refine(self, task: Task, reader: CartReader, schema: Schema) -> Task:
        """What a forest wants otherwise than a tree."""
        category_split = getattr(self, "category_split", task.rules.category_split)
        rules = replace(
            task.rules,
            count_constant=self.constant_features == "count",
            random_ties=RANDOM_TIES,
            list_sets=False,
            category_split="cautious" if category_split == "auto" else category_split,
        )
        codes, counted = task.codes, task.target.weight > 0
        if reader.tree.finder == "exact":
            return replace(task, rules=rules)
        if not counted.all():  # rows that are left out must not make bins either
            codes = reader.encode(schema, task.matrix[np.flatnonzero(counted)])
            codes = encode_like(codes, task.matrix, self.n_jobs)
        if rules.random_cuts and task.criterion.summed == "moments":
            # small nodes are cut between values that share a bin: classes gain nothing by it
            codes = codes.with_values(task.matrix)
        return replace(task, rules=rules, codes=codes)

    def _settle(
        self, task: Task, bags: Bags, earlier: dict[str, Any], fitted: dict[str, Any]
    ) -> Task:
        """Find out what nobody said: see `forest.trial`."""
        wanted = [name for name in TRIED if getattr(self, name, None) == "auto"]
        rules = task.rules
        if wanted and earlier:
            rules = replace(rules, **{name: earlier[f"{name}_"] for name in wanted})
        elif wanted:
            rules = find_rules(task, bags, self._balanced, self.n_jobs, wanted)
        fitted |= {f"{name}_": getattr(rules, name) for name in TRIED}
        return replace(task, rules=rules)

    @property
    def _balanced(self) -> bool:
        """Whether the classes of each bag weigh the same."""
        return getattr(self, "class_weight", None) == "balanced_subsample"

    def _target(self, y: Any, n_rows: int, seed: int) -> Any:
        """What the trees are grown on: y, unless a forest needs none."""
        return y

    def _grow(
        self,
        task: Task,
        bags: Bags,
        y: Any,
        earlier: dict[str, Any],
        fitted: dict[str, Any],
        told: Told,
    ) -> None:
        """Grow the trees that are missing; notes them and their score in ``fitted``."""
        plantation = Plantation(task, bags, self._balanced, self.ccp_alpha, self.n_jobs)
        stores = [earlier["store_"]] if earlier else []
        gains = [earlier["tree_gains_"]] if earlier else []
        n_trees = stores[0].n_trees if stores else 0
        out_of_bag = OutOfBag(self, task, bags, y, fitted)
        if stores and not plantation.has_codes_of(stores[0]):
            raise ValueError(
                "warm_start=True goes on with a forest in which other categories share codes "
                "than in this table. Fit anew with warm_start=False."
            )
        patience = self._patience()
        step = BATCH if patience or told.listens else max(1, self.n_estimators - n_trees)
        best, failures = -np.inf, 0
        if patience and stores:
            out_of_bag.add(stores[0], 0)
            best = out_of_bag.score()
        with ProgressBar("trees", self.n_estimators, self.verbose) as bar:
            while n_trees < self.n_estimators and (not patience or failures < patience):
                last = min(n_trees + step, self.n_estimators)
                base = n_trees
                store, gain = plantation.grow(n_trees, last, lambda n: bar.show(base + n))  # noqa: B023
                stores.append(store)
                gains.append(gain)
                n_trees = last
                if told.listens and told.step(lambda: fitted | _joined(stores, gains)):
                    break
                if patience:
                    out_of_bag.add(store, base)
                    score = out_of_bag.score()
                    improved = score > best + self.tol
                    best, failures = max(best, score), 0 if improved else failures + 1
        fitted |= _joined(stores, gains, release=True)
        if self.oob_score and not patience:
            out_of_bag.add(fitted["store_"], 0)
        if self.oob_score or patience:
            fitted |= out_of_bag.attributes()

    def _note(self, task: Task, bags: Bags, y: Any, fitted: dict[str, Any]) -> None:
        """Whatever else is to be kept of the training rows."""

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _earlier(self) -> dict[str, Any]:
        """What an earlier fit has learnt, to go on from there."""
        earlier = learnt(self)
        n_trees = earlier["store_"].n_trees if "store_" in earlier else 0
        if self.n_estimators < n_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to the {n_trees} trees "
                "there are when warm_start==True; fit anew with warm_start=False."
            )
        if n_trees and self.n_estimators == n_trees:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
            )
        return earlier

    def _check_fits(self, earlier: dict[str, Any], fitted: dict[str, Any]) -> None:
        """Trees can only be added to a forest of the same kind of table."""
        if not earlier:
            return
        for name in ("n_features_in_", "n_outputs_", "n_rows_in_", "n_draws_"):
            if earlier[name] != fitted[name]:
                raise ValueError(
                    f"warm_start=True goes on with a forest whose {name} is {earlier[name]}, but "
                    f"this table gives {fitted[name]}. Fit anew with warm_start=False."
                )
        if earlier["schema_"].to_dict() != fitted["schema_"].to_dict():
            raise ValueError(
                "warm_start=True goes on with a forest of a table with other columns or other "
                "categories. Fit anew with warm_start=False."
            )
        old, new = earlier.get("classes_"), fitted.get("classes_")
        if old is not None and not equal_classes(old, new):
            raise ValueError(
                f"warm_start=True goes on with a forest of the classes {old}, but y has {new}. "
                "Fit anew with warm_start=False."
            )

    def _patience(self) -> int | None:
        """How often more trees may fail to be better; None where no row is out of a bag."""
        patience = patience_of(self, USUAL_PATIENCE)
        if patience is not None and self.early_stopping == "auto" and not self.bootstrap:
            return None
        return patience

    def _check_bags_wanted(self, time: Any) -> None:
        stops = self._patience() is not None
        if self.n_iter_no_change is not None and self.early_stopping == "auto" and not stops:
            warn(
                f"n_iter_no_change={self.n_iter_no_change} stops nothing: forests stop by the "
                "rows that are out of the bags, and bootstrap=False leaves none out. Set "
                "bootstrap=True, or leave n_iter_no_change away."
            )
        for name, wanted in (("oob_score", self.oob_score), ("early_stopping", stops)):
            if wanted and time is not None:
                raise ValueError(
                    f"{name}={wanted} asks trees about rows out of their bags, and "
                    "with time these trees may have seen what came later. Leave time away, or "
                    f"{name}=False."
                )
            if wanted and not self.bootstrap:
                raise ValueError(
                    f"{name}={wanted} scores rows that are out of the bag. "
                    "Out of bag estimation only available if bootstrap=True"
                )

    # --- using the trees --------------------------------------------------------------

    def _read(self, X: Any) -> Any:
        """X as a matrix that the trees can walk on, checked."""
        return self.schema_.read(X, type(self).__name__)

    def _predicted(self, X: Any, mean: bool, hard: bool = False) -> Array:
        """Sum, or mean, of what all trees predict."""
        if "store_" not in self.__dict__:
            check_is_fitted(self)
        ask = self.store_.means if mean else self.store_.scores
        if self.schema_.takes_as_is(X, type(self).__name__):
            found = ask(X, self.n_jobs, hard=hard)
            if found is not None:
                return found
        # something else than a plain array, or one with an infinite value: read says so
        found = ask(self._read(X), self.n_jobs, hard=hard)
        assert found is not None
        return found

    @property
    def estimators_(self) -> ForestTrees:
        """The trees as estimators, each made when it is asked for."""
        check_is_fitted(self)
        return ForestTrees(self)

    @property
    def estimator_(self) -> CartTree:
        """A tree as the forest grows them, not fitted."""
        check_is_fitted(self)
        return self._template()

    @property
    def estimators_samples_(self) -> TreeSamples:
        """Which training rows each tree was grown on; drawn again, as in the fit."""
        check_is_fitted(self)
        if "_bags" not in self.__dict__:
            raise AttributeError(
                "This forest comes from a model file, which does not hold which rows had a weight "
                "or belonged together, so the rows of its trees cannot be drawn again."
            )
        return TreeSamples(self._bags, self.store_.n_trees)

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> CartTree:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[CartTree]:
        return iter(self.estimators_)

    def _tree(self, number: int) -> CartTree:
        """One tree as a fitted estimator."""
        tree = clone(self._template())
        for name in ("schema_", "n_features_in_", "feature_names_in_", "n_outputs_", "classes_"):
            if name in self.__dict__:
                setattr(tree, name, self.__dict__[name])
        if "n_classes_" in self.__dict__:
            tree.n_classes_ = self.n_classes_
        tree.max_features_ = count_features(tree.max_features, self.n_features_in_)
        tree.tree_ = self.store_.tree(number)
        return tree

    def apply(self, X: Any) -> Array:
        """Return the number of the leaf that each row falls into, for each tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of int64, shape (n_samples, n_trees)
        """
        check_is_fitted(self)
        leaves = self.store_.leaves(self._read(X), self.n_jobs)
        assert leaves is not None
        return leaves.astype(np.int64)

    def decision_path(self, X: Any) -> tuple[scipy.sparse.csr_matrix, Array]:
        """Return which nodes each row passes, in all trees.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 where a row passes a node.
        n_nodes_ptr : array of length n_trees + 1
            Where the columns of each tree begin.
        """
        leaves = self.apply(X)
        paths = [
            decision_path(self.store_.tree(number, with_sets=False), leaves[:, number])
            for number in range(self.store_.n_trees)
        ]
        return scipy.sparse.hstack(paths).tocsr(), self.store_.root.copy()

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the relative gain of all splits, mean over the trees."""
        return self.importances()

    def importances(
        self,
        kind: str = "gain",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        return_error: bool = False,
        groups: Any = None,
    ) -> Any:
        """Return how important each feature is.

        Parameters
        ----------
        kind : {"gain", "permutation"}
            Share in the relative gain of all splits, mean over the trees; or by how much the
            score (accuracy or R2) of a tree falls on the rows that were not in its bag when
            a column is shuffled among them, mean over the trees (Breiman).
        X, y, sample_weight
            The training table, for "permutation".
        return_error : bool
            Also return the standard error of the mean over the trees.
        groups
            As in `fit`, for "permutation": they say which rows were in a tree's bag.

        Returns
        -------
        array of shape (n_features,), or two of them
        """
        check_is_fitted(self)
        if kind not in ("gain", "permutation"):
            raise ValueError(f"kind must be 'gain' or 'permutation', but is {kind!r}.")
        if kind == "permutation":
            per_tree = permutation_importances(self, X, y, sample_weight, groups)
        else:
            totals = self.tree_gains_.sum(axis=1, keepdims=True)
            split = totals[:, 0] > 0
            per_tree = self.tree_gains_[split] / totals[split]
        if not len(per_tree):
            per_tree = np.zeros((1, self.n_features_in_))
        mean = per_tree.mean(axis=0)
        if kind == "gain" and mean.sum() > 0:
            mean = mean / mean.sum()
        error = per_tree.std(axis=0, ddof=min(1, len(per_tree) - 1)) / np.sqrt(len(per_tree))
        return (mean, error) if return_error else mean

    def proximities(self, X: Any, other: Any = None) -> Array:
        """Return the share of trees in which two rows fall into the same leaf.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        other : table of shape (n_other, n_features), optional
            Rows to compare with; X itself by default.

        Returns
        -------
        array of shape (n_samples, n_other)
        """
        leaves = self.apply(X)
        ours = one_hot_leaves(self.store_, leaves)
        theirs = ours if other is None else one_hot_leaves(self.store_, self.apply(other))
        shared: Array = (ours @ theirs.T).toarray()
        return shared / self.store_.n_trees

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def _joined(stores: list[ForestStore], gains: list[Array], release: bool = False) -> dict[str, Any]:
    """The trees grown so far as fitted attributes."""
    return {
        "store_": ForestStore.join(stores, release=release),
        "tree_gains_": np.concatenate(gains),
    }


def one_hot_leaves(store: ForestStore, leaves: Array) -> scipy.sparse.csr_matrix:
    """A column per node of each tree, 1 where a row ended."""
    n_rows, n_trees = leaves.shape
    columns = (leaves + store.root[:-1]).ravel()
    starts = np.arange(n_rows + 1) * n_trees
    ones = np.ones(len(columns))
    return scipy.sparse.csr_matrix((ones, columns, starts), shape=(n_rows, store.n_nodes))

"""What the members of an AdaBoost ensemble say together: votes, log probabilities, medians.

Where all members are hornbeam's trees of one schema the table is read once, and all trees are
walked together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hornbeam.combine.adaboost.members import class_numbers, is_tree
from hornbeam.combine.adaboost.rounds import LEAST
from hornbeam.combine.members import member_shares
from hornbeam.combine.tables import read_rows
from hornbeam.dtypes import Array
from hornbeam.runtime.team import run_parallel
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.storage import Tree, stored_tree

_CHUNK_ROWS = 4096
_SECONDS_PER_MEMBER = 2e-8  # of a row's median


class Committee:
    """Members and their weights, ready to predict; never changes.

    Parameters
    ----------
    members : list of estimators
    weights : array
    classes : array or None
        Of a classifier.
    by_shares : bool
        Whether members add the logarithms of their probabilities, as in SAMME.R, or votes.
    """

    def __init__(
        self, members: list[Any], weights: Array, classes: Array | None, by_shares: bool
    ) -> None:
        self.members, self.weights, self.classes = members, weights, classes
        self.by_shares = by_shares
        self.forest: Ensemble | None = None
        if _share_schema(members):
            n_values = 1 if classes is None else len(classes)
            trees = [self._scored(*pair) for pair in zip(members, weights, strict=True)]
            numbers = [0] * len(trees)
            self.forest = Ensemble(trees, numbers, n_values, np.zeros(n_values))

    def _scored(self, member: Any, weight: float) -> Tree:
        """The tree of a member with what it adds to the scores in its leaves."""
        if self.classes is None:
            return stored_tree(member)
        value = stored_tree(member).value
        return replace(stored_tree(member), value=weight * self._added(value.argmax(axis=1), value))

    def _added(self, votes: Array, shares: Array) -> Array:
        assert self.classes is not None
        if self.by_shares:
            return np.log(np.maximum(shares, LEAST))
        return np.eye(len(self.classes))[votes]

    # --- classes ------------------------------------------------------------------------

    def scores(self, X: Any, ensemble: Any) -> Array:
        """The scores of all classes after the last member."""
        if self.forest is not None:
            return self._walked(X, ensemble, self.forest.scores)
        return list(self.staged_scores(X, ensemble))[-1]

    def staged_scores(self, X: Any, ensemble: Any) -> Iterator[Array]:
        """The scores of all classes after each member."""
        assert self.classes is not None
        if self.forest is not None:
            matrix = self._read(X, ensemble)
            for found in self.forest.staged_scores(matrix, ensemble.n_jobs):
                assert found is not None
                yield found
            return
        table = self._table(X, ensemble)
        total: Array | None = None
        for member, weight in zip(self.members, self.weights, strict=True):
            if self.by_shares:
                shares = member_shares(member, table, self.classes, "soft", True)
                added = weight * self._added(shares, shares)
            else:
                votes = class_numbers(member.predict(table), self.classes)
                added = weight * self._added(votes, votes)
            total = added if total is None else total + added
            yield total

    # --- numbers ------------------------------------------------------------------------

    def medians(self, X: Any, ensemble: Any, first: int | None = None) -> Array:
        """The weighted median of what the ``first`` members predict."""
        return self.ranked(X, ensemble).medians(first, ensemble.n_jobs)

    def ranked(self, X: Any, ensemble: Any) -> Ranked:
        """What all members predict for the rows of a table."""
        if self.forest is None:
            table = self._table(X, ensemble)
            values = np.column_stack([_flat(m.predict(table)) for m in self.members])
            return Ranked.of(values, self.weights)
        leaves = self._walked(X, ensemble, self.forest.leaves)
        trees = [stored_tree(member) for member in self.members]
        start = np.cumsum([0, *(tree.node_count for tree in trees)])
        values = np.concatenate([tree.value[:, 0] for tree in trees])
        weight = np.repeat(self.weights, np.diff(start))
        return Ranked.by_entry(leaves + start[:-1], values, weight)

    # --- tables -------------------------------------------------------------------------

    def _read(self, X: Any, ensemble: Any) -> Any:
        return self.members[0].schema_.read(X, type(ensemble).__name__)

    def _walked(self, X: Any, ensemble: Any, walk: Callable[[Any, Any], Array | None]) -> Array:
        """What all trees together give for a table, which is taken as it is if it can be."""
        if self.members[0].schema_.takes_as_is(X, type(ensemble).__name__):
            found = walk(X, ensemble.n_jobs)
            if found is not None:
                return found
        found = walk(self._read(X, ensemble), ensemble.n_jobs)  # which has words for infinities
        assert found is not None
        return found

    @staticmethod
    def _table(X: Any, ensemble: Any) -> Any:
        rows = read_rows(X, ensemble, fitted=True)
        return rows.part(None, np.arange(rows.n_columns))


class Ranked:
    """What members predict for each row, as ranks among all that they can predict.

    The weighted median (Drucker 1997) of a row is the least value such that the members which
    predict at most that have half of the weight of all.
    """

    def __init__(self, ranks: Array, value: Array, weight: Array) -> None:
        self.ranks, self.value, self.weight = ranks, value, weight

    @classmethod
    def of(cls, values: Array, weights: Array) -> Ranked:
        """From predictions of shape (n_rows, n_members)."""
        entry = np.arange(values.size).reshape(values.shape)
        return cls.by_entry(entry, values.ravel(), np.tile(weights, len(values)))

    @classmethod
    def by_entry(cls, entries: Array, values: Array, weight: Array) -> Ranked:
        """From numbers of entries that have a value, and the weight of the member they are of."""
        order = np.argsort(values, kind="stable")
        kind = np.min_scalar_type(max(1, len(order) - 1))
        rank = np.empty(len(order), kind)
        rank[order] = np.arange(len(order), dtype=kind)
        return cls(rank[entries], values[order], weight[order])

    def medians(self, first: int | None, n_jobs: int | None) -> Array:
        """The weighted median over the ``first`` members for each row."""
        n_rows = len(self.ranks)
        n_members = self.ranks[:, :first].shape[1]
        found = np.empty(n_rows)

        def fill(chunk: int) -> None:
            rows = slice(chunk * _CHUNK_ROWS, (chunk + 1) * _CHUNK_ROWS)
            ranks = np.sort(self.ranks[rows, :first], axis=1)
            below = np.cumsum(self.weight[ranks], axis=1)
            place = (below >= 0.5 * below[:, -1:]).argmax(axis=1)
            found[rows] = self.value[ranks[np.arange(len(ranks)), place]]

        n_chunks = -(-n_rows // _CHUNK_ROWS)
        run_parallel(fill, n_chunks, n_jobs, n_rows * n_members * _SECONDS_PER_MEMBER)
        return found


_committees: WeakKeyDictionary[Any, Committee] = WeakKeyDictionary()


def committee_of(ensemble: Any) -> Committee:
    """The committee of a fitted ensemble, made when it is first asked for."""
    check_is_fitted(ensemble, "estimators_")
    known = _committees.get(ensemble)
    members, weights = ensemble.estimators_, ensemble.estimator_weights_
    if known is None or known.members is not members or known.weights is not weights:
        classes = getattr(ensemble, "classes_", None)
        by_shares = getattr(ensemble, "algorithm", None) == "SAMME.R"
        known = _committees[ensemble] = Committee(members, weights, classes, by_shares)
    return known


def _share_schema(members: list[Any]) -> bool:
    """Whether all are trees of hornbeam that read a table alike."""
    if not all(is_tree(member) and member.n_outputs_ == 1 for member in members):
        return False
    first = members[0].schema_
    others = [member.schema_ for member in members[1:] if member.schema_ is not first]
    return all(schema.to_dict() == first.to_dict() for schema in others)


def _flat(values: Any) -> Array:
    values = np.asarray(values, np.float64)
    return values.reshape(len(values), -1)[:, 0]

"""Members of AdaBoost: any estimator, fitted again and again, or a tree regrown from its codes.

`Members` calls what scikit-learn's estimators have. `RegrownTrees` reads and codes the table
once, weighs it anew for each tree, and makes the very trees that fitting them one by one makes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from hornbeam.combine.members import member_shares
from hornbeam.combine.tables import TableRows
from hornbeam.data.folds import NO_KIN, Kin
from hornbeam.data.schema import identities_are_known
from hornbeam.data.target import read_weights
from hornbeam.dtypes import Array
from hornbeam.fitting import become
from hornbeam.notices import silenced
from hornbeam.runtime.team import thread_count
from hornbeam.tree.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.tree.grower import Layout, Stage, growth_seconds
from hornbeam.tree.reader import CartReader
from hornbeam.tree.storage import stored_tree
from hornbeam.tree.traversal import walker

_MOST_SEED = np.iinfo(np.int32).max  # of a member, as scikit-learn draws it


class Members:
    """Makes the members of an ensemble, one in each round, and asks them about its rows.

    Parameters
    ----------
    maker : estimator
        What members are clones of.
    rows : TableRows
        What they are fitted on.
    target : array
        Classes by their names, or numbers.
    classes : array or None
        Of a classifier.
    random : RandomState
        Seeds the members, as scikit-learn does.
    most : int
        How many there will be at most.
    kin : Kin
        Which rows belong together; told to members that hold out some on their own.
    held : TableRows or None
        Rows that they are only asked about.
    """

    def __init__(
        self,
        maker: Any,
        rows: TableRows,
        target: Array,
        classes: Array | None,
        random: np.random.RandomState,
        most: int,
        kin: Kin = NO_KIN,
        held: TableRows | None = None,
    ) -> None:
        self.maker, self.rows, self.target, self.classes = maker, rows, target, classes
        self.random, self.most, self.kin = random, most, kin
        every = np.arange(rows.n_columns)
        self.tables = [rows.part(None, every)]
        if held is not None:
            self.tables.append(held.part(None, every))
        self.number = 0  # of the round

    def fit(self, weight: Array, number: int, draw: np.random.RandomState | None = None) -> Any:
        """A member fitted on weighted rows, or on as many rows drawn by their weights."""
        self.number = number
        member, drawn = self._new(), None
        if draw is not None:
            drawn = draw.choice(np.arange(len(weight)), size=len(weight), replace=True, p=weight)
        with silenced(number > 0), identities_are_known():
            try:
                self._fit(member, weight, drawn)
            except (RuntimeError, TypeError, ValueError) as error:
                raise self._retold(error, member, "could not be fitted") from error
        return member

    def _new(self) -> Any:
        """A member with a seed of its own, to be fitted."""
        member = clone(self.maker)
        seed_member(member, self.random)
        return member

    def _fit(self, member: Any, weight: Array, drawn: Array | None) -> None:
        if drawn is not None:
            every = np.arange(self.rows.n_columns)
            more = self._kin_of(
                member, self.kin.chosen(drawn).joined(drawn) if self.kin else NO_KIN
            )
            member.fit(self.rows.part(drawn, every), self.target[drawn], **more)
            return
        if not has_fit_parameter(member, "sample_weight"):
            raise TypeError(
                f"{type(member).__name__} doesn't support sample_weight, by which AdaBoost tells "
                "it what to look at. Choose another estimator (AdaBoostRegressor(resample=True) "
                "draws rows instead)."
            )
        more = self._kin_of(member, self.kin)
        member.fit(self.tables[0], self.target, sample_weight=weight, **more)

    @staticmethod
    def _kin_of(member: Any, kin: Kin) -> dict[str, Array]:
        """What is known of the rows, as far as the member's ``fit`` takes it."""
        known = {"groups": kin.groups, "time": kin.time}
        return {
            name: numbers
            for name, numbers in known.items()
            if numbers is not None and has_fit_parameter(member, name)
        }

    def predict(self, member: Any, table: int = 0) -> Array:
        """Numbers of the classes, or values, of the rows (table 1: of the rows held out)."""
        return self.outputs(member, self._ask(member, "predict", table))

    def outputs(self, member: Any, predicted: Any) -> Array:
        """What a member has predicted as numbers of classes or as values; NaN is an error."""
        if self.classes is not None:
            return class_numbers(predicted, self.classes)
        values = np.asarray(predicted, np.float64)
        if values.ndim != 1:
            values = values.reshape(len(values), -1)[:, 0]
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(
                f"The member of round {self.number + 1} ({type(member).__name__}) predicts "
                f"{values[row]} for row {row}. Members must predict numbers: look at what "
                "it does with weighted rows."
            )
        return values

    def shares(self, member: Any, table: int = 0) -> Array:
        """Probability of each class for the rows."""
        if not hasattr(member, "predict_proba"):
            raise TypeError(
                f"algorithm='SAMME.R' boosts by probabilities, but {type(member).__name__} has no "
                "predict_proba. Choose algorithm='SAMME', or another estimator."
            )
        assert self.classes is not None
        shares = member_shares(member, self.tables[table], self.classes, "soft", True)
        if not np.isfinite(shares).all():
            row = int(np.argmin(np.isfinite(shares).all(axis=1)))
            raise ValueError(
                f"The member of round {self.number + 1} ({type(member).__name__}) predicts "
                f"probabilities that are no numbers, such as {shares[row]} for row {row}."
            )
        return shares

    def _ask(self, member: Any, method: str, table: int) -> Any:
        try:
            return getattr(member, method)(self.tables[table])
        except (RuntimeError, TypeError, ValueError) as error:
            raise self._retold(error, member, "could not predict its rows") from error

    def _retold(self, error: Exception, member: Any, what: str) -> Exception:
        kind = next(k for k in (ValueError, TypeError, RuntimeError) if isinstance(error, k))
        name = type(member).__name__
        return kind(f"The member of round {self.number + 1} ({name}) {what}: {error}")


class RegrownTrees(Members):
    """Members that are hornbeam's trees: read and coded once, grown from the same codes."""

    def __init__(self, *arguments: Any, n_jobs: int | None = None, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.unfitted = maker = clone(self.maker)
        reader = CartReader(maker, type(maker).__name__)
        table, fitted = reader.read(self.tables[0], None)
        self.task = reader.task(table, self.target, fitted)
        self.fitted = fitted
        if self.classes is not None:  # the rows to learn from may lack one
            self.seen = np.searchsorted(self.classes, fitted["classes_"])
        self.matrices = [self.task.matrix]
        self.matrices += [table.schema.read(held, reader.name) for held in self.tables[1:]]
        self.class_weight = reader.weigh(self.target, None)[0] if self.classes is not None else None
        self.layout = Layout(self.task.target, self.task.criterion)
        seconds = growth_seconds(table.n_rows, table.schema.n_features, self.task.rules)
        self.n_jobs = n_jobs
        size = thread_count(n_jobs, seconds)
        task = self.task
        self.known: tuple[Any, Array | None] = (None, None)  # the last member, and where rows are
        self.stage = Stage(task.codes, task.target, task.criterion, task.rules, table.n_rows, size)

    def _new(self) -> Any:
        """As `Members._new`; all that the parameters of trees hold may be shared by them."""
        member = object.__new__(type(self.unfitted))  # a copy would be checked like a pickle
        vars(member).update(vars(self.unfitted))
        member.random_state = int(self.random.randint(_MOST_SEED))
        return member

    def _fit(self, member: Any, weight: Array, drawn: Array | None) -> None:
        if drawn is not None:
            weight = np.ones(len(weight))
        if self.class_weight is not None:
            weight = weight * self.class_weight
        weight = read_weights(weight, len(weight))
        rows = self.layout.rows(weight)
        if drawn is not None:  # a row that is drawn twice is there twice
            rows = type(rows)(*(part.reshape(len(weight), -1)[drawn].ravel() for part in rows))
        seed = int(np.random.RandomState(member.random_state).randint(2**31 - 1))
        least = member.min_weight_fraction_leaf * float(weight.sum())
        nodes = self.stage.grow(rows, seed, least)
        become(member, {**self.fitted, "tree_": self.task.tree(nodes)})
        tree = member.tree_ = member._prune(stored_tree(member), None, None, None, None)
        known = None if drawn is not None else self.stage.leaves(tree, len(weight))
        self.known = member, known

    def predict(self, member: Any, table: int = 0) -> Array:
        """As `Members.predict`, from the leaves that rows fall into."""
        leaves = self._leaves(member, table)
        if self.classes is not None:
            return self.seen[stored_tree(member).value.argmax(axis=1)][leaves]
        return stored_tree(member).value[leaves, 0]

    def shares(self, member: Any, table: int = 0) -> Array:
        """As `Members.shares`, from the leaves that rows fall into."""
        assert self.classes is not None
        shares = np.zeros((len(stored_tree(member).value), len(self.classes)))
        shares[:, self.seen] = stored_tree(member).value
        return shares[self._leaves(member, table)]

    def _leaves(self, member: Any, table: int) -> Array:
        if table == 0 and member is self.known[0] and self.known[1] is not None:
            return self.known[1]
        leaves = walker(stored_tree(member)).leaves(
            self.matrices[table], self.n_jobs, checked=False
        )
        assert leaves is not None
        return leaves


def make_members(maker: Any, *arguments: Any, n_jobs: int | None, **more: Any) -> Members:
    """What makes the members of an ensemble: the fast way if they are hornbeam's trees."""
    if is_tree(maker) and maker.pruning != "reduced_error":  # which holds rows out by weights
        return RegrownTrees(maker, *arguments, n_jobs=n_jobs, **more)
    return Members(maker, *arguments, **more)


def is_tree(estimator: Any) -> bool:
    """Whether it is one of hornbeam's trees itself, not of a class made from it."""
    return type(estimator) in (DecisionTreeClassifier, DecisionTreeRegressor)


def seed_member(member: Any, random: np.random.RandomState) -> None:
    """Set every random state of a member as scikit-learn's ensembles do."""
    names = sorted(
        name
        for name in member.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    member.set_params(**{name: int(random.randint(_MOST_SEED)) for name in names})


def class_numbers(predicted: Any, classes: Array) -> Array:
    """Numbers of the classes that were predicted by their names."""
    names = np.asarray(predicted)
    place = np.minimum(np.searchsorted(classes, names), len(classes) - 1)
    unknown = classes[place] != names
    if np.any(unknown):
        row = int(np.argmax(unknown))
        raise ValueError(
            f"A member predicts {names[row]!r} for row {row}, which is not among the classes "
            f"{classes.tolist()[:10]}."
        )
    return place

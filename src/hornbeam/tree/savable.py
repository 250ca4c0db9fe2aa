"""How trees are kept in model files and pickles, and what an estimator of one tree keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.data.schema import Schema
from hornbeam.errors import ModelFileError
from hornbeam.model.entries import take_array
from hornbeam.model.kept import Columns, Contents, Kept, Outputs, State, Whole, n_values_of
from hornbeam.model.savable import Savable
from hornbeam.model.state import check_shares, finite_array
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.sets import SharedCodes
from hornbeam.tree.storage import PLANE_FIELDS, TREE_FIELDS, Planes, Tree, Trees
from hornbeam.tree.validate import Known, validate_trees

_TREES = "trees."  # how the names of their arrays begin in a model file


def write_trees(trees: Trees, contents: Contents) -> None:
    """Put the arrays of trees into the contents of a file."""
    arrays = trees.arrays()
    contents.arrays |= {_TREES + name: arrays[name] for name in arrays}


def read_trees(contents: Contents, with_planes: bool = False) -> Trees:
    """Take trees out of the contents of a file; nobody vouches for them before `validate_trees`."""
    fields = {name: take_array(contents.arrays, _TREES + name) for name in TREE_FIELDS}
    start, planes = take_array(contents.arrays, f"{_TREES}node_start"), None
    if with_planes:
        names = [f"{_TREES}planes.{name}" for name in PLANE_FIELDS]
        planes = Planes(*(take_array(contents.arrays, name) for name in names))
    codes = None
    if f"{_TREES}code_start" in contents.arrays:
        names = [_TREES + name for name in SharedCodes._fields]
        codes = SharedCodes(*(take_array(contents.arrays, name) for name in names))
    return Trees(Tree(**fields), start, planes, codes)


@dataclass(frozen=True)
class KeptTree(Kept):
    """One tree, ``tree_``; ``may_list`` as in `Known`."""

    name: str = "tree_"
    may_list: bool = False

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        write_trees(Trees.of([state[self.name]]), contents)

    def _read(self, contents: Contents, state: State) -> None:
        trees = read_trees(contents)
        if not np.array_equal(trees.node_start, [0, trees.nodes.node_count]):
            raise ModelFileError(f"The file of one tree holds {len(trees)}, or parts of one.")
        state[self.name] = trees.nodes

    def _check(self, cls: type, state: State) -> None:
        tree = state.get(self.name)
        if not isinstance(tree, Tree):
            raise ModelFileError(f"The model has a {self.name} that is not a tree, or none.")
        known = Known.by(
            state["schema_"],
            n_values_of(state),
            missing_is_branch=state.get("missing") == "category",  # of ID3
            may_list=self.may_list,
        )
        (tree,) = validate_trees(Trees.of([tree]).arrays(), known)
        check_shares(state, tree.value, "value")
        state[self.name] = tree


@dataclass(frozen=True)
class KeptEnsemble(Kept):
    """Trees of one value per node, which are added to the scores in turn, and the start."""

    name: str = "ensemble_"

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        write_trees(state[self.name].trees, contents)
        contents.arrays["start"] = state[self.name].start

    def _read(self, contents: Contents, state: State) -> None:
        trees = read_trees(contents, self._with_planes(state))
        state[self.name] = _in_turn(trees, take_array(contents.arrays, "start"))

    def _check(self, cls: type, state: State) -> None:
        ensemble = state.get(self.name)
        if not isinstance(ensemble, Ensemble) or not isinstance(ensemble.trees, Trees):
            raise ModelFileError(f"The pickled model has an {self.name} that is none.")
        known = Known.by(state["schema_"], with_planes=self._with_planes(state))
        state[self.name] = _in_turn(validate_trees(ensemble.trees.arrays(), known), ensemble.start)

    def _with_planes(self, state: Mapping[str, Any]) -> bool:
        """Whether nodes ask for the side of a plane."""
        return False


def _in_turn(trees: Trees, start: Any) -> Ensemble:
    start = finite_array(start, "start")
    if not len(start):
        raise ModelFileError("There must be a start score.")
    return Ensemble(trees, np.arange(len(trees)) % len(start), len(start), start)


def kept_of_one_tree(may_list: bool = False) -> tuple[Kept, ...]:
    """What an estimator of one tree keeps."""
    most_features = Whole("max_features_", 1, "n_features_in_", noted=True)
    return Columns(), Outputs(), most_features, KeptTree(may_list=may_list)


class SavableTree(Savable):
    """Mixin for estimators of one tree, ``tree_``, that have ``max_features_``."""

    _keeps = kept_of_one_tree()

    tree_: Tree
    max_features_: int
    schema_: Schema
    n_features_in_: int

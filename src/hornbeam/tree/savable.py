"""How trees are kept in model files and pickles, and what an estimator of one tree keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.dtypes import STAT
from hornbeam.errors import ModelFileError
from hornbeam.model.entries import take_array
from hornbeam.model.kept import Columns, Contents, Kept, Outputs, State, Whole, n_values_of
from hornbeam.model.savable import Savable
from hornbeam.model.state import check_shares, finite_array
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.packing import pack_trees, take_trees
from hornbeam.tree.storage import Tree
from hornbeam.tree.validate import validate_trees


@dataclass(frozen=True)
class KeptTree(Kept):
    """One tree, ``tree_``; ``may_list`` as in `validate_tree`."""

    name: str = "tree_"
    may_list: bool = False

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.arrays |= pack_trees([state[self.name]])

    def _read(self, contents: Contents, state: State) -> None:
        trees = take_trees(contents.arrays)
        if len(trees) != 1:
            raise ModelFileError(f"The file of one tree holds {len(trees)}.")
        state[self.name] = trees[0]

    def _check(self, cls: type, state: State) -> None:
        if not isinstance(state.get(self.name), Tree):
            raise ModelFileError(f"The model has a {self.name} that is not a tree, or none.")
        own_branch = state.get("missing") == "category"  # of ID3
        (tree,) = validate_trees(
            [state[self.name]], state["schema_"], n_values_of(state), own_branch, self.may_list
        )
        check_shares(state, tree.value, "value")
        state[self.name] = tree


@dataclass(frozen=True)
class KeptEnsemble(Kept):
    """Trees of one value per node, which are added to the scores in turn, and the start."""

    name: str = "ensemble_"

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        ensemble = state[self.name]
        contents.arrays |= {**pack_trees(ensemble.trees), "start": ensemble.start}

    def _read(self, contents: Contents, state: State) -> None:
        start = finite_array(take_array(contents.arrays, "start"), "start")
        state[self.name] = self._ensemble(take_trees(contents.arrays), start)

    def _check(self, cls: type, state: State) -> None:
        ensemble = state.get(self.name)
        if not isinstance(ensemble, Ensemble):
            raise ModelFileError(f"The pickled model has an {self.name} that is none.")
        start = finite_array(ensemble.start, "start")
        state[self.name] = self._ensemble(validate_trees(ensemble.trees, state["schema_"]), start)

    def _ensemble(self, trees: list[Tree], start: Any) -> Ensemble:
        if not len(start):
            raise ModelFileError("There must be a start score.")
        return Ensemble(trees, np.arange(len(trees)) % len(start), len(start), start.astype(STAT))


def kept_of_one_tree(may_list: bool = False) -> tuple[Kept, ...]:
    """What an estimator of one tree keeps."""
    most_features = Whole("max_features_", 1, "n_features_in_", noted=True)
    return Columns(), Outputs(), most_features, KeptTree(may_list=may_list)


class SavableTree(Savable):
    """Mixin for estimators of one tree, ``tree_``, that have ``max_features_``."""

    _keeps = kept_of_one_tree()

    tree_: Tree
    max_features_: int

"""What an estimator of one tree inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

from typing import Any

from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError
from hornbeam.model.entries import take
from hornbeam.model.savable import SavableModel
from hornbeam.model.state import check_shares, whole
from hornbeam.tree.packing import pack_trees, take_trees
from hornbeam.tree.storage import Tree
from hornbeam.tree.validate import validated_state


class SavableTree(SavableModel):
    """Mixin for estimators of one tree, ``tree_``, that have ``max_features_``."""

    _may_list = False  # see `validate_tree`

    tree_: Tree
    max_features_: int

    def _model_header(self) -> dict[str, Any]:
        return {**super()._model_header(), "max_features": int(self.max_features_)}

    def _model_arrays(self) -> dict[str, Array]:
        return pack_trees([self.tree_])

    @classmethod
    def _from_model(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Any:
        estimator, n_values = cls._from_header(header)
        estimator.max_features_ = take(header, "max_features", int)
        whole(vars(estimator), "max_features_", 1, estimator.n_features_in_)
        own_branch = getattr(estimator, "missing", None) == "category"  # of ID3
        trees = take_trees(arrays, estimator.schema_, n_values, own_branch, cls._may_list)
        if len(trees) != 1:
            raise ModelFileError(f"The file of one tree holds {len(trees)}.")
        estimator.tree_ = trees[0]
        check_shares(vars(estimator), estimator.tree_.value, "value")
        cls._check_tree(estimator.tree_)
        return estimator

    @classmethod
    def _check_pickled(cls, state: dict[str, Any]) -> None:
        whole(state, "max_features_", 1, state["n_features_in_"])
        if "tree_" not in state:
            raise ModelFileError("The pickled model has no tree_.")
        state.update(validated_state(state, cls._may_list))
        check_shares(state, state["tree_"].value, "value")
        cls._check_tree(state["tree_"])

    @classmethod
    def _check_tree(cls, tree: Tree) -> None:
        """Check what only trees of this kind must be."""

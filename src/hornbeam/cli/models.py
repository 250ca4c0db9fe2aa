"""What the commands ask of a model, be it one tree or an ensemble of models."""

from __future__ import annotations

from typing import Any

from hornbeam.data.schema import ColumnSchema, Schema


def trees_of(model: Any) -> list[Any]:
    """The trees of a model and of its members."""
    if _is_bag(model):
        return [tree for member in model.estimators_ for tree in trees_of(member)]
    if hasattr(model, "store_"):
        store = model.store_
        return [store.tree(number, with_sets=False) for number in range(store.n_trees)]
    return list(model.trees_) if hasattr(model, "trees_") else [model.tree_]


def size_of(model: Any) -> str:
    """How large a model is, in words."""
    trees = trees_of(model)
    leaves = f"{sum(tree.n_leaves for tree in trees):,} leaves"
    if _is_bag(model):
        return f"{leaves} in {len(trees):,} trees of {len(model):,} members"
    if hasattr(model, "store_"):
        return f"{leaves} in {len(trees):,} trees"
    if not hasattr(model, "n_iter_"):
        return f"{leaves} ({trees[0].node_count:,} nodes)"
    return f"{leaves} in {len(trees):,} trees ({model.n_iter_:,} rounds)"


def schema_of(model: Any) -> Schema:
    """What a model knows of its columns; bagging what its members know, each of its sample."""
    if not _is_bag(model):
        schema: Schema = model.schema_
        return schema
    named = hasattr(model, "feature_names_in_")
    names = model.feature_names_in_ if named else [f"x{i}" for i in range(model.n_features_in_)]
    seen: dict[str, list[ColumnSchema]] = {str(name): [] for name in names}
    schemas = [schema_of(member) for member in model.estimators_]
    for schema, features in zip(schemas, model.estimators_features_, strict=True):
        for place, column in enumerate(schema.columns):
            seen[column.name if named else str(names[features[place]])].append(column)
    columns = tuple(_joined(name, found) for name, found in seen.items())
    return Schema(columns, named, schemas[0].unseen)


def _joined(name: str, found: list[ColumnSchema]) -> ColumnSchema:
    """One column as all samples show it; there may be none that holds it."""
    for kind in ("category", "identity", "number"):
        same = [column for column in found if column.kind == kind]
        if same:
            labels = {label for column in same for label in column.categories or ()}
            ordered = sorted(labels, key=lambda label: (isinstance(label, str), label))
            return ColumnSchema(name, kind, same[0].dtype, tuple(ordered) or None)
    return ColumnSchema(name, "not drawn", "")


def _is_bag(model: Any) -> bool:
    return not hasattr(model, "schema_")

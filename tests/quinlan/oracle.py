"""C4.5 and ID3 as a few lines of plain Python: recursion, floats, no tricks."""

from __future__ import annotations

import itertools
import math
from typing import Any

TIE = 1e-10
LEAST = 1e-9


def entropy(parts: Any) -> float:
    total = sum(parts)
    return -sum(p / total * math.log2(p / total) for p in parts if p > 0) if total > 0 else 0.0


def classes(entries: Any, n: int) -> list[float]:
    counts = [0.0] * n
    for _, label, weight in entries:
        counts[label] += weight
    return counts


def judge(entries: Any, branch_of: Any, n_branches: int, n: int) -> tuple[float, float, Any]:
    """Gain, split information and the known weight of each branch."""
    sides: list[list[Any]] = [[] for _ in range(n_branches)]
    unknown = 0.0
    for entry in entries:
        branch = branch_of(entry[0])
        if branch is None:
            unknown += entry[2]
        else:
            sides[branch].append(entry)
    weights = [sum(e[2] for e in side) for side in sides]
    known = sum(weights)
    total = known + unknown
    if known <= 0:
        return -1.0, 0.0, weights
    all_known = [e for side in sides for e in side]
    after = sum(w / known * entropy(classes(s, n)) for w, s in zip(weights, sides, strict=True))
    gain = known / total * (entropy(classes(all_known, n)) - after)
    return gain, entropy([*weights, unknown]), weights


def missing(x: Any) -> bool:
    return x is None or x != x


def search(entries: Any, f: int, spec: Any) -> Any:
    """Best test of one feature: (gain, info, branch function, branches, cut), or None."""
    n, least = spec["n_classes"], spec["min_leaf"]
    total = sum(e[2] for e in entries)
    if spec["categories"][f]:
        count = spec["categories"][f]
        own = spec.get("own", {}).get(f, False)

        def branch_of(row: Any) -> Any:
            if missing(row[f]):
                return count if own else None
            return int(row[f])

        gain, info, weights = judge(entries, branch_of, count + own, n)
        if sum(w > 0 and w >= least - LEAST for w in weights) < 2:
            return None
        if spec["ratio"] and gain <= TIE:
            return None
        return max(gain, 0.0), info, branch_of, count + own, None
    values = sorted({e[0][f] for e in entries if not missing(e[0][f])})
    known = sum(e[2] for e in entries if not missing(e[0][f]))
    side = max(least, min(0.1 * known / n, 25.0))
    best, tries = None, 0
    for low, high in itertools.pairwise(values):

        def branch_at(row: Any, low: Any = low) -> Any:
            return None if missing(row[f]) else int(row[f] > low)

        gain, info, weights = judge(entries, branch_at, 2, n)
        if min(weights) < side - LEAST:
            continue
        tries += 1
        if best is None or gain > best[0] + TIE:
            best = (gain, info, low, high)
    if best is None:
        return None
    gain, info, low, high = best
    if spec["mdl"]:
        gain -= math.log2(tries) / total
    if gain <= TIE:
        return None
    middle = low / 2 + high / 2
    cut = max(v for v in spec["values"][f] if v <= middle)
    return gain, info, lambda row: None if missing(row[f]) else int(row[f] > cut), 2, cut


def grow(entries: Any, spec: Any, depth: int = 0) -> Any:
    """A nested tuple: (feature, cut, children), or the class weights of a leaf."""
    counts = classes(entries, spec["n_classes"])
    total = sum(counts)
    pure = sum(c > 0 for c in counts) < 2
    if (
        pure
        or total < max(2 * spec["min_leaf"], spec.get("min_split", 0.0)) - LEAST
        or depth >= spec.get("max_depth", 99)
    ):
        return counts
    n_features = len(spec["categories"])
    found = {f: search(entries, f, spec) for f in range(n_features)}
    found = {f: test for f, test in found.items() if test is not None}
    counted = [found[f][0] for f in found if spec["counted"][f]]
    average = sum(counted) / len(counted) - 1e-3 if counted and spec["ratio"] else 0.0
    best, chosen = (0.0 if spec["ratio"] else -1.0), None
    for f, (gain, info, *_) in found.items():
        if gain < average or (spec["ratio"] and info <= TIE):
            continue
        worth = gain / info if spec["ratio"] else gain
        if worth > best + TIE:
            best, chosen = worth, f
    if chosen is None or found[chosen][0] * total / spec["total"] < spec.get("decrease", 0.0):
        return counts
    _, _, branch_of, n_branches, cut = found[chosen]
    sides: list[list[Any]] = [[] for _ in range(n_branches)]
    for entry in entries:
        branch = branch_of(entry[0])
        if branch is not None:
            sides[branch].append(entry)
    weights = [sum(e[2] for e in side) for side in sides]
    known = sum(weights)
    for row, label, weight in entries:
        if branch_of(row) is None:
            for side, share in zip(sides, weights, strict=True):
                if share > 0:
                    side.append((row, label, weight * share / known))
    children = [grow(side, spec, depth + 1) for side in sides]
    return collapse((chosen, cut, children), counts) if spec["ratio"] else (chosen, cut, children)


def wrong(tree: Any) -> float:
    if isinstance(tree, list):
        return sum(tree) - max(tree)
    return sum(wrong(child) for child in tree[2])


def collapse(tree: Any, counts: list[float]) -> Any:
    """C4.5 makes a leaf of a node whose subtree gets no more rows right."""
    return counts if wrong(tree) >= wrong(counts) - 1e-3 else tree


def as_nested(tree: Any, node: int = 0) -> Any:
    """A stored tree in the same form."""
    if tree.kind[node] == 0:
        return (tree.value[node] * tree.weight[node]).tolist()
    first, count = int(tree.first_child[node]), int(tree.n_branches[node])
    cut = None if tree.kind[node] == 3 else float(tree.threshold[node])
    children = [as_nested(tree, child) for child in range(first, first + count)]
    return (int(tree.feature[node]), cut, children)


def predict(tree: Any, row: Any, spec: Any, parent: Any = None) -> list[float]:
    """Class shares by recursion over all branches."""
    n = spec["n_classes"]
    if isinstance(tree, list):
        return [c / sum(tree) for c in tree]
    f, cut, children = tree
    weights = [weight_of(child) for child in children]
    x = row[f]
    branch = None
    if missing(x):
        if spec.get("own", {}).get(f, False):
            branch = len(children) - 1
    else:
        branch = int(x > cut) if cut is not None else int(x)
    if branch is not None and weights[branch] > 0:
        return predict(children[branch], row, spec)
    mixed = [0.0] * n
    for child, weight in zip(children, weights, strict=True):
        if weight > 0:
            part = predict(child, row, spec)
            mixed = [m + weight / sum(weights) * p for m, p in zip(mixed, part, strict=True)]
    return mixed


def weight_of(tree: Any) -> float:
    return sum(tree) if isinstance(tree, list) else sum(weight_of(child) for child in tree[2])

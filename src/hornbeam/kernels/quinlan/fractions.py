"""Send rows down a tree, a row with a missing value down every branch.

A category that no training row of a node had (its branch has no weight) is treated like
a missing value: nothing is known about it there.
"""

from __future__ import annotations

from numba import int64

from hornbeam.dtypes import LEAF, SUBSET, THRESHOLD
from hornbeam.kernels.traverse import branch_of_category
from hornbeam.runtime.kernel import kernel, part


@part
def branch_at(tree, node, x):
    """Branch of a value at an inner node, -1 if nothing is known about it there.

    A missing value has a branch of its own where ``own_branch`` says so.
    """
    if x != x:
        branch = int64(tree.own_branch[node])
        if branch < 0:
            return branch
    elif tree.kind[node] == THRESHOLD:
        return int64(x > tree.threshold[node])
    elif tree.kind[node] == SUBSET:
        start, end = tree.set_start[node], tree.set_start[node + 1]
        return branch_of_category(SUBSET, tree.set_words, start, end, int64(0), int64(x))
    else:
        branch = int64(x)
    return branch if tree.weight[tree.first_child[node] + branch] > 0.0 else int64(-1)


@kernel
def walk_to_leaves(values, row_step, column_step, first, last, tree, leaves, is_mixed):
    """Leaf of each row; where its way parts, that of the heaviest branches, and a note."""
    for row in range(first, last):
        node = int64(0)
        mixed = False
        while tree.kind[node] != LEAF:
            x = values[row * row_step + int64(tree.feature[node]) * column_step]
            branch = branch_at(tree, node, x)
            if branch < 0:
                mixed = True
                branch = int64(tree.heaviest[node])
            node = int64(tree.first_child[node]) + branch
        leaves[row] = node
        is_mixed[row] = mixed


@kernel
def mix_leaves(values, row_step, column_step, rows, tree, stack, shares, mixture):
    """Mix the values of all leaves that each of these rows reaches, by its fractions.

    ``stack`` and ``shares`` have room for as many entries as the tree has nodes.
    """
    n_values = mixture.shape[1]
    for i in range(rows.size):
        row = rows[i]
        stack[0], shares[0] = 0, 1.0
        n_waiting = int64(1)
        while n_waiting > 0:
            n_waiting -= 1
            node, share = int64(stack[n_waiting]), shares[n_waiting]
            if tree.kind[node] == LEAF:
                for j in range(n_values):
                    mixture[i, j] += share * tree.value[node, j]
                continue
            x = values[row * row_step + int64(tree.feature[node]) * column_step]
            branch = branch_at(tree, node, x)
            child = int64(tree.first_child[node])
            if branch >= 0:
                stack[n_waiting], shares[n_waiting] = child + branch, share
                n_waiting += 1
                continue
            total = 0.0
            for b in range(tree.n_branches[node]):
                total += tree.weight[child + b]
            for b in range(tree.n_branches[node]):
                if tree.weight[child + b] > 0.0:
                    stack[n_waiting] = child + b
                    shares[n_waiting] = share * tree.weight[child + b] / total
                    n_waiting += 1

"""Where the boxes of a tree go: a tidy layout in linear time, without recursion.

The algorithm is that of Buchheim, Jünger and Leipert, "Improving Walker's Algorithm to
Run in Linear Time" (2002): subtrees are laid out on their own, then pushed together as
close as their contours allow; shifts are noted and added up in one pass at the end.
Nodes come numbered level by level, so "children first" is simply "from the last number
to the first", and chains of thousands of nodes need no stack.
"""

from __future__ import annotations

from collections.abc import Sequence

NONE = -1


class TidyLayout:
    """Horizontal positions for the nodes of one tree.

    Parameters
    ----------
    children : sequence of sequences of int
        Children of each node, left to right; numbered level by level.
    widths : sequence of float
        Width of each node.
    gap : float
        Least distance between neighbours.
    """

    def __init__(
        self, children: Sequence[Sequence[int]], widths: Sequence[float], gap: float
    ) -> None:
        count = len(children)
        self.children, self.widths, self.gap = children, widths, gap
        self.parent, self.rank = [NONE] * count, [0] * count
        for node, family in enumerate(children):
            for rank, child in enumerate(family):
                self.parent[child], self.rank[child] = node, rank
        self.centre = [0.0] * count  # over its own children
        self.place = [0.0] * count  # relative to the parent's
        self.move = [0.0] * count  # of everything below the node
        self.shift = [0.0] * count
        self.change = [0.0] * count
        self.thread = [NONE] * count  # next node on a contour, below a leaf
        self.ancestor = list(range(count))

    def positions(self) -> list[float]:
        """Return the centre of each node, the leftmost border being 0.

        Returns
        -------
        list of float
        """
        count = len(self.children)
        for node in reversed(range(count)):
            self._place_children(node)
        self.place[0] = self.centre[0]
        x, moved = [0.0] * count, [0.0] * count
        for node in range(count):
            x[node] = self.place[node] + moved[node]
            for child in self.children[node]:
                moved[child] = moved[node] + self.move[node]
        left = min(x[node] - self.widths[node] / 2 for node in range(count))
        return [value - left for value in x]

    def _distance(self, left: int, right: int) -> float:
        return (self.widths[left] + self.widths[right]) / 2 + self.gap

    def _place_children(self, node: int) -> None:
        """Put the finished subtrees of the children side by side."""
        family = self.children[node]
        if not family:
            return
        default = family[0]
        for rank, child in enumerate(family):
            self.place[child] = self.centre[child]
            if rank:
                left = family[rank - 1]
                self.place[child] = self.place[left] + self._distance(left, child)
                self.move[child] = self.place[child] - self.centre[child]
                default = self._push_apart(child, left, default)
        self._spread(family)
        self.centre[node] = (self.place[family[0]] + self.place[family[-1]]) / 2

    def _push_apart(self, node: int, sibling: int, default: int) -> int:
        """Move a subtree to the right until it clears all subtrees left of it.

        Four walkers go down the inner and outer contours of the two sides; each keeps
        the sum of the moves above it.
        """
        first = self.children[self.parent[node]][0]
        inner_right = outer_right = node
        inner_left, outer_left = sibling, first
        sums = [self.move[n] for n in (inner_right, outer_right, inner_left, outer_left)]
        while (lower_left := self._right_next(inner_left)) != NONE and (
            lower_right := self._left_next(inner_right)
        ) != NONE:
            inner_left, inner_right = lower_left, lower_right
            outer_left, outer_right = self._left_next(outer_left), self._right_next(outer_right)
            self.ancestor[outer_right] = node
            overlap = (self.place[inner_left] + sums[2]) - (self.place[inner_right] + sums[0])
            overlap += self._distance(inner_left, inner_right)
            if overlap > 0:
                self._shift_subtree(self._greatest(inner_left, node, default), node, overlap)
                sums[0] += overlap
                sums[1] += overlap
            contours = (inner_right, outer_right, inner_left, outer_left)
            sums = [total + self.move[n] for total, n in zip(sums, contours, strict=True)]
        if self._right_next(inner_left) != NONE and self._right_next(outer_right) == NONE:
            self.thread[outer_right] = self._right_next(inner_left)
            self.move[outer_right] += sums[2] - sums[1]
        if self._left_next(inner_right) != NONE and self._left_next(outer_left) == NONE:
            self.thread[outer_left] = self._left_next(inner_right)
            self.move[outer_left] += sums[0] - sums[3]
            default = node
        return default

    def _left_next(self, node: int) -> int:
        return self.children[node][0] if self.children[node] else self.thread[node]

    def _right_next(self, node: int) -> int:
        return self.children[node][-1] if self.children[node] else self.thread[node]

    def _greatest(self, inner_left: int, node: int, default: int) -> int:
        """Which sibling of the node the conflicting contour belongs to."""
        ancestor = self.ancestor[inner_left]
        return ancestor if self.parent[ancestor] == self.parent[node] else default

    def _shift_subtree(self, left: int, right: int, distance: float) -> None:
        """Move a subtree, and note that those in between share the room evenly."""
        part = distance / (self.rank[right] - self.rank[left])
        self.change[right] -= part
        self.shift[right] += distance
        self.change[left] += part
        self.place[right] += distance
        self.move[right] += distance

    def _spread(self, family: Sequence[int]) -> None:
        """Hand out the noted shifts, from the right."""
        shift = change = 0.0
        for child in reversed(family):
            self.place[child] += shift
            self.move[child] += shift
            change += self.change[child]
            shift += self.shift[child] + change

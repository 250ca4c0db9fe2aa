"""Grow isolation trees straight from the float matrix.

A tree sees a few hundred rows, so there is nothing to code or to sort: a node draws a column,
finds the smallest and the largest value of its rows and cuts between them. Nodes are made
level by level, which is the order in which a tree is stored.

Every draw is a hash of (seed, tree, node, counter), so a tree does not depend on the others.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numba import float64, int64, uint64

from hornbeam.dtypes import LEAF, SUBSET, THRESHOLD
from hornbeam.runtime.kernel import kernel, part
from hornbeam.runtime.pointers import F8, I4, I8, U1, U8, bare
from hornbeam.runtime.random import derive, draw_below, draw_unit, mix
from hornbeam.runtime.views import make_loader, width_of

# What the keys of a tree are for.
ROWS_KEY, FEATURES_KEY, NODES_KEY = range(3)
FREE = -1  # an empty place of the hash table


class IsolationPlan(NamedTuple):
    """What all trees of a forest share (read only)."""

    seed: int
    max_depth: int
    plane_size: int  # columns of a plane; 1: trees cut along the axes
    n_categories: I8  # of each column, 0 for numbers
    average: F8  # by number of rows: questions it takes on average to isolate one of them


class IsolationBatch(NamedTuple):
    """The trees that one call grows, and where their table has its values (read only)."""

    row_step: int
    column_step: int
    first_tree: int
    n_trees: int
    n_rows: int  # that each tree sees
    n_candidates: int  # columns that each tree may ask


class IsolationNodes(NamedTuple):
    """Nodes of some trees behind each other; words and terms lie in the order of the nodes."""

    first_child: I4
    feature: I4
    kind: U1
    threshold: F8
    missing_branch: I4
    n_samples: I8
    value: F8
    depth: I4
    first_row: I4
    set_words: U8
    n_terms: I4  # 0 unless the node asks on which side of a plane a row lies
    term_feature: I4
    term_weight: F8
    term_missing: F8  # what a missing value adds


class IsolationRoom(NamedTuple):
    """Working memory of one thread."""

    rows: I4  # the rows of each node lie side by side
    x: F8  # what they have in the column that is asked
    projection: F8
    columns: I4  # which columns differ in the sample, in the order they were drawn last
    present: U8  # which categories a node has


load_plan, load_batch = make_loader(IsolationPlan), make_loader(IsolationBatch)
load_grown, load_room = make_loader(IsolationNodes), make_loader(IsolationRoom)
BATCH_AT = width_of(IsolationPlan)
GROWN_AT = width_of(IsolationPlan, IsolationBatch)
ROOM_AT = width_of(IsolationPlan, IsolationBatch, IsolationNodes)

# Answers of a search for a split.
_NOTHING, _NUMBER, _CATEGORY, _PLANE = range(4)


# --- sampling ---------------------------------------------------------------------------


@kernel
def draw_rows(seed, first_tree, n_trees, n_all, size, replace, table, rows):
    """Sample ``size`` of ``n_all`` rows for some trees, with or without replacement.

    Without: Floyd's algorithm. ``table`` is room for a hash table, a power of two of at
    least twice the size; ``rows[tree * size + i]`` is the result.
    """
    mask = len(table) - 1
    for tree in range(n_trees):
        key = derive(derive(seed, first_tree + tree), ROWS_KEY)
        place = tree * size
        if replace:
            for i in range(size):
                rows[place + i] = draw_below(key, i, n_all)
        else:
            for i in range(len(table)):
                table[i] = FREE
            for i in range(size):
                last = n_all - size + i
                row = draw_below(key, last, last + 1)
                at = int64(mix(row)) & mask
                while table[at] != FREE and table[at] != row:
                    at = (at + 1) & mask
                if table[at] == row:
                    row = last  # nobody can have drawn this one yet
                    at = int64(mix(row)) & mask
                    while table[at] != FREE:
                        at = (at + 1) & mask
                table[at] = row
                rows[place + i] = row


@kernel
def draw_priorities(seed, tree, weights, priorities):
    """For each row a number; the rows with the largest ones are a weighted sample.

    log(u) / w is largest for row i with probability w_i / sum(w), and so on for the rows
    that are left (Efraimidis and Spirakis 2006).
    """
    key = derive(derive(seed, tree), ROWS_KEY)
    for row in range(len(weights)):
        weight = weights[row]
        u = 1.0 - draw_unit(key, row)
        priorities[row] = math.log(u) / weight if weight > 0.0 else -math.inf


@kernel
def draw_weighted(seed, tree, cumulated, rows):
    """Sample rows with replacement, with probabilities by their weights."""
    key = derive(derive(seed, tree), ROWS_KEY)
    total = cumulated[len(cumulated) - 1]
    for i in range(len(rows)):
        point = draw_unit(key, i) * total
        low, high = 0, len(cumulated) - 1
        while low < high:  # the first row whose cumulated weight is above the point
            middle = (low + high) // 2
            if cumulated[middle] > point:
                high = middle
            else:
                low = middle + 1
        rows[i] = low


@kernel
def draw_features(seed, first_tree, n_trees, n_all, size, replace, order, features):
    """Sample ``size`` of ``n_all`` features for some trees; ``order`` is room for all."""
    for tree in range(n_trees):
        key = derive(derive(seed, first_tree + tree), FEATURES_KEY)
        for feature in range(n_all):
            order[feature] = feature
        for i in range(size):
            if replace:
                features[tree * size + i] = draw_below(key, i, n_all)
            else:
                other = i + draw_below(key, i, n_all - i)
                order[i], order[other] = order[other], order[i]
                features[tree * size + i] = order[i]


# --- growing ----------------------------------------------------------------------------


@part
def note_usable(values, batch, room, candidates, tree):
    """List the columns that have different values in the sample; returns how many."""
    n_usable = 0
    for i in range(batch.n_candidates):
        column = candidates[tree * batch.n_candidates + i]
        offset = int64(column) * batch.column_step
        first = math.nan
        for j in range(batch.n_rows):
            x = float64(values[int64(room.rows[j]) * batch.row_step + offset])
            if x == x:
                if first != first:
                    first = x
                elif x != first:
                    room.columns[n_usable] = column
                    n_usable += 1
                    break
    return n_usable


@part
def read_range(values, batch, room, column, start, size):
    """Fetch a column of a node's rows; returns its smallest and its largest value."""
    low, high = math.inf, -math.inf
    offset = int64(column) * batch.column_step
    for i in range(start, start + size):
        # which zero a table has, 0.0 or -0.0, must not show in the model
        x = float64(values[int64(room.rows[i]) * batch.row_step + offset]) + 0.0
        room.x[i] = x
        low = x if x < low else low
        high = x if x > high else high
    return low, high


@part
def draw_between(key, counter, low, high):
    """A number from [low, high)."""
    u = draw_unit(key, counter)
    cut = 2.0 * (0.5 * low + u * (0.5 * high - 0.5 * low))  # the range itself may overflow
    return cut if low <= cut < high else low


@part
def n_words_of(plan, column):
    """How many words a set of categories of a column takes."""
    return (plan.n_categories[column] + 63) >> 6


@part
def read_categories(plan, room, column, start, size):
    """Note which categories a node has in ``room.present``."""
    n_words = n_words_of(plan, column)
    for word in range(n_words):
        room.present[word] = uint64(0)
    for i in range(start, start + size):
        x = room.x[i]
        if x == x:
            category = int64(x)
            room.present[category >> 6] |= uint64(1) << uint64(category & 63)


@part
def draw_set(plan, room, grown, column, key, at_word):
    """Draw a set that holds some of the node's categories, but not all."""
    n_words = n_words_of(plan, column)
    attempt = int64(0)
    while True:
        taken, left_out = uint64(0), uint64(0)
        for word in range(n_words):
            coins = derive(derive(key, -1 - attempt), word)
            grown.set_words[at_word + word] = room.present[word] & coins
            taken |= room.present[word] & coins
            left_out |= room.present[word] & ~coins
        if taken != 0 and left_out != 0:
            return
        attempt += 1


@part
def add_absent(plan, room, grown, column, at_word):
    """Put the categories that the node does not have into the set."""
    n_categories = plan.n_categories[column]
    for word in range(n_words_of(plan, column)):
        known = min(int64(64), n_categories - 64 * word)
        mask = ~uint64(0) >> uint64(64 - known)
        grown.set_words[at_word + word] |= mask & ~room.present[word]


@part
def in_set(grown, at_word, x):
    """Whether a category is in a set."""
    category = int64(x)
    word = grown.set_words[at_word + (category >> 6)]
    return (word >> uint64(category & 63)) & uint64(1) != 0


@part
def part_rows(grown, room, node, kind, at_word, start, size, key, counter):
    """Bring the rows that go left to the front; returns how many these are.

    Missing values follow one of the others, drawn at random, so that they are as easy to
    isolate as an ordinary row.
    """
    n_left, n_present = 0, 0
    for i in range(start, start + size):
        x = room.x[i]
        if x == x:
            n_present += 1
            if kind == _CATEGORY:
                n_left += in_set(grown, at_word, x)
            else:
                n_left += x <= grown.threshold[node]
    missing_right = draw_below(key, counter, n_present) >= n_left
    grown.missing_branch[node] = missing_right
    i, end = start, start + size
    while i < end:
        x = room.x[i]
        if x != x:
            left = not missing_right
        elif kind == _CATEGORY:
            left = in_set(grown, at_word, x)
        else:
            left = x <= grown.threshold[node]
        if left:
            i += 1
        else:
            end -= 1
            room.rows[i], room.rows[end] = room.rows[end], room.rows[i]
            room.x[i], room.x[end] = room.x[end], x
    return i - start


@part
def add_term(room, grown, at_term, column, low, high, start, size, key, counter):
    """Add a column to the plane of a node, with a random weight; returns how many were added."""
    u, v = draw_unit(key, counter), draw_unit(key, counter + 1)
    normal = math.sqrt(-2.0 * math.log(1.0 - u)) * math.cos(2.0 * math.pi * v)
    weight = normal / (high - low)  # so that units do not matter
    if not (abs(weight) < math.inf) or weight == 0.0:
        return 0
    i = start + draw_below(key, counter + 2, size)
    while room.x[i] != room.x[i]:  # the value of a row that has one stands in for missing ones
        i = start + (i + 1 - start) % size
    missing = weight * room.x[i]
    grown.term_feature[at_term] = column
    grown.term_weight[at_term] = weight
    grown.term_missing[at_term] = missing
    for i in range(start, start + size):
        x = room.x[i]
        room.projection[i] += weight * x if x == x else missing
    return 1


@part
def search(values, batch, plan, room, grown, node, n_usable, start, size, key, at_word, at_term):
    """Draw columns until one can part the rows of a node; returns what kind of split it is.

    ``room.x`` holds what is compared with the threshold or looked up in the set. Columns
    that are constant in the node do not count.
    """
    wanted, n_terms, counter = plan.plane_size, 0, 0
    if wanted > 1:
        for i in range(start, start + size):
            room.projection[i] = 0.0
    for tried in range(n_usable):
        other = tried + draw_below(key, counter, n_usable - tried)
        counter += 4
        column = room.columns[other]
        room.columns[other] = room.columns[tried]
        room.columns[tried] = column
        is_category = plan.n_categories[column] > 0
        if is_category and n_terms > 0:
            continue  # planes are made of numbers
        low, high = read_range(values, batch, room, column, start, size)
        if not low < high:
            continue
        grown.feature[node] = column
        if is_category:
            read_categories(plan, room, column, start, size)
            draw_set(plan, room, grown, column, key, at_word)
            return _CATEGORY
        if wanted <= 1:
            grown.threshold[node] = draw_between(key, counter - 3, low, high)
            return _NUMBER
        n_terms += add_term(
            room, grown, at_term + n_terms, column, low, high, start, size, key, counter - 3
        )
        if n_terms == wanted:
            break
    if n_terms == 0:
        return _NOTHING
    low, high = math.inf, -math.inf
    for i in range(start, start + size):
        x = room.projection[i]
        room.x[i] = x
        low, high = min(low, x), max(high, x)
    if not low < high:
        return _NOTHING
    grown.feature[node] = grown.term_feature[at_term]
    grown.threshold[node] = draw_between(key, counter, low, high)
    grown.n_terms[node] = n_terms
    return _PLANE


@part
def add_child(grown, child, size, first_row, depth):
    """Note a new node."""
    grown.n_samples[child] = size
    grown.first_row[child] = first_row
    grown.depth[child] = depth


@part
def grow_tree(values, batch, plan, room, grown, root, at_word, at_term, n_usable, key):
    """Grow one tree on the rows in ``room.rows``; returns where nodes, words and terms end."""
    add_child(grown, root, batch.n_rows, 0, 0)
    node, end = root, root + 1
    while node < end:
        start, size = int64(grown.first_row[node]), grown.n_samples[node]
        depth = int64(grown.depth[node])
        own = derive(key, node - root)
        kind = _NOTHING
        grown.n_terms[node] = 0
        if size > 1 and depth < plan.max_depth:
            kind = search(
                values, batch, plan, room, grown, node, n_usable, start, size, own, at_word, at_term
            )
        grown.value[node] = depth + plan.average[size]
        grown.missing_branch[node] = 0
        if kind == _NOTHING:
            grown.kind[node], grown.feature[node] = LEAF, -1
            grown.first_child[node], grown.threshold[node] = 0, math.nan
            grown.n_terms[node] = 0
        else:
            counter = 4 * n_usable + 1
            n_left = part_rows(grown, room, node, kind, at_word, start, size, own, counter)
            if kind == _CATEGORY:
                column = grown.feature[node]
                grown.kind[node], grown.threshold[node] = SUBSET, math.nan
                if 2 * n_left < size:  # what is not here is rare, so the smaller side gets it
                    add_absent(plan, room, grown, column, at_word)
                at_word += n_words_of(plan, column)
            else:
                grown.kind[node] = THRESHOLD
                at_term += int64(grown.n_terms[node])
            grown.first_child[node] = end - root
            add_child(grown, end, n_left, start, depth + 1)
            add_child(grown, end + 1, size - n_left, start + n_left, depth + 1)
            end += 2
        node += 1
    return end, at_word, at_term


@kernel
def grow_trees(values, slots, samples, candidates, borders):
    """Grow some trees behind each other.

    ``samples[tree * n_rows + i]`` are the rows of a tree, ``candidates`` likewise its columns;
    ``borders[3 * tree]`` says where its nodes, words and terms begin.
    """
    slots = bare(slots)
    plan, batch = load_plan(slots, 0), load_batch(slots, BATCH_AT)
    grown, room = load_grown(slots, GROWN_AT), load_room(slots, ROOM_AT)
    node, word, term = int64(0), int64(0), int64(0)
    for tree in range(batch.n_trees):
        borders[3 * tree], borders[3 * tree + 1], borders[3 * tree + 2] = node, word, term
        for i in range(batch.n_rows):
            room.rows[i] = samples[tree * batch.n_rows + i]
        n_usable = note_usable(values, batch, room, candidates, tree)
        key = derive(derive(plan.seed, batch.first_tree + tree), NODES_KEY)
        node, word, term = grow_tree(
            values, batch, plan, room, grown, node, word, term, n_usable, key
        )
    last = 3 * batch.n_trees
    borders[last], borders[last + 1], borders[last + 2] = node, word, term

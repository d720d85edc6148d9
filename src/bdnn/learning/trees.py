"""Decision trees and boosted trees as networks of conditions on bits.

A level of all boosted trees of a round is grown by one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from bdnn.clock import Slot
from bdnn.learning.stack import Array, BitArray, Lesson, Literals, Reads, Stack, Votes, blocks

_LEAST_ROWS = 5
_RIDGE = 1.0
_LEAST = 2.0  # second derivatives in a leaf, about as many times four samples
_MOST_AS_FLOATS = 1 << 14  # rows; of more a part at a time becomes floats, which takes no longer


@dataclass(frozen=True)
class Tree:
    """One tree of scikit-learn.

    Parameters
    ----------
    leaves : int
        At most.
    """

    leaves: int
    reads: Reads = "bits"

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Grow, and turn every leaf into a unit."""
        del slot
        model = DecisionTreeClassifier(
            min_samples_leaf=_LEAST_ROWS, max_leaf_nodes=self.leaves, random_state=seed
        )
        bits = lesson.table.bits
        model.fit(bits, lesson.labels, sample_weight=lesson.weight)
        votes = Votes(bits.shape[1], lesson.n_classes)
        for literals, share in leaves_of(model.tree_):
            vote = np.zeros(lesson.n_classes)
            vote[model.classes_] = share
            votes.add(literals, vote)
        return votes.stack()


def leaves_of(tree: Any) -> Iterator[tuple[Literals, NDArray[np.float64]]]:
    """Literals on the way to every leaf of a tree on bits, and the shares of the classes there."""
    ways: list[tuple[int, Literals]] = [(0, ())]
    while ways:
        node, literals = ways.pop()
        bit, children = tree.feature[node], (tree.children_left[node], tree.children_right[node])
        if children[0] < 0:
            share = tree.value[node][0]
            yield tuple(sorted(literals)), share / share.sum()
            continue
        ways += [(child, (*literals, 2 * bit + is_on)) for is_on, child in enumerate(children)]


@dataclass(frozen=True)
class Boosting:
    """Newton steps on the cross entropy, each a tree of some depth per class.

    Parameters
    ----------
    depth : int
    rounds : int
    rate : float
        Part of a step that is taken.
    """

    depth: int
    rounds: int
    rate: float = 0.2
    reads: Reads = "bits"

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Add trees until all rounds are done or time is over."""
        del seed
        labels, weight, n_classes = lesson.labels, lesson.weight, lesson.n_classes
        n_trees = 1 if n_classes == 2 else n_classes
        wanted = (labels[:, None] == np.arange(n_classes)[-n_trees:]).astype(np.float32)
        prior = (weight @ wanted + 1.0) / (weight.sum() + n_classes)
        base = np.log(prior / (1.0 - prior)) if n_trees == 1 else np.log(prior)
        scores = np.tile(base.astype(np.float32), (len(labels), 1))
        votes = Votes(lesson.table.bits.shape[1], n_classes)
        votes.base[-n_trees:] = base
        lines: Array | BitArray = np.ascontiguousarray(lesson.table.bits.T)
        if len(lesson) <= _MOST_AS_FLOATS:
            lines = lines.astype(np.float32)
        for _ in range(self.rounds):
            if n_trees == 1:
                share = 1.0 / (1.0 + np.exp(-scores))
            else:
                share = np.exp(scores - scores.max(axis=1, keepdims=True))
                share /= share.sum(axis=1, keepdims=True)
            first = weight[:, None] * (wanted - share)
            second = weight[:, None] * share * (1.0 - share)
            leaf, found = self._trees(lines, first, second)
            for tree, leaves in enumerate(found):
                values = np.zeros(1 << self.depth, np.float32)
                for place, (literals, value) in leaves.items():
                    values[place] = self.rate * value
                    vote = np.zeros(n_classes)
                    vote[n_classes - n_trees + tree] = self.rate * value
                    votes.add(literals, vote)
                scores[:, tree] += values[leaf[:, tree]]
            if slot.is_over():
                break
        return votes.stack()

    def _trees(
        self, lines: Array | BitArray, first: Array, second: Array
    ) -> tuple[NDArray[np.intp], list[dict[int, tuple[tuple[int, ...], float]]]]:
        """Grow one tree per column: the leaf of every row, and literals and value of every leaf."""
        n_rows, n_trees = first.shape
        leaf = np.zeros((n_rows, n_trees), dtype=np.intp)
        ways: list[dict[int, tuple[int, ...]]] = [{0: ()} for _ in range(n_trees)]
        both = np.concatenate((first, second), axis=1)
        # Sums over rows where a bit is on, by bit, and over all rows of the node.
        on = _sums(lines, both)
        sums = {
            (tree, 0): (on[:, [tree, n_trees + tree]], both.sum(axis=0)[[tree, n_trees + tree]])
            for tree in range(n_trees)
        }
        for level in range(self.depth):
            grown: list[tuple[int, int, int]] = []
            columns: list[Array] = []
            for (tree, place), (inside, total) in list(sums.items()):
                bit = _best_bit(inside, total)
                if bit is None:
                    continue
                rows = leaf[:, tree] == place
                is_on = rows & (lines[bit] > 0)
                child = place + (1 << level)
                leaf[is_on, tree] = child
                way = ways[tree].pop(place)
                ways[tree][place] = _with(way, 2 * bit)
                ways[tree][child] = _with(way, 2 * bit + 1)
                grown.append((tree, place, child))
                columns += [first[:, tree] * is_on, second[:, tree] * is_on]
            if not grown:
                break
            chosen = np.stack(columns, axis=1)
            on, totals = _sums(lines, chosen), chosen.sum(axis=0)
            for number, (tree, place, child) in enumerate(grown):
                part = slice(2 * number, 2 * number + 2)
                inside, total = sums[tree, place]
                sums[tree, child] = on[:, part], totals[part]
                sums[tree, place] = inside - on[:, part], total - totals[part]
        found = [
            {
                place: (way, float(sums[tree, place][1][0] / (sums[tree, place][1][1] + _RIDGE)))
                for place, way in ways[tree].items()
            }
            for tree in range(n_trees)
        ]
        return leaf, found


def _sums(lines: Array | BitArray, columns: Array) -> Array:
    """Sums of columns over the rows where every bit is on."""
    if lines.dtype == columns.dtype:
        return np.asarray(lines @ columns)
    total = np.zeros((len(lines), columns.shape[1]), np.float32)
    for block in blocks(lines.shape[1]):
        total += lines[:, block].astype(np.float32) @ columns[block]
    return total


def _best_bit(inside: Array, total: Array) -> int | None:
    """The bit that splits a node best, if any does."""
    outside = total - inside
    gain = np.square(inside[:, 0]) / (inside[:, 1] + _RIDGE)
    gain += np.square(outside[:, 0]) / (outside[:, 1] + _RIDGE)
    gain[(inside[:, 1] < _LEAST) | (outside[:, 1] < _LEAST)] = -np.inf
    best = int(gain.argmax()) if len(gain) else -1
    least = total[0] ** 2 / (total[1] + _RIDGE)
    return best if best >= 0 and gain[best] > least * (1.0 + 1e-6) + 1e-9 else None


def _with(way: tuple[int, ...], literal: int) -> tuple[int, ...]:
    return tuple(sorted((*way, literal)))

"""Decision trees for the worst case: rows within reach of a cut go both ways.

A row is right if all leaves in its reach have its class. A tree is grown by the Gini impurity that
an adversary leaves who moves rows in reach of a cut to either side until the sides are most alike
(as GROOT does, Vos and Verwer 2021). Then its nodes are made anew one by one, all else as it is: by
the split that makes most rows right, by a split into two leaves, or by a leaf. Such a move is exact
for the weight of right rows, which never falls.

The network has a unit per *maximal* box of a class. With one unit per leaf its interval bounds
would forget that some leaf is always on: a row whose region lies in two leaves of one class would
not be certified. The region is a box of bins, though, and so it lies in a maximal box, the unit of
which is certainly on. Maximal boxes are found by consensus: two boxes that touch along one column
make a third one, which spans both there and is what they have in common elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bdnn.clock import Slot
from bdnn.learning.around import Around
from bdnn.learning.stack import Array, Lesson, Literals, Reads, Stack
from bdnn.network.activation import BoolArray

_LEAST_WEIGHT = 5.0  # on either side of a cut, rows in reach included
_SWEEPS = 20
# Parts of a node that an adversary may try to have on one side.
_SHARES = np.linspace(0.05, 0.95, 10, dtype=np.float32)


@dataclass(frozen=True)
class RobustTree:
    """One tree.

    Parameters
    ----------
    depth : int
    wider : float
        Times the radius that is asked for.
    """

    depth: int
    wider: float = 1.0
    reads: Reads = "bits"

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Grow, improve, and turn into a network with equal answers."""
        del seed
        around = lesson.around[self.wider]
        tree = GuardedTree(lesson, around, self.depth)
        tree.grow(slot)
        tree.improve(slot)
        return box_stack(list(tree.leaves()), around, lesson.n_classes)


class GuardedTree:
    """A tree whose nodes are numbered level by level, and the rows it is for."""

    def __init__(self, lesson: Lesson, around: Around, depth: int) -> None:
        self.depth = depth
        self.least, self.most = around.least, around.most
        self.labels, self.n_classes = lesson.labels, lesson.n_classes
        # Means near 1 keep sums in single precision apart.
        self.weight = lesson.weight / lesson.weight.mean(dtype=np.float32)
        self.of_class = np.zeros((len(lesson), lesson.n_classes), np.float32)
        self.of_class[np.arange(len(lesson)), lesson.labels] = self.weight
        n_nodes = (2 << depth) - 1
        self.bit = np.full(n_nodes, -1)
        self.leaf = np.zeros(n_nodes, dtype=np.intp)

    def leaves(self) -> Iterator[tuple[Literals, int]]:
        """Literals on the way to every leaf, and its class."""
        ways: list[tuple[int, Literals]] = [(0, ())]
        while ways:
            node, literals = ways.pop()
            bit = int(self.bit[node])
            if bit < 0:
                yield tuple(sorted(set(literals))), int(self.leaf[node])
                continue
            ways += [(2 * node + 1 + on, (*literals, 2 * bit + on)) for on in (0, 1)]

    def right(self, node: int = 0) -> BoolArray:
        """Which rows are right in all leaves below a node that they reach."""
        bit = self.bit[node]
        if bit < 0:
            return np.asarray(self.labels == self.leaf[node])
        off, on = self.right(2 * node + 1), self.right(2 * node + 2)
        held = (off | (self.least[:, bit] > 0)) & (on | (self.most[:, bit] == 0))
        return np.asarray(held)

    def grow(self, slot: Slot) -> None:
        """Split from the root on as long as an adversary leaves some gain."""
        nodes = [(0, np.ones(len(self.labels), dtype=bool))]
        while nodes:
            node, rows = nodes.pop()
            totals = self.of_class[rows].sum(axis=0)
            self.leaf[node] = int(totals.argmax())
            is_last = node >= len(self.bit) // 2
            if is_last or np.count_nonzero(totals) < 2 or slot.is_over():
                continue
            bit = self._most_telling(rows, totals)
            if bit is None:
                continue
            self.bit[node] = bit
            nodes.append((2 * node + 1, rows & (self.least[:, bit] == 0)))
            nodes.append((2 * node + 2, rows & (self.most[:, bit] > 0)))

    def _most_telling(self, rows: BoolArray, totals: Array) -> int | None:
        """The bit with the least impurity of both sides, whatever rows in its reach do."""
        own = self.of_class[rows]
        on = self.least[rows].T @ own
        off = totals - self.most[rows].T @ own
        free = totals - on - off
        total = float(totals.sum())
        worst = np.zeros(len(on), np.float32)
        for share in _SHARES:
            # Rows in reach fill the side up until it looks like the whole node.
            side = off + np.clip(share * totals - off, 0.0, free)
            worst = np.maximum(worst, _impurity(side) + _impurity(totals - side))
        least = np.minimum((off + free).sum(axis=1), (on + free).sum(axis=1))
        worst[least < _LEAST_WEIGHT] = np.inf
        best = int(worst.argmin())
        return best if _impurity(totals) - worst[best] > 1e-5 * total else None

    def improve(self, slot: Slot) -> None:
        """Make nodes anew until no node alone can be better."""
        for _ in range(_SWEEPS):
            before = np.stack((self.bit, self.leaf))
            for node in range(len(self.bit) - 1, -1, -1):
                if slot.is_over():
                    return
                rows = self._undecided(node)
                if rows is not None:
                    self._make_anew(node, rows)
            if np.array_equal(before, np.stack((self.bit, self.leaf))):
                return

    def _undecided(self, node: int) -> BoolArray | None:
        """Rows that reach a node and are right elsewhere; None for a node that is not there."""
        rows = np.ones(len(self.labels), dtype=bool)
        while node:
            parent, is_on = (node - 1) // 2, node % 2 == 0
            bit = self.bit[parent]
            if bit < 0:
                return None
            can_on, can_off = self.most[:, bit] > 0, self.least[:, bit] == 0
            other = self.right(node - 1 if is_on else node + 1)
            rows &= (can_on & (other | ~can_off)) if is_on else (can_off & (other | ~can_on))
            node = parent
        return rows

    def _make_anew(self, node: int, rows: BoolArray) -> None:
        weight = np.where(rows, self.weight, 0.0)
        now = float(weight @ self.right(node)) * (1.0 + 1e-5) + 1e-4
        own = self.of_class * rows[:, None]
        totals = own.sum(axis=0)
        if totals.max() > now:
            now = float(totals.max())
            self.bit[node], self.leaf[node] = -1, int(totals.argmax())
        if node >= len(self.bit) // 2 or not rows.any():
            return
        columns = own
        if self.bit[node] >= 0:
            off = weight * self.right(2 * node + 1)
            on = weight * self.right(2 * node + 2)
            both = off * (on > 0)
            columns = np.column_stack((own, on, off, both)).astype(np.float32)
        surely, possibly = self.least.T @ columns, self.most.T @ columns
        on_of, off_of = surely[:, : self.n_classes], totals - possibly[:, : self.n_classes]
        if self.bit[node] >= 0:
            first, second, common = self.n_classes + np.arange(3)
            gain = surely[:, first] + off.sum() - possibly[:, second]
            gain += possibly[:, common] - surely[:, common]
            best = int(gain.argmax())
            if gain[best] > now:
                now = float(gain[best])
                self.bit[node] = best
        self._split_anew(node, on_of, off_of, now)

    def _split_anew(self, node: int, on_of: Array, off_of: Array, now: float) -> None:
        """Split into two leaves of different classes if that makes more rows right."""
        best, found = now, None
        for label in range(self.n_classes):
            others = np.where(np.arange(self.n_classes) == label, -np.inf, off_of)
            gain = on_of[:, label] + others.max(axis=1)
            bit = int(gain.argmax())
            if gain[bit] > best:
                best, found = float(gain[bit]), (bit, int(others[bit].argmax()), label)
        if found is not None:
            self.bit[node], children = found[0], (2 * node + 1, 2 * node + 2)
            for child, label in zip(children, found[1:], strict=True):
                self.bit[child], self.leaf[child] = -1, label


def _impurity(counts: Array) -> NDArray[np.float32]:
    """Weight times Gini impurity of classes in the last axis."""
    total = counts.sum(axis=-1)
    return np.asarray(total - np.square(counts).sum(axis=-1) / np.maximum(total, 1e-9))


# Boxes of a class beyond which no further ones are looked for: what is certified stays true.
_MOST = 150


#: For every scale the lowest bin of a box and the first one above it; and literals of other bits.
Box = tuple[tuple[tuple[int, int], ...], frozenset[int]]


def maximal_boxes(leaves: Sequence[Literals], around: Around) -> list[Literals]:
    """Literals of all boxes that leaves of one class cover together and no larger one does."""
    scales = sorted({int(around.scale[x // 2]) for leaf in leaves for x in leaf} - {-1})
    bit_at = {
        (int(s), int(r)): bit
        for bit, (s, r) in enumerate(zip(around.scale, around.rank, strict=True))
        if s in scales
    }
    tops = [sum(1 for s, _ in bit_at if s == scale) + 1 for scale in scales]
    boxes: list[Box] = []
    for leaf in leaves:
        box = _box_of(leaf, around, scales, tops)
        if box is not None:
            _add(boxes, box)
    done = 0
    while done < len(boxes) and len(boxes) < _MOST:
        one = boxes[done]
        for other in boxes[:done]:
            for k in range(len(scales)):
                found = _consensus(one, other, k)
                if found is not None:
                    _add(boxes, found)
        # What the new ones cover is gone, so that places have moved.
        done = boxes.index(one) + 1 if one in boxes else 0
    return [_literals(box, scales, tops, bit_at) for box in boxes]


def _box_of(
    leaf: Literals, around: Around, scales: Sequence[int], tops: Sequence[int]
) -> Box | None:
    """The box of a leaf, None for one that nothing reaches."""
    low, high = [0] * len(scales), list(tops)
    others = set()
    for literal in leaf:
        bit, is_on = divmod(literal, 2)
        if around.scale[bit] < 0:
            others.add(literal)
            continue
        k, rank = scales.index(int(around.scale[bit])), int(around.rank[bit])
        if is_on:
            low[k] = max(low[k], rank + 1)
        else:
            high[k] = min(high[k], rank + 1)
    is_empty = any(a >= b for a, b in zip(low, high, strict=True))
    if is_empty or any(literal ^ 1 in others for literal in others):
        return None
    return tuple(zip(low, high, strict=True)), frozenset(others)


def _add(boxes: list[Box], box: Box) -> None:
    """Add a box that no other one covers, and drop those that it covers."""
    if any(_covers(other, box) for other in boxes):
        return
    boxes[:] = [other for other in boxes if not _covers(box, other)] + [box]


def _covers(outer: Box, inner: Box) -> bool:
    return outer[1] <= inner[1] and all(
        a <= c and d <= b for (a, b), (c, d) in zip(outer[0], inner[0], strict=True)
    )


def _consensus(one: Box, other: Box, k: int) -> Box | None:
    """The box that spans two along a column and is their common part elsewhere."""
    (a, b), (c, d) = one[0][k], other[0][k]
    others = one[1] | other[1]
    if max(a, c) > min(b, d) or any(literal ^ 1 in others for literal in others):
        return None
    sides = [(max(x[0], y[0]), min(x[1], y[1])) for x, y in zip(one[0], other[0], strict=True)]
    sides[k] = min(a, c), max(b, d)
    return None if any(x >= y for x, y in sides) else (tuple(sides), others)


def _literals(
    box: Box, scales: Sequence[int], tops: Sequence[int], bit_at: dict[tuple[int, int], int]
) -> Literals:
    found = list(box[1])
    for scale, top, (low, high) in zip(scales, tops, box[0], strict=True):
        found += [2 * bit_at[scale, low - 1] + 1] if low > 0 else []
        found += [2 * bit_at[scale, high - 1]] if high < top else []
    return tuple(sorted(found))


def box_stack(leaves: Sequence[tuple[Literals, int]], around: Around, n_classes: int) -> Stack:
    """The network of a tree's leaves and their classes: an output is on where a box of it is."""
    boxes = [
        (box, label)
        for label in range(n_classes)
        for box in maximal_boxes([leaf for leaf, own in leaves if own == label], around)
    ]
    if n_classes == 2:  # the class of fewer boxes says it all
        counts = [sum(label == own for _, own in boxes) for label in range(2)]
        kept = int(counts[0] == 0 or 0 < counts[1] <= counts[0])
        boxes = [(box, label) for box, label in boxes if label == kept]
    n_bits = len(around.scale)
    first = np.zeros((len(boxes), n_bits), np.float32)
    last = np.zeros((n_classes, len(boxes)), np.float32)
    for unit, (box, label) in enumerate(boxes):
        places = np.array(box, dtype=np.intp)
        first[unit, places // 2] = 2 * (places % 2) - 1
        last[label, unit] = 1.0
    needed = (first > 0).sum(axis=1).astype(np.float32)
    thresholds = np.full(n_classes, 0.5, np.float32)
    if n_classes == 2:
        thresholds[1 - kept] = 0.0
    return Stack("bits", (first, last), (needed, thresholds))

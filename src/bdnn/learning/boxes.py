"""A tree as a network whose interval bounds are exact: all maximal boxes of its classes.

With one unit per leaf the bound forgets that some leaf is always on: a row whose region lies in two
leaves of one class would not be certified. The region is a box of bins, though, and so it lies in a
*maximal* box of the class, the unit of which is certainly on. Maximal boxes are found by consensus:
two boxes that touch along one column make a third one, which spans both there and is what they have
in common elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bdnn.learning.around import Around
from bdnn.learning.stack import Stack
from bdnn.learning.votes import Literals

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

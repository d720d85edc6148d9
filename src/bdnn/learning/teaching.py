"""Several networks as one: another that learns what they say together, or units side by side.

Teachers were trained without one fold of the rows each. What they say of rows that they have not
seen is free of the noise of these rows' labels; and they can be asked about new rows, some columns
of which come from another row. Side by side, sums of units add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bdnn.learning.comparison import IntArray, Trial, probabilities
from bdnn.learning.gradients import smoothed
from bdnn.learning.stack import Array, Lesson, Stack, Table, blocks

_MOST = 127  # of a joined output weight, a byte


def is_joinable(stack: Stack) -> bool:
    """Whether all that outputs see of it are steps and bits, which others can stand beside."""
    return len(stack.weights) > 1 or stack.reads == "bits"


def join(stacks: Sequence[Stack], n_bits: int) -> Stack:
    """One network whose logits are the mean of those of several, up to rounding.

    Where all are trained alike their sums add as they are. Else every network's output weights are
    multiplied by the integer that is nearest to its share.
    """
    if len(stacks) == 1:
        return stacks[0]
    if any(stack.reads == "mix" for stack in stacks) or len({s.reads for s in stacks}) > 1:
        n_numbers = next(s.weights[0].shape[1] for s in stacks if s.reads != "bits")
        aligned = [_as_mix(stack, n_numbers, n_bits) for stack in stacks]
    else:
        aligned = [_with_units(stack) for stack in stacks]
    factors = shares(stacks)
    n_outputs = len(aligned[0].weights[-1])
    skips = n_bits if aligned[0].reads == "mix" else 0
    weights = [np.concatenate([stack.weights[0] for stack in aligned])]
    for k in range(1, len(aligned[0].weights) - 1):
        blocks = [stack.weights[k] for stack in aligned]
        weights.append(_beside(blocks, skips if k == 1 else 0))
    weights.append(
        np.concatenate(
            [stack.weights[-1] * f for stack, f in zip(aligned, factors, strict=True)], axis=1
        )
    )
    thresholds = [
        np.concatenate([stack.thresholds[k] for stack in aligned]) for k in range(len(weights) - 1)
    ]
    last = np.zeros(n_outputs, np.float32)
    for stack, factor in zip(aligned, factors, strict=True):
        last += stack.thresholds[-1] * factor
    slope = float(np.mean([s.slope / f for s, f in zip(stacks, factors, strict=True)]))
    joined = Stack(aligned[0].reads, tuple(weights), (*thresholds, last), slope / len(stacks))
    return merged(joined)


def shares(stacks: Sequence[Stack]) -> Array:
    """What output weights are multiplied by, so that all logits have one scale."""
    slopes = np.array([stack.slope for stack in stacks])
    if slopes.max() < 2.0 * slopes.min():
        return np.ones(len(stacks), np.float32)
    largest = np.array([np.abs(stack.weights[-1]).max() for stack in stacks])
    ratio = slopes / slopes.min()
    ratio *= max(1.0, min(8.0, _MOST / (ratio * largest).max()))
    factors: Array = np.maximum(np.rint(ratio), 1.0).astype(np.float32)
    return factors


def _with_units(stack: Stack) -> Stack:
    """Votes of bits as votes of units that copy them."""
    if len(stack.weights) > 1:
        return stack
    used = np.flatnonzero(np.abs(stack.weights[0]).sum(axis=0))
    copies = np.zeros((len(used), stack.weights[0].shape[1]), np.float32)
    copies[np.arange(len(used)), used] = 1.0
    return replace(
        stack,
        weights=(copies, stack.weights[0][:, used]),
        thresholds=(np.ones(len(used), np.float32), stack.thresholds[0]),
    )


def _as_mix(stack: Stack, n_numbers: int, n_bits: int) -> Stack:
    """The same with a first layer on numbers and a second one on its units and the bits."""
    if stack.reads == "mix":
        return stack
    if stack.reads == "bits":
        stack = _with_units(stack)
        first = np.zeros((0, n_numbers), np.float32), np.zeros(0, np.float32)
        second = stack.weights[0], stack.thresholds[0]
    else:
        first = stack.weights[0], stack.thresholds[0]
        units = len(stack.weights[0])
        second = np.eye(units, units + n_bits, dtype=np.float32), np.ones(units, np.float32)
    return replace(
        stack,
        reads="mix",
        weights=(first[0], second[0], stack.weights[-1]),
        thresholds=(first[1], second[1], stack.thresholds[-1]),
    )


def _beside(blocks: Sequence[Array], n_skipped: int) -> Array:
    """Blocks along the diagonal, and what they see of skipped bits in common columns at the end."""
    own = [block[:, : block.shape[1] - n_skipped] for block in blocks]
    total = sum(block.shape[1] for block in own)
    lines, place = [], 0
    for block, part in zip(blocks, own, strict=True):
        line = np.zeros((len(block), total + n_skipped), np.float32)
        line[:, place : place + part.shape[1]] = part
        line[:, total:] = block[:, part.shape[1] :]
        place += part.shape[1]
        lines.append(line)
    return np.concatenate(lines)


def merged(stack: Stack) -> Stack:
    """Put equal units together and leave out those that nothing above looks at."""
    weights, thresholds = list(stack.weights), list(stack.thresholds)
    for k in range(len(weights) - 2, -1, -1):
        units = len(weights[k])
        above = weights[k + 1]
        lines = np.concatenate((weights[k], thresholds[k][:, None]), axis=1)
        _, kept, which = np.unique(lines, axis=0, return_index=True, return_inverse=True)
        sums = np.zeros((len(above), len(kept)), np.float32)
        np.add.at(sums.T, which.ravel(), above[:, :units].T)
        if k < len(weights) - 2 and np.abs(sums).max(initial=0.0) > 1.0:
            # Two equal units below one hidden unit would need a weight of 2.
            kept, sums = np.arange(units), above[:, :units]
        used = np.flatnonzero(np.abs(sums).sum(axis=0))
        used = used if len(used) else np.arange(min(1, len(kept)))
        weights[k + 1] = np.concatenate((sums[:, used], above[:, units:]), axis=1)
        weights[k], thresholds[k] = weights[k][kept[used]], thresholds[k][kept[used]]
    return replace(stack, weights=tuple(weights), thresholds=tuple(thresholds))


_SWAPPED = 0.1  # of the columns of a new row
_NEW_ROWS, _MOST_NEW = 4000, 20_000  # many rows tell more than others do of new ones
_OWN = 0.5  # weight of a row's label beside what others say

Number = TypeVar("Number", np.float32, np.uint8)

#: Networks of every teacher.
Teachers = Sequence[Sequence[Stack]]


def opinion(teachers: Teachers, table: Table) -> Array:
    """Mean probabilities by all networks, every teacher counting once."""
    found = []
    # Values of all units on all rows would take far more memory than the rows.
    for block in blocks(len(table)):
        part = table.rows(block)
        shares = [
            np.mean([probabilities(stack.logits(part)) for stack in stacks], axis=0)
            for stacks in teachers
        ]
        found.append(np.mean(shares, axis=0))
    return np.concatenate(found).astype(np.float32)


def unseen_opinion(trials: Sequence[Trial], lesson: Lesson, compared: IntArray) -> Array:
    """What trials say of rows, each by networks that have not seen it.

    Rows that trials were compared on have been held out; all others nobody has seen. Rows of folds
    that there was no time for keep their labels.
    """
    share = smoothed(lesson)
    done = np.flatnonzero(np.min([trial.count for trial in trials], axis=0))
    share[compared[done]] = np.mean([trial.share[done] for trial in trials], axis=0)
    others = np.setdiff1d(np.arange(len(lesson)), compared)
    if len(others):
        share[others] = opinion([t.stacks for t in trials], lesson.table.rows(others))
    return share


def taught(
    lesson: Lesson,
    share: Array,
    teachers: Teachers,
    column_of: IntArray,
    rng: np.random.Generator,
) -> Lesson:
    """The rows with what others say of them beside their labels, and new rows.

    Parameters
    ----------
    lesson : Lesson
    share : array of shape (n_rows, n_classes)
        Of :func:`unseen_opinion`.
    teachers : sequence of sequences of Stack
        Which are asked about new rows.
    column_of : array of int
        Raw column of every input, numbers first, so that inputs of one column stay together.
    rng : numpy.random.Generator
    """
    wanted = np.float32(_OWN) * smoothed(lesson) + np.float32(1.0 - _OWN) * share
    count = min(max(_NEW_ROWS, len(lesson)), _MOST_NEW)
    rows, donors = rng.integers(len(lesson), size=(2, count))
    swapped = rng.random((count, int(column_of.max()) + 1)) < _SWAPPED
    table, n_numbers = lesson.table, lesson.table.numbers.shape[1]

    def drawn(values: NDArray[Number], columns: IntArray) -> NDArray[Number]:
        return np.asarray(np.where(swapped[:, columns], values[donors], values[rows]))

    new = Table(
        drawn(table.numbers, column_of[:n_numbers]), drawn(table.bits, column_of[n_numbers:])
    )
    return Lesson(
        Table(np.concatenate((table.numbers, new.numbers)), np.concatenate((table.bits, new.bits))),
        np.concatenate((lesson.labels, lesson.labels[rows])),
        np.concatenate((lesson.weight, lesson.weight[rows])),
        lesson.n_classes,
        np.concatenate((wanted, opinion(teachers, new))),
    )

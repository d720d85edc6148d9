"""One small network that learns what several others say together.

Others were trained without one fold of the rows each. What they say of rows that they have not seen
is free of the noise of these rows' labels; and they can be asked about new rows, some columns of
which come from another row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bdnn.learning.comparison import IntArray, Trial, probabilities
from bdnn.learning.gradients import smoothed
from bdnn.learning.stack import Array, Lesson, Stack, Table, blocks

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

"""Small tables for learners: classes that depend on numbers and bits in a known way."""

from __future__ import annotations

import numpy as np

from bdnn.learning.stack import Lesson, Table


def make_lesson(
    n_rows: int = 200, n_classes: int = 2, *, noise: float = 0.0, seed: int = 0
) -> Lesson:
    """Three numbers on a grid, eight bits that cut them, and labels of a curved rule."""
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.standard_normal((n_rows, 3)) * 16) / 16
    bits = np.column_stack([numbers[:, j] >= c for j in range(3) for c in (-0.5, 0.0, 0.5)])
    score = numbers[:, 0] * numbers[:, 1] + 0.5 * numbers[:, 2]
    labels = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    is_noisy = rng.random(n_rows) < noise
    labels[is_noisy] = rng.integers(n_classes, size=is_noisy.sum())
    table = Table(numbers.astype(np.float32), bits.astype(np.uint8))
    return Lesson(table, labels.astype(np.intp), np.ones(n_rows, np.float32), n_classes)


def inputs_of(table: Table) -> np.ndarray:
    """What a network takes: numbers, then bits."""
    return np.concatenate((table.numbers, table.bits), axis=1).astype(float)

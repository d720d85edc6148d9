"""Parts of the rows that take turns at being held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.intp]


def same_rows(codes: NDArray[np.float64]) -> IntArray:
    """A number per row that equal rows share; missing values are equal."""
    filled = np.where(np.isnan(codes), np.inf, codes)
    return np.asarray(np.unique(filled, axis=0, return_inverse=True)[1]).ravel()


def folds_of(
    labels: IntArray, groups: IntArray, n_folds: int, rng: np.random.Generator
) -> IntArray:
    """The fold of every row: classes are spread evenly and groups stay together.

    Groups come in random order, the largest first. Each goes where its leading class has the
    fewest rows so far, then where rows are fewest.
    """
    n_groups = int(groups.max()) + 1 if len(groups) else 0
    n_classes = int(labels.max()) + 1 if len(labels) else 0
    counts = np.zeros((n_groups, n_classes), dtype=np.intp)
    np.add.at(counts, (groups, labels), 1)
    leading, sizes = counts.argmax(axis=1), counts.sum(axis=1)
    order = rng.permutation(n_groups)
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold = np.empty(n_groups, dtype=np.intp)
    single = order[sizes[order] == 1]
    held = np.zeros((n_folds, n_classes), dtype=np.intp)
    for group in order[sizes[order] > 1]:
        place = int(np.lexsort((held.sum(axis=1), held[:, leading[group]]))[0])
        fold[group] = place
        held[place] += counts[group]
    # Rows of their own are dealt class by class, the folds with fewer rows of it first.
    start = 0
    for label in range(n_classes):
        members = single[leading[single] == label]
        places = _dealt(held[:, label], len(members), start)
        fold[members] = places
        held[:, label] += np.bincount(places, minlength=n_folds)
        start = (start + len(members)) % n_folds
    return np.asarray(fold[groups])


def _dealt(held: IntArray, count: int, start: int) -> IntArray:
    """Where so many rows go so that folds, which hold some already, become as even as can be."""
    n_folds = len(held)
    level = held.copy()
    places = np.empty(count, dtype=np.intp)
    turn = np.roll(np.arange(n_folds), -start)
    begun = 0
    while begun < count and level.min() < level.max():
        place = turn[int(np.argmin(level[turn]))]
        places[begun] = place
        level[place] += 1
        begun += 1
    places[begun:] = np.resize(turn, count - begun)
    return places

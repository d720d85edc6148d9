"""Decision trees and small forests of scikit-learn as networks of conditions on bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from bdnn.clock import Slot
from bdnn.learning.stack import Lesson, Reads, Stack
from bdnn.learning.votes import Literals, Votes

_LEAST_ROWS = 5


@dataclass(frozen=True)
class Trees:
    """One tree, or the votes of several on drawn rows.

    Parameters
    ----------
    leaves : int
        Of every tree at most.
    trees : int
    """

    leaves: int
    trees: int = 1
    reads: Reads = "bits"

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Grow, and turn every leaf into a unit."""
        del slot
        options: dict[str, Any] = {"max_leaf_nodes": self.leaves, "random_state": seed}
        if self.trees == 1:
            model = DecisionTreeClassifier(min_samples_leaf=_LEAST_ROWS, **options)
        else:
            model = RandomForestClassifier(self.trees, n_jobs=1, **options)
        bits = lesson.table.bits
        model.fit(bits, lesson.labels, sample_weight=lesson.weight)
        grown = [model] if self.trees == 1 else model.estimators_
        votes = Votes(bits.shape[1], lesson.n_classes)
        for tree in grown:
            for literals, share in leaves_of(tree.tree_):
                vote = np.zeros(lesson.n_classes)
                vote[model.classes_] = share / len(grown)
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

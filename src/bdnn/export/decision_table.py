"""All decisions of a few hidden units, with as few lines as a tree of questions needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from bdnn.network.network import Network

_MOST_UNITS = 6
# What a unit is in a line: off, on, or not asked.
_WORDS = ("no", "yes", "-")


def decision_table(
    network: Network, classes: Sequence[object], names: Sequence[str]
) -> tuple[tuple[str, ...], ...] | None:
    """A heading, and a line per group of patterns of the last hidden layer with one class.

    Parameters
    ----------
    network : Network
    classes : sequence
    names : sequence of str
        Of the units of the last hidden layer.
    """
    shape = network.architecture
    is_suited = shape.hidden and classes and shape.activation_of(shape.n_layers - 2).is_step
    if not is_suited or shape.hidden[-1] > _MOST_UNITS:
        return None
    width = shape.hidden[-1]
    tail = Network(
        replace(shape, n_features=width, hidden=(), weights=shape.weights[-1:], activations=()),
        network.weights[-1:],
        network.thresholds[-1:],
    )
    patterns = (np.arange(2**width)[:, None] >> np.arange(width)) & 1
    cube = tail.predict(patterns).reshape((2,) * width, order="F")

    @cache
    def lines(known: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
        """The shortest list for patterns of which some units are known, 2 for others."""
        part = cube[tuple(slice(None) if value == 2 else value for value in known)]
        if (part == part.flat[0]).all():
            return ((known, int(part.flat[0])),)
        found = []
        for unit in (i for i, value in enumerate(known) if value == 2):
            halves = (lines((*known[:unit], value, *known[unit + 1 :])) for value in (1, 0))
            found.append(tuple(line for half in halves for line in half))
        return min(found, key=len)

    rows = (
        (*(_WORDS[value] for value in known), str(classes[outcome]))
        for known, outcome in lines((2,) * width)
    )
    return ((*names, "class"), *rows)

"""All decisions of a few hidden units, with as few lines as a tree of questions needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.bins import make_bins
from bdnn.model import Model
from bdnn.network.activation import BoolArray
from bdnn.network.network import Network

_MOST_UNITS = 6
# Rows, one for every choice of bins of the columns in use.
_MOST_CELLS = 1 << 14
# What a unit is in a line: off, on, or not asked.
_WORDS = ("no", "yes", "-")


def decision_table(model: Model, names: Sequence[str]) -> tuple[tuple[str, ...], ...] | None:
    """A heading, and a line per group of patterns of the last hidden layer with one class.

    Patterns that no row can have are in no line, as far as that is known: leaves of a tree are
    never on together.

    Parameters
    ----------
    model : Model
    names : sequence of str
        Of the units of the last hidden layer.
    """
    network, classes = model.network, model.classes
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
    classes_of = np.where(_can_be(model, patterns), tail.predict(patterns), -1)
    cube = classes_of.reshape((2,) * width, order="F")

    @cache
    def lines(known: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
        """The shortest list for patterns of which some units are known, 2 for others."""
        part = cube[tuple(slice(None) if value == 2 else value for value in known)]
        outcomes = np.unique(part[part >= 0]).tolist()
        if len(outcomes) < 2:
            return tuple((known, outcome) for outcome in outcomes)
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


def _can_be(model: Model, patterns: NDArray[np.intp]) -> BoolArray:
    """Which patterns of the last hidden layer some row has; all, where rows are too many."""
    bins, encoder, weights = make_bins(model.encoder), model.encoder, model.network.weights[0]
    used = sorted(set(encoder.column_of[weights.any(axis=0)].tolist()))
    is_bits = all(encoder.columns[number.column].kind != "number" for number in encoder.numbers)
    if not is_bits or math.prod(bins[j].n_bins for j in used) > _MOST_CELLS:
        return np.ones(len(patterns), dtype=bool)
    choices = np.meshgrid(*(bins[j].first for j in used), indexing="ij")
    codes = np.zeros((choices[0].size if choices else 1, encoder.n_columns))
    for j, choice in zip(used, choices, strict=True):
        codes[:, j] = choice.ravel()
    hidden = model.network.activations(model.inputs(codes))[-2]
    places = hidden.astype(int) @ (1 << np.arange(hidden.shape[1]))
    return np.isin(np.arange(len(patterns)), places)

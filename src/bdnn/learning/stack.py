"""Layers of step units over numbers and bits, as candidates make them and networks are made of.

Trees and boosted trees are votes of conditions. A literal is a bit or its negation. A leaf
is a unit that wants all literals on the way to it, with weights 1 and -1 and the threshold that
only all of them together reach; what it says of the classes are its weights to the outputs, rounded
to integers. A leaf of one literal needs no unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bdnn.clock import Slot
from bdnn.encoding import Encoder
from bdnn.learning.around import Around
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network

Array = NDArray[np.float32]
BitArray = NDArray[np.uint8]
_BLOCK = 4096  # rows at a time
#: Inputs of the first layer. With "mix" it sees numbers, and the second layer its units and bits.
Reads = Literal["numbers", "bits", "both", "mix"]


@dataclass(frozen=True, eq=False)
class Table:
    """What networks see of some rows: scaled numbers of single precision, and bits, a byte each."""

    numbers: Array
    bits: BitArray

    @classmethod
    def of(cls, encoder: Encoder, codes: FloatArray) -> Table:
        """Encode rows block by block: as doubles they take many times the memory."""
        numbers = np.empty((len(codes), encoder.n_numbers), np.float32)
        bits = np.empty((len(codes), encoder.n_bits), np.uint8)
        for block in blocks(len(codes)):
            inputs = encoder.transform(codes[block])
            numbers[block] = inputs[:, : encoder.n_numbers]
            bits[block] = inputs[:, encoder.n_numbers :]
        return cls(numbers, bits)

    def __len__(self) -> int:
        return len(self.numbers)

    def n_first(self, reads: Reads) -> int:
        """How many inputs the first layer has."""
        return int(self.rows(slice(0)).first_inputs(reads).shape[1])

    def rows(self, chosen: NDArray[np.intp] | slice) -> Table:
        """Some of the rows."""
        return Table(self.numbers[chosen], self.bits[chosen])

    def first_inputs(self, reads: Reads) -> Array:
        """What the first layer sees."""
        if reads == "both":
            return np.concatenate((self.numbers, self.bits), axis=1)
        return self.bits.astype(np.float32) if reads == "bits" else self.numbers


def blocks(n_rows: int) -> list[slice]:
    """All rows, so many at a time that what is computed of them takes little memory."""
    return [slice(first, first + _BLOCK) for first in range(0, max(1, n_rows), _BLOCK)]


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows to learn from.

    Parameters
    ----------
    table : Table
    labels : array of int of shape (n_rows,)
    weight : array of shape (n_rows,)
    n_classes : int
    wanted : array of shape (n_rows, n_classes), optional
        Probabilities of the classes to learn instead of the labels.
    around : mapping of float to Around
        What rows may become within so many times the radius that is asked for; 1 is among them,
        and then a row is right if it is right in all of that. Empty where rows stay as they are.
    """

    table: Table
    labels: NDArray[np.intp]
    weight: Array
    n_classes: int
    wanted: Array | None = None
    around: Mapping[float, Around] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, chosen: NDArray[np.intp]) -> Lesson:
        """The lesson of some rows."""
        wanted = None if self.wanted is None else self.wanted[chosen]
        return replace(
            self,
            table=self.table.rows(chosen),
            labels=self.labels[chosen],
            weight=self.weight[chosen],
            wanted=wanted,
            around={wider: around.rows(chosen) for wider, around in self.around.items()},
        )


def sent(
    reads: Reads, table: Table, weights: Sequence[Array], thresholds: Sequence[Array]
) -> Array:
    """What the layer after some layers sees."""
    values = table.first_inputs(reads)
    for k, (W, t) in enumerate(zip(weights, thresholds, strict=True)):
        values = (values @ W.T >= t).astype(np.float32)
        if k == 0 and reads == "mix":
            values = np.concatenate((values, table.bits), axis=1)
    return values


class Candidate(Protocol):
    """A way to make a network."""

    @property
    def reads(self) -> Reads:
        """Inputs that are looked at."""

    def fit(self, lesson: Lesson, *, seed: int, slot: Slot) -> Stack:
        """Make one."""


@dataclass(frozen=True, eq=False)
class Stack:
    """Integer weights and thresholds of layers of steps, whose last sums choose the class.

    Parameters
    ----------
    reads : Reads
    weights : tuple of arrays of shape (units, inputs)
    thresholds : tuple of arrays of shape (units,)
    slope : float
        Scores times this are logits.
    """

    reads: Reads
    weights: tuple[Array, ...]
    thresholds: tuple[Array, ...]
    slope: float = 1.0

    def scores(self, table: Table) -> Array:
        """Sums of the outputs above their thresholds."""
        values = sent(self.reads, table, self.weights[:-1], self.thresholds[:-1])
        return np.asarray(values @ self.weights[-1].T - self.thresholds[-1])

    def logits(self, table: Table) -> Array:
        """Scores in units of log odds."""
        return self.scores(table) * np.float32(self.slope)

    def network(self, n_numbers: int, n_bits: int, step: float) -> Network:
        """The same as a network on numbers, which are multiples of ``step``, and bits.

        Copies of bits that the second layer looks at go past the first layer of a mix as units with
        one weight.
        """
        weights = [np.asarray(W, dtype=float) for W in self.weights]
        thresholds = [np.asarray(t, dtype=float) for t in self.thresholds]
        first = np.zeros((len(weights[0]), n_numbers + n_bits))
        own = slice(n_numbers, None) if self.reads == "bits" else slice(0, n_numbers)
        first[:, slice(None) if self.reads == "both" else own] = weights[0]
        if self.reads == "mix":
            seen = np.flatnonzero(weights[1][:, len(first) :].any(axis=0))
            copies = np.zeros((len(seen), n_numbers + n_bits))
            copies[np.arange(len(seen)), n_numbers + seen] = 1.0
            places = np.append(np.arange(len(first)), len(first) + seen)
            weights[1] = weights[1][:, places]
            first = np.concatenate((first, copies))
            thresholds[0] = np.concatenate((thresholds[0], np.ones(len(seen))))
        weights[0] = first
        for k in range(len(weights) - 1):
            # Sums lie on a grid, so that this changes nothing and takes few digits.
            grid = min(step, 1.0) if k == 0 and self.reads != "bits" else 1.0
            if grid:
                thresholds[k] = np.ceil(thresholds[k] / grid) * grid
        limits = [int(max(1.0, np.abs(W).max(initial=0.0))) for W in weights]
        shape = Architecture.create(
            n_numbers + n_bits,
            len(weights[-1]),
            hidden=tuple(len(W) for W in weights[:-1]),
            weights=["ternary" if limit == 1 else f"int:{limit}" for limit in limits],
        )
        return Network(shape, tuple(weights), tuple(thresholds))


#: Bits in ascending order, as 2 * bit + 1 where it has to be on and 2 * bit where off.
Literals = tuple[int, ...]

_MOST_VOTES = 127  # fits into a byte


class Votes:
    """What conditions add to the scores of the classes."""

    def __init__(self, n_bits: int, n_classes: int) -> None:
        self.n_bits = n_bits
        self.base = np.zeros(n_classes)
        self.of: dict[Literals, NDArray[np.float64]] = {}

    def add(self, literals: Literals, votes: NDArray[np.float64]) -> None:
        """Let rows of which all literals are true vote."""
        if not literals:
            self.base = self.base + votes
        elif len(literals) == 1 and literals[0] % 2 == 0:
            # Where a bit is off: everywhere, less where it is on.
            self.base = self.base + votes
            self.add((literals[0] + 1,), -votes)
        else:
            self.of[literals] = self.of.get(literals, np.zeros(len(votes))) + votes

    def stack(self, slope: float = 1.0) -> Stack:
        """The network of the rounded votes; scores times ``slope`` are logits before rounding."""
        return as_stack(self.of, self.base, self.n_bits, slope)


def as_stack(
    votes: Mapping[Literals, NDArray[np.float64]],
    base: NDArray[np.float64],
    n_bits: int,
    slope: float = 1.0,
) -> Stack:
    """A network of conditions and their votes."""
    conditions = list(votes)
    values = np.array([votes[c] for c in conditions]).reshape(len(conditions), len(base))
    if len(base) == 2:  # only the difference matters, and one output has nothing to add
        values = np.stack((np.zeros(len(values)), values[:, 1] - values[:, 0]), axis=1)
        base = np.array([0.0, base[1] - base[0]])
    rounded, thresholds, factor = rounded_votes(values.T, base)
    if all(len(c) == 1 for c in conditions):
        weights = np.zeros((len(base), n_bits), np.float32)
        weights[:, [c[0] // 2 for c in conditions]] = rounded
        return Stack("bits", (weights,), (thresholds,), slope / factor)
    first = np.zeros((len(conditions), n_bits), np.float32)
    for unit, condition in enumerate(conditions):
        places = np.array(condition)
        first[unit, places // 2] = 2 * (places % 2) - 1
    wanted = (first > 0).sum(axis=1).astype(np.float32)
    return Stack("bits", (first, rounded), (wanted, thresholds), slope / factor)


def rounded_votes(
    values: NDArray[np.float64], base: NDArray[np.float64]
) -> tuple[Array, Array, float]:
    """Round real votes of shape (outputs, inputs) to a byte each; thresholds, and the factor."""
    largest = float(np.abs(values).max(initial=0.0))
    factor = _MOST_VOTES / largest if largest > 0 else 1.0
    return np.rint(values * factor).astype(np.float32), (-base * factor).astype(np.float32), factor

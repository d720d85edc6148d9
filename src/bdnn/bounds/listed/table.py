"""Every unit that integer weights allow, as orders of the inputs.

A unit splits the inputs in the order of its sums: those from some place on are on. For few features
and a small weight set all weight vectors can be listed; one of each pair of negatives is enough,
because its inputs can be on from the top or from the bottom. Sums are formed as the network forms
them and only compared with each other, so nothing is rounded and ties are the network's ties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.bounds.enumeration import n_weight_vectors, weight_vectors
from bdnn.clock import BackgroundLoad, Slot
from bdnn.compiled import compiled
from bdnn.network.activation import BoolArray, FloatArray, weighted_sums
from bdnn.network.architecture import WeightSet

Indices = NDArray[np.int64]

# Places in the orders of all weight vectors, and inputs, whose numbers have 16 bits.
_LARGEST_TABLE = 10_000_000
_MOST_INPUTS = 2**15 - 1
_CHUNK = 200_000
_NONE = -(2**62)
_ENDLESS = Slot()


class Domain(NamedTuple):
    """Units with given values at some inputs: weight vectors, and where they may be cut.

    Line 0 of ``after`` and ``until`` is for inputs on above the cut, line 1 for inputs on below it.
    A cut at ``q`` has ``q`` inputs below it, and ``after < q <= until``.
    """

    vectors: Indices
    after: Indices
    until: Indices


class UnitTable:
    """The order of the inputs for every weight vector."""

    def __init__(
        self,
        inputs: FloatArray,  # (n_inputs, n_features)
        kind: WeightSet,  # a set for which :func:`is_listable` holds
        slot: Slot = _ENDLESS,  # when it is over the table is left incomplete
    ) -> None:
        self.n_inputs, n_features = inputs.shape
        self.n_vectors = n_weight_vectors(kind, n_features)
        shape = (self.n_vectors, self.n_inputs)
        self.order = np.empty(shape, dtype=np.uint16)
        self.is_cut = np.ones((self.n_vectors, self.n_inputs + 1), dtype=bool)
        self._places = np.empty(shape[::-1], dtype=np.int16)
        size, done = max(1, _CHUNK // self.n_inputs), 0
        for W in weight_vectors(kind, n_features, size):
            if slot.is_over():
                break
            sums = weighted_sums(inputs, W).T
            order = np.argsort(sums, axis=1)
            ranked = np.take_along_axis(sums, order, axis=1)
            part = slice(done, done + len(W))
            self.order[part] = order
            self.is_cut[part, 1:-1] = ranked[:, 1:] != ranked[:, :-1]
            self._places[order.T, np.arange(done, done + len(W))] = np.arange(self.n_inputs)[
                :, None
            ]
            done += len(W)
        self.is_complete = done == self.n_vectors

    def domain(self, on: list[int], off: list[int], vectors: Indices | None = None) -> Domain:
        """All units, of given weight vectors, that are on and off at given inputs."""
        if vectors is None:
            vectors = np.arange(self.n_vectors)
        first_on, last_on = self._span(on, vectors)
        first_off, last_off = self._span(off, vectors)
        after, until = np.array([last_off, last_on]), np.array([first_on, first_off])
        left = (after < until).any(axis=0)
        return Domain(
            vectors[left],
            np.ascontiguousarray(after[:, left]),
            np.ascontiguousarray(until[:, left]),
        )

    def _span(self, members: list[int], vectors: Indices) -> tuple[Indices, Indices]:
        if not members:
            return np.full(len(vectors), self.n_inputs), np.full(len(vectors), -1)
        places = self._places[members][:, vectors].astype(np.int64)
        return places.min(axis=0), places.max(axis=0)

    def best(self, domain: Domain, gains: Indices) -> tuple[Indices, Indices]:
        """Largest sum of the gains of the inputs that are on, per weight vector, and its cut.

        A cut ``q`` stands for inputs on above it, ``-1 - q`` for inputs on below it. Vectors
        without a cut in the domain have a value below all sums.
        """
        values = np.empty(len(domain.vectors), dtype=np.int64)
        cuts = np.empty(len(domain.vectors), dtype=np.int64)
        _best_cuts(self.order, self.is_cut, *domain, gains, values, cuts)
        return values, cuts

    def is_empty(self, values: Indices) -> bool:
        """Tell by the values of :meth:`best` whether the domain has no unit."""
        return len(values) == 0 or int(values.max()) == _NONE

    def pattern(self, vector: int, cut: int) -> BoolArray:
        """Where the unit of a weight vector and a cut is on."""
        on = np.zeros(self.n_inputs, dtype=bool)
        order = self.order[vector]
        on[order[cut:] if cut >= 0 else order[: -1 - cut]] = True
        return on

    def decided(self, domain: Domain) -> tuple[BoolArray, BoolArray]:
        """At which inputs all units of a domain are on, and at which all are off."""
        can = np.zeros((2, self.n_inputs), dtype=bool)
        _possible(self.order, self.is_cut, *domain, can)
        return ~can[0], ~can[1]


def is_listable(kind: WeightSet, n_inputs: int, n_features: int) -> bool:
    """Tell whether the table of a weight set is small enough."""
    if not kind.integer or not 0 < n_inputs <= _MOST_INPUTS:
        return False
    return n_weight_vectors(kind, n_features) * n_inputs <= _LARGEST_TABLE


@compiled
def _best_cuts(
    order: NDArray[np.uint16],
    is_cut: BoolArray,
    vectors: Indices,
    after: Indices,
    until: Indices,
    gains: Indices,
    values: Indices,
    cuts: Indices,
) -> None:
    total = gains.sum()
    below = np.zeros(len(gains) + 1, dtype=np.int64)
    for z in range(len(vectors)):
        line, is_end = order[vectors[z]], is_cut[vectors[z]]
        for q in range(min(len(gains), max(until[0, z], until[1, z]))):
            below[q + 1] = below[q] + gains[line[q]]
        least, cut = -_NONE, 0
        for q in range(after[0, z] + 1, until[0, z] + 1):
            if below[q] < least and is_end[q]:
                least, cut = below[q], q
        best = _NONE if least == -_NONE else total - least
        for q in range(after[1, z] + 1, until[1, z] + 1):
            if below[q] > best and is_end[q]:
                best, cut = below[q], -1 - q
        values[z], cuts[z] = best, cut


@compiled
def _possible(
    order: NDArray[np.uint16],
    is_cut: BoolArray,
    vectors: Indices,
    after: Indices,
    until: Indices,
    can: BoolArray,
) -> None:
    """Mark in line 0 of ``can`` inputs that some unit has off, in line 1 those that one has on."""
    n_inputs = order.shape[1]
    left = 2 * n_inputs
    for z in range(len(vectors)):
        k = vectors[z]
        for side in range(2):
            first, last = -1, -1
            for q in range(after[side, z] + 1, until[side, z] + 1):
                if is_cut[k, q]:
                    last = q
                    if first < 0:
                        first = q
            if first < 0:
                continue
            # Below the last cut an input may be below, above the first one it may be above.
            for q in range(n_inputs):
                i = order[k, q]
                if q < last and not can[side, i]:
                    can[side, i] = True
                    left -= 1
                if q >= first and not can[1 - side, i]:
                    can[1 - side, i] = True
                    left -= 1
        if left == 0:
            return


def _load() -> None:
    """Compile or load what a table needs, on two inputs."""
    table = UnitTable(np.array([[0.0], [1.0]]), WeightSet.parse("ternary"))
    domain = table.domain([], [])
    table.best(domain, np.ones(2, dtype=np.int64))
    table.decided(domain)


KERNELS = BackgroundLoad(_load, name="bdnn-compile-units")

"""Sets of inputs around training samples: the sums that they have (paper, robust model).

    active:    W c_i - d_i a - r_i n - t >= -M_i (1 - u)
    inactive:  W c_i + d_i a + r_i n - t <= -margin + M_i v

With u = v activations must hold for every perturbation of a sample, which is the paper's model;
with two variables the rows say what surely holds, see `layers`.

The dual norm n of a unit's weights is what a perturbation of length 1 changes at most; larger
values only make the rows harder, so that ``n >= ||w||_*`` is enough:

    a_j >= |w_j|        linf  n = sum_j a_j        l1  n >= |w_j|        l2  ||w||_2 <= n, a cone

Where the bin of a raw column decides inputs, these move together. With p(b) the inputs in bin b,
the least part z of a sum over a set S of bins in reach, and the largest one y, are

    z <= w p(b) <= y   for all b in S

which stand once per set, unit and column, however many lines share the set.

The paper's ``M_1^i = n (r + r_i)`` lacks the threshold's range; here M is the box bound of the sums
plus r_i times the largest dual norm of the box, and the thresholds' range, see `bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bdnn.blocks.bounds import box_bounds, input_unit
from bdnn.blocks.layers import Sums
from bdnn.blocks.weights import LayerWeights
from bdnn.network.activation import BoolArray, FloatArray, weighted_sums
from bdnn.network.architecture import WeightSet
from bdnn.network.norms import Norm, dual_length
from bdnn.program import IndexArray, Program


class BinSets(Protocol):
    """Bins of a raw column that lines reach, see :class:`bdnn.problem.reach.BinReach`."""

    @property
    def inputs(self) -> NDArray[np.intp]:
        """Places of the inputs that a bin decides."""

    @property
    def patterns(self) -> FloatArray:
        """These inputs in every bin."""

    @property
    def sets(self) -> BoolArray:
        """Bins of every set."""

    @property
    def set_of(self) -> NDArray[np.intp]:
        """The set that a line reaches."""

    def table(self, W: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Least and largest part of sums, of shape (n_sets, n_units)."""


@dataclass(frozen=True, eq=False)
class InputSets:
    """Inputs and what may become of them: sums lie within ``W c -+ (d |w| + r n)``.

    Inputs that bins decide add what is least and most in the bins instead.
    """

    centre: FloatArray  # (n_sets, n_features)
    # (n_sets, n_features): half the width of boxes around the centres.
    width: FloatArray | None = None
    # (n_sets,): of balls around the centres, whose dual norm is n.
    radius: FloatArray | None = None
    norm: Norm = "linf"  # of the balls
    bins: tuple[BinSets, ...] = ()  # beside a box, which holds their inputs too
    # (n_sets,): the input that a set is around, where there may be several of one.
    line: IndexArray | None = None

    def groups(self, groups: IndexArray) -> IndexArray:
        """What sets belong to, given what inputs do."""
        return groups if self.line is None else groups[self.line]

    @property
    def is_number(self) -> BoolArray:
        """Which inputs no bin decides."""
        found = np.ones(self.centre.shape[1], dtype=bool)
        for column in self.bins:
            found[column.inputs] = False
        return found

    def unit(self, weights: WeightSet) -> tuple[float, bool]:
        """Unit of sums, and whether they are whole in it."""
        parts = self.centre if self.width is None else np.hstack([self.centre, self.width])
        unit, exact = input_unit(parts, integer=weights.integer)
        if self.radius is not None:
            multiples = self.radius / unit
            exact = exact and bool((multiples == np.rint(multiples)).all())
            exact = exact and (self.norm != "l2" or not self.radius.any())
        return unit, exact

    def box_bounds(
        self, unit: float, weights: WeightSet, box: tuple[float, float]
    ) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest sums in a unit, for any weights."""
        lowest, highest = box_bounds(self.centre / unit, box)
        largest = np.full((1, self.centre.shape[1]), float(weights.limit))
        reach = np.zeros(len(self.centre))
        if self.width is not None:
            reach += self.width @ largest[0]
        if self.radius is not None:
            reach += self.radius * dual_length(self.norm, largest)
        reach = np.ceil(reach / unit)
        return lowest - reach, highest + reach

    def sums(self, W: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Least and largest sums of weights."""
        own = np.where(self.is_number, W, 0.0) if self.bins else W
        sums = weighted_sums(self.centre, own)
        reach = np.zeros(sums.shape)
        if self.width is not None:
            reach = reach + self.width @ np.abs(own).T
        if self.radius is not None:
            reach = reach + self.radius[:, None] * dual_length(self.norm, own)
        least, largest = sums - reach, sums + reach
        for column in self.bins:
            part = column.table(W)
            least, largest = least + part[0][column.set_of], largest + part[1][column.set_of]
        return least, largest


@dataclass(frozen=True)
class DualNorms:
    """Variables ``n`` and ``a >= |w|`` of a first layer's units, as sets of inputs need them.

    And the least and the largest parts of columns that have bins, of shape (n_sets, n_units).
    """

    layer: LayerWeights
    norm: Norm
    n: IndexArray | None
    a: IndexArray | None
    bins: tuple[BinSets, ...] = ()
    parts: tuple[tuple[IndexArray, IndexArray], ...] = ()

    @classmethod
    def add(cls, program: Program, layer: LayerWeights, sets: list[InputSets]) -> DualNorms:
        """Add the sizes and dual norms of a layer's weights."""
        W, limit = layer.W, float(layer.weights.limit)
        norm = sets[-1].norm
        has_norm, has_sizes = sets[-1].radius is not None, sets[-1].width is not None
        whole = layer.weights.integer and norm != "l2"
        n = a = None
        if has_norm:
            most = dual_length(norm, np.full((1, W.shape[1]), limit))[0]
            n = program.add_variables("norm1", (len(W),), upper=most, integer=whole)
        if has_sizes or (has_norm and norm == "linf"):
            integer = layer.weights.integer
            a = program.add_variables("size1", W.shape, upper=limit, integer=integer)
        if n is not None and norm == "linf" and a is not None:
            columns = np.concatenate([a, n[:, None]], axis=1)
            values = np.append(-np.ones(W.shape[1]), 1.0)
            program.add_rows("norm1", columns, values, lower=0.0)
        if n is not None and norm == "l2":
            program.add_cones("norm1", W, n)
        sizes = [] if a is None else [a]
        if n is not None and norm == "l1":
            sizes.append(np.broadcast_to(n[:, None], W.shape))
        for columns in sizes:
            pairs = np.stack([columns, W], axis=-1)
            for sign in (-1.0, 1.0):
                program.add_rows("size1", pairs, [1.0, sign], lower=0.0)
        parts = tuple(_add_parts(program, layer, column) for column in sets[0].bins)
        return cls(layer, norm, n, a, sets[0].bins, parts)

    def sums(self, sets: InputSets) -> tuple[Sums, Sums]:
        """Columns and coefficients of the least and the largest sums of sets."""
        unit, own = self.layer.bounds.unit, sets.is_number
        terms, centre = [self.layer.W[:, own]], (sets.centre[:, own] / unit)[:, None, :]
        reach = []
        if sets.width is not None and self.a is not None:
            terms.append(self.a[:, own])
            reach.append((sets.width[:, own] / unit)[:, None, :])
        if sets.radius is not None and self.n is not None:
            terms.append(self.n[:, None])
            reach.append((sets.radius / unit)[:, None, None])
        columns = np.concatenate(terms, axis=1)[None]
        least, largest = (
            Sums(columns, np.concatenate([centre, *(sign * part for part in reach)], axis=-1))
            for sign in (-1.0, 1.0)
        )
        if sets.bins:
            lowest, highest = zip(*self.parts, strict=True)
            least = _with_parts(least, lowest, sets.bins, unit)
            largest = _with_parts(largest, highest, sets.bins, unit)
        return least, largest

    def lift(self, x: FloatArray) -> None:
        """Fill in the sizes of the weights that a start has."""
        W = x[self.layer.W]
        if self.a is not None:
            x[self.a] = np.abs(W)
        if self.n is not None:
            x[self.n] = dual_length(self.norm, W)
        for column, (least, largest) in zip(self.bins, self.parts, strict=True):
            x[least], x[largest] = column.table(W)


def _add_parts(
    program: Program, layer: LayerWeights, column: BinSets
) -> tuple[IndexArray, IndexArray]:
    """Add what a column adds to sums at least and at most, for all sets of bins in reach."""
    W, number = layer.W[:, column.inputs], int(column.inputs[0])
    most = float(layer.weights.limit) * np.abs(column.patterns).sum(axis=1).max(initial=0.0)
    whole = layer.weights.integer and bool((column.patterns == np.rint(column.patterns)).all())
    shape = (len(column.sets), len(W))
    group, b = np.nonzero(column.sets)
    found = []
    for name, sign in (("least", 1.0), ("largest", -1.0)):
        part = program.add_variables(
            f"{name}1_{number}", shape, lower=-most, upper=most, integer=whole
        )
        columns = np.concatenate(
            [np.broadcast_to(W, (len(b), *W.shape)), part[group][:, :, None]], axis=-1
        )
        ends = np.full((len(b), 1), -1.0)
        values = sign * np.concatenate([column.patterns[b], ends], axis=1)[:, None, :]
        program.add_rows(f"{name}1_{number}", columns, values, lower=0.0)
        found.append(part)
    return found[0], found[1]


def _with_parts(
    sums: Sums, parts: tuple[IndexArray, ...], bins: tuple[BinSets, ...], unit: float
) -> Sums:
    """Sums of numbers with those of the bins that every line reaches."""
    found = np.stack(
        [part[column.set_of] for part, column in zip(parts, bins, strict=True)], axis=-1
    )
    lines, units = found.shape[:2]
    columns = np.broadcast_to(sums.columns, (lines, units, sums.columns.shape[-1]))
    values = np.broadcast_to(sums.coefficients, (lines, units, sums.coefficients.shape[-1]))
    ones = np.full(found.shape, 1.0 / unit)
    return Sums(np.concatenate([columns, found], axis=-1), np.concatenate([values, ones], axis=-1))

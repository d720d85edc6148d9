"""Hidden layers of the program of certified training: units that are surely on, or surely off.

Legend: a_ij is 1 only if unit j is surely on in the region of sample i, b_ij is 0 only if it is
surely off. First layer: W = p - q weights in their positive and negative parts, t thresholds,
[lo_i, hi_i] the box of a sample, c_i and r_i the centre and radius of its ball, h what rounding
adds to an input, n the dual norm of a unit's weights.

    box on:    p lo_i - q hi_i - t_j >= -M (1 - a_ij)
    box off:   p hi_i - q lo_i - t_j <= -margin + M b_ij
    ball on:   (p - q) c_i - h (p + q) - r_i n_j - t_j >= -M (1 - a'_ij)
    ball off:  (p - q) c_i + h (p + q) + r_i n_j - t_j <= -margin + M b'_ij
    either:    a''_ij <= a_ij + a'_ij,   b''_ij >= b_ij + b'_ij - 1       for l_1 and l_2

Layers above, with inputs k and the least and largest products l and g of a weight and its input:

    least:     l_ijk <= K a_ik,    l_ijk <= W_jk + K (1 - b_ik)
    largest:   g_ijk >= -K a_ik,   g_ijk >= W_jk - K (1 - b_ik)
    on:        sum_k l_ijk - t_j >= -M (1 - a_ij)
    off:       sum_k g_ijk - t_j <= -margin + M b_ij

The rows only understate what is sure: p and q may overlap, a may be 0 and b may be 1 without need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.encoding.scaling import grid_step
from bdnn.mip.bounds import INTEGRALITY_TOLERANCE
from bdnn.mip.certified_rows import (
    add_dual_norms,
    add_least,
    add_states,
    add_switches,
    add_thresholds,
    add_weights,
    clean,
    lift_states,
    lift_thresholds,
    read_thresholds,
)
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.problem.regions import Regions
from bdnn.program import IndexArray, Program, interleave


@dataclass(frozen=True, eq=False)
class FirstLayer:
    """Weights, thresholds and certain states of the first layer; make it with :meth:`add`."""

    regions: Regions
    weights: WeightSet
    unit: float
    margin: float
    exact: bool
    p: IndexArray
    q: IndexArray
    t: IndexArray | None
    n: IndexArray | None
    box: tuple[IndexArray, IndexArray]
    ball: tuple[IndexArray, IndexArray] | None
    a: IndexArray
    b: IndexArray

    @classmethod
    def add(
        cls, program: Program, architecture: Architecture, regions: Regions, *, eps: float
    ) -> FirstLayer:
        """Add variables and rows of the first layer."""
        weights, units = architecture.weights[0], architecture.hidden[0]
        low, high = regions.low, regions.high
        m, n_features = low.shape
        has_balls = regions.norm != "linf"
        # Dual norms and roundings of balls lie on no grid.
        step = None
        if weights.integer and not has_balls:
            step = grid_step(np.concatenate([low, high]))
        unit = step or float(np.abs([low, high]).max(initial=0.0)) or 1.0
        largest = np.maximum(np.abs(low), np.abs(high))
        if has_balls:
            outer = np.abs(regions.centre) + regions.radius[:, None] + regions.rounding
            largest = np.maximum(largest, outer)
        limit = float(weights.limit)
        reach = limit * largest.sum(axis=1) / unit
        margin = 1.0 if step else max(eps, 8 * INTEGRALITY_TOLERANCE * (2 * reach.max() + 1))
        span = float(np.ceil(reach.max(initial=0.0))) + 1.0
        p, q = (
            program.add_variables(name, (units, n_features), upper=limit, integer=weights.integer)
            for name in ("p", "q")
        )
        if not weights.zero:
            pairs = np.stack([p, q], axis=-1)
            program.add_rows("binary", pairs, [1.0, 1.0], lower=1.0, upper=1.0)
        t = add_thresholds(program, "t", architecture, units, span, integer=step is not None)
        box = add_states(program, "box" if has_balls else "1", (m, units))
        M = (reach + span + margin)[:, None]
        lo, hi = low / unit, high / unit
        parts = np.concatenate([p, q], axis=1)[None]
        add_switches(program, "box", parts, [lo, -hi], [hi, -lo], t, box, M, margin)
        n, ball, states = None, None, box
        if has_balls:
            n = add_dual_norms(program, p, q, regions.norm, limit)
            ball = add_states(program, "ball", (m, units))
            centre, h = regions.centre / unit, regions.rounding / unit
            r = (regions.radius / unit)[:, None]
            add_switches(
                program,
                "ball",
                np.concatenate([p, q, n[:, None]], axis=1)[None],
                [centre - h, -centre - h, -r],
                [centre + h, -centre + h, r],
                t,
                ball,
                M,
                margin,
            )
            states = add_states(program, "1", (m, units))
            for name, ways, state, side in (
                ("either_on", (box[0], ball[0]), states[0], {"lower": 0.0}),
                ("either_off", (box[1], ball[1]), states[1], {"upper": 1.0}),
            ):
                columns = np.stack([*ways, state], axis=-1)
                program.add_rows(name, columns, [1.0, 1.0, -1.0], **side)
        return cls(regions, weights, unit, margin, step is not None, p, q, t, n, box, ball, *states)

    def read(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights and thresholds of a solution."""
        W = clean(x[self.p] - x[self.q], self.weights)
        return W, read_thresholds(x, self.t, len(W), self.margin, exact=self.exact) * self.unit

    def lift(self, x: FloatArray, W: FloatArray, t: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Fill in a layer of a network; return what is surely on and what may be on."""
        regions, unit = self.regions, self.unit
        x[self.p], x[self.q] = np.maximum(W, 0.0), np.maximum(-W, 0.0)
        low, high = regions.low, regions.high
        lower = (low @ x[self.p].T - high @ x[self.q].T) / unit
        upper = (high @ x[self.p].T - low @ x[self.q].T) / unit
        levels = lift_thresholds(x, self.t, t / unit, self.margin, exact=self.exact)
        on, possible = lift_states(x, self.box, lower, upper, levels, self.margin)
        if self.n is None or self.ball is None:
            return on, possible
        size = np.abs(W)
        x[self.n] = size.max(axis=1) if regions.norm == "l1" else np.linalg.norm(W, axis=1)
        # Cones are kept up to a tolerance only from one side.
        x[self.n] *= 1.0 + 1e-12
        reach = regions.radius[:, None] * x[self.n] + regions.rounding * size.sum(axis=1)
        sums = regions.centre @ W.T
        by_ball = lift_states(
            x, self.ball, (sums - reach) / unit, (sums + reach) / unit, levels, self.margin
        )
        on, possible = on | by_ball[0], possible & by_ball[1]
        x[self.a], x[self.b] = on, possible
        return on, possible


@dataclass(frozen=True, eq=False)
class UpperLayer:
    """A hidden layer above the first; make it with :meth:`add`."""

    weights: WeightSet
    margin: float
    W: IndexArray
    v: IndexArray | None
    t: IndexArray | None
    least: IndexArray
    largest: IndexArray
    a: IndexArray
    b: IndexArray

    @classmethod
    def add(
        cls,
        program: Program,
        architecture: Architecture,
        number: int,
        below: FirstLayer | UpperLayer,
        *,
        eps: float,
    ) -> UpperLayer:
        """Add variables and rows of the layer of this number, counted from 0."""
        weights, units = architecture.weights[number], architecture.hidden[number]
        m, inputs = below.a.shape
        limit, name = float(weights.limit), str(number + 1)
        reach = limit * inputs
        margin = 1.0 if weights.integer else max(eps, 8 * INTEGRALITY_TOLERANCE * (2 * reach + 1))
        W, v = add_weights(program, f"W{name}", (units, inputs), weights)
        t = add_thresholds(
            program, f"t{name}", architecture, units, reach + 1.0, integer=weights.integer
        )
        least, largest = (
            program.add_variables(
                f"{side}{name}", (m, units, inputs), lower=-limit, upper=limit,
                integer=weights.integer,
            )
            for side in ("least", "largest")
        )  # fmt: skip
        shape = least.shape
        on, possible = (np.broadcast_to(s[:, None, :], shape) for s in (below.a, below.b))
        factor = np.broadcast_to(W, shape)
        add_least(program, name, least, [(factor, 1.0)], on, possible, limit)
        program.add_rows(
            f"largest_on{name}", np.stack([largest, on], axis=-1), [1.0, limit], lower=0.0
        )
        program.add_rows(
            f"largest_off{name}",
            np.stack([largest, factor, possible], axis=-1),
            [1.0, -1.0, -limit],
            lower=-limit,
        )
        a, b = add_states(program, name, (m, units))
        M = 2.0 * reach + 1.0 + margin
        for way, products, state, side in (
            ("on", least, a, {"lower": -M}),
            ("off", largest, b, {"upper": -margin}),
        ):
            columns, values = [products, state[..., None]], [1.0] * inputs + [-M]
            if t is not None:
                columns.append(np.broadcast_to(t[None, :, None], (*state.shape, 1)))
                values.append(-1.0)
            program.add_rows(f"{way}{name}", interleave(*columns), values, **side)
        program.add_rows(f"order{name}", np.stack([b, a], axis=-1), [1.0, -1.0], lower=0.0)
        return cls(weights, margin, W, v, t, least, largest, a, b)

    def read(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights and thresholds of a solution."""
        W = clean(x[self.W], self.weights)
        return W, read_thresholds(x, self.t, len(W), self.margin, exact=self.weights.integer)

    def lift(
        self, x: FloatArray, W: FloatArray, t: FloatArray, below: tuple[BoolArray, BoolArray]
    ) -> tuple[BoolArray, BoolArray]:
        """Fill in a layer of a network; return what is surely on and what may be on."""
        x[self.W] = W
        if self.v is not None:
            x[self.v] = (W + 1.0) / 2.0
        products = [W[None] * state[:, None, :] for state in below]
        x[self.least], x[self.largest] = np.minimum(*products), np.maximum(*products)
        lower, upper = x[self.least].sum(axis=2), x[self.largest].sum(axis=2)
        levels = lift_thresholds(x, self.t, t, self.margin, exact=self.weights.integer)
        return lift_states(x, (self.a, self.b), lower, upper, levels, self.margin)

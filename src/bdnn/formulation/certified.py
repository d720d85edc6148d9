"""Certified training as a program: a sample is right only if its class holds in its whole box.

Legend: W = p - q first-layer weights in their positive and negative parts, t thresholds; [lo_i,
hi_i] the box of sample i; a_ij is 1 only if unit j is surely on in it, b_ij is 0 only if it is
surely off; V, T weights and thresholds of the outputs; c the sample's class, o any other; e_i is 1
if the sample is given up.

    on:       p lo_i - q hi_i - t_j >= -M (1 - a_ij)
    off:      p hi_i - q lo_i - t_j <= -margin + M b_ij
    free:     r_ijo <= K a_ij,   r_ijo <= V_cj - V_oj + K (1 - b_ij)
    lead:     sum_j r_ijo - (T_c - T_o) >= least - M e_i
    minimise  sum_i mass_i e_i

The rows only understate a lead: p and q may overlap, a may be 0 and b may be 1 without need. For
integer weights T is a multiple of 1 / (number of classes): only the whole parts of differences of
thresholds and the order of their fractional parts matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bdnn.activation import FloatArray
from bdnn.architecture import Architecture
from bdnn.formulation.bounds import INTEGRALITY_TOLERANCE
from bdnn.formulation.loss import OutputLoss
from bdnn.network import Network
from bdnn.program import IndexArray, Program, interleave
from bdnn.scaling import grid_step


@dataclass(frozen=True, eq=False)
class CertifiedModel:
    """A certified training problem of one hidden layer as a program; build it with :meth:`build`.

    Attributes
    ----------
    program : Program
    margin : float
        Margin that the model asks for and the data do not give; 0 for integer weights on a grid.
    """

    architecture: Architecture
    program: Program
    margin: float
    low: FloatArray
    high: FloatArray
    labels: NDArray[np.intp]
    unit: float
    off_margin: float
    least: float
    per_one: float
    p: IndexArray
    q: IndexArray
    t: IndexArray | None
    V: IndexArray
    T: IndexArray | None
    a: IndexArray
    b: IndexArray
    r: IndexArray
    e: IndexArray
    loss: OutputLoss

    @classmethod
    def build(
        cls,
        architecture: Architecture,
        low: FloatArray,
        high: FloatArray,
        labels: NDArray[np.intp],
        mass: FloatArray,
        *,
        eps: float,
    ) -> CertifiedModel:
        """Write down the program for boxes around samples.

        Parameters
        ----------
        architecture : Architecture
            With one hidden layer.
        low, high : arrays of shape (n_samples, n_features)
        labels : array of shape (n_samples,)
        mass : array of shape (n_samples,)
            What it costs not to certify a sample.
        eps : float
            Strictness margin of continuous weights, relative to the largest input.
        """
        program = Program()
        first, top = architecture.weights
        m, n = low.shape
        units, outputs = architecture.hidden[0], architecture.n_outputs
        step = grid_step(np.concatenate([low, high])) if first.integer else None
        unit = step or float(np.abs([low, high]).max(initial=0.0)) or 1.0
        lo, hi = low / unit, high / unit
        limit = float(first.limit)
        reach = limit * np.maximum(np.abs(lo), np.abs(hi)).sum(axis=1)
        off_margin = 1.0 if step else max(eps, 8 * INTEGRALITY_TOLERANCE * (2 * reach.max() + 1))
        span = float(np.ceil(reach.max(initial=0.0))) + 1.0
        p, q = (
            program.add_variables(name, (units, n), upper=limit, integer=first.integer)
            for name in ("p", "q")
        )
        if not first.zero:
            pairs = np.stack([p, q], axis=-1)
            program.add_rows("binary", pairs, [1.0, 1.0], lower=1.0, upper=1.0)
        t = _thresholds(program, "t", architecture, units, span, integer=step is not None)
        top_low = float(-top.limit)
        V = program.add_variables(
            "V", (outputs, units), lower=top_low, upper=float(top.limit), integer=top.integer
        )
        if not top.zero:
            v = program.add_variables("v", V.shape, integer=True)
            pairs = np.stack([V, v], axis=-1)
            program.add_rows("binary_top", pairs, [1.0, -2.0], lower=-1.0, upper=-1.0)
        per_one = float(outputs) if top.integer else 1.0
        top_span = per_one * (2.0 * top.limit * units + 1.0)
        T = _thresholds(program, "T", architecture, outputs, top_span, integer=top.integer)
        least = 1.0 if top.integer else max(eps, 8 * INTEGRALITY_TOLERANCE * (4 * units + 2))
        a, b = (program.add_variables(name, (m, units), integer=True) for name in ("a", "b"))
        K = 2.0 * top.limit
        r = program.add_variables(
            "r", (m, units, outputs - 1), lower=-K, upper=K, integer=top.integer
        )
        e = program.add_variables("e", (m,), integer=True)
        model = cls(
            architecture,
            program,
            max(0.0 if step else off_margin, 0.0 if top.integer else least),
            low,
            high,
            labels,
            unit,
            off_margin,
            least,
            per_one,
            p,
            q,
            t,
            V,
            T,
            a,
            b,
            r,
            e,
            OutputLoss(mass[:, None], np.zeros((m, 1))),
        )
        model._add_first_layer(lo, hi, reach + span)
        model._add_leads(K)
        model.loss.add(program, e[:, None])
        return model

    def _add_first_layer(self, lo: FloatArray, hi: FloatArray, M: FloatArray) -> None:
        weights = np.concatenate([self.p, self.q], axis=1)[None]
        M = (M + self.off_margin)[:, None]
        for name, state, sides in (("on", self.a, (lo, hi)), ("off", self.b, (hi, lo))):
            values = np.concatenate([sides[0], -sides[1]], axis=1)[:, None, :]
            columns = [weights, state[..., None]]
            shape = (*state.shape, 1)
            parts = [
                np.broadcast_to(values, (*state.shape, values.shape[-1])),
                np.broadcast_to(-M[..., None], shape),
            ]
            if self.t is not None:
                columns.append(self.t[None, :, None])
                parts.append(np.full(shape, -1.0))
            row = interleave(*columns), np.concatenate(parts, axis=-1)
            if name == "on":
                self.program.add_rows(name, *row, lower=-M)
            else:
                self.program.add_rows(name, *row, upper=-self.off_margin)
        self.program.add_rows("order", np.stack([self.b, self.a], axis=-1), [1.0, -1.0], lower=0.0)

    def _add_leads(self, K: float) -> None:
        program, outputs = self.program, self.architecture.n_outputs
        others = np.array([[o for o in range(outputs) if o != c] for c in range(outputs)])
        own = self.V[self.labels][..., None]
        other = self.V[others[self.labels]].transpose(0, 2, 1)
        a, b = (np.broadcast_to(x[..., None], self.r.shape) for x in (self.a, self.b))
        program.add_rows("free_on", np.stack([self.r, a], axis=-1), [1.0, -K], upper=0.0)
        columns = np.stack([self.r, np.broadcast_to(own, self.r.shape), other, b], axis=-1)
        program.add_rows("free_off", columns, [1.0, -1.0, 1.0, K], upper=K)
        leads = self.r.transpose(0, 2, 1)
        given_up = np.broadcast_to(self.e[:, None, None], (*leads.shape[:2], 1))
        M = self.per_one * K * self.r.shape[1] + 2 * self._top_span + self.least
        parts = [leads, given_up]
        values = [np.full(leads.shape[-1], self.per_one), np.array([M])]
        if self.T is not None and self.architecture.thresholds == "neuron":
            T = self.T
            parts += [
                np.broadcast_to(T[self.labels][:, None, None], (*leads.shape[:2], 1)),
                T[others[self.labels]][..., None],
            ]
            values.append(np.array([-1.0, 1.0]))
        program.add_rows(
            "lead", interleave(*parts), np.concatenate(values), lower=self._least_leads
        )

    @property
    def _least_leads(self) -> FloatArray:
        """Leads that samples need over the other classes, of shape (n_samples, outputs - 1).

        Integer weights without thresholds of their own have ties, which the lower class wins.
        """
        others = np.arange(self.architecture.n_outputs - 1)[None]
        needed = np.full((len(self.labels), others.size), self.least)
        if self.architecture.weights[-1].integer and self.architecture.thresholds != "neuron":
            # The others stand in order without the own class: from its place on they are higher.
            needed[others >= self.labels[:, None]] = 0.0
        return needed

    @property
    def _top_span(self) -> float:
        if self.T is None:
            return 0.0
        return float(np.abs(self.program.upper[self.T]).max())

    def read(self, x: FloatArray) -> Network:
        """Turn a solution into a network."""
        first, top = self.architecture.weights
        W, V = x[self.p] - x[self.q], x[self.V]
        if first.integer:
            W = np.rint(W)
        if top.integer:
            V = np.rint(V)
        W, V = (np.where(np.abs(M) < 1e-9, 0.0, M) for M in (W, V))
        W, V = np.clip(W, -first.limit, first.limit), np.clip(V, -top.limit, top.limit)
        t, T = np.zeros(len(W)), np.zeros(len(V))
        if self.t is not None:
            t = x[self.t] if self.margin else np.rint(x[self.t])
            t = (t - 0.5 * self.off_margin) * self.unit
        if self.T is not None:
            T = (np.rint(x[self.T]) if top.integer else x[self.T]) / self.per_one
        return Network(self.architecture, (W, V), (t, T))

    def lift(self, network: Network) -> FloatArray | None:
        """Turn a network into a start; None if it does not fit the model's margins."""
        x = np.zeros(self.program.n_variables)
        W, V = network.weights
        x[self.p], x[self.q] = np.maximum(W, 0.0), np.maximum(-W, 0.0)
        x[self.V] = V
        names = {block.name: block.columns for block in self.program.variable_blocks}
        if "v" in names:
            x[names["v"]] = (V + 1.0) / 2.0
        lower = (self.low @ x[self.p].T - self.high @ x[self.q].T) / self.unit
        upper = (self.high @ x[self.p].T - self.low @ x[self.q].T) / self.unit
        t = np.zeros(len(W))
        if self.t is not None:
            # The lowest threshold that switches the same sums, up to half a margin.
            t = network.thresholds[0] / self.unit + 0.5 * self.off_margin
            if not self.margin:
                t = np.ceil(network.thresholds[0] / self.unit)
            x[self.t] = t
        tolerance = 1e-9 * (1.0 + np.abs(t))
        on, possible = lower >= t - tolerance, upper > t - self.off_margin + tolerance
        x[self.a], x[self.b] = on, possible | on
        own = V[self.labels].transpose()[..., None]
        others = np.array([[o for o in range(len(V)) if o != c] for c in range(len(V))])[
            self.labels
        ]
        difference = np.moveaxis(own, 1, 0) - V[others].transpose(0, 2, 1)
        x[self.r] = np.minimum(difference * x[self.a][..., None], difference * x[self.b][..., None])
        leads = self.per_one * x[self.r].sum(axis=1)
        if self.T is not None:
            T = _ranked(network.thresholds[1], self.per_one, self.architecture)
            x[self.T] = T
            leads = leads - (T[self.labels][:, None] - T[others])
        x[self.e] = (leads < self._least_leads).any(axis=1)
        return x if self.program.violation(x) <= 1e-6 else None


def _thresholds(
    program: Program, name: str, shape: Architecture, count: int, span: float, *, integer: bool
) -> IndexArray | None:
    """Thresholds per unit or shared; None where there are none."""
    if shape.thresholds == "zero":
        return None
    size = (count,) if shape.thresholds == "neuron" else (1,)
    columns = program.add_variables(name, size, lower=-span, upper=span, integer=integer)
    return np.broadcast_to(columns, (count,))


def _ranked(T: FloatArray, per_one: float, shape: Architecture) -> FloatArray:
    """Thresholds as the model has them: whole parts, and the order of what is behind the point.

    Equal thresholds let the class of lower index win, which the order says as well.
    """
    if shape.thresholds == "layer":
        return np.zeros_like(T)  # what all classes share decides nothing
    if per_one == 1.0:
        return T
    whole = np.floor(T)
    order = np.lexsort((np.arange(len(T)), T - whole))
    rank = np.empty(len(T))
    rank[order] = np.arange(len(T))
    return whole * per_one + rank

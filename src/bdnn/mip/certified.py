"""Certified training: a sample is right only if its class holds in its whole region.

Legend: u_ij and v_ij what is sure of the last hidden layer's switches, see
:mod:`bdnn.mip.layers`; V, T weights and thresholds of the outputs; c the sample's class, o any
other; e_i is 1 if the sample is given up.

    free:     r_ijo <= K u_ij,   r_ijo <= V_cj - V_oj + K (1 - v_ij)
    lead:     sum_j r_ijo - (T_c - T_o) >= least - M e_i
    minimise  sum_i weight_i e_i

The rows only understate a lead, so that what the program certifies is certified. For integer
weights T is a multiple of 1 / (number of classes): only the whole parts of differences of
thresholds and the order of their fractional parts matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bdnn.mip.bounds import LayerBounds, margin_of
from bdnn.mip.layers import Steps
from bdnn.mip.loss import OutputObjective
from bdnn.mip.weights import LayerWeights
from bdnn.network.activation import FloatArray
from bdnn.problem.losses.certified import CertifiedLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray, Program, interleave


@dataclass(frozen=True, eq=False, kw_only=True)
class Leads(OutputObjective):
    """What a sample's class is ahead of others in the worst case; see :meth:`add_leads`."""

    layer: LayerWeights
    below: Steps
    labels: NDArray[np.intp]
    least_lead: float
    r: IndexArray
    e: IndexArray

    @staticmethod
    def bounds(problem: Problem[CertifiedLoss], eps: float) -> LayerBounds:
        """Range and unit of the outputs' thresholds, of which only differences matter.

        Where these lie on a grid finer than sums, thresholds need not be kept apart from sums.
        """
        shape = problem.architecture
        top = shape.weights[-1]
        has_fractions = top.integer and shape.thresholds == "neuron"
        per_one = float(shape.n_outputs) if has_fractions else 1.0
        span = per_one * (2.0 * _largest_lead(problem) + 1.0)
        limits = (0.0, 0.0) if shape.thresholds == "zero" else (-span, span)
        highest = np.full(problem.samples.n_lines, per_one * _largest_lead(problem))
        margin = 0.0 if has_fractions else margin_of(float(highest[0]), eps, exact=top.integer)
        return LayerBounds(1.0 / per_one, -highest, highest, limits, margin, top.integer)

    @classmethod
    def add_leads(
        cls,
        program: Program,
        problem: Problem[CertifiedLoss],
        layer: LayerWeights,
        below: Steps,
        *,
        eps: float,
    ) -> Leads:
        """Add leads of outputs over switches of these certain states, and their loss."""
        m, switches = below.u.shape
        n_outputs, weight = len(layer.W), problem.loss.line_weight[:, None]
        exact, jumps = layer.bounds.exact, _jumps(below)
        reach = _largest_lead(problem)
        least = margin_of(2 * reach, eps, exact=exact)
        K = 2.0 * float(layer.weights.limit)
        r = program.add_variables(
            "r", (m, switches, n_outputs - 1), lower=-K, upper=K, integer=exact
        )
        e = program.add_variables("e", (m,), integer=True)
        leads = cls(
            weight,
            np.zeros_like(weight),
            not problem.has_price,
            layer=layer,
            below=below,
            labels=problem.loss.labels,
            least_lead=least,
            r=r,
            e=e,
        )
        leads._add_products(program, K)
        leads._add_lead_rows(program, problem, jumps, reach)
        leads.add(program, e[:, None])
        return leads

    @property
    def per_one(self) -> float:
        """Steps of the grid of thresholds in a difference of 1."""
        return float(np.rint(1.0 / self.layer.bounds.unit))

    @property
    def _others(self) -> IndexArray:
        """Classes that are not the own one, of every sample."""
        outputs = np.arange(len(self.layer.W))
        others = np.array([outputs[outputs != c] for c in outputs])
        return np.asarray(others[self.labels])

    def _differences(self) -> tuple[IndexArray, IndexArray]:
        """Columns of the own class's weights and of another's, in the shape of r."""
        W = np.repeat(self.layer.W, self.below.layer.rule.n_thresholds, axis=1)
        own = np.broadcast_to(W[self.labels][..., None], self.r.shape)
        return own, W[self._others].transpose(0, 2, 1)

    def _add_products(self, program: Program, K: float) -> None:
        on, possible = (
            np.broadcast_to(part[..., None], self.r.shape)
            for part in (self.below.u, self.below.possible)
        )
        pairs = np.stack([self.r, on], axis=-1)
        program.add_rows("lead_on", pairs, [1.0, -K], upper=0.0)
        columns = np.stack([self.r, *self._differences(), possible], axis=-1)
        program.add_rows("lead_off", columns, [1.0, -1.0, 1.0, K], upper=K)

    def _add_lead_rows(
        self, program: Program, problem: Problem[CertifiedLoss], jumps: FloatArray, reach: float
    ) -> None:
        bounds, lowest = self.layer.bounds, self.below.layer.rule.values[0]
        leads = self.r.transpose(0, 2, 1)
        shape = (*leads.shape[:2], 1)
        M = 2 * reach * self.per_one + 2 * bounds.threshold[1] + self.least_lead
        parts = [leads, np.broadcast_to(self.e[:, None, None], shape)]
        values = [jumps * self.per_one, np.array([M])]
        if lowest:
            others = self.layer.W[self._others]
            own = np.broadcast_to(self.layer.W[self.labels][:, None], others.shape)
            parts += [own, others]
            base = np.full(self.layer.W.shape[1], lowest * self.per_one)
            values += [base, -base]
        if self.layer.t is not None and self.layer.kind == "neuron":
            T = self.layer.t[:, 0]
            parts += [
                np.broadcast_to(T[self.labels][:, None, None], shape),
                T[self._others][..., None],
            ]
            values.append(np.array([-1.0, 1.0]))
        row = interleave(*parts)
        program.add_rows("lead", row, np.concatenate(values), lower=self._least_leads)

    @property
    def _least_leads(self) -> FloatArray:
        """Leads that samples need over the other classes, of shape (n_samples, outputs - 1).

        Integer weights without thresholds of their own have ties, which the lower class wins.
        """
        others = np.arange(len(self.layer.W) - 1)[None]
        needed = np.full((len(self.labels), others.size), self.least_lead)
        if self.layer.bounds.exact and self.layer.kind != "neuron":
            # The others stand in order without the own class: from its place on they are higher.
            needed[others >= self.labels[:, None]] = 0.0
        return needed

    def lift(self, x: FloatArray, W: FloatArray, t: FloatArray) -> bool:
        """Fill in thresholds in the program's grid, leads, and who is given up."""
        per_one, rule = self.per_one, self.below.layer.rule
        own, other = (x[part] for part in self._differences())
        products = [(own - other) * x[u][..., None] for u in (self.below.u, self.below.possible)]
        x[self.r] = np.minimum(*products)
        V, others = x[self.layer.W].sum(axis=1), self._others
        leads = np.einsum("ijo,j->io", x[self.r], _jumps(self.below)) * per_one
        leads += rule.values[0] * per_one * (V[self.labels][:, None] - V[others])
        if self.layer.t is not None:
            T = x[self.layer.t][:, 0]
            if self.layer.bounds.exact:
                is_own = self.layer.kind == "neuron"
                T = _ranked(t[:, 0], per_one) if is_own else np.ceil(per_one * t[:, 0])
            x[self.layer.t] = np.clip(T, *self.layer.bounds.threshold)[:, None]
            leads -= T[self.labels][:, None] - T[others]
        x[self.e] = (leads < self._least_leads).any(axis=1)
        return True


def _jumps(below: Steps) -> FloatArray:
    """What every switch adds to the value of its unit."""
    return np.tile(below.layer.rule.jumps, len(below.layer.W))


def _largest_lead(problem: Problem[CertifiedLoss]) -> float:
    """What an output's sum may be in size."""
    shape = problem.architecture
    values = shape.activation_of(len(shape.hidden) - 1).values
    return float(shape.weights[-1].limit) * shape.hidden[-1] * max(map(abs, values))


def _ranked(t: FloatArray, per_one: float) -> FloatArray:
    """Thresholds as the model has them: whole parts, and the order of what is behind the point.

    Equal thresholds let the class of lower index win, which the order says as well.
    """
    whole = np.floor(t)
    order = np.lexsort((np.arange(len(t)), t - whole))
    rank = np.empty(len(t))
    rank[order] = np.arange(len(t))
    return whole * per_one + rank

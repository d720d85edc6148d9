"""Certified training as a program: a sample is right only if its class holds in its whole region.

Legend: a_ij and b_ij certain states of the last hidden layer's units, see
:mod:`bdnn.mip.certified_layers`; V, T weights and thresholds of the outputs; c the sample's
class, o any other; e_i is 1 if the sample is given up.

    free:     r_ijo <= K a_ij,   r_ijo <= V_cj - V_oj + K (1 - b_ij)
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

from bdnn.mip.bounds import INTEGRALITY_TOLERANCE
from bdnn.mip.certified_layers import FirstLayer, UpperLayer
from bdnn.mip.certified_rows import add_least, add_thresholds, add_weights, clean
from bdnn.mip.loss import OutputObjective
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.regions import Regions
from bdnn.program import IndexArray, Program, interleave


@dataclass(frozen=True, eq=False)
class CertifiedModel:
    """A certified training problem as a program; build it with :meth:`build`.

    Attributes
    ----------
    architecture : Architecture
    program : Program
    first : FirstLayer
    upper : tuple of UpperLayer
        Further hidden layers.
    leads : Leads
    loss : OutputObjective
    """

    architecture: Architecture
    program: Program
    first: FirstLayer
    upper: tuple[UpperLayer, ...]
    leads: Leads
    loss: OutputObjective

    @classmethod
    def build(
        cls,
        architecture: Architecture,
        regions: Regions,
        labels: NDArray[np.intp],
        weight: FloatArray,
        *,
        eps: float,
    ) -> CertifiedModel:
        """Write down the program for regions around samples.

        Parameters
        ----------
        architecture : Architecture
            With a hidden layer at least.
        regions : Regions
        labels : array of shape (n_samples,)
        weight : array of shape (n_samples,)
            What it costs not to certify a sample.
        eps : float
            Strictness margin of continuous weights, relative to the largest input.
        """
        program = Program()
        first = FirstLayer.add(program, architecture, regions, eps=eps)
        upper: list[UpperLayer] = []
        for number in range(1, len(architecture.hidden)):
            below = upper[-1] if upper else first
            upper.append(UpperLayer.add(program, architecture, number, below, eps=eps))
        last = upper[-1] if upper else first
        leads = Leads.add(program, architecture, labels, last.a, last.b, eps=eps)
        loss = OutputObjective(weight[:, None], np.zeros((len(weight), 1)))
        loss.add(program, leads.e[:, None])
        return cls(architecture, program, first, tuple(upper), leads, loss)

    @property
    def margin(self) -> float:
        """Margin that the model asks for and the data do not give; 0 for integers on a grid."""
        margins = [layer.margin for layer in self.upper if not layer.weights.integer]
        margins += [0.0 if self.first.exact else self.first.margin]
        margins += [0.0 if self.architecture.weights[-1].integer else self.leads.least]
        return max(margins)

    def read(self, x: FloatArray) -> Network:
        """Turn a solution into a network."""
        parts = [self.first.read(x), *(layer.read(x) for layer in self.upper), self.leads.read(x)]
        return Network(self.architecture, tuple(W for W, _ in parts), tuple(t for _, t in parts))

    def lift(self, network: Network) -> FloatArray | None:
        """Turn a network into a start; None if it does not fit the model's margins."""
        x = np.zeros(self.program.n_variables)
        weights, thresholds = network.weights, network.step_thresholds
        states = self.first.lift(x, weights[0], thresholds[0])
        for layer, W, t in zip(self.upper, weights[1:], thresholds[1:], strict=False):
            states = layer.lift(x, W, t, states)
        self.leads.lift(x, weights[-1], thresholds[-1], states)
        return x if self.program.violation(x) <= 1e-6 else None


@dataclass(frozen=True, eq=False)
class Leads:
    """Outputs, and what their class is ahead of others in the worst case; see :meth:`add`."""

    architecture: Architecture
    labels: NDArray[np.intp]
    per_one: float
    least: float
    V: IndexArray
    v: IndexArray | None
    T: IndexArray | None
    r: IndexArray
    e: IndexArray

    @classmethod
    def add(
        cls,
        program: Program,
        architecture: Architecture,
        labels: NDArray[np.intp],
        a: IndexArray,
        b: IndexArray,
        *,
        eps: float,
    ) -> Leads:
        """Add outputs over units of these certain states."""
        top, outputs, (m, units) = architecture.weights[-1], architecture.n_outputs, a.shape
        V, v = add_weights(program, "V", (outputs, units), top)
        per_one = float(outputs) if top.integer else 1.0
        top_span = per_one * (2.0 * top.limit * units + 1.0)
        T = add_thresholds(program, "T", architecture, outputs, top_span, integer=top.integer)
        least = 1.0 if top.integer else max(eps, 8 * INTEGRALITY_TOLERANCE * (4 * units + 2))
        K = 2.0 * top.limit
        r = program.add_variables(
            "r", (m, units, outputs - 1), lower=-K, upper=K, integer=top.integer
        )
        e = program.add_variables("e", (m,), integer=True)
        leads = cls(architecture, labels, per_one, least, V, v, T, r, e)
        leads._add_rows(program, a, b, K, 0.0 if T is None else top_span)
        return leads

    @property
    def _others(self) -> IndexArray:
        """Classes that are not the own one, of every sample."""
        outputs = np.arange(self.architecture.n_outputs)
        others = np.array([outputs[outputs != c] for c in outputs])
        return np.asarray(others[self.labels])

    def _add_rows(
        self, program: Program, a: IndexArray, b: IndexArray, K: float, span: float
    ) -> None:
        own = np.broadcast_to(self.V[self.labels][..., None], self.r.shape)
        other = self.V[self._others].transpose(0, 2, 1)
        on, possible = (np.broadcast_to(x[..., None], self.r.shape) for x in (a, b))
        add_least(program, "_lead", self.r, [(own, 1.0), (other, -1.0)], on, possible, K)
        leads = self.r.transpose(0, 2, 1)
        given_up = np.broadcast_to(self.e[:, None, None], (*leads.shape[:2], 1))
        M = self.per_one * K * self.r.shape[1] + 2 * span + self.least
        parts = [leads, given_up]
        values = [np.full(leads.shape[-1], self.per_one), np.array([M])]
        if self.T is not None and self.architecture.thresholds == "neuron":
            parts += [
                np.broadcast_to(self.T[self.labels][:, None, None], (*leads.shape[:2], 1)),
                self.T[self._others][..., None],
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

    def read(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights and thresholds of a solution."""
        top = self.architecture.weights[-1]
        V = clean(x[self.V], top)
        if self.T is None:
            return V, np.zeros(len(V))
        return V, (np.rint(x[self.T]) if top.integer else x[self.T]) / self.per_one

    def lift(
        self, x: FloatArray, V: FloatArray, T: FloatArray, states: tuple[BoolArray, BoolArray]
    ) -> None:
        """Fill in the outputs of a network, whose last hidden units have these states."""
        x[self.V] = V
        if self.v is not None:
            x[self.v] = (V + 1.0) / 2.0
        others = self._others
        difference = V[self.labels][..., None] - V[others].transpose(0, 2, 1)
        products = [difference * state[..., None] for state in states]
        x[self.r] = np.minimum(*products)
        leads = self.per_one * x[self.r].sum(axis=1)
        if self.T is not None:
            ranked = _ranked(T, self.per_one, self.architecture)
            x[self.T] = ranked
            leads = leads - (ranked[self.labels][:, None] - ranked[others])
        x[self.e] = (leads < self._least_leads).any(axis=1)


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

"""The certified loss: a sample counts as right only if its class holds in its whole region.

In a program, with u_ij and v_ij what is sure of the last hidden layer's switches, see
:mod:`bdnn.blocks.layers`; V, T weights and thresholds of the outputs; c the sample's class, o any
other; e_i is 1 if the sample is given up:

    free:     r_ijo <= K u_ij,   r_ijo <= V_cj - V_oj + K (1 - v_ij)
    lead:     sum_j r_ijo - (T_c - T_o) >= least - M e_i
    minimise  sum_i weight_i e_i

The rows only understate a lead, so that what the program certifies is certified. For integer
weights T is a multiple of 1 / (number of classes): only the whole parts of differences of
thresholds and the order of their fractional parts matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bdnn.blocks.bounds import LayerBounds, margin_of
from bdnn.blocks.input_sets import InputSets
from bdnn.blocks.layers import Steps
from bdnn.blocks.weights import LayerWeights
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.bound import Bound
from bdnn.problem.losses.base import AbstractLoss, OutputLayer
from bdnn.problem.losses.output import OutputBlock, OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.regions import Regions, overlap_bound
from bdnn.problem.samples import IntegerArray, Samples, to_floats
from bdnn.program import IndexArray, Program, interleave


@dataclass(frozen=True, eq=False)
class CertifiedLoss(AbstractLoss):
    """Weight of the samples that a sound bound does not certify.

    For one hidden layer the bound is exact up to units that cannot flip independently. Samples of
    equal inputs may have different regions, so that each is a line of its own.
    """

    regions: Regions
    labels: NDArray[np.intp]  # (n_lines,)
    weight: IntegerArray  # (n_lines,): in multiples of ``grain``
    grain: Fraction
    n_outputs: int

    kind: ClassVar[str] = "certified"

    def products(self, architecture: Architecture) -> int:
        """Sums of a first layer over a box are given by its weights alone."""
        return sum(a * b for a, b in pairwise((*architecture.hidden, architecture.n_outputs)))

    @classmethod
    def of(
        cls, samples: Samples, labels: NDArray[np.intp], regions: Regions, n_outputs: int
    ) -> CertifiedLoss:
        """Take samples that were kept apart; labels are those of all rows, regions of lines."""
        rows = samples.rows
        return cls(regions, labels[rows], samples.weight[rows], samples.grain, n_outputs)

    @property
    def input_regions(self) -> Regions:
        return self.regions

    @property
    def has_bounds(self) -> bool:
        return not self.regions.is_widened

    def input_sets(self, samples: Samples) -> list[InputSets]:
        del samples
        return self.regions.input_sets

    @cached_property
    def outputs(self) -> OutputLoss:
        """The paper's loss of the same samples, for what knows no regions."""
        counts = np.zeros((len(self.labels), self.n_outputs), dtype=self.weight.dtype)
        counts[np.arange(len(self.labels)), self.labels] = self.weight
        return OutputLoss(counts, self.grain)

    @property
    def label_weight(self) -> FloatArray:
        """Weight of every class on every line."""
        return self.outputs.label_weight

    @property
    def cost_on(self) -> FloatArray:
        """What the paper's loss charges for every output that is on."""
        return self.outputs.cost_on

    @property
    def cost_off(self) -> FloatArray:
        """What the paper's loss charges for every output that is off."""
        return self.outputs.cost_off

    @cached_property
    def line_weight(self) -> FloatArray:
        """Weights of lines as floats."""
        return to_floats(self.weight, self.grain)

    @property
    def total(self) -> float:
        return float(self.line_weight.sum())

    @property
    def is_integral(self) -> bool:
        return self.grain == 1

    @property
    def step(self) -> Fraction:
        """Losses are sums of the samples' weights."""
        return Fraction(int(np.gcd.reduce(self.weight))) * self.grain

    def is_certified(self, network: Network) -> BoolArray:
        """Tell which samples get their own class in their whole region."""
        return self.regions.is_certain(network, self.labels)

    def value(self, network: Network, samples: Samples) -> Fraction:
        """Weight of the samples that are not certified."""
        del samples
        return int(self.weight[~self.is_certified(network)].sum()) * self.grain

    @cached_property
    def overlaps(self) -> Bound:
        """Weight that no classifier can certify, because regions of different classes meet."""
        regions = self.regions
        points = regions.points
        if points is None:
            points = regions.centre / regions.unit
        found = overlap_bound(points, self.labels, regions.radius, self.weight, regions.norm)
        return Bound(found * self.grain, "overlapping balls" if found else "zero")

    def irreducible(self, samples: Samples) -> Bound:
        del samples
        return self.overlaps

    def subset(self, lines: IndexArray) -> CertifiedLoss:
        return replace(
            self,
            regions=self.regions.subset(lines),
            labels=self.labels[lines],
            weight=self.weight[lines],
        )

    def as_classes(self, architecture: Architecture) -> tuple[Architecture, OutputLoss]:
        """The samples themselves, which regions lie around."""
        return architecture, self.outputs

    def has_program(self, architecture: Architecture) -> bool:
        """Whether searches and programs know the worst leads: of scores, above a hidden layer."""
        return bool(architecture.hidden) and architecture.ties == "score"

    def output_bounds(self, problem: Problem[Any], eps: float) -> LayerBounds:
        """Range and unit of the outputs' thresholds, of which only differences matter.

        Where these lie on a grid finer than sums, thresholds need not be kept apart from sums.
        """
        shape, reach = problem.architecture, _largest_sum(problem.architecture)
        top = shape.weights[-1]
        has_fractions = top.integer and shape.thresholds == "neuron"
        per_one = float(shape.n_outputs) if has_fractions else 1.0
        span = per_one * (2.0 * reach + 1.0)
        limits = (0.0, 0.0) if shape.thresholds == "zero" else (-span, span)
        highest = np.full(len(self.labels), per_one * reach)
        margin = 0.0 if has_fractions else margin_of(per_one * reach, eps, exact=top.integer)
        return LayerBounds(1.0 / per_one, -highest, highest, limits, margin, top.integer)

    def block(self, outputs: OutputLayer) -> Leads:
        """Outputs are compared with each other, by leads over certain states of switches."""
        program, layer, below = outputs.program, outputs.layer, outputs.below
        m, switches = below.u.shape
        weight, exact = self.line_weight[:, None], layer.bounds.exact
        reach = _largest_sum(outputs.problem.architecture)
        K = 2.0 * float(layer.weights.limit)
        shape = (m, switches, len(layer.W) - 1)
        r = program.add_variables("r", shape, lower=-K, upper=K, integer=exact)
        e = program.add_variables("e", (m,), integer=True)
        leads = Leads(
            weight,
            np.zeros_like(weight),
            not outputs.problem.has_price,
            layer=layer,
            below=below,
            labels=self.labels,
            least_lead=margin_of(2 * reach, outputs.eps, exact=exact),
            r=r,
            e=e,
        )
        leads.add_products(program, K)
        leads.add_rows(program, reach)
        leads.add(program, e[:, None])
        return leads

    def claim(self) -> dict[str, Any]:
        """Whether the bits of a column move together."""
        return {"bits": "together"} if self.regions.bins else {}


@dataclass(frozen=True, eq=False, kw_only=True)
class Leads(OutputBlock):
    """What a sample's class is ahead of others in the worst case."""

    layer: LayerWeights
    below: Steps
    labels: NDArray[np.intp]
    least_lead: float
    r: IndexArray
    e: IndexArray

    @property
    def margin(self) -> float:
        return 0.0 if self.layer.bounds.exact else self.least_lead

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

    def add_products(self, program: Program, K: float) -> None:
        """Add what switches give to leads, weights of two classes differing by K at most."""
        on, possible = (
            np.broadcast_to(part[..., None], self.r.shape)
            for part in (self.below.u, self.below.possible)
        )
        pairs = np.stack([self.r, on], axis=-1)
        program.add_rows("lead_on", pairs, [1.0, -K], upper=0.0)
        columns = np.stack([self.r, *self._differences(), possible], axis=-1)
        program.add_rows("lead_off", columns, [1.0, -1.0, 1.0, K], upper=K)

    def add_rows(self, program: Program, reach: float) -> None:
        """Add what a sample that is not given up leads by, of outputs with sums up to a size."""
        bounds, lowest = self.layer.bounds, self.below.layer.rule.values[0]
        leads = self.r.transpose(0, 2, 1)
        shape = (*leads.shape[:2], 1)
        M = 2 * reach * self.per_one + 2 * bounds.threshold[1] + self.least_lead
        parts = [leads, np.broadcast_to(self.e[:, None, None], shape)]
        values = [_jumps(self.below) * self.per_one, np.array([M])]
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


def _largest_sum(shape: Architecture) -> float:
    """What an output's sum may be in size."""
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

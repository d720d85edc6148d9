"""The certified loss: a sample counts as right only if its class holds in its whole region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.bound import Bound
from bdnn.problem.limits import WeightLimits
from bdnn.problem.losses.base import AbstractLoss
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.regions import Regions, overlap_bound
from bdnn.problem.samples import IntegerArray, Samples, to_floats
from bdnn.program import IndexArray


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
    def leading(self) -> NDArray[np.intp]:
        return self.labels

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

    def error(self, network: Network, samples: Samples) -> float:
        """Share of the samples' weight that the network puts into a wrong class, unperturbed."""
        return self.outputs.error(network, samples)

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

    def constants(
        self, architecture: Architecture, samples: Samples, limits: WeightLimits | None = None
    ) -> Iterator[Network]:
        """Make a network of each class alone, the heaviest first."""
        yield from self.outputs.constants(architecture, samples, limits)

    def subset(self, lines: IndexArray) -> CertifiedLoss:
        return replace(
            self,
            regions=self.regions.subset(lines),
            labels=self.labels[lines],
            weight=self.weight[lines],
        )

    def refusal(self, architecture: Architecture) -> str | None:
        return self.outputs.refusal(architecture)

    def as_classes(self, architecture: Architecture) -> tuple[Architecture, OutputLoss]:
        """The samples themselves, which regions lie around."""
        return architecture, self.outputs

    def has_program(self, architecture: Architecture) -> bool:
        """Whether searches and programs know the worst leads: of scores, above a hidden layer."""
        return bool(architecture.hidden) and architecture.ties == "score"

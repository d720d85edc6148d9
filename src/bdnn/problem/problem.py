"""The training problem: samples, the loss of a network on them, and what else is asked of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.network.packed import PackedRows
from bdnn.problem.bound import Bound
from bdnn.problem.losses.base import AbstractLoss
from bdnn.problem.samples import Samples
from bdnn.problem.terms.base import AbstractTerm, WeightLimits
from bdnn.program import IndexArray

AnyLoss = TypeVar("AnyLoss", bound=AbstractLoss, covariant=True)
OtherLoss = TypeVar("OtherLoss", bound=AbstractLoss)

# Solvers keep objectives with prices to about this much, relative to their size.
_ROUNDING = Fraction(1, 10**6)


@dataclass(frozen=True, eq=False)
class Problem(Generic[AnyLoss]):
    """Minimise a loss plus prices over the networks that keep all constraints.

    Parameters
    ----------
    architecture : Architecture
        Shape of the networks.
    samples : Samples
    loss : AbstractLoss
        In the order of the samples' lines.
    terms : tuple of AbstractTerm
        Constraints and prices.
    """

    architecture: Architecture
    samples: Samples
    loss: AnyLoss
    terms: tuple[AbstractTerm, ...] = ()

    @property
    def inputs(self) -> FloatArray:
        """Distinct rows."""
        return self.samples.inputs

    @property
    def lines(self) -> FloatArray | PackedRows:
        """Distinct rows as they are stored: packed where they are bits."""
        return self.samples.lines

    def value(self, network: Network) -> Fraction:
        """Loss of a network, from its forward pass."""
        return self.loss.value(network, self.samples)

    def objective(self, network: Network) -> Fraction:
        """What is minimised: loss and prices."""
        prices = (Fraction(term.price(network, self)) for term in self.terms if term.is_price)
        return sum(prices, self.value(network))

    def error(self, network: Network) -> float:
        """How wrong a network's answers are, in a measure that users know."""
        return self.loss.error(network, self.samples)

    def is_feasible(self, network: Network) -> bool:
        """Tell whether a network keeps all constraints."""
        return all(term.is_feasible(network, self) for term in self.terms)

    def holds(self, network: Network) -> bool:
        """Tell whether no perturbation changes a first-layer activation that must stay."""
        pattern = self.loss.pattern
        return pattern is None or bool(pattern.holds(network, self.inputs).all())

    def settled(self, network: Network | None) -> Network | None:
        """The nearest network whose activations stay where they must, None if there is none."""
        pattern = self.loss.pattern
        if network is None or pattern is None:
            return network
        return pattern.settled(network, self.inputs)

    @property
    def is_free(self) -> bool:
        """Whether any network may be taken, so that moves need not heed anything but the loss."""
        return not self.terms and self.loss.pattern is None

    @property
    def constraints(self) -> tuple[AbstractTerm, ...]:
        """Terms that networks may break."""
        return tuple(term for term in self.terms if not term.is_price)

    @property
    def has_price(self) -> bool:
        """Whether more than the loss is minimised."""
        return any(term.is_price for term in self.terms)

    @cached_property
    def irreducible(self) -> Bound:
        """Objective that no function of the inputs can avoid; prices are never negative."""
        return self.loss.irreducible(self.samples)

    @property
    def floor(self) -> float:
        """The same as a float, for searches."""
        return float(self.irreducible.value)

    def is_close(self, objective: float | Fraction, target: float | Fraction) -> bool:
        """Tell whether a search need not go on: what is proven, the run decides exactly."""
        rounding = 0.0 if self.loss.is_integral else 1e-7 * self.loss.total
        if not math.isfinite(objective):
            return False
        return float(objective) <= float(target) + rounding + float(
            self.tolerance(Fraction(objective))
        )

    def tolerance(self, objective: Fraction) -> Fraction:
        """Difference from an objective that nobody can tell: 0 where all sums are exact."""
        priced = _ROUNDING * max(Fraction(1), abs(objective)) if self.has_price else Fraction(0)
        return self.loss.tolerance + priced

    def subset(self, lines: IndexArray) -> Problem[AnyLoss]:
        """The problem of some of the lines: what terms say of them, and their share of prices."""
        return self.with_loss(self.loss.subset(lines), lines)

    def with_loss(self, loss: OtherLoss, lines: IndexArray | None = None) -> Problem[OtherLoss]:
        """Another loss, of some lines if these are given."""
        samples, terms = self.samples, self.terms
        if lines is not None:
            samples = samples.subset(lines)
            factor = self.loss.total and loss.total / self.loss.total
            terms = tuple(term.restrict(lines, self).rescaled(factor or 1.0) for term in terms)
        return Problem(self.architecture, samples, loss, terms)

    def with_terms(self, terms: Sequence[AbstractTerm]) -> Problem[AnyLoss]:
        """Other terms."""
        return replace(self, terms=tuple(terms))

    @cached_property
    def needed_lines(self) -> IndexArray:
        """Lines without which a part of the problem does not show a term."""
        found = [term.needed_lines(self) for term in self.terms]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found]))

    @property
    def scale_dependent(self) -> bool:
        """Whether multiplying a unit by a number may break a constraint or change a price."""
        return any(term.scale_dependent for term in self.terms)

    @property
    def invalidated(self) -> frozenset[str]:
        """Reductions of the program that do not keep the optimum."""
        return frozenset[str]().union(*(term.invalidates(self.architecture) for term in self.terms))

    @property
    def term_names(self) -> str:
        """What is asked for besides a small loss, in words for messages."""
        names = list(dict.fromkeys(term.name for term in self.terms))
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    @cached_property
    def weight_limits(self) -> WeightLimits:
        """Bounds of single weights, whatever a search may draw."""
        limits = WeightLimits.of(self.architecture)
        for term in self.terms:
            term.bound_weights(limits)
        return limits

    def constant_network(self) -> Network:
        """Make a network that says the same for every input and is feasible, if one is.

        Without one this is the cheapest constant network.
        """
        plain = list(self.loss.constants(self.architecture, self.samples))
        if not self.terms:
            return plain[0]
        limited = self.loss.constants(self.architecture, self.samples, self.weight_limits)
        candidates = [*plain, *limited]
        feasible = [network for network in candidates if self.is_feasible(network)]
        return min(feasible, key=self.objective, default=plain[0])

    def finished(self, network: Network) -> Network:
        """Remove units that nothing listens to, where terms leave some and name none."""
        leaves = any(term.leaves_units for term in self.terms)
        if not leaves or any(term.names_units for term in self.terms):
            return network
        narrow = without_unused(network)
        same = np.array_equal(narrow.values(self.inputs), network.values(self.inputs))
        return narrow if same else network


def without_unused(network: Network) -> Network:
    """Remove hidden units without a weight to the layer above; one per layer stays."""
    weights, thresholds = list(network.weights), list(network.thresholds)
    for k in range(len(weights) - 1, 0, -1):
        keep = (weights[k] != 0.0).any(axis=0)
        if not keep.any():
            keep[0] = True
        weights[k] = weights[k][:, keep]
        weights[k - 1], thresholds[k - 1] = weights[k - 1][keep], thresholds[k - 1][keep]
    hidden = tuple(len(W) for W in weights[:-1])
    shape = replace(network.architecture, hidden=hidden)
    return Network(shape, tuple(weights), tuple(thresholds))

"""What a run on some of the samples proves of a problem with all of them.

The loss is a sum over samples, so that for every network

    loss(all samples) = loss(earlier samples) + loss(further samples)

and lower bounds of the two parts add up to one of the whole. Where the weights of earlier samples
have changed, as they do with balanced classes, let ``c`` be the smallest ratio of a new weight to
the old one: ``c`` times the earlier bound holds for the earlier samples, and what is left of their
weights belongs to the other part. Samples with equal inputs are one line in a problem, so all this
is done with the lines' weights; a line may belong to both parts. A bound for networks that keep a
margin on the earlier samples holds for those that keep it on all of them. A price is paid once, and
is part of the earlier bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from bdnn.bounds import FREE
from bdnn.bounds.argument import Upper
from bdnn.clock import Slot
from bdnn.network.network import Network
from bdnn.problem.bound import Bound, Condition
from bdnn.problem.create import led_by
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem

_EARLIER = " on earlier samples"


@dataclass(frozen=True, eq=False)
class PreviousFit:
    """What training on earlier samples has shown."""

    problem: Problem[OutputLoss]  # of the earlier samples
    network: Network  # its best network
    bound: Bound  # what was proven of it, in the units of the user's weights

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell whether the same kind of networks is asked for the same kind of loss."""
        return (
            isinstance(problem.loss, OutputLoss)
            and problem.architecture == self.problem.architecture
            and bool((self.problem.loss.counts > 0).any())
        )

    def bounds(
        self, problem: Problem[OutputLoss], slot: Slot, upper: Upper = math.inf
    ) -> Iterator[Bound]:
        """Yield the earlier bound with ever better ones of the further samples."""
        share, rest = self._parts(problem)
        value = share * self.bound.value / Fraction(problem.samples.unit)
        condition = self.bound.condition
        tolerance = share * condition.tolerance / Fraction(problem.samples.unit)
        earlier = self.bound.origin.partition(_EARLIER)[0] + _EARLIER
        for further in FREE.bounds(rest, slot, upper - value):
            also = f", {further.origin} on new ones" if further.value > 0 else ""
            yield Bound(
                value + further.value,
                earlier + also,
                Condition(condition.margin, tolerance + further.condition.tolerance),
            )

    def _parts(self, problem: Problem[OutputLoss]) -> tuple[Fraction, Problem[OutputLoss]]:
        """Divide a problem: what the earlier weights count now, and all the rest."""
        problem = led_by(problem, self.problem.samples)
        loss, earlier = problem.loss, self.problem.loss
        before = np.zeros(loss.counts.shape, dtype=object)
        before[: len(earlier.counts)] = earlier.counts
        counted = before > 0
        unit = Fraction(self.problem.samples.unit) / Fraction(problem.samples.unit)
        old_grain = earlier.grain * unit
        pairs = set(zip(loss.counts[counted].tolist(), before[counted].tolist(), strict=True))
        share = min(Fraction(now * loss.grain, was * old_grain) for now, was in pairs)
        if problem.has_price:
            share = min(share, Fraction(1))  # of prices, which do not grow with the weights
        # Both weights as whole multiples of one grain.
        used = share * old_grain
        grain = Fraction(1, math.lcm(loss.grain.denominator, used.denominator))
        left = loss.counts.astype(object) * int(loss.grain / grain) - before * int(used / grain)
        return share, replace(problem, loss=OutputLoss(left, grain), terms=())

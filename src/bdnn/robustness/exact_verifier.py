"""Exact verification of one sample, by boxes and by programs.

Integer weights on a grid and linf: is there a counter-example within a radius? CP-SAT decides it in
whole numbers, without rounding, and bisection of the radius finds the nearest one: programs of
smaller radii have fewer free units and smaller big-M values, and many of them take less time than
one that minimises.

Otherwise: a solver minimises the length in floating point numbers. Such a bound can be wrong, and
is only taken over when a second program, of a slightly smaller radius, is found to be infeasible.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

from bdnn.network.activation import FloatArray
from bdnn.robustness.adversary import Adversary
from bdnn.robustness.attacks import CounterExamples, pulled_back
from bdnn.robustness.branching import Branching
from bdnn.robustness.perturbation import PerturbationSet
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.cpsat import CpSat
from bdnn.solvers.highs import Highs
from bdnn.solvers.result import Limits, SolveResult, Termination

# Limits that are so close are equal: solvers and the finest grid of inputs know no better.
TOLERANCE = 2e-5
# So much farther than the radius one has to look to be sure of it all the same.
BEYOND = 1e-6
_FEW_BOXES, _MANY_BOXES = 400, 20_000
# Where no attack succeeds and no radius is given, how far to look.
_FIRST_RADIUS, _LAST_RADIUS = 1.0, 64.0
# Radii grow by this until there is a counter-example, and are halved until it is as near as this.
_GROWTH, _NEAR = 1.5, 0.15
# How little nearer than the nearest one known the last question is asked.
_MARGINS = (1e-8, 1e-6, 0.5 * TOLERANCE)
# What a solver's bound may be too large by, in its tolerances.
_TRUST = 1e-7
_ROUNDS = 40


@dataclass(frozen=True)
class Answer:
    """What is known of one sample.

    Parameters
    ----------
    lower, upper : float
        No counter-example is nearer than ``lower``; the nearest known one is at ``upper``.
    counter_example : array or None
        A raw input.
    origin : {"bound", "boxes", "solver"}
        What proves the lower limit.
    proof : nested list or None
        The halvings of boxes, where they are the proof and short enough to be kept.
    """

    lower: float
    upper: float
    counter_example: FloatArray | None
    origin: str = "bound"
    proof: Any = None

    def raised(self, lower: float, origin: str, proof: Any = None) -> Answer:
        """Take over a better lower limit."""
        lower = min(lower, self.upper)
        if lower <= self.lower:
            return self
        return replace(self, lower=lower, origin=origin, proof=proof)

    def lowered(self, upper: float, counter_example: FloatArray) -> Answer:
        """Take over a nearer counter-example."""
        if upper >= self.upper:
            return self
        lower = min(self.lower, upper)
        return replace(self, lower=lower, upper=upper, counter_example=counter_example)

    def is_settled(self, radius: float, *, smallest: bool) -> bool:
        """Whether there is nothing left to find out within a radius."""
        if self.lower > radius or self.upper <= self.lower + TOLERANCE:
            return True
        return not smallest and self.upper <= radius


class ExactVerifier:
    """One sample that cheap methods left open.

    Parameters
    ----------
    around : PerturbationSet
        Of that sample.
    radius : float
        How far to look.
    smallest : bool
        Whether the nearest counter-example is wanted, or any within the radius will do.
    seconds : float
    engine : AbstractSolver or None
        The solver, None for the one that suits the program.
    """

    def __init__(
        self,
        around: PerturbationSet,
        radius: float,
        smallest: bool,
        seconds: float,
        engine: AbstractSolver | None,
    ) -> None:
        self.around = around
        self.radius = radius
        self.smallest = smallest
        self.engine = engine
        self.end = radius * (1 + BEYOND) + BEYOND
        self._deadline = time.perf_counter() + seconds

    def settle(self, answer: Answer, method: str) -> Answer:
        """Find out by few boxes, programs, and at last many boxes; or by one of them alone."""
        if method != "program":
            answer = self._by_boxes(answer, _FEW_BOXES if method == "auto" else None)
        if method != "boxes":
            answer = self._by_programs(answer)
        if method == "auto":
            answer = self._by_boxes(answer, _MANY_BOXES)
        return answer

    def _by_boxes(self, answer: Answer, boxes: int | None) -> Answer:
        while not self._is_over(answer):
            look = self._farthest(answer)
            search = Branching(self.around, look)
            search.run(seconds=self._remaining, boxes=boxes)
            if search.counter_example is not None:
                answer = answer.lowered(search.upper, search.counter_example)
            answer = answer.raised(search.lower, "boxes", search.proof())
            if not search.is_complete or search.counter_example is not None:
                break
            if math.isfinite(min(self.end, answer.upper)) or look >= _LAST_RADIUS:
                break
        return answer

    def _by_programs(self, answer: Answer) -> Answer:
        if self._is_over(answer):
            return answer
        if self.engine is None:
            decides = Adversary.build(self.around, self._farthest(answer)).is_integer
        else:
            decides = self.engine.name == CpSat.name
        return self._by_decisions(answer) if decides else self._by_minimising(answer)

    def _by_decisions(self, answer: Answer) -> Answer:
        """Bisect the radius."""
        margins = list(_MARGINS)
        while not self._is_over(answer) and margins and answer.lower < _LAST_RADIUS:
            look = self._next_radius(answer, margins[0])
            if look <= answer.lower:
                margins.pop(0)
                continue
            model = Adversary.build(self.around, look)
            outcome = self._solve(model, self.engine or CpSat())
            if outcome.termination is Termination.INFEASIBLE:
                answer = answer.raised(look, "solver")
            elif outcome.solution is None:
                break
            else:
                before = answer.upper
                answer = self._believe(answer, model, outcome.solution)
                if answer.upper >= before:
                    margins.pop(0)
        return answer

    def _next_radius(self, answer: Answer, margin: float) -> float:
        if not self.smallest and math.isfinite(self.end):
            return min(self.end, answer.upper - margin)
        if answer.upper > self.end or math.isinf(answer.upper):
            start = _FIRST_RADIUS / 16 if math.isinf(self.end) else self.end / 16
            return min(self.end, max(start, _GROWTH * answer.lower))
        if answer.upper - answer.lower > _NEAR * answer.upper:
            return 0.5 * (answer.lower + answer.upper)
        return answer.upper - margin

    def _by_minimising(self, answer: Answer) -> Answer:
        """Minimise the length within growing radii; bounds count when two programs agree."""
        claim = answer.lower
        for _ in range(_ROUNDS):
            if self._is_over(answer):
                break
            farthest = min(self.end, answer.upper, _LAST_RADIUS)
            look = farthest
            if self.around.norm != "linf" or math.isinf(min(self.end, answer.upper)):
                look = min(farthest, max(farthest / 16, _GROWTH * claim))
            answer, said, _ = self._minimise(answer, look)
            answer = answer.raised(min(claim, said), "solver")
            if said <= claim:
                break
            claim = said
            if said < look * (1 - 2 * _TRUST) or look == farthest:
                before = answer.upper
                answer = self._confirm(answer, min(claim, answer.upper - _MARGINS[-1]))
                if answer.upper >= before:
                    break
                claim = answer.lower
        return answer

    def _minimise(
        self, answer: Answer, look: float, *, first: bool = False
    ) -> tuple[Answer, float, bool]:
        """Nearer counter-examples, and a length below which a solver says there are none.

        Also whether it says so of the whole radius. With ``first`` it ends at a nearer one.
        """
        model = Adversary.build(self.around, look, minimise=True)
        claim, before = 0.0, answer.upper
        for _ in range(_ROUNDS):
            outcome = self._solve(model, self.engine or Highs())
            if outcome.termination is Termination.INFEASIBLE:
                return answer, look * (1 - _TRUST), True
            if outcome.solution is None:
                break
            answer = self._believe(answer, model, outcome.solution)
            claim = model.free_input.length_of(outcome.bound) * (1 - _TRUST) - _TRUST
            refined = model.free_input.refine(outcome.solution)
            if not refined or self._remaining <= 0 or (first and answer.upper < before):
                break
        return answer, claim, False

    def _confirm(self, answer: Answer, radius: float) -> Answer:
        """Take over a lower limit if a program of that radius has no solution."""
        if radius <= answer.lower or self._is_over(answer):
            return answer
        answer, _, is_proven = self._minimise(answer, radius, first=True)
        return answer.raised(radius, "solver") if is_proven else answer

    def _believe(self, answer: Answer, model: Adversary, x: FloatArray) -> Answer:
        """Turn a solution into a raw input that the forward pass confirms."""
        around, free_input = self.around, model.free_input
        nothing = CounterExamples.none(around)
        found = nothing.with_better(around, around.raw(free_input.coordinates(x)))
        if not free_input.is_whole:
            room = around.scaler.step or 2.0**-24
            for doubling in range(8):
                if found.found[0]:
                    break
                inside = model.interior(x, 2.0**doubling * room)
                if inside is not None:
                    found = found.with_better(around, around.raw(inside))
            found = pulled_back(around, found)
        if found.found[0]:
            answer = answer.lowered(float(found.lengths[0]), found.X[0])
        return answer

    def _solve(self, model: Adversary, engine: AbstractSolver) -> SolveResult:
        limits = Limits(seconds=self._remaining, absolute_gap=1e-9)
        outcome = engine.solve(model.program, limits=limits)
        if outcome.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt
        return outcome

    def _farthest(self, answer: Answer) -> float:
        """How far to look when all is to be looked at."""
        look = min(self.end, answer.upper)
        return look if math.isfinite(look) else max(_FIRST_RADIUS, 4 * answer.lower)

    @property
    def _remaining(self) -> float:
        return max(0.0, self._deadline - time.perf_counter())

    def _is_over(self, answer: Answer) -> bool:
        return answer.is_settled(self.radius, smallest=self.smallest) or self._remaining <= 0

"""Exact verification of one sample, by boxes and by programs.

A row of few cells: a forward pass of each of them.

Integer weights on a grid and linf: is there a counter-example within a radius? CP-SAT decides it in
whole numbers, without rounding, and bisection of the radius finds the nearest one: programs of
smaller radii have fewer free units and smaller big-M values, and many of them take less time than
one that minimises.

Otherwise: a solver minimises the length in floating point numbers. Such a bound can be wrong, and
is only taken over when a second program, of a slightly smaller radius, is found to be infeasible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from bdnn.clock import Slot
from bdnn.network.activation import FloatArray
from bdnn.robustness.adversary import Adversary
from bdnn.robustness.attacks import CounterExamples, pulled_back
from bdnn.robustness.branching import Branching
from bdnn.robustness.columns import ColumnSet
from bdnn.robustness.compiled_branching import COMPILED_BOXES, CompiledBranching
from bdnn.robustness.perturbation import PerturbationSet
from bdnn.robustness.polishing import polished
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.cpsat import CpSat
from bdnn.solvers.highs import Highs
from bdnn.solvers.result import Limits, SolveResult, Termination

# Limits that are so close are equal: solvers and the finest grid of inputs know no better.
TOLERANCE = 2e-5
# So much farther than the radius one has to look to be sure of it all the same.
_BEYOND = 1e-6
_FEW_BOXES, _MANY_BOXES, _MILLIONS = 400, 20_000, 4_000_000
# Where no attack succeeds and no radius is given, how far to look.
_FIRST_RADIUS, _LAST_RADIUS = 1.0, 64.0
# Radii grow by this until there is a counter-example, and are halved until it is as near as this.
_GROWTH, _NEAR = 1.5, 0.15
_BOX_GROWTH = 1.1
# How little nearer than the nearest one known the last question is asked.
_MARGINS = (1e-8, 1e-6, 0.5 * TOLERANCE)
# What a solver's bound may be too large by, in its tolerances.
_TRUST = 1e-7
_ROUNDS = 40
# Of the time of a sample, for code to be loaded, or compiled once per machine.
_COMPILING_SHARE = 0.3

Size = TypeVar("Size", float, FloatArray)


def beyond(radius: Size) -> Size:
    """How far to look to be sure of a radius."""
    return radius * (1 + _BEYOND) + _BEYOND


@dataclass(frozen=True)
class Answer:
    """No counter-example of a sample is nearer than ``lower``, and one is at ``upper``.

    The origin of the lower limit is ``bound``, ``boxes``, ``cells`` or ``solver``; the proof holds
    the halvings of boxes where these are short enough to be kept.
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


@dataclass
class ExactVerifier:
    """One sample that cheap methods left open, and the time that it has.

    Without an engine the solver is the one that suits the program.
    """

    around: PerturbationSet
    answer: Answer
    radius: float
    smallest: bool
    slot: Slot
    engine: AbstractSolver | None

    def settle(self, method: str) -> Answer:
        """Find out by few boxes, programs, and at last many boxes; or by one of them alone."""
        if method != "program":
            self._by_boxes(_FEW_BOXES if method == "auto" else None)
        if method == "auto" and not self._is_over:
            self._by_cells()
        if method != "boxes" and not self._is_over:
            if self.engine is None:
                decides = Adversary.build(self.around, self._farthest).is_integer
            else:
                decides = self.engine.name == CpSat.name
            if method == "auto" and not decides:
                self._polish()
                if self.around.norm == "linf" and self._is_compiled:
                    # Where the ball is a box, compiled ones take less time than a program of real
                    # numbers, and the fewer the less there is beyond the nearest one.
                    self._by_boxes(_MILLIONS, _BOX_GROWTH)
            (self._by_decisions if decides else self._by_minimising)()
        if method == "auto":
            self._by_boxes(_MANY_BOXES)
        return self.answer

    def _by_boxes(self, boxes: int | None, growth: float = math.inf) -> None:
        while not self._is_over:
            look = farthest = self._farthest
            if math.isfinite(growth):
                look = min(farthest, max(growth * self.answer.lower, farthest / 16))
            is_few = boxes is not None and boxes <= _FEW_BOXES
            if not is_few and self._is_compiled:
                # Boxes that alone are to settle it are to leave a proof.
                relaxed = boxes is not None
                search: Branching = CompiledBranching(
                    self.around,
                    look,
                    relaxed=relaxed,
                    margin=_MARGINS[-1] if relaxed else 0.0,
                    enough=0.0 if self.smallest else self.radius,
                )
            else:
                search = Branching(self.around, look)
            search.run(seconds=self._remaining, boxes=boxes)
            if search.counter_example is not None:
                self.answer = self.answer.lowered(search.upper, search.counter_example)
            self.answer = self.answer.raised(search.lower, "boxes", search.proof())
            if search.is_complete and search.counter_example is None:
                self._rule_out(look, "boxes", search.proof())
            if not search.is_complete or search.counter_example is not None:
                break
            if look >= farthest and (math.isfinite(self._end) or look >= _LAST_RADIUS):
                break

    def _polish(self) -> None:
        """Bring the counter-example nearer: what is beyond it is not looked at."""
        around, x = self.around, self.answer.counter_example
        if x is not None:
            found = polished(around, CounterExamples.none(around).with_better(around, x[None]))
            self.answer = self.answer.lowered(float(found.lengths[0]), found.X[0])

    def _by_cells(self) -> None:
        """Try all cells of columns that have bins, where they are few."""
        if not isinstance(self.around, ColumnSet):
            return
        look = self._end if math.isfinite(self._end) else _LAST_RADIUS
        found = nearest_cell(self.around, look)
        if found is not None:
            lower, upper, counter_example = found
            if counter_example is not None:
                self.answer = self.answer.lowered(upper, counter_example)
            self.answer = self.answer.raised(lower, "cells")
            if counter_example is None:
                self._rule_out(look, "cells")

    def _rule_out(self, look: float, origin: str, proof: Any = None) -> None:
        """Where nothing is found within a radius beyond which nothing is, there is nothing."""
        if look >= self.around.farthest:
            self.answer = self.answer.raised(math.inf, origin, proof)

    def _by_decisions(self) -> None:
        """Bisect the radius."""
        margins = list(_MARGINS)
        while not self._is_over and margins and self.answer.lower < _LAST_RADIUS:
            look = self._next_radius(margins[0])
            if look <= self.answer.lower:
                margins.pop(0)
                continue
            model = Adversary.build(self.around, look)
            outcome = self._solve(model, self.engine or CpSat())
            if outcome.termination is Termination.INFEASIBLE:
                self._prove(look)
            elif outcome.solution is None:
                break
            elif not self._believe(model, outcome.solution):
                margins.pop(0)

    def _next_radius(self, margin: float) -> float:
        lower, upper, end = self.answer.lower, self.answer.upper, beyond(self.radius)
        if not self.smallest and math.isfinite(end):
            return min(end, upper - margin)
        if upper > end or math.isinf(upper):
            start = _FIRST_RADIUS / 16 if math.isinf(end) else end / 16
            return min(end, max(start, _GROWTH * lower))
        if upper - lower > _NEAR * upper:
            return 0.5 * (lower + upper)
        return upper - margin

    def _by_minimising(self) -> None:
        """Minimise the length within growing radii; bounds count when two programs agree."""
        claim = self.answer.lower
        for _ in range(_ROUNDS):
            if self._is_over:
                break
            look = farthest = min(self._end, _LAST_RADIUS)
            if self.around.norm != "linf" or math.isinf(self._end):
                look = min(farthest, max(farthest / 16, _GROWTH * claim))
            said = min(self._minimise(look), look * (1 - _TRUST))
            self._prove(min(claim, said))
            if said <= claim:
                break
            claim = said
            if said < look * (1 - 2 * _TRUST) or look == farthest:
                before = self.answer.upper
                radius = min(claim, before - _MARGINS[-1])
                is_new = radius > self.answer.lower and not self._is_over
                # The second opinion: a program of this radius has no solution.
                if is_new and math.isinf(self._minimise(radius, any_will_do=True)):
                    self._prove(radius)
                if self.answer.upper >= before:
                    break
                claim = self.answer.lower

    def _minimise(self, look: float, *, any_will_do: bool = False) -> float:
        """Find nearer counter-examples, and a length below which a solver says there are none.

        It is infinite where the program itself has no solution.
        """
        model = Adversary.build(self.around, look, minimise=True)
        claim = 0.0
        for _ in range(_ROUNDS):
            outcome = self._solve(model, self.engine or Highs())
            if outcome.termination is Termination.INFEASIBLE:
                return math.inf
            if outcome.solution is None:
                break
            if self._believe(model, outcome.solution) and any_will_do:
                break
            claim = model.free_input.length_of(outcome.bound) * (1 - _TRUST) - _TRUST
            if self._remaining <= 0 or not model.free_input.refine(outcome.solution):
                break
        return claim

    def _prove(self, lower: float) -> None:
        self.answer = self.answer.raised(lower, "solver")

    def _believe(self, model: Adversary, x: FloatArray) -> bool:
        """Turn a solution into a raw input that the forward pass confirms; tell if it is nearer."""
        around, free_input, before = self.around, model.free_input, self.answer
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
            self.answer = self.answer.lowered(float(found.lengths[0]), found.X[0])
        return self.answer is not before

    def _solve(self, model: Adversary, engine: AbstractSolver) -> SolveResult:
        limits = Limits(seconds=self._remaining, absolute_gap=1e-9)
        outcome = engine.solve(model.program, limits=limits)
        if outcome.termination is Termination.INTERRUPTED:
            raise KeyboardInterrupt
        return outcome

    @property
    def _is_compiled(self) -> bool:
        """Whether compiled boxes suit, and are there in time."""
        suits = CompiledBranching.suits(self.around)
        return suits and COMPILED_BOXES.wait(self.slot.part(_COMPILING_SHARE))

    @property
    def _end(self) -> float:
        """Nothing farther away is of interest."""
        return min(beyond(self.radius), self.answer.upper)

    @property
    def _farthest(self) -> float:
        """How far to look when all is to be looked at."""
        end = self._end
        return end if math.isfinite(end) else max(_FIRST_RADIUS, 4 * self.answer.lower)

    @property
    def _remaining(self) -> float:
        return self.slot.remaining

    @property
    def _is_over(self) -> bool:
        return self._remaining <= 0 or self.answer.is_settled(self.radius, smallest=self.smallest)


_MOST_CELLS = 1 << 16


def nearest_cell(around: ColumnSet, radius: float) -> tuple[float, float, FloatArray | None] | None:
    """Lower and upper limit of the nearest counter-example of a single row, and itself.

    None where scaled numbers stand beside bins, or bins within the radius make too many cells.
    """
    reach = [np.flatnonzero((costs[0] <= radius) & np.isfinite(costs[0])) for costs in around.costs]
    if around.numbered.size or math.prod(map(len, reach)) > _MOST_CELLS:
        return None
    grid = np.meshgrid(*(bins.astype(float) for bins in reach), indexing="ij")
    cells: FloatArray = np.stack(grid, axis=-1).reshape(-1, len(reach))
    cells = cells[around.is_possible(cells, cells)]
    cells = cells[around.network.predict(around.inputs(cells)) != around.classes[0]]
    lengths = around.lengths(cells)
    cells, lengths = cells[lengths <= radius], lengths[lengths <= radius]
    if not len(cells):
        return radius, math.inf, None
    nearest = int(lengths.argmin())
    found = around.raw(cells[[nearest]])
    if not around.is_changed(found)[0]:
        return None
    return float(lengths[nearest]), float(around.measured(found)[0]), found[0]

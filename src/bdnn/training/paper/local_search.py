"""The paper's local search (Algorithm 1): odd and even layers are optimised in turn.

With the even layers fixed, problem H1 optimises the odd ones, then H2 the even ones with the odd
ones fixed; a round without a better loss ends the search in a local optimum. The subproblems are
linear programs with integers, solved as the paper does (``paper=True``) or, faster, by exact
one-unit moves with a solver behind them where the moves are no proof. With a radius every network
on the way keeps its first-layer activations in balls around the inputs (the paper's robust model).
Constraints and prices are part of the subproblems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.mip import DEFAULT_EPS
from bdnn.problem.samples import Samples
from bdnn.problem.terms.context import is_whole
from bdnn.search.margin import widen_margin
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import Phase
from bdnn.training.limits import Share, is_number
from bdnn.training.paper.alternation import Alternate, LocalStart, Subproblems
from bdnn.training.paper.halves import Freed
from bdnn.training.phases.as_classes import OutputMethod
from bdnn.training.run import Run


@dataclass(frozen=True)
class LocalSearch(OutputMethod):
    """Optimise odd and even layers in turn.

    Parameters
    ----------
    starts : int
        Random starts; as many at a time as the run has threads.
    start : {"random", "search"}
        Begin with random weights, or with a network of the search.
    subproblems : {"auto", "mip", "search"}
        By exact one-unit moves and a solver where these are no proof, by a solver, or by moves.
    units, samples : float or sequence of int
        Which hidden units a subproblem frees, and the activations of which samples. A share is
        drawn at random for every subproblem, and a start then ends after as many rounds without
        gain as it takes to free each of them once on average. Numbers name units, counted from 0
        through all hidden layers, or lines of the problem; an estimator takes rows of ``fit``
        for samples. Freeing some samples only is a matter for a solver, not for moves.
    polish : bool
        Whether the best network gets wider margins at the same loss.
    eps : float
        Strictness margin of continuous weights.
    paper : bool
        Algorithm 1 as the paper states it: one start with every value of the fixed part drawn at
        random, subproblems by a solver, no polish.
    """

    starts: int = 4
    start: LocalStart = "random"
    subproblems: Subproblems = "auto"
    units: Freed = 1.0
    samples: Freed = 1.0
    polish: bool = True
    eps: float = DEFAULT_EPS
    paper: bool = False

    name: ClassVar[str] = "local_search"
    handles: ClassVar[frozenset[str]] = frozenset({"any loss", "solver"})

    def output_phases(self, run: Run[Any], solver: str | AbstractSolver) -> list[Phase]:
        """All starts, and wider margins for the best network."""
        method = self._settled()
        method._check()
        shape = run.problem.architecture
        _check_numbers("units", self.units, sum(shape.hidden), "hidden units")
        _check_numbers("samples", self.samples, len(run.problem.inputs), "distinct inputs")
        alternate = Alternate(
            solver,
            starts=method.starts,
            start=method.start,
            subproblems=method.subproblems,
            units=method.units,
            samples=method.samples,
            eps=method.eps,
            paper=method.paper,
            share=run.schedule.local if method.polish else Share(),
        )
        widen = [_Widen(share=run.schedule.local_widen)] if method.polish else []
        return [alternate, *widen]

    def _settled(self) -> LocalSearch:
        method = replace(self, units=_plain(self.units), samples=_plain(self.samples))
        if not self.paper:
            return method
        return replace(method, starts=1, start="random", subproblems="mip", polish=False)

    def _check(self) -> None:
        if isinstance(self.starts, bool) or not isinstance(self.starts, int) or self.starts < 1:
            raise ModelError(
                f"starts must be a whole number from 1, got {self.starts!r}: give for example 4."
            )
        choices = {"start": get_args(LocalStart), "subproblems": get_args(Subproblems)}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ModelError(
                    f"{name} must be one of {', '.join(map(repr, known))}, got "
                    f"{getattr(self, name)!r}: choose one of these."
                )
        for name in ("units", "samples"):
            share = getattr(self, name)
            if not _is_list(share) and (not is_number(share) or not 0 < share <= 1):
                raise ModelError(
                    f"{name} must be a share above 0 and up to 1, or a list of numbers, got "
                    f"{share!r}: give for example 0.2, or 1 for all."
                )
        if self.subproblems == "search" and (_is_list(self.samples) or self.samples != 1):
            raise ModelError(
                f"samples={self.samples!r} needs a solver, and subproblems='search' has none: use "
                "'auto' or 'mip', or leave samples at 1."
            )

    def for_rows(self, samples: Samples) -> LocalSearch:
        """Turn rows of the samples into lines of the problem."""
        if not _is_list(self.samples):
            return self
        chosen = np.asarray(self.samples)
        if chosen.dtype == bool and chosen.shape == samples.line.shape:
            return replace(self, samples=np.flatnonzero(chosen).tolist()).for_rows(samples)
        _check_numbers("samples", self.samples, len(samples.line), "samples")
        lines = samples.line[list(self.samples)]  # type: ignore[arg-type]
        if (lines < 0).any():
            row = list(self.samples)[int(np.argmin(lines))]  # type: ignore[arg-type]
            raise ModelError(
                f"samples names row {row}, which has no weight or is kept for validation: leave "
                "it out."
            )
        return replace(self, samples=tuple(np.unique(lines).tolist()))


@dataclass(frozen=True, eq=False)
class _Widen(Phase):
    """Give the best network wider margins at the same loss."""

    name: ClassVar[str] = "margin"
    is_final: ClassVar[bool] = True

    def applies(self, run: Run[Any]) -> bool:
        return run.network is not None and run.remaining > 0

    def execute(self, run: Run[Any], slot: Slot) -> None:
        assert run.network is not None
        run.mark(self.name)
        wider = widen_margin(run.problem, run.network, slot=slot, seed=run.budget.seed)
        run.offer(wider, self.name, or_equal=True)


def _plain(freed: Freed) -> Freed:
    """A share as a float, whatever kind of number it is."""
    return float(freed) if is_number(freed) else freed  # type: ignore[arg-type]


def _is_list(freed: object) -> bool:
    return isinstance(freed, Sequence | np.ndarray) and not isinstance(freed, str)


def _check_numbers(name: str, freed: Freed, n: int, what: str) -> None:
    """Refuse a list that is empty or names what is not there."""
    if not _is_list(freed):
        return
    numbers = list(freed)  # type: ignore[arg-type]
    if n == 0:
        raise ModelError(f"{name} names some of the {what}, but there are none: leave it out.")
    if not numbers or not all(is_whole(number) and 0 <= number < n for number in numbers):
        raise ModelError(
            f"{name} must be numbers from 0 to {n - 1} of the {n} {what}, got "
            f"{str(numbers)[:60]}: correct the list, or give a share such as 0.2."
        )

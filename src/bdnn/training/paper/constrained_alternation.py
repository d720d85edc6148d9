"""Problems H1 and H2 where networks must keep constraints: the whole program with a part fixed.

Constraints tie layers together, so that these cannot be solved one by one. Of the products in the
program of the whole network one factor is always fixed, so that the program is as the paper's H1
and H2 are: linear, with all free layers at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.clock import Slot
from bdnn.mip import NetworkModel, Robust
from bdnn.mip.freedom import free_part
from bdnn.mip.loss import OutputObjective
from bdnn.mip.repair import networks_of
from bdnn.network.activation import BoolArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver, get_solver
from bdnn.solvers.result import Limits, Termination
from bdnn.training.paper.alternation import HalfSolution, Neighbourhood


@dataclass(frozen=True)
class ConstrainedPrograms:
    """Solves subproblems whose networks keep constraints.

    Parameters
    ----------
    problem : Problem[OutputLoss]
    model : NetworkModel[OutputObjective]
        Of the whole network.
    engine : AbstractSolver
    """

    problem: Problem[OutputLoss]
    model: NetworkModel[OutputObjective]
    engine: AbstractSolver

    @classmethod
    def build(
        cls,
        problem: Problem[OutputLoss],
        solver: str | AbstractSolver,
        *,
        threads: int,
        seed: int,
        eps: float,
        robust: Robust | None,
    ) -> ConstrainedPrograms:
        """Write the program down once for all subproblems."""
        model = NetworkModel.build(problem, eps=eps, robust=robust)
        engine = (
            choose_solver(model.program, threads=threads, seed=seed)
            if solver == "auto"
            else get_solver(solver, threads=threads, seed=seed)
        )
        engine.check_supports(model.program)
        return cls(problem, model, engine)

    def holds(self, network: Network) -> bool:
        """Whether a network keeps the constraints, and no perturbation what must hold."""
        return self.problem.is_feasible(network) and self.model.keeps_promises(network)

    def solve(
        self,
        network: Network,
        layers: tuple[int, ...],
        hood: Neighbourhood,
        *,
        rng: np.random.Generator,
        slot: Slot,
        activations: list[BoolArray] | None = None,
    ) -> HalfSolution:
        """Solve the program of the free layers from a network, which may break constraints."""
        del rng  # a program over all free layers leaves nothing to wish for
        problem, model, engine = self.problem, self.model, self.engine
        least = problem.floor
        start = model.lift(network, may_break_rules=True)
        if start is None:  # sums too near to thresholds for the program's margin
            return HalfSolution(network, least, "no start", engine.name)
        free = [
            hood.units[k][: len(layer.W)] & (k in layers) for k, layer in enumerate(model.layers)
        ]
        drawn = (
            {k: activations[k] for k in range(len(free) - 1) if k not in layers}
            if activations
            else None
        )
        program = free_part(model, start, free, samples=hood.samples, activations=drawn)
        outcome = engine.solve(
            program,
            limits=Limits(absolute_gap=max(1e-6, 0.999 * model.loss.step)),
            start=start if program.violation(start) <= 1e-6 else None,
            slot=slot,
        )
        for found in networks_of(model, outcome):
            if self.holds(found) and (activations is not None or self._is_no_worse(found, network)):
                network = found
        is_whole = hood.samples is None and all(part.all() for part in hood.units)
        if is_whole and outcome.termination is not Termination.INFEASIBLE:
            least = max(least, model.loss.round_up(outcome.bound))
        return HalfSolution(network, least, outcome.termination.value, engine.name)

    def _is_no_worse(self, found: Network, network: Network) -> bool:
        objective = self.problem.objective
        return objective(found) <= objective(network) or not self.holds(network)

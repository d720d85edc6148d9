"""Lower bounds for narrow networks by combinatorial Benders cuts, proofs in exact arithmetic.

For two classes the second output can be the opposite of the first (threshold functions are closed
under complement), so the smallest loss of a network with d hidden units is

    conflict bound + 2 min sum_i |mass_i1 - mass_i0| [output 1 is wrong at input i].

Output 1 is one of few threshold functions of the units up to order and turning: one for d = 1, AND
and OR for d = 2, five for d = 3. For each the master problem (:mod:`bdnn.training.pattern_master`)
decides where units have to be on and off, and a unit that cannot do it yields conflicts: small sets
of inputs with meeting convex hulls (:mod:`bdnn.training.separation`), which become cuts for every
unit and every function (Codato and Fischetti, 2006, for a single half-space). The least master
value over the functions bounds the loss from below whatever the weights: integer weights, shared
and zero thresholds only leave out networks. Where all units can do what the master asks, the bound
is the smallest loss of continuous weights, and the network is at hand. Integer output weights leave
out functions: ternary ones count units.

Integer weights of a first layer whose weight vectors can be listed are bounded by a search over
whole units instead (:mod:`bdnn.training.unit_search`), which knows them better.

For several units the master is asked whether a given cost suffices, and the cost is raised when it
does not: its linear relaxation says nothing (half of a unit each satisfies all), while an integer
solver refutes a small cost well. For a single unit the relaxation is strong, and the cost is
minimised by a linear-programming based solver.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bdnn.activation import BoolArray, FloatArray
from bdnn.architecture import Architecture
from bdnn.errors import ModelError
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver
from bdnn.solvers.result import Limits, Termination
from bdnn.training.listed_units import lists_units, most_listed, unit_bound
from bdnn.training.pattern_master import Master, output_rules
from bdnn.training.separation import Conflict, HalfSpace, Separator

_MOST_UNITS = 3
_CONFLICTS_PER_UNIT = 30
# Weights of samples that are no integers become integers of this many bits, rounded down.
_BITS = 44


@dataclass(frozen=True)
class PatternBound:
    """A lower bound on the loss of a narrow network.

    Attributes
    ----------
    bound : float
        No network of the architecture has a smaller loss.
    origin : str
        What proves the bound.
    rounds, cuts : int
        Master problems solved, and certified conflicts in them; or nodes of a search over units.
    seconds : float
    is_exact : bool
        Whether the bound is the smallest loss with a threshold per unit and, in the first layer,
        continuous weights or listed integer ones.
    network : Network or None
        A network that attains an exact bound, if the problem's architecture allows its weights.
    """

    bound: float
    origin: str
    rounds: int
    cuts: int
    seconds: float
    is_exact: bool
    network: Network | None


def supports(architecture: Architecture, *, is_listed: bool = False) -> bool:
    """Tell whether :func:`pattern_bound` applies: two classes, at most three hidden units.

    A few more units will do for problems whose units are listed, see
    :func:`bdnn.training.listed_units.lists_units`.
    """
    return (
        not architecture.activations
        and architecture.n_outputs == 2
        and len(architecture.hidden) <= 1
        and sum(architecture.hidden) <= (most_listed(architecture) if is_listed else _MOST_UNITS)
    )


def pattern_bound(
    problem: TrainingProblem,
    *,
    seconds: float,
    seed: int = 0,
    upper: float = math.inf,
    on_bound: Callable[[float], bool | None] | None = None,
    solver: str | AbstractSolver = "auto",
    threads: int = 1,
) -> PatternBound:
    """Bound the loss of a network of few hidden units from below.

    Parameters
    ----------
    problem : TrainingProblem
        Of an architecture that :func:`supports` accepts.
    seconds : float
        Wall-clock time; the bound at hand is valid at any moment.
    seed : int
    upper : float
        A loss that is known to be reached; the run ends when the bound meets it.
    on_bound : callable, optional
        Called with every better bound; the run ends when it returns True.
    solver : str or AbstractSolver
        Solver of the master problem; ``"auto"`` takes HiGHS for one unit and CP-SAT else.
    threads : int
        Threads of the solver, or for rules of listed units.

    Returns
    -------
    PatternBound
    """
    is_listed = lists_units(problem)
    if not supports(problem.architecture, is_listed=is_listed):
        raise ModelError(
            f"bounds by patterns need two classes and at most one hidden layer of {_MOST_UNITS} "
            f"units, or some more of few integer weights, got {problem.architecture}: use another "
            "method."
        )
    if is_listed:
        return _by_units(problem, seconds, upper, on_bound, threads)
    run = _Run(problem, seconds, seed, upper, on_bound, solver, threads)
    network = run.search()
    is_exact = network is not None
    if network is not None:
        shape = problem.architecture
        fits = shape.thresholds == "neuron" and not any(w.integer for w in shape.weights)
        network = Network(shape, network.weights, network.thresholds) if fits else None
    return PatternBound(
        run.bound,
        f"combinatorial Benders cuts, {len(run.conflicts)} certified conflicts",
        run.rounds,
        len(run.conflicts),
        run.seconds,
        is_exact,
        network,
    )


def _by_units(
    problem: TrainingProblem,
    seconds: float,
    upper: float,
    on_bound: Callable[[float], bool | None] | None,
    threads: int,
) -> PatternBound:
    started = time.perf_counter()
    found = unit_bound(
        problem, deadline=started + seconds, upper=upper, on_bound=on_bound, threads=threads
    )
    return PatternBound(
        found.bound,
        f"list of all units, {found.n_nodes} nodes",
        rounds=found.n_nodes,
        cuts=0,
        seconds=time.perf_counter() - started,
        is_exact=found.is_attained,
        network=None,
    )


class _Run:
    """The conflicts of a run, its master problems and what they prove."""

    def __init__(
        self,
        problem: TrainingProblem,
        seconds: float,
        seed: int,
        upper: float,
        on_bound: Callable[[float], bool | None] | None,
        solver: str | AbstractSolver,
        threads: int,
    ) -> None:
        self.problem = problem
        self.started = time.perf_counter()
        self.limit = seconds
        self.upper = upper
        self.on_bound = on_bound
        self.rng = np.random.default_rng(seed)
        gains = problem.cost_off[:, 1] - problem.cost_on[:, 1]
        rows = np.flatnonzero(gains)
        gains = gains[rows]
        self.wanted = gains > 0
        self.n_units = sum(problem.architecture.hidden) or 1
        weight = np.abs(gains)
        if problem.is_integral:
            self.unit = float(np.gcd.reduce(weight.astype(np.int64), initial=0) or 1)
        else:
            self.unit = float(weight.sum()) / 2.0**_BITS or 1.0
        self.costs = np.floor(weight / self.unit).astype(np.int64)
        self.separator = Separator(problem.inputs[rows]) if len(rows) else None
        self.masters = [
            Master(rule, self.wanted, self.costs) for rule in output_rules(problem.architecture)
        ]
        # Only integer arithmetic keeps apart costs of so many digits.
        name = "highs" if self.n_units == 1 and problem.is_integral else "cpsat"
        self.solver = get_solver(name if solver == "auto" else solver, threads=threads, seed=seed)
        self.conflicts: list[Conflict] = []
        self.rounds = 0
        self.bound = problem.conflict_bound
        self.stopped = False

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def search(self) -> Network | None:
        """Add conflicts until a network attains the bound, or time or ideas have run out."""
        if self.separator is None:
            return self.problem.constant_network()
        while not self.stopped and self.seconds < self.limit:
            master = min(self.masters, key=lambda one: one.bound)
            solution = self._solve(master)
            self._raise_bound()
            if solution is None or master.bound > min(one.bound for one in self.masters):
                continue
            needs = master.needs(solution, self.rng.permutation(self.n_units))
            cost = int(self.costs[solution[: len(self.costs)] > 0.5].sum())
            known = len(self.conflicts)
            found = [
                self._unit(self.separator, master, needs[:, j], j) for j in range(self.n_units)
            ]
            if len(self.conflicts) > known:
                continue
            spaces = [space for space in found if space is not None]
            if len(spaces) == self.n_units and cost <= master.bound:
                network = master.rule.network(self.problem.architecture, spaces)
                # The forward pass has the last word.
                is_met = self.problem.is_met(self.problem.loss(network), self.bound)
                return network if is_met else None
            return None
        return None

    def _solve(self, master: Master) -> FloatArray | None:
        """Solve a master problem; raise its bound where that is all it gives."""
        self.rounds += 1
        master.add(self.conflicts)
        most = self._level(self.upper)
        if self.n_units > 1 and self.problem.is_integral:
            most = master.bound
        engine = replace(self.solver, seed=int(self.rng.integers(2**30)))
        outcome = engine.solve(
            master.program(most=most),
            limits=Limits(seconds=max(0.05, self.limit - self.seconds), absolute_gap=0.5),
        )
        if outcome.termination is Termination.INFEASIBLE and math.isfinite(most):
            master.bound = int(most) + 1
            return None
        if outcome.termination is Termination.INTERRUPTED:
            # Nobody asks this solver to stop but the user, by Ctrl-C.
            raise KeyboardInterrupt
        if outcome.termination not in (Termination.OPTIMAL, Termination.GAP_LIMIT):
            self.stopped = True
        if most > master.bound and math.isfinite(outcome.bound):
            # Costs are integers, so that a bound may be rounded up beyond any tolerance.
            bound = self.problem.round_bound(outcome.bound)
            master.bound = max(master.bound, math.floor(bound))
        return outcome.solution

    def _level(self, loss: float) -> float:
        """Convert a loss into a cost of the master problem, rounded up."""
        if math.isinf(loss):
            return math.inf
        level = (loss - self.problem.conflict_bound) / (2 * self.unit)
        return math.ceil(level - 1e-6) + (0 if self.problem.is_integral else len(self.costs))

    def _raise_bound(self) -> None:
        level = min(master.bound for master in self.masters)
        bound = self.problem.conflict_bound + 2 * self.unit * level
        if bound > self.bound:
            self.bound = bound
            if self.on_bound is not None and self.on_bound(bound):
                self.stopped = True
        if self.problem.is_met(self.upper, self.bound):
            self.stopped = True

    def _unit(
        self, separator: Separator, master: Master, needs: BoolArray, unit: int
    ) -> HalfSpace | None:
        """Find what keeps a unit from serving its inputs, or weights with which it does."""
        on = np.flatnonzero(needs & self.wanted)
        off = np.flatnonzero(needs & ~self.wanted)
        walker = separator.walker(on, off)
        known = len(self.conflicts)
        if walker is not None:
            choice = master.is_choice[:, unit]
            # Inputs too dear to be given up at this cost make a cut no weaker.
            light = ~choice & (self.costs <= master.bound)
            used = np.zeros(len(needs))
            tried = set(self.conflicts)
            for _ in range(_CONFLICTS_PER_UNIT):
                if self.seconds > self.limit:
                    break
                costs = self.rng.random(len(needs)) * (1 + 4 * used) + 3 * used
                costs[~choice & ~light] = 0.0
                conflict = walker.sparse(costs, (choice, light), self.rng)
                used[list(conflict.on + conflict.off)] += 1
                if conflict not in tried:
                    tried.add(conflict)
                    if separator.certify(conflict):
                        self.conflicts.append(conflict)
        if len(self.conflicts) > known:
            return None
        return separator.half_space(on, off)

"""Problems H1 and H2 of Algorithm 1: every second layer is free, the others stay.

Two ways to solve them. As programs, one per free layer, see :mod:`bdnn.mip.freedom`; and
by exact one-unit moves on the units of the free layers, which is a proof too where the loss meets a
bound of the subproblem. The moves let the activations of all layers follow, so that they see more
than the programs do, and none of them raises the loss. They know nothing of perturbations: where
first-layer activations must hold in balls, thresholds are settled after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bdnn.clock import Slot
from bdnn.mip.freedom import FreeLayer
from bdnn.mip.model import DEFAULT_EPS
from bdnn.mip.repair import repair
from bdnn.mip.robust import Robust
from bdnn.network.activation import BoolArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray
from bdnn.search.kernels.arrays import PER_LAYER
from bdnn.search.state import SearchState
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver, get_solver
from bdnn.solvers.result import Limits, SolveResult, Termination
from bdnn.training.robust import settled

# A share to be drawn at random, or numbers.
Freed = float | Sequence[int]

# Sweeps without gain after which the moves have reached their minimum; plateaus need a few.
_QUIET_SWEEPS = 12
# Passes over a unit's weights and random directions per pass, as in the search.
_PASSES, _EXTRA = 3, 8
_CALL_WORK = 4_000_000


def free_layers(half: int, n_layers: int) -> tuple[int, ...]:
    """Numbers of the layers, from 0, that H1 (the odd ones, counted from 1) or H2 sets free."""
    return tuple(range(half - 1, n_layers, 2))


@dataclass(frozen=True)
class HalfSolution:
    """The end of a subproblem.

    Parameters
    ----------
    network : Network
        Of no larger loss than the one before.
    bound : float
        No choice of the free part has a smaller loss.
    status : str
        ``optimal``, ``local`` (no move helps), ``time limit``, ``infeasible``, ...
    solved_by : str
        ``search`` or the solver.
    """

    network: Network
    bound: float
    status: str
    solved_by: str


@dataclass(frozen=True)
class Neighbourhood:
    """Which units of the free layers and which samples' activations a subproblem frees.

    Parameters
    ----------
    units : tuple of arrays of bool, one per layer
    samples : array of bool or None
        None frees those of all samples.
    """

    units: tuple[BoolArray, ...]
    samples: BoolArray | None = None

    @classmethod
    def draw(
        cls, problem: Problem[OutputLoss], units: Freed, samples: Freed, rng: np.random.Generator
    ) -> Neighbourhood:
        """Free hidden units and samples: those of given numbers, or shares of them at random.

        Units are counted through all hidden layers. Outputs are free.
        """
        shape = problem.architecture
        if isinstance(units, float | int):
            chosen = [_some(width, units, rng) for width in shape.hidden]
        else:
            ends = np.cumsum(shape.hidden)
            chosen = np.split(_named(sum(shape.hidden), units), ends[:-1])
        chosen.append(np.ones(shape.n_outputs, dtype=bool))
        n = len(problem.inputs)
        if isinstance(samples, float | int):
            freed = None if samples >= 1 else _some(n, samples, rng)
        else:
            freed = _named(n, samples)
        return cls(tuple(chosen), freed)


def _some(n: int, share: float, rng: np.random.Generator) -> BoolArray:
    chosen = np.zeros(n, dtype=bool)
    chosen[rng.choice(n, size=min(n, max(1, round(share * n))), replace=False)] = True
    return chosen


def _named(n: int, numbers: Sequence[int]) -> BoolArray:
    chosen = np.zeros(n, dtype=bool)
    chosen[list(numbers)] = True
    return chosen


def pattern_bound(problem: Problem[OutputLoss], network: Network, layers: tuple[int, ...]) -> float:
    """Bound a subproblem without solving it: samples that look the same to free outputs."""
    if not layers or layers[-1] < problem.architecture.n_layers - 1 or layers[-1] == 0:
        return problem.floor
    seen = network.activations(problem.inputs)[layers[-1] - 1]
    group = np.unique(seen, axis=0, return_inverse=True)[1].reshape(-1)
    counts = problem.loss.counts
    together = np.zeros((int(group.max(initial=-1)) + 1, counts.shape[1]), dtype=counts.dtype)
    np.add.at(together, group, counts)
    return float(replace(problem.loss, counts=together).conflicts)


def move_units(
    problem: Problem[OutputLoss],
    network: Network,
    layers: tuple[int, ...],
    hood: Neighbourhood,
    *,
    rng: np.random.Generator,
    target: float,
    slot: Slot,
    robust: Robust | None = None,
) -> Network:
    """Improve the units of the free layers one by one until no move helps or a target is met.

    With ``robust`` the end counts only if it costs no more once the first layer is settled.
    """
    state = SearchState(problem, network)
    s = state.arrays
    n_inputs = s.sums.shape[1]
    best, best_cost, quiet = state.snapshot(), state.cost, 0
    while quiet < _QUIET_SWEEPS and not problem.is_close(best_cost, target) and not slot.is_over():
        for k in reversed(layers):
            n_units = int(s.widths[k + 1])
            freed = np.flatnonzero(hood.units[k][:n_units])
            units: IndexArray = s.unit_at[k] + rng.permutation(freed)
            size = max(1, _CALL_WORK // (n_inputs * _PASSES * (int(s.widths[k]) + _EXTRA)))
            for first in range(0, len(units), size):
                if not slot.is_over():
                    state.improve(units[first : first + size], rng, _PASSES, _EXTRA)
            if s.threshold_kind == PER_LAYER and len(freed) == n_units:
                state.move_layer_threshold(k, rng, 2)
        state.refresh()
        quiet += 1
        if state.cost < best_cost - 1e-9 * max(1.0, best_cost):
            best_cost, quiet = state.cost, 0
        if state.cost <= best_cost + 1e-9 * max(1.0, best_cost):
            best = state.snapshot()
    state.restore(best)
    state.centre_thresholds()
    moved = state.to_network()
    if robust is None:
        return moved
    if 0 not in layers:
        weights = (network.weights[0], *moved.weights[1:])
        thresholds = (network.thresholds[0], *moved.thresholds[1:])
        moved = Network(network.architecture, weights, thresholds)
    firm = settled(moved, robust, problem.inputs)
    return network if firm is None or problem.value(firm) > problem.value(network) else firm


@dataclass(frozen=True)
class ProgramSolver:
    """Solves subproblems as programs.

    Parameters
    ----------
    problem : Problem[OutputLoss]
    solver : str or AbstractSolver
    threads, seed : int
    eps : float
    robust : Robust or None
        Balls around the inputs in which first-layer activations must hold.
    """

    problem: Problem[OutputLoss]
    solver: str | AbstractSolver = "auto"
    threads: int = 1
    seed: int = 0
    eps: float = DEFAULT_EPS
    robust: Robust | None = None

    def size(self, layers: tuple[int, ...]) -> int:
        """Number of non-zero products in the programs, which is what a solver has to read."""
        widths, m = self.problem.architecture.widths, len(self.problem.inputs)
        return m * sum(widths[k] * widths[k + 1] for k in layers)

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
        """Solve the programs of all free layers, the topmost first, each from the network so far.

        A layer's solution is taken if the forward pass of the network with it costs no more, and
        never if a perturbation changes what must hold.
        """
        problem = self.problem
        seconds = slot.remaining
        parts = [(k, units) for k in reversed(layers) for units in self._parts(k)]
        least, statuses, names = 0.0, [], []
        for number, (k, units) in enumerate(parts):
            # Where only old activations have to be kept, wishes make the solver move at all.
            wishes = rng.choice([-1.0, 1.0], size=problem.architecture.widths[k + 1])
            model = FreeLayer.build(
                problem,
                network,
                k,
                units=units,
                activations=activations,
                wishes=wishes,
                eps=self.eps,
                robust=self.robust,
            )
            share = seconds / len(parts) if number else seconds / min(2, len(parts))
            outcome, name = self._run(model, network, hood, slot=slot.part(most=max(0.05, share)))
            statuses.append(outcome.termination)
            names.append(name)
            if outcome.solution is not None:
                found = self._read(model, outcome)
                takes = activations is not None or self._is_no_worse(found, network)
                if takes and (k > 0 or self.holds(found)):
                    network = found
            if model.loss is not None:
                bound = max(model.bound, model.loss.round_up(outcome.bound))
                least += 2 * bound if self._is_paired(k) else bound
        bound = max(least, problem.floor)
        return HalfSolution(network, bound, _joint(statuses), names[0] if names else "")

    def holds(self, network: Network) -> bool:
        """Whether no perturbation changes a first-layer activation that must hold."""
        return self.robust is None or bool(self.robust.holds(network, self.problem.inputs).all())

    def _is_no_worse(self, found: Network, network: Network) -> bool:
        return self.problem.value(found) <= self.problem.value(network) or not self.holds(network)

    def _read(self, model: FreeLayer, outcome: SolveResult) -> Network:
        """Turn a solution into a network, repaired if rounding made it lose what it claimed."""
        problem, solution = self.problem, outcome.solution
        assert solution is not None
        complete = _with_complement if self._is_paired(model.number) else _as_it_is
        network = complete(model.read(solution))
        outputs = network.outputs(problem.inputs)[model.samples]
        if model.number == problem.architecture.n_layers - 1:
            outputs = outputs[:, model.units]
        if model.loss is not None and model.loss.value(outputs) > outcome.objective + 1e-6:
            repaired = repair(model.model, solution)
            fitted = network if repaired is None else complete(model.put(repaired))
            network = fitted if model.number > 0 or self.holds(fitted) else network
        return network

    def _is_paired(self, layer: int) -> bool:
        """Whether one output decides for both, being the complement of the other."""
        shape = self.problem.architecture
        is_top = layer == shape.n_layers - 1
        return is_top and shape.n_outputs == 2 and shape.thresholds == "neuron"

    def _parts(self, layer: int) -> list[IndexArray | None]:
        """Units to solve for at once: outputs one by one unless they share their threshold."""
        shape = self.problem.architecture
        if layer < shape.n_layers - 1 or shape.thresholds == "layer":
            return [None]
        if self._is_paired(layer):
            return [np.array([1])]
        if self.robust is not None and layer == 0:
            return [None]  # one by one they would hold only if all of them did before
        return [np.array([output]) for output in range(shape.n_outputs)]

    def _run(
        self,
        model: FreeLayer,
        network: Network,
        hood: Neighbourhood,
        *,
        slot: Slot,
    ) -> tuple[SolveResult, str]:
        program, start = model.program, model.lift(network)
        free = hood.units[model.number]
        if start is not None and (not free.all() or hood.samples is not None):
            program = model.restricted(start, free, hood.samples)
        engine = (
            choose_solver(program, threads=self.threads, seed=self.seed)
            if self.solver == "auto"
            else get_solver(self.solver, threads=self.threads, seed=self.seed)
        )
        step = 0.0 if model.loss is None else 0.999 * model.loss.step
        limits = Limits(absolute_gap=max(1e-6, step))
        outcome = engine.solve(program, limits=limits, start=start, slot=slot)
        if program is not model.program:
            # A restriction's bound holds for the restriction only.
            outcome = replace(outcome, bound=-np.inf)
        return outcome, engine.name


def _joint(statuses: list[Termination]) -> str:
    """The worst of several ends."""
    order = (
        Termination.INTERRUPTED,
        Termination.INFEASIBLE,
        Termination.FAILED,
        Termination.UNBOUNDED,
        Termination.TIME_LIMIT,
        Termination.NODE_LIMIT,
        Termination.GAP_LIMIT,
        Termination.OPTIMAL,
    )
    return min(statuses, key=order.index).value if statuses else Termination.OPTIMAL.value


def _as_it_is(network: Network) -> Network:
    return network


def _with_complement(network: Network) -> Network:
    """Make the first of two outputs the exact complement of the second."""
    W, t = network.weights[-1], network.thresholds[-1]
    W = np.vstack([-W[1:], W[1:]])
    t = np.concatenate([-np.nextafter(t[1:], -np.inf), t[1:]])
    return Network(
        network.architecture, (*network.weights[:-1], W), (*network.thresholds[:-1], t)
    )  # fmt: skip

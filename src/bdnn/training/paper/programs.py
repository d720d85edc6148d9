"""Problems H1 and H2 as programs.

Without terms there is one program per free layer, see :class:`~bdnn.mip.freedom.FreeLayer`, and
one per output where outputs do not depend on each other: solvers do not find that out themselves.
Terms tie layers together, and units of several values are several switches each, so that with them
all free layers are one program, that of the whole network with the rest fixed. Of every product one
factor is fixed, so that it is linear, as the paper's H1 and H2 are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bdnn.clock import Slot
from bdnn.mip import DEFAULT_EPS, NetworkModel
from bdnn.mip.freedom import FreeLayer, free_part
from bdnn.mip.starts import networks_of, repair
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputBlock, OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray, Program
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver
from bdnn.solvers.result import Limits, SolveResult, Termination
from bdnn.training.paper.halves import HalfSolution, Halves, Neighbourhood

# The worst of several ends comes first.
_ENDS = (
    Termination.INTERRUPTED,
    Termination.INFEASIBLE,
    Termination.FAILED,
    Termination.UNBOUNDED,
    Termination.TIME_LIMIT,
    Termination.NODE_LIMIT,
    Termination.GAP_LIMIT,
    Termination.OPTIMAL,
)


@dataclass(frozen=True, eq=False)
class _Part:
    """A program of a subproblem, and how to read it.

    ``loss`` is None where the program does not touch it, ``least`` what its networks cost at least,
    and ``copies`` how many outputs cost the same.
    """

    program: Program
    start: FloatArray | None
    networks: Callable[[SolveResult], list[Network]]
    loss: OutputBlock | None
    least: float = -math.inf
    copies: int = 1
    is_restricted: bool = False

    def bound(self, outcome: SolveResult) -> float:
        """What the solver's bound says of the loss; that of a restriction says nothing."""
        if self.loss is None:
            return 0.0
        is_proof = not self.is_restricted and outcome.termination is not Termination.INFEASIBLE
        found = self.loss.round_up(outcome.bound) if is_proof else -math.inf
        return self.copies * max(self.least, found)


@dataclass(frozen=True, eq=False)
class HalfPrograms:
    """Programs of subproblems and their solver, with its threads and seed."""

    halves: Halves
    solver: str | AbstractSolver = "auto"
    threads: int = 1
    seed: int = 0
    eps: float = DEFAULT_EPS

    @property
    def problem(self) -> Problem[OutputLoss]:
        """The problem whose layers are freed."""
        return self.halves.problem

    @property
    def is_whole(self) -> bool:
        """Whether all free layers are one program."""
        return bool(self.problem.terms) or self.problem.architecture.has_levels

    @cached_property
    def whole(self) -> NetworkModel[OutputBlock]:
        """The program of the whole network, written down once for all subproblems."""
        model = NetworkModel.build(self.problem, eps=self.eps)
        self._engine(model.program).check_supports(model.program)
        return model

    def size(self, layers: Sequence[int]) -> int:
        """Number of non-zero products in the programs, which is what a solver has to read."""
        shape = self.problem.architecture
        read = range(shape.n_layers) if self.is_whole else layers
        return len(self.problem.inputs) * sum(shape.widths[k] * shape.widths[k + 1] for k in read)

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

        A solution is taken if the forward pass of its network costs no more, or any one where
        ``activations`` say what fixed layers must have instead of their own.
        """
        tasks: list[tuple[int, IndexArray | None]] = [(0, None)]
        if not self.is_whole:
            tasks = [(k, units) for k in reversed(layers) for units in self._units(k)]
        seconds, least, statuses, name = slot.remaining, 0.0, [], ""
        for number, (k, units) in enumerate(tasks):
            if self.is_whole:
                part = self._of_whole(network, layers, hood, activations)
            else:
                # Where only old activations have to be kept, wishes make the solver move at all.
                wishes = rng.choice([-1.0, 1.0], size=self.problem.architecture.widths[k + 1])
                part = self._of_layer(network, k, units, hood, activations, wishes)
            engine = self._engine((part or self.whole).program)
            name = name or engine.name
            if part is None:  # sums too near to thresholds for the program's margin
                return HalfSolution(network, self.problem.floor, "no start", name)
            share = seconds / len(tasks) if number else seconds / min(2, len(tasks))
            step = 0.0 if part.loss is None else 0.999 * part.loss.step
            outcome = engine.solve(
                part.program,
                limits=Limits(absolute_gap=max(1e-6, step)),
                start=part.start,
                slot=slot.part(most=max(0.05, share)),
            )
            statuses.append(outcome.termination)
            for found in [] if outcome.solution is None else part.networks(outcome):
                if self.halves.is_better(found, network, at_any_cost=activations is not None):
                    network = found
            least += part.bound(outcome)
        status = min(statuses, key=_ENDS.index, default=Termination.OPTIMAL)
        return HalfSolution(network, max(least, self.problem.floor), status.value, name)

    def _engine(self, program: Program) -> AbstractSolver:
        return choose_solver(program, self.solver, threads=self.threads, seed=self.seed)

    def _of_whole(
        self,
        network: Network,
        layers: tuple[int, ...],
        hood: Neighbourhood,
        activations: list[BoolArray] | None,
    ) -> _Part | None:
        """The whole program with all but the free layers fixed, None if these cannot be."""
        model = self.whole
        start = model.lift(network, may_break_rules=True)
        if start is None:
            return None
        free = [hood.units[k][: len(part.W)] & (k in layers) for k, part in enumerate(model.layers)]
        drawn = None
        if activations is not None:
            drawn = {k: activations[k] for k in range(len(free) - 1) if k not in layers}
        program = free_part(model, start, free, samples=hood.samples, activations=drawn)
        return _Part(
            program,
            start if program.violation(start) <= 1e-6 else None,
            lambda outcome: networks_of(model, outcome),
            model.loss,
            is_restricted=not hood.is_whole,
        )

    def _of_layer(
        self,
        network: Network,
        k: int,
        units: IndexArray | None,
        hood: Neighbourhood,
        activations: list[BoolArray] | None,
        wishes: FloatArray,
    ) -> _Part:
        """The program of some units of one layer."""
        model = FreeLayer.build(
            self.problem,
            network,
            k,
            units=units,
            activations=activations,
            wishes=wishes,
            eps=self.eps,
        )
        program, start, free = model.program, model.lift(network), hood.units[k]
        if start is not None and (not free.all() or hood.samples is not None):
            program = model.restricted(start, free, hood.samples)
        is_paired = self._is_paired(k)
        return _Part(
            program,
            start,
            lambda outcome: self._read(model, outcome, is_paired=is_paired),
            model.loss,
            model.bound,
            copies=2 if is_paired else 1,
            is_restricted=program is not model.program,
        )

    def _read(self, model: FreeLayer, outcome: SolveResult, *, is_paired: bool) -> list[Network]:
        """The network of a solution, and a repaired one if rounding made it lose its claim."""
        assert outcome.solution is not None
        complete = _with_complement if is_paired else lambda network: network
        network = complete(model.read(outcome.solution))
        if model.loss is None:
            return [network]
        outputs = network.outputs(self.problem.inputs)[model.samples]
        if model.number == self.problem.architecture.n_layers - 1:
            outputs = outputs[:, model.units]
        if model.loss.value(outputs) <= outcome.objective + 1e-6:
            return [network]
        repaired = repair(model.model, outcome.solution)
        return [network] if repaired is None else [network, complete(model.put(repaired))]

    def _is_paired(self, layer: int) -> bool:
        """Whether one output decides for both, being the complement of the other."""
        shape = self.problem.architecture
        is_top = layer == shape.n_layers - 1
        return is_top and shape.n_outputs == 2 and shape.thresholds == "neuron"

    def _units(self, layer: int) -> list[IndexArray | None]:
        """Units to solve for at once: outputs one by one unless they share their threshold."""
        shape = self.problem.architecture
        if layer < shape.n_layers - 1 or shape.thresholds == "layer":
            return [None]
        if self._is_paired(layer):
            return [np.array([1])]
        if self.problem.loss.pattern is not None and layer == 0:
            return [None]  # one by one they would hold only if all of them did before
        return [np.array([output]) for output in range(shape.n_outputs)]


def _with_complement(network: Network) -> Network:
    """Make the first of two outputs the exact complement of the second."""
    W, t = network.weights[-1], network.thresholds[-1]
    W = np.vstack([-W[1:], W[1:]])
    t = np.concatenate([-np.nextafter(t[1:], -np.inf), t[1:]])
    return Network(
        network.architecture, (*network.weights[:-1], W), (*network.thresholds[:-1], t)
    )  # fmt: skip

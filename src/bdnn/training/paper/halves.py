"""Problems H1 and H2 of Algorithm 1: every second layer is free, the others stay.

There are three ways to deal with them, each dearer than the one before. Inputs that look the same
to free outputs give a bound, which a network may meet already. Exact one-unit moves on the units of
the free layers let the activations of all layers follow, so that they see more than the programs
do, and are a proof too where they meet the bound. Last come programs, see
:mod:`bdnn.training.paper.programs`.

Moves keep what terms ask of weights and know nothing of the rest, nor of perturbations: thresholds
are settled after them, and what then costs more or breaks a term is not taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bdnn.clock import Slot
from bdnn.network.activation import BoolArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray
from bdnn.search.kernels.arrays import PER_LAYER
from bdnn.search.state import SearchState
from bdnn.training.paper.clusters import joint_loss, numbered

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
    """The end of a subproblem."""

    network: Network  # of no larger objective than the one before
    bound: float  # no choice of the free part has a smaller one
    # ``optimal``, ``local`` (no move helps), ``time limit``, ``infeasible``, ``no start``, ...
    status: str
    solved_by: str  # ``bound``, ``search`` or the solver


@dataclass(frozen=True)
class Neighbourhood:
    """Which units of the free layers and which samples' activations a subproblem frees."""

    units: tuple[BoolArray, ...]  # one per layer
    samples: BoolArray | None = None  # none frees those of all samples

    @classmethod
    def draw(
        cls, problem: Problem[OutputLoss], units: Freed, samples: Freed, rng: np.random.Generator
    ) -> Neighbourhood:
        """Free hidden units and samples: those of given numbers, or shares of them at random.

        Units are counted through all hidden layers. Outputs are free.
        """
        hidden, n = problem.architecture.hidden, len(problem.inputs)
        if isinstance(units, float | int):
            chosen = [_some(width, units, rng) for width in hidden]
        else:
            chosen = np.split(np.isin(np.arange(sum(hidden)), units), np.cumsum(hidden)[:-1])
        chosen.append(np.ones(problem.architecture.n_outputs, dtype=bool))
        if isinstance(samples, float | int):
            freed = None if samples >= 1 else _some(n, samples, rng)
        else:
            freed = np.isin(np.arange(n), samples)
        return cls(tuple(chosen), freed)

    @property
    def is_whole(self) -> bool:
        """Whether everything is free."""
        return self.samples is None and all(part.all() for part in self.units)


def _some(n: int, share: float, rng: np.random.Generator) -> BoolArray:
    chosen = np.zeros(n, dtype=bool)
    chosen[rng.choice(n, size=min(n, max(1, round(share * n))), replace=False)] = True
    return chosen


@dataclass(frozen=True, eq=False)
class Halves:
    """The subproblems of one problem: what networks must keep, a bound, and moves."""

    problem: Problem[OutputLoss]

    def holds(self, network: Network) -> bool:
        """Whether a network keeps the terms, and no perturbation changes what must hold."""
        return self.problem.holds(network) and self.problem.is_feasible(network)

    def settled(self, network: Network) -> Network:
        """With thresholds that no perturbation crosses; as it is where weights leave none."""
        return self.problem.settled(network) or network

    def is_met(self, network: Network, bound: float) -> bool:
        """Whether a network that keeps what is asked costs no more than a bound."""
        is_close = self.problem.is_close(self.problem.objective(network), bound)
        return is_close and self.holds(network)

    def bound(self, network: Network, layers: tuple[int, ...]) -> float:
        """Bound a subproblem without solving it: samples that look the same to free outputs."""
        problem = self.problem
        if not layers or layers[-1] < problem.architecture.n_layers - 1 or layers[-1] == 0:
            return problem.floor
        seen = network.activations(problem.inputs)[layers[-1] - 1]
        return float(joint_loss(problem.loss, numbered(seen)).conflicts)

    def is_better(self, found: Network, network: Network, *, at_any_cost: bool = False) -> bool:
        """Whether to go on with a network: it costs no more, or the other breaks what is asked."""
        if not self.holds(network):
            return True
        objective = self.problem.objective
        return self.holds(found) and (at_any_cost or objective(found) <= objective(network))

    def move(
        self,
        network: Network,
        layers: tuple[int, ...],
        hood: Neighbourhood,
        *,
        rng: np.random.Generator,
        target: float,
        slot: Slot,
    ) -> Network:
        """Improve the units of the free layers one by one until no move helps or a target is met.

        The end counts only if it costs no more once the first layer is settled.
        """
        problem = self.problem
        state = SearchState(problem, network)
        if not state.keep_terms(rng):
            return network
        s = state.arrays
        n_inputs = s.sums.shape[1]
        best, best_cost, quiet = state.snapshot(), state.cost, 0
        while (
            quiet < _QUIET_SWEEPS and not problem.is_close(best_cost, target) and not slot.is_over()
        ):
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
        if problem.is_free:
            return moved
        moved = self.settled(_with_hidden(moved, network, layers))
        return moved if self.is_better(moved, network) else network


def _with_hidden(moved: Network, network: Network, layers: tuple[int, ...]) -> Network:
    """What has moved, with the hidden layers that are not free as they were."""
    top = network.architecture.n_layers - 1
    chosen = [moved if k in layers or k == top else network for k in range(top + 1)]
    return Network(
        network.architecture,
        tuple(one.weights[k] for k, one in enumerate(chosen)),
        tuple(one.thresholds[k] for k, one in enumerate(chosen)),
    )

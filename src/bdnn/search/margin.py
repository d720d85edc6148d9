"""Second objectives: wider margins, fewer weights, at a loss that never rises.

All networks of least loss are equal to the loss and not to the user. The margin is widened by
annealing single weights on the cost of :mod:`bdnn.search.objective`, whose weights make the earlier
objectives outweigh the later ones; the best network by the exact lexicographic comparison is kept.
Weights are then removed wherever no earlier objective suffers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.loading import load_moves
from bdnn.search.objective import Objective, has_margins, output_margins
from bdnn.search.state import SearchState

# First temperature, in units of the wanted margin times the weight of an average sample.
_HEAT = 0.05
_CALL_WORK = 4_000_000
# Attempts in a row that may fail to raise the smallest margin.
_FAILURES = 3
# Rounds that remove no weight before the removal ends.
_FUTILE_ROUNDS = 3


def widen_margin(
    problem: Problem[OutputLoss],
    network: Network,
    *,
    slot: Slot,
    seed: int | np.random.SeedSequence | None = None,
    objectives: Sequence[str] = ("loss", "margin"),
    wanted_margin: float | None = None,
    sweeps: int = 100,
    on_network: Callable[[Network], object] | None = None,
) -> Network:
    """Improve the later objectives of a network without giving up on the earlier ones.

    Parameters
    ----------
    problem : Problem[OutputLoss]
    network : Network
        Where to begin; the result is never worse in the lexicographic order of the objectives.
    slot : Slot
    seed : int, SeedSequence or None
    objectives : sequence of {"loss", "error", "margin", "smallest_margin", "sparsity"}
        Most important first. ``("margin",)`` alone trades training errors for margins, which is
        what generalises where classes overlap.
    wanted_margin : float, optional
        Output margin beyond which nothing is gained; grows with the width by default.
    sweeps : int
        Length of the annealing, in sweeps over all weights. Fewer are planned where the slot is
        too short, and then the result depends on the speed of the machine.
    on_network : callable (network), optional
        Called after every sweep with the network at hand.

    Returns
    -------
    Network
    """
    objective = Objective.create(objectives, problem.architecture, wanted_margin)
    if network.architecture != problem.architecture:
        raise ModelError(
            f"the network has architecture {network.architecture}, the problem has "
            f"{problem.architecture}: use bdnn.search.embed for a smaller network."
        )
    anneals, removes = has_margins(objective.order), "sparsity" in objective.order
    load_moves(problem.architecture, descends=removes, anneals=anneals, removes=removes)
    widening = _Widening(problem, np.random.default_rng(seed), slot, sweeps, on_network)
    best = network
    for last, name in enumerate(objective.order):
        part = Objective(objective.order[: last + 1], objective.wanted_margin)
        if name == "margin":
            best = widening.anneal(best, part, slot)
        elif name == "smallest_margin":
            best = widening.raise_smallest(best, part)
        elif name == "sparsity":
            best = widening.remove_weights(best, part)
    return _centred(problem, best, objective)


@dataclass(frozen=True, eq=False)
class _Widening:
    """What the ways to serve one more objective share; see `widen_margin`."""

    problem: Problem[OutputLoss]
    rng: np.random.Generator
    slot: Slot
    sweeps: int
    on_network: Callable[[Network], object] | None

    def _state(self, network: Network, objective: Objective) -> SearchState:
        state = SearchState(self.problem, network, objective.goal(self.problem))
        state.keep_terms(self.rng)
        return state

    def anneal(self, network: Network, objective: Objective, slot: Slot) -> Network:
        state, rng, sweeps = self._state(network, objective), self.rng, self.sweeps
        s = state.arrays
        if "sparsity" in objective.order:
            # Weights that were removed for an earlier objective stay removed.
            state.freeze_zeros()
        best, best_key = network, objective.key(self.problem, network)
        label_weight = self.problem.loss.label_weight
        sample = float(label_weight.sum()) / max(1.0, float(np.count_nonzero(label_weight)))
        heat = _HEAT * sample * objective.wanted_margin * s.goal[2]
        hidden = int(s.unit_at[-2])
        size = max(1, _CALL_WORK // max(1, s.sums.shape[1] * int(s.widths[0])))
        seconds, done = slot.remaining, 0
        while done < sweeps and not slot.is_over():
            temperature = heat * (1.0 - (done + 1) / sweeps) ** 2
            state.anneal(s.unit_at[-2:-1], temperature, rng)
            units = rng.permutation(hidden)
            for first in range(0, hidden, size):
                if not slot.is_over():
                    state.anneal(units[first : first + size], temperature, rng)
            state.refresh()
            done += 1
            # Cooling must end before the time does: plan fewer sweeps once their pace is known.
            left = slot.remaining
            if done >= 3 and np.isfinite(left):
                pace = (seconds - left) / done
                sweeps = min(sweeps, max(done + 1, int(done + left / max(pace, 1e-9))))
            candidate = state.to_network()
            key = objective.key(self.problem, candidate)
            if key < best_key:
                best, best_key = candidate, key
            if self.on_network is not None:
                self.on_network(candidate)
        return best

    def raise_smallest(self, network: Network, objective: Objective) -> Network:
        """Anneal hinges of growing margins: one without cost means that all samples reach it."""
        problem = self.problem
        best, best_key = network, objective.key(problem, network)
        leading = problem.loss.label_weight.argmax(axis=1)
        failures = 0
        while failures < _FAILURES and not self.slot.is_over():
            margins = output_margins(problem, best)[np.arange(len(leading)), leading]
            wanted = max(float(margins.min(initial=np.inf)), 0.0)
            wanted += problem.architecture.weights[-1].limit
            if not np.isfinite(wanted):
                break
            hinged = Objective((*objective.order[:-1], "margin"), wanted)
            candidate = self.anneal(best, hinged, self.slot.part(0.5))
            key = objective.key(problem, candidate)
            failures = 0 if key < best_key else failures + 1
            if key < best_key:
                best, best_key = candidate, key
        return best

    def remove_weights(self, network: Network, objective: Objective) -> Network:
        """Set weights to zero in random order, move along plateaus, and try the others again."""
        problem, rng = self.problem, self.rng
        earlier = Objective(objective.order[:-1], objective.wanted_margin)
        state = self._state(network, earlier)
        s = state.arrays
        limit, best = earlier.key(problem, network), network
        size = max(1, _CALL_WORK // max(1, s.sums.shape[1] * int(s.widths.max())))
        futile = 0
        while futile < _FUTILE_ROUNDS:
            before = np.count_nonzero(s.weights)
            positions = rng.permutation(state.removable())
            for first in range(0, len(positions), size):
                if self.slot.is_over():
                    return best
                state.try_zero(positions[first : first + size], 1e-9 * max(1.0, abs(state.cost)))
            state.refresh()
            candidate = state.to_network()
            # Rounding in sums of continuous weights may have moved an input across a threshold.
            if earlier.key(problem, candidate) > limit:
                break
            best = candidate
            futile = futile + 1 if np.count_nonzero(s.weights) == before else 0
            state.freeze_zeros()
            for unit in rng.permutation(state.n_units):
                if self.slot.is_over():
                    return best
                state.improve(np.array([unit]), rng, 1, 2)
            state.refresh()
        return best


def _centred(problem: Problem[OutputLoss], network: Network, objective: Objective) -> Network:
    """Put hidden thresholds midway between samples, which changes no activation of a sample.

    Annealing leaves them anywhere in their gap; in the middle they are farthest from a mistake,
    and on a grid of inputs they have few binary places.
    """
    state = SearchState(problem, network, objective.goal(problem))
    outputs = state.arrays.thresholds[state.arrays.unit_at[-2] :].copy()
    state.centre_thresholds()
    state.arrays.thresholds[state.arrays.unit_at[-2] :] = outputs
    centred = state.to_network()
    same = objective.key(problem, centred) <= objective.key(problem, network)
    return centred if same else network

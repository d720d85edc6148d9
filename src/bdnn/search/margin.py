"""Second objectives: wider margins, fewer weights, at a loss that never rises.

All networks of least loss are equal to the loss and not to the user. The margin is widened by
annealing single weights on the cost of :mod:`bdnn.search.objective`, whose weights make the earlier
objectives outweigh the later ones; the best network by the exact lexicographic comparison is kept.
Weights are then removed wherever no earlier objective suffers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from bdnn.errors import ModelError
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.search.loading import load_annealing, load_moves, name_of_moves
from bdnn.search.moving import anneal_hidden, anneal_outputs, improve, try_zero
from bdnn.search.objective import Objective, output_margins
from bdnn.search.state import SearchState

# First temperature, in units of the wanted margin times the mass of an average sample.
_HEAT = 0.05
_CALL_WORK = 4_000_000
# Attempts in a row that may fail to raise the smallest margin.
_FAILURES = 3
# Rounds that remove no weight before the removal ends.
_FUTILE_ROUNDS = 3


def widen_margin(
    problem: TrainingProblem,
    network: Network,
    *,
    seconds: float,
    seed: int | np.random.SeedSequence | None = None,
    objectives: Sequence[str] = ("loss", "margin"),
    wanted_margin: float | None = None,
    sweeps: int = 100,
    on_progress: Callable[[Network, tuple[float, ...]], bool] | None = None,
) -> Network:
    """Improve the later objectives of a network without giving up on the earlier ones.

    Parameters
    ----------
    problem : TrainingProblem
    network : Network
        Where to begin; the result is never worse in the lexicographic order of the objectives.
    seconds : float
        Time limit; loading or compiling code, once per process, is not counted.
    seed : int, SeedSequence or None
    objectives : sequence of {"loss", "error", "margin", "smallest_margin", "sparsity"}
        Most important first. ``("margin",)`` alone trades training errors for margins, which is
        what generalises where classes overlap.
    wanted_margin : float, optional
        Output margin beyond which nothing is gained; grows with the width by default.
    sweeps : int
        Length of the annealing, in sweeps over all weights. Fewer are planned where the time limit
        is too short, and then the result depends on the speed of the machine.
    on_progress : callable (network, values) -> bool, optional
        Called after every sweep with the network at hand and its objectives; True ends the search.

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
    if not seconds > 0:
        raise ModelError(f"seconds must be positive, got {seconds}: raise it.")
    load_annealing(name_of_moves(problem.architecture))
    if "sparsity" in objective.order:
        load_moves(name_of_moves(problem.architecture))
    deadline = time.monotonic() + seconds
    rng = np.random.default_rng(seed)
    order = objective.order
    best = network
    for last, name in enumerate(order):
        part = Objective(order[: last + 1], objective.wanted_margin)
        if name == "margin":
            best = _anneal(problem, best, part, rng, deadline, sweeps, on_progress)
        elif name == "smallest_margin":
            best = _raise_smallest(problem, best, part, rng, deadline, sweeps, on_progress)
        elif name == "sparsity":
            best = _remove_weights(problem, best, part, rng, deadline)
    return _centred(problem, best, objective)


def _anneal(
    problem: TrainingProblem,
    network: Network,
    objective: Objective,
    rng: np.random.Generator,
    deadline: float,
    sweeps: int,
    on_progress: Callable[[Network, tuple[float, ...]], bool] | None,
) -> Network:
    state = SearchState(problem, network, objective.goal(problem))
    s = state.arrays
    if "sparsity" in objective.order:
        # Weights that were removed for an earlier objective stay removed.
        s.frozen[:] = s.weights == 0.0
    best, best_key = network, objective.key(problem, network)
    sample = float(problem.mass.sum()) / max(1.0, float(np.count_nonzero(problem.mass)))
    heat = _HEAT * sample * objective.wanted_margin * s.goal[2]
    hidden = int(s.unit_at[-2])
    size = max(1, _CALL_WORK // max(1, s.sums.shape[1] * int(s.widths[0])))
    started, done = time.monotonic(), 0
    while done < sweeps and time.monotonic() < deadline:
        temperature = heat * (1.0 - (done + 1) / sweeps) ** 2
        anneal_outputs(state, temperature, rng)
        units = rng.permutation(hidden)
        for first in range(0, hidden, size):
            if time.monotonic() < deadline:
                anneal_hidden(state, units[first : first + size], temperature, rng)
        state.refresh()
        done += 1
        # Cooling must end before the time does: plan fewer sweeps once their pace is known.
        pace = (time.monotonic() - started) / done
        possible = done + (deadline - time.monotonic()) / max(pace, 1e-9)
        if done >= 3 and possible < sweeps:
            sweeps = max(done + 1, int(possible))
        candidate = state.to_network()
        key = objective.key(problem, candidate)
        if key < best_key:
            best, best_key = candidate, key
        if on_progress is not None and on_progress(candidate, key):
            break
    return best


def _raise_smallest(
    problem: TrainingProblem,
    network: Network,
    objective: Objective,
    rng: np.random.Generator,
    deadline: float,
    sweeps: int,
    on_progress: Callable[[Network, tuple[float, ...]], bool] | None,
) -> Network:
    """Anneal hinges of growing margins: one without cost means that all samples reach it."""
    best, best_key = network, objective.key(problem, network)
    leading = problem.mass.argmax(axis=1)
    failures = 0
    while failures < _FAILURES and time.monotonic() < deadline:
        margins = output_margins(problem, best)[np.arange(len(leading)), leading]
        wanted = (
            max(float(margins.min(initial=np.inf)), 0.0) + problem.architecture.weights[-1].limit
        )
        if not np.isfinite(wanted):
            break
        hinged = Objective((*objective.order[:-1], "margin"), wanted)
        share = time.monotonic() + max(0.0, deadline - time.monotonic()) / 2
        candidate = _anneal(problem, best, hinged, rng, share, sweeps, on_progress)
        key = objective.key(problem, candidate)
        failures = 0 if key < best_key else failures + 1
        if key < best_key:
            best, best_key = candidate, key
    return best


def _centred(problem: TrainingProblem, network: Network, objective: Objective) -> Network:
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


def _remove_weights(
    problem: TrainingProblem,
    network: Network,
    objective: Objective,
    rng: np.random.Generator,
    deadline: float,
) -> Network:
    """Set weights to zero in random order, then move along plateaus and try the others again."""
    earlier = Objective(objective.order[:-1], objective.wanted_margin)
    state = SearchState(problem, network, earlier.goal(problem))
    s = state.arrays
    has_zero = np.repeat([kind.zero for kind in problem.architecture.weights], np.diff(s.weight_at))
    limit, best = earlier.key(problem, network), network
    size = max(1, _CALL_WORK // max(1, s.sums.shape[1] * int(s.widths.max())))
    futile = 0
    while futile < _FUTILE_ROUNDS:
        before = np.count_nonzero(s.weights)
        positions = rng.permutation(np.flatnonzero((s.weights != 0.0) & has_zero))
        for first in range(0, len(positions), size):
            if time.monotonic() >= deadline:
                return best
            try_zero(state, positions[first : first + size], 1e-9 * max(1.0, abs(state.cost)))
        state.refresh()
        candidate = state.to_network()
        # Rounding in sums of continuous weights may have moved an input across a threshold.
        if earlier.key(problem, candidate) > limit:
            break
        best = candidate
        futile = futile + 1 if np.count_nonzero(s.weights) == before else 0
        s.frozen[:] = s.weights == 0.0
        for unit in rng.permutation(state.n_units):
            if time.monotonic() >= deadline:
                return best
            improve(state, np.array([unit]), rng, 1, 2)
        state.refresh()
    return best

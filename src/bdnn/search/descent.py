"""Descent by sweeps of exact one-unit moves, from one or several starts.

One sweep improves every unit once, outputs first. No move raises the cost; moves that keep it are
taken too, so that a sweep wanders along plateaus. What happens when sweeps gain nothing any more is
the matter of :mod:`bdnn.search.walk`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.network import Network
from bdnn.parallel import run_tasks
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.search.loading import load_moves
from bdnn.search.starts import Start, make_start
from bdnn.search.state import SearchState
from bdnn.search.walk import Walk

# Beyond this many inputs a descent begins on a random part of them, for so many sweeps and at most
# this share of the time.
LARGE, _PART, _PART_SWEEPS, _PART_SHARE = 20_000, 5_000, 100, 0.4
# Share of the time for the start of a walk.
_START_SHARE = 0.3

StopReason = Literal["target", "time", "sweeps", "stopped"]
Listener = Callable[[Network], object]


@dataclass(frozen=True, eq=False)
class DescentResult:
    """What a search found."""

    network: Network
    loss: float  # loss of the network and the prices of its terms, recomputed from its forward pass
    # Why the search ended: the target was met, time or sweeps ran out, or it was stopped.
    reason: StopReason
    sweeps: int  # sweeps over all units, of all restarts
    seconds: float
    history: tuple[tuple[float, float], ...]  # every improvement of the best loss


def descend(
    problem: Problem[OutputLoss],
    *,
    slot: Slot,
    seed: int | np.random.SeedSequence | None = None,
    start: Start = "random",
    target: float | None = None,
    restarts: int = 1,
    max_sweeps: int | None = None,
    n_jobs: int | None = None,
    on_network: Listener | None = None,
) -> DescentResult:
    """Search for a network of small loss that keeps the problem's terms.

    Parameters
    ----------
    problem : Problem[OutputLoss]
        Where no network that keeps its terms is found, what is returned may break them.
    slot : Slot
        Looked at between units, so that one unit's move may end after it.
    seed : int, SeedSequence or None
        The same seed gives the same network for any ``n_jobs``, as long as ``max_sweeps`` and not
        the time limit ends the search.
    start : Network or {"random", "linear", "straight_through"}
        Where every restart begins; from a given network the second and later restarts begin with
        some of its units drawn anew.
    target : float, optional
        Loss at which the search ends: a lower bound. By default the problem's conflict bound.
    restarts : int
        Independent searches; the best network wins, of equal ones the earliest.
    max_sweeps : int, optional
        Sweeps per restart.
    n_jobs : int, optional
        Restarts that run at the same time.
    on_network : callable (network), optional
        Called with every network that is better than all before.

    Returns
    -------
    DescentResult
    """
    if restarts < 1 or (max_sweeps is not None and max_sweeps < 1):
        raise ModelError(
            f"restarts and max_sweeps must be positive, got {restarts} and {max_sweeps}: raise "
            "them."
        )
    load_moves(problem.architecture)
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    board = _Board(problem, target, slot, max_sweeps, on_network)
    # There is an answer from the very beginning, and none that is worse is ever given.
    constant = problem.constant_network()
    board.report(constant, 0)
    tasks = list(enumerate(root.spawn(restarts)))
    candidates, sweeps = [], 0
    ends = run_tasks(lambda task: _restart(problem, start, board, *task), tasks, n_jobs=n_jobs)
    for index, end in enumerate(ends):
        # One that was cut short because an earlier one met the target must not decide anything.
        if end is not None:
            board.report(end[0], index)  # from another process nothing has been heard before
            candidates.append(end[0])
            sweeps += end[1]
    candidates.append(constant)
    # A pass over all samples may take long, so that every network has one.
    losses = [
        float(problem.objective(candidate)) if problem.is_feasible(candidate) else np.inf
        for candidate in candidates
    ]
    best = int(np.argmin(losses))
    return DescentResult(
        network=candidates[best],
        loss=losses[best],
        reason=board.reason,
        sweeps=sweeps,
        seconds=board.elapsed,
        history=tuple(board.history),
    )


@dataclass(eq=False)
class _Board:
    """What restarts share: limits, the best loss, and who has met the target."""

    problem: Problem[OutputLoss]
    target: float | None
    slot: Slot
    max_sweeps: int | None
    on_network: Listener | None
    history: list[tuple[float, float]] = field(default_factory=list)
    first_done: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.target is None:
            self.target = self.problem.floor
        self.started = self.slot.clock()
        self.start_seconds = _START_SHARE * self.slot.remaining

    def __getstate__(self) -> dict[str, Any]:
        """In another process a restart is alone; what it found is heard of at its end."""
        return {**vars(self), "on_network": None, "lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=threading.Lock())
        self.started = self.slot.clock()

    @property
    def elapsed(self) -> float:
        return self.slot.clock() - self.started

    @property
    def reason(self) -> StopReason:
        if self.first_done is not None:
            return "target"
        if self.slot.remaining <= 0:
            return "time"
        return "stopped" if self.slot.is_over() else "sweeps"

    def is_superseded(self, index: int) -> bool:
        """Whether a restart's result cannot matter any more.

        With a budget of sweeps only an earlier restart ends a later one, so that the result does
        not depend on which of them was faster; without one, time decides anyway.
        """
        if self.first_done is None:
            return False
        return self.max_sweeps is None or self.first_done < index

    def report(self, network: Network, index: int) -> None:
        """Take note of a restart's new best network."""
        if not self.problem.is_feasible(network):
            return
        loss = float(self.problem.objective(network))
        with self.lock:
            if not self.history or loss < self.history[-1][1]:
                self.history.append((self.elapsed, loss))
                if self.on_network is not None:
                    self.on_network(network)
            assert self.target is not None
            if self.problem.is_close(loss, self.target):
                known = self.first_done
                self.first_done = index if known is None else min(known, index)


def _descend_on_part(
    problem: Problem[OutputLoss],
    network: Network,
    rng: np.random.Generator,
    board: _Board,
) -> Network:
    """Descend on some of many inputs first: far cheaper sweeps, and most of the way down."""
    rows = rng.choice(problem.samples.n_lines, size=_PART, replace=False)
    part = problem.with_terms(()).subset(rows)
    slot = board.slot.part(_PART_SHARE)
    walk = Walk(SearchState(part, network), rng, slot)
    while walk.sweeps < _PART_SWEEPS and not slot.is_over():
        walk.step()
    return walk.best_network


def _restart(
    problem: Problem[OutputLoss],
    start: Start,
    board: _Board,
    index: int,
    seed: np.random.SeedSequence,
) -> tuple[Network, int] | None:
    """Network and sweeps of one search; None if an earlier restart has made it pointless."""
    # The first restart always runs, so that there is a network whatever the limits.
    if index > 0 and (board.slot.is_over() or board.is_superseded(index)):
        return None
    rng = np.random.default_rng(seed)
    network = make_start(problem, start, rng, slot=board.slot.part(most=board.start_seconds))
    if problem.samples.n_lines > LARGE and not isinstance(start, Network):
        network = _descend_on_part(problem, network, rng, board)
    state = SearchState(problem, network)
    state.keep_terms(rng)
    walk = Walk(state, rng, board.slot)
    if index > 0 and isinstance(start, Network):
        walk.kick(strength=1 + walk.n_kickable // 3)
    board.report(walk.best_network, index)
    while not (board.slot.is_over() or board.is_superseded(index)):
        if board.max_sweeps is not None and walk.sweeps >= board.max_sweeps:
            break
        if board.first_done == index:
            break
        if walk.step():
            board.report(walk.best_network, index)
    if board.is_superseded(index) and board.first_done != index and index > 0:
        return None
    return walk.best_network, walk.sweeps

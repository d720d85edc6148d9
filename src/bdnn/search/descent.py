"""Descent by sweeps of exact one-unit moves, from one or several starts.

One sweep improves every unit once, outputs first. No move raises the cost; moves that keep it are
taken too, so that a sweep wanders along plateaus. What happens when sweeps gain nothing any more is
the matter of :mod:`bdnn.search.walk`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bdnn.activation import FloatArray
from bdnn.errors import ModelError
from bdnn.network import Network
from bdnn.parallel import run_tasks
from bdnn.problem import TrainingProblem
from bdnn.search.loading import load_annealing, load_moves, name_of_moves
from bdnn.search.margin import widen_margin
from bdnn.search.objective import Objective
from bdnn.search.starts import Start, make_start
from bdnn.search.state import SearchState
from bdnn.search.walk import Walk

# Beyond this many inputs a descent begins on a random part of them, for so many sweeps and at most
# this share of the time.
LARGE, _PART, _PART_SWEEPS, _PART_SHARE = 20_000, 5_000, 100, 0.4

StopReason = Literal["target", "time", "sweeps", "stopped"]
Progress = Callable[[Network, float], bool]


@dataclass(frozen=True, eq=False)
class DescentResult:
    """What a search found.

    Parameters
    ----------
    network : Network
    loss : float
        Loss of the network, recomputed from its forward pass.
    reason : {"target", "time", "sweeps", "stopped"}
        Why the search ended: the target was met, time or sweeps ran out, or the callback said so.
    sweeps : int
        Sweeps over all units, of all restarts.
    seconds : float
    history : tuple of (seconds, loss)
        Every improvement of the best loss.
    """

    network: Network
    loss: float
    reason: StopReason
    sweeps: int
    seconds: float
    history: tuple[tuple[float, float], ...]


def descend(
    problem: TrainingProblem,
    *,
    seconds: float,
    seed: int | np.random.SeedSequence | None = None,
    start: Start = "random",
    target: float | None = None,
    objectives: Sequence[str] = ("loss",),
    wanted_margin: float | None = None,
    restarts: int = 1,
    max_sweeps: int | None = None,
    n_jobs: int | None = None,
    on_progress: Progress | None = None,
) -> DescentResult:
    """Search for a network of small loss.

    Parameters
    ----------
    problem : TrainingProblem
    seconds : float
        Time limit. It is checked between units, so one unit's move may end after it; loading or
        compiling code, once per process, is not counted.
    seed : int, SeedSequence or None
        The same seed gives the same network for any ``n_jobs``, as long as ``max_sweeps`` and not
        the time limit ends the search.
    start : Network or {"random", "linear", "straight_through"}
        Where every restart begins; from a given network the second and later restarts begin with
        some of its units drawn anew.
    target : float, optional
        Loss at which the search ends: a lower bound. By default the problem's conflict bound.
    objectives : sequence of {"loss", "error", "margin", "smallest_margin", "sparsity"}
        Lexicographic, most important first. The descent is on the first; the others are served by
        :func:`bdnn.search.widen_margin` in what is left of the time, at least a quarter of it.
    wanted_margin : float, optional
        See :class:`bdnn.search.Objective`.
    restarts : int
        Independent searches; the best network wins, of equal ones the earliest.
    max_sweeps : int, optional
        Sweeps per restart.
    n_jobs : int, optional
        Restarts that run at the same time.
    on_progress : callable (network, loss) -> bool, optional
        Called with every network that is better than all before; True ends the search.

    Returns
    -------
    DescentResult
    """
    objective = Objective.create(objectives, problem.architecture, wanted_margin)
    if restarts < 1 or (max_sweeps is not None and max_sweeps < 1) or not seconds > 0:
        raise ModelError(
            f"restarts, max_sweeps and seconds must be positive, got {restarts}, {max_sweeps} and "
            f"{seconds}: raise them."
        )
    load_moves(name_of_moves(problem.architecture))
    if objective.order[0] != "loss":
        load_annealing(name_of_moves(problem.architecture))
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    share = 1.0 if len(objective.order) == 1 else 0.75
    board = _Board(problem, target, seconds * share, max_sweeps, on_progress)
    # There is an answer from the very beginning, and none that is worse is ever given.
    constant = problem.constant_network()
    board.report(constant, 0)
    tasks = list(enumerate(root.spawn(restarts)))
    walks = run_tasks(
        lambda task: _restart(problem, objective, start, board, *task), tasks, n_jobs=n_jobs
    )
    # A restart that was cut short because an earlier one met the target must not decide anything.
    kept = [walk for walk in walks if walk is not None]
    first = Objective(objective.order[:1], objective.wanted_margin)
    candidates = [*(walk.best_network for walk in kept), constant]
    # A pass over all samples may take long, so that every network has one.
    keys = [first.key(problem, candidate) for candidate in candidates]
    best = min(range(len(candidates)), key=keys.__getitem__)
    network, loss = candidates[best], keys[best][0]
    if len(objective.order) > 1 and not board.stopped:
        network = widen_margin(
            problem,
            network,
            seconds=max(seconds - board.elapsed, 0.25 * seconds),
            seed=root.spawn(1)[0],
            objectives=objective.order,
            wanted_margin=objective.wanted_margin,
        )
    if objective.order != ("loss",):
        loss = problem.loss(network)
    return DescentResult(
        network=network,
        loss=loss,
        reason=board.reason,
        sweeps=sum(walk.sweeps for walk in kept),
        seconds=board.elapsed,
        history=tuple(board.history),
    )


@dataclass(eq=False)
class _Board:
    """What restarts share: limits, the best loss, and who has met the target."""

    problem: TrainingProblem
    target: float | None
    seconds: float
    max_sweeps: int | None
    on_progress: Progress | None
    history: list[tuple[float, float]] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    stopped: bool = False
    first_done: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.target is None:
            self.target = self.problem.conflict_bound

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    @property
    def out_of_time(self) -> bool:
        return self.elapsed >= self.seconds

    @property
    def reason(self) -> StopReason:
        if self.first_done is not None:
            return "target"
        if self.stopped:
            return "stopped"
        return "time" if self.out_of_time else "sweeps"

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
        loss = self.problem.loss(network)
        with self.lock:
            if not self.history or loss < self.history[-1][1]:
                self.history.append((self.elapsed, loss))
                if self.on_progress is not None and self.on_progress(network, loss):
                    self.stopped = True
            assert self.target is not None
            if self.problem.is_met(loss, self.target):
                known = self.first_done
                self.first_done = index if known is None else min(known, index)


def _descend_on_part(
    problem: TrainingProblem,
    network: Network,
    goal: FloatArray,
    rng: np.random.Generator,
    board: _Board,
) -> Network:
    """Descend on some of many inputs first: far cheaper sweeps, and most of the way down."""
    rows = rng.choice(len(problem.inputs), size=_PART, replace=False)
    part = TrainingProblem(problem.architecture, problem.inputs[rows], problem.mass[rows])
    limit = board.elapsed + _PART_SHARE * (board.seconds - board.elapsed)
    walk = Walk(SearchState(part, network, goal), rng, lambda: board.elapsed >= limit)
    while walk.sweeps < _PART_SWEEPS and board.elapsed < limit and not board.stopped:
        walk.step()
    return walk.best_network


def _restart(
    problem: TrainingProblem,
    objective: Objective,
    start: Start,
    board: _Board,
    index: int,
    seed: np.random.SeedSequence,
) -> Walk | None:
    """One search from one start; None if an earlier restart has made it pointless."""
    # The first restart always runs, so that there is a network whatever the limits.
    if index > 0 and (board.stopped or board.out_of_time or board.is_superseded(index)):
        return None
    rng = np.random.default_rng(seed)
    network = make_start(problem, start, rng, seconds=0.3 * board.seconds)
    goal = objective.goal(problem, until=objective.order[0])
    if len(problem.inputs) > LARGE and not isinstance(start, Network):
        network = _descend_on_part(problem, network, goal, rng, board)
    walk = Walk(SearchState(problem, network, goal), rng, lambda: board.out_of_time)
    if index > 0 and isinstance(start, Network):
        walk.kick(strength=1 + walk.n_kickable // 3)
    board.report(walk.best_network, index)
    while not (board.stopped or board.out_of_time or board.is_superseded(index)):
        if board.max_sweeps is not None and walk.sweeps >= board.max_sweeps:
            break
        if board.first_done == index:
            break
        if walk.step():
            board.report(walk.best_network, index)
    if board.is_superseded(index) and board.first_done != index and index > 0:
        return None
    return walk

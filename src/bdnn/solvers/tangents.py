"""Second-order cones for a solver of linear rows: outer approximation by tangents.

A cone ``||x|| <= r`` lies on one side of each of its tangents ``g.x <= r`` with ``||g|| = 1``. With
finitely many of them the program is a relaxation, so that its bounds are true. Where a solution of
it leaves a cone, the tangent at that point cuts it off, and the next round begins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.program import Program
from bdnn.solvers.result import Limits, Monitor, SolveResult, Termination, relative_gap

LinearSolve = Callable[[Monitor, FloatArray | None], SolveResult]

# What a solution may break a cone by: more than a solver's tolerance, so that tangents cut it off.
_CLOSE = 1e-6


def by_tangents(
    # Hears true bounds, and the solutions that keep the cones; its limits are for all rounds.
    monitor: Monitor,
    start: FloatArray | None,
    solve: LinearSolve,  # solves a linear program and reports to the monitor that it is given
) -> SolveResult:
    """Solve a program with cones by a solver without."""
    program, limits = monitor.program, monitor.limits
    relaxed = _relaxation(program)
    nodes = 0
    while True:
        listener = _Listener(relaxed, monitor, nodes)
        outcome = solve(listener, start)
        nodes += outcome.nodes
        ended = outcome.termination
        if outcome.solution is not None:
            listener.take(outcome.solution)
        is_close = _is_close(monitor.objective, outcome.bound, limits)
        is_solved = ended in (Termination.OPTIMAL, Termination.GAP_LIMIT)
        if is_close or not is_solved or monitor.stopping or not listener.outside:
            break
        _add_tangents(relaxed, program, np.array(listener.outside))
        start = start if monitor.solution is None else monitor.solution
    if is_close:
        ended = Termination.OPTIMAL
    elif ended is Termination.UNBOUNDED:
        ended = Termination.FAILED  # tangents may leave a direction open that cones close
    return monitor.finish(
        ended, bound=outcome.bound, nodes=nodes, message=f"{outcome.message}, cones by tangents"
    )


class _Listener(Monitor):
    """Hears one round and passes on what is true of the cones as well."""

    def __init__(self, relaxed: Program, whole: Monitor, nodes: int) -> None:
        limits = whole.limits
        left = None if limits.nodes is None else max(1, limits.nodes - nodes)
        super().__init__(relaxed, replace(limits, seconds=whole.remaining, nodes=left))
        self.whole = whole
        self.outside: list[FloatArray] = []

    @property
    def stopping(self) -> bool:
        return self.whole.stopping

    def incumbent(self, solution: FloatArray, bound: float = -np.inf) -> None:
        super().incumbent(solution, bound)
        self.whole.improve_bound(bound)
        self.take(np.array(solution, dtype=float))

    def improve_bound(self, bound: float) -> None:
        super().improve_bound(bound)
        self.whole.improve_bound(bound)

    def take(self, solution: FloatArray) -> None:
        """Pass on a solution that keeps the cones, or does with longer radii; cut off others."""
        program = self.whole.program
        longer, excess = solution.copy(), 0.0
        for cone in program.cones:
            lengths = np.linalg.norm(solution[cone.members], axis=1)
            longer[cone.radius] = np.maximum(solution[cone.radius], lengths)
            excess = max(excess, float((lengths - solution[cone.radius]).max()))
        if excess <= _CLOSE:
            self.whole.incumbent(solution)
            return
        self.outside.append(solution)
        if program.violation(longer) <= _CLOSE:
            self.whole.incumbent(longer)


def _relaxation(program: Program) -> Program:
    """The program with the tangents along the axes in place of its cones."""
    relaxed = program.without_cones()
    for cone in program.cones:
        pairs = np.stack(np.broadcast_arrays(cone.members, cone.radius[:, None]), axis=-1)
        for side in (-1.0, 1.0):
            relaxed.add_rows(cone.name, pairs, [side, 1.0], lower=0.0)
    return relaxed


def _add_tangents(relaxed: Program, program: Program, points: FloatArray) -> None:
    """Cut points off. Cones of a block are alike, so that all get the tangents of each."""
    for cone in program.cones:
        vectors = points[:, cone.members]
        lengths = np.linalg.norm(vectors, axis=-1)
        is_outside = lengths > points[:, cone.radius] + 0.5 * _CLOSE
        slopes = np.unique(vectors[is_outside] / lengths[is_outside][:, None], axis=0)
        terms = np.concatenate([cone.members, cone.radius[:, None]], axis=1)
        values = np.concatenate([-slopes, np.ones((len(slopes), 1))], axis=1)
        columns = np.broadcast_to(terms[:, None], (len(terms), *values.shape))
        relaxed.add_rows(cone.name, columns, values, lower=0.0)


def _is_close(objective: float, bound: float, limits: Limits) -> bool:
    gap = max(limits.gap, 1e-9)
    return objective - bound <= limits.absolute_gap or relative_gap(objective, bound) <= gap

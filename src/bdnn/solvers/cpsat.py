"""CP-SAT of OR-tools, the free solver of purely integer programs; default for ternary weights.

Status values: https://developers.google.com/optimization/cp/cp_solver#cp-sat_return_values
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bdnn.errors import UnsupportedFeatureError
from bdnn.network.activation import FloatArray
from bdnn.program import IndexArray, Program, is_integral
from bdnn.solvers.base import AbstractSolver, Feature
from bdnn.solvers.result import Monitor, SolveResult, Termination

# CP-SAT knows no infinity: this is what takes its place in the bounds of variables and rows. The
# first is far beyond any weight or activation, yet leaves room for sums of large multiples.
INFINITE_BOUND = 10**9
INFINITE_ROW = 2**62


@dataclass(frozen=True)
class CpSat(AbstractSolver):
    """The CP-SAT solver, with the settings of :class:`~bdnn.solvers.AbstractSolver`.

    It is for programs of integer variables and integer coefficients, which it solves without any
    tolerance. The objective may be fractional. A node limit counts conflicts.
    """

    name: ClassVar[str] = "cpsat"
    package: ClassVar[str] = "ortools"
    distribution: ClassVar[str] = "ortools"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.START, Feature.EVENTS})

    def _solve(self, monitor: Monitor, start: FloatArray | None) -> SolveResult:
        from ortools.sat.python import cp_model

        program = monitor.program
        lower, upper = _integer_bounds(program)
        if (lower > upper).any():
            why = "an integer variable has no integer between its bounds"
            return monitor.finish(Termination.INFEASIBLE, message=why)
        model = cp_model.CpModel()
        _fill(model.proto, program, lower, upper)
        if start is not None:
            known = np.flatnonzero(~np.isnan(start))
            model.proto.solution_hint.vars.extend(known.tolist())
            values = np.clip(np.rint(start[known]), lower[known], upper[known])
            model.proto.solution_hint.values.extend(values.astype(np.int64).tolist())

        solver = cp_model.CpSolver()
        self._configure(solver.parameters, monitor)
        solver.best_bound_callback = monitor.improve_bound
        with monitor.stopped_by(solver.stop_search):
            solver.solve(model, _listener(cp_model, monitor))
        return _translate(cp_model, solver, monitor)

    def _configure(self, parameters: Any, monitor: Monitor) -> None:
        limits = monitor.limits
        parameters.num_workers = self.threads
        parameters.random_seed = self.seed
        parameters.log_search_progress = self.log
        # CP-SAT would take Ctrl-C for itself and the thread that waits would never hear of it.
        parameters.catch_sigint_signal = False
        parameters.relative_gap_limit = limits.gap
        parameters.absolute_gap_limit = limits.absolute_gap
        if limits.nodes is not None:
            parameters.max_number_of_conflicts = limits.nodes
        if math.isfinite(limits.seconds):
            parameters.max_time_in_seconds = monitor.remaining


def _integer_bounds(program: Program) -> tuple[IndexArray, IndexArray]:
    """Bounds as integers, infinite ones cut, checked against overflow of any sum."""
    lower = np.where(np.isinf(program.lower), -INFINITE_BOUND, np.ceil(program.lower - 1e-9))
    upper = np.where(np.isinf(program.upper), INFINITE_BOUND, np.floor(program.upper + 1e-9))
    magnitude = np.maximum(np.abs(lower), np.abs(upper))
    largest = max(
        magnitude.max(initial=0.0),
        (abs(program.matrix) @ magnitude).max(initial=0.0),
        float(np.abs(program.linear) @ magnitude),
    )
    if largest >= INFINITE_ROW / 2:
        raise UnsupportedFeatureError(
            f"solver 'cpsat' adds up in 64-bit integers, and a sum of this model can reach "
            f"{largest:.1e}: tighten the bounds, scale the data down, or choose another solver."
        )
    return lower.astype(np.int64), upper.astype(np.int64)


def _fill(proto: Any, program: Program, lower: IndexArray, upper: IndexArray) -> None:
    """Write the program into CP-SAT's own record.

    140,000 rows of 5 terms take 1.1 s of processor time and expressions 2.0 s. The text format
    takes 0.9 s, but only the newest OR-tools reads it without another package.
    """
    for bounds in zip(lower.tolist(), upper.tolist(), strict=True):
        proto.variables.add().domain.extend(bounds)
    matrix = program.matrix
    pointer, columns = matrix.indptr.tolist(), matrix.indices.tolist()
    values = matrix.data.astype(np.int64).tolist()
    row_lower = np.clip(program.row_lower, -INFINITE_ROW, INFINITE_ROW).astype(np.int64).tolist()
    row_upper = np.clip(program.row_upper, -INFINITE_ROW, INFINITE_ROW).astype(np.int64).tolist()
    for row in range(program.n_rows):
        terms = slice(pointer[row], pointer[row + 1])
        linear = proto.constraints.add().linear
        linear.vars.extend(columns[terms])
        linear.coeffs.extend(values[terms])
        linear.domain.extend((row_lower[row], row_upper[row]))

    costs = program.linear
    used = np.flatnonzero(costs)
    # The integer objective is exact; the other one is scaled and rounded by CP-SAT.
    exact = is_integral(costs)
    objective = proto.objective if exact else proto.floating_point_objective
    objective.vars.extend(used.tolist())
    objective.coeffs.extend(costs[used].astype(np.int64 if exact else float).tolist())
    objective.offset = program.offset


def _listener(cp_model: Any, monitor: Monitor) -> Any:
    class Listener(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            solution = np.array(self.response_proto.solution, dtype=float)
            monitor.incumbent(solution, self.best_objective_bound)

    return Listener()


def _translate(cp_model: Any, solver: Any, monitor: Monitor) -> SolveResult:
    response = solver.response_proto
    status = response.status
    solution = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        solution = np.array(response.solution, dtype=float)
    if status == cp_model.OPTIMAL:
        cut = solution is not None and _leans_on_cut(monitor.program, solution)
        termination = Termination.UNBOUNDED if cut else Termination.OPTIMAL
    elif status == cp_model.INFEASIBLE:
        termination = Termination.INFEASIBLE
    elif status == cp_model.MODEL_INVALID:
        termination = Termination.FAILED
    elif monitor.stopping:
        termination = Termination.INTERRUPTED
    elif monitor.limits.nodes is not None and monitor.remaining > 0.0:
        termination = Termination.NODE_LIMIT
    else:
        termination = Termination.TIME_LIMIT
    return monitor.finish(
        termination,
        solution=solution,
        bound=monitor.bound if solution is None else response.best_objective_bound,
        nodes=response.num_conflicts,
        message=solver.status_name(status),
    )


def _leans_on_cut(program: Program, solution: FloatArray) -> bool:
    """Tell whether only the cut of an infinite bound keeps the objective from falling."""
    cut = np.isinf(program.lower) & (solution <= -INFINITE_BOUND)
    cut |= np.isinf(program.upper) & (solution >= INFINITE_BOUND)
    # A variable without influence may rest on its cut too, and then the objective is moderate.
    costs = np.abs(program.linear[program.linear != 0.0])
    far = costs.size and program.linear @ solution < -1e-3 * INFINITE_BOUND * costs.min()
    return bool(cut.any() and far)

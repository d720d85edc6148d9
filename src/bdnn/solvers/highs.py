"""HiGHS, the free solver of linear mixed-integer programs; default for continuous weights.

Status values: https://ergo-code.github.io/HiGHS/dev/structures/enums/#HighsModelStatus

Second-order cones are approached from outside by tangents: a cone ``||x|| <= r`` lies on one side
of each of its tangents ``g.x <= r`` with ``||g|| = 1``. With finitely many of them the program is a
relaxation, so that its bounds are true. Where a solution of it leaves a cone, the tangent at that
point cuts it off, and the next round begins.

Column and row generation solve hundreds of linear programs, each the last one with a few lines
more. From the basis at hand that takes a few steps of the simplex method where a new start takes
hundreds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from bdnn.errors import ModelError, SolverNotAvailableError
from bdnn.network.activation import FloatArray
from bdnn.program import Program
from bdnn.solvers.base import AbstractSolver, Feature
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


@dataclass(frozen=True)
class Highs(AbstractSolver):
    """The HiGHS solver, with the settings of :class:`~bdnn.solvers.AbstractSolver`."""

    name: ClassVar[str] = "highs"
    package: ClassVar[str] = "highspy"
    distribution: ClassVar[str] = "highspy"
    features: ClassVar[frozenset[Feature]] = frozenset(Feature) - {Feature.QUADRATIC_OBJECTIVE}

    def _solve(self, monitor: Monitor, start: FloatArray | None) -> SolveResult:
        if monitor.program.cones:
            return by_tangents(monitor, start, self._solve_linear)
        return self._solve_linear(monitor, start)

    def _solve_linear(self, monitor: Monitor, start: FloatArray | None) -> SolveResult:
        program, limits = monitor.program, monitor.limits
        highspy = import_highs()
        model = self._load(highspy, program)
        if start is not None:
            known = np.flatnonzero(~np.isnan(start)).astype(np.int32)
            model.setSolution(len(known), known, start[known])
        settings = {
            "time_limit": monitor.remaining,
            "mip_rel_gap": max(limits.gap, 1e-9),
            "mip_abs_gap": limits.absolute_gap,
            "threads": self.threads,
            "random_seed": self.seed,
            "mip_feasibility_tolerance": self.tolerance,
            "primal_feasibility_tolerance": self.tolerance,
            "output_flag": self.log,
        }
        if limits.nodes is not None:
            settings["mip_max_nodes"] = limits.nodes
        for name, value in settings.items():
            model.setOptionValue(name, value)
        _listen(model, monitor)
        model.run()
        if model.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible:
            return _decide(highspy, model, monitor)
        return _translate(highspy, model, monitor)

    def write(self, program: Program, path: str) -> None:
        """Write a linear program to a file; the ending .lp or .mps chooses the format."""
        highspy = import_highs()
        model = self._load(highspy, program, names=True)
        if model.writeModel(path) == highspy.HighsStatus.kError:
            raise ModelError(
                f"HiGHS cannot write '{path}': use names of at least one letter and no spaces."
            )

    def _load(self, highspy: Any, program: Program, *, names: bool = False) -> Any:
        matrix = program.matrix
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = program.n_variables, program.n_rows
        lp.col_cost_, lp.offset_ = program.linear, program.offset
        lp.col_lower_, lp.col_upper_ = program.lower, program.upper
        lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = program.n_variables, program.n_rows
        lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
        lp.a_matrix_.value_ = matrix.data
        if program.integer.any():
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            lp.integrality_ = [kinds[int(flag)] for flag in program.integer]
        if names:
            lp.col_names_ = list(program.column_names())
            lp.row_names_ = list(program.row_names())
        model = highspy.Highs()
        model.setOptionValue("output_flag", self.log)
        model.passModel(lp)
        return model


def import_highs() -> Any:
    """Import HiGHS, which nothing else does, so that ``import bdnn`` does not wait for it."""
    try:
        import highspy
    except ImportError as error:
        # highspy 1.15 and ortools 9.15 ship two libraries of one name: the first import wins.
        raise SolverNotAvailableError(
            f"HiGHS cannot be loaded ({error}): install highspy below version 1.15, which can "
            "live beside ortools in one process."
        ) from error
    return highspy


def _listen(model: Any, monitor: Monitor) -> None:
    """Report incumbents and bounds, and stop wherever HiGHS looks up."""

    def improving(event: Any) -> None:
        monitor.incumbent(event.data_out.mip_solution, event.data_out.mip_dual_bound)

    def look_up(event: Any) -> None:
        if monitor.stopping:
            event.interrupt()

    def look_up_in_mip(event: Any) -> None:
        monitor.improve_bound(event.data_out.mip_dual_bound)
        look_up(event)

    model.cbMipImprovingSolution += improving
    model.cbMipInterrupt += look_up_in_mip if monitor.program.integer.any() else look_up
    model.cbSimplexInterrupt += look_up
    model.cbIpmInterrupt += look_up


def _decide(highspy: Any, model: Any, monitor: Monitor) -> SolveResult:
    """Tell infeasible from unbounded, which presolving alone cannot, without the costs."""
    model.disableCallbacks()
    columns = np.arange(monitor.program.n_variables, dtype=np.int32)
    model.changeColsCost(len(columns), columns, np.zeros(len(columns)))
    model.setOptionValue("time_limit", monitor.remaining)
    model.run()
    if model.getModelStatus() == highspy.HighsModelStatus.kOptimal:
        why = "feasible, and infeasible or unbounded"
        return monitor.finish(Termination.UNBOUNDED, message=why)
    return _translate(highspy, model, monitor)


def _translate(highspy: Any, model: Any, monitor: Monitor) -> SolveResult:
    status = model.getModelStatus()
    kinds = highspy.HighsModelStatus
    meaning = {
        kinds.kOptimal: Termination.OPTIMAL,
        kinds.kInfeasible: Termination.INFEASIBLE,
        kinds.kUnbounded: Termination.UNBOUNDED,
        kinds.kTimeLimit: Termination.TIME_LIMIT,
        kinds.kSolutionLimit: Termination.NODE_LIMIT,
        kinds.kIterationLimit: Termination.NODE_LIMIT,
        kinds.kInterrupt: Termination.INTERRUPTED,
    }
    info = model.getInfo()
    solution = None
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        solution = np.asarray(model.getSolution().col_value)
    return monitor.finish(
        meaning.get(status, Termination.FAILED),
        solution=solution,
        bound=info.mip_dual_bound if monitor.program.integer.any() else None,
        nodes=max(0, info.mip_node_count),
        message=model.modelStatusToString(status),
    )


# Far more than any of these programs needs: a guard against a method that goes round in circles.
_MOST_STEPS = 100_000


class Vertex(NamedTuple):
    """A solution: its value, the variables, and prices of rows and of upper bounds, all >= 0.

    Where ``is_optimal`` is not true the program is infeasible, or HiGHS found no solution of it.
    """

    value: float
    variables: FloatArray
    row_prices: FloatArray
    bound_prices: FloatArray
    is_optimal: bool


class GrowingProgram:
    """Minimise ``costs @ x`` subject to ``lower <= rows @ x <= limits`` and ``0 <= x <= upper``."""

    def __init__(
        self,
        *,
        # Whether to use the primal simplex method, the faster one where only costs change.
        primal: bool = False,
        tolerance: float = 1e-7,  # how far a row may be broken
    ) -> None:
        highspy = import_highs()
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._model: Any = highspy.Highs()
        settings = {
            "output_flag": False,
            "presolve": "off",
            "threads": 1,
            "simplex_strategy": 4 if primal else 1,
            "simplex_iteration_limit": _MOST_STEPS,
            "primal_feasibility_tolerance": tolerance,
        }
        for name, value in settings.items():
            self._model.setOptionValue(name, value)

    def add_variables(self, costs: FloatArray, upper: FloatArray, columns: FloatArray) -> None:
        """Add variables, with one line of ``columns`` per row that is there already."""
        matrix = sparse.csc_matrix(columns)
        self._model.addCols(
            len(costs),
            np.asarray(costs, dtype=float),
            np.zeros(len(costs)),
            np.asarray(upper, dtype=float),
            *_parts(matrix),
        )

    def add_rows(
        self, rows: FloatArray, limits: FloatArray, *, lower: FloatArray | None = None
    ) -> None:
        """Add rows over all variables that are there already, one-sided without ``lower``."""
        matrix = sparse.csr_matrix(rows)
        lowest = np.full(len(limits), -np.inf) if lower is None else np.asarray(lower, dtype=float)
        self._model.addRows(len(limits), lowest, np.asarray(limits, dtype=float), *_parts(matrix))

    def change_costs(self, costs: FloatArray) -> None:
        """Give all variables other costs."""
        places = np.arange(len(costs), dtype=np.int32)
        self._model.changeColsCost(len(costs), places, np.asarray(costs, dtype=float))

    def change_bounds(self, lower: FloatArray, upper: FloatArray) -> None:
        """Give all variables other bounds."""
        places = np.arange(len(lower), dtype=np.int32)
        self._model.changeColsBounds(
            len(lower), places, np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        )

    def solve(self) -> Vertex:
        """Continue from the last solution."""
        self._model.run()
        solution = self._model.getSolution()
        return Vertex(
            float(self._model.getInfo().objective_function_value),
            np.asarray(solution.col_value),
            np.maximum(-np.asarray(solution.row_dual), 0.0),
            np.maximum(-np.asarray(solution.col_dual), 0.0),
            self._model.getModelStatus() == self._optimal,
        )


def _parts(matrix: Any) -> tuple[Any, ...]:
    starts, places = matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32)
    return matrix.nnz, starts, places, matrix.data.astype(float)

"""HiGHS, the free solver of linear mixed-integer programs; default for continuous weights.

Cones are approached by tangents from outside, see :mod:`~bdnn.solvers.tangents`.

Status values: https://ergo-code.github.io/HiGHS/dev/structures/enums/#HighsModelStatus
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bdnn.errors import ModelError, SolverNotAvailableError
from bdnn.network.activation import FloatArray
from bdnn.program import Program
from bdnn.solvers.base import AbstractSolver, Feature
from bdnn.solvers.result import Monitor, SolveResult, Termination
from bdnn.solvers.tangents import by_tangents


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

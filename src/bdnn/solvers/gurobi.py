"""Gurobi, the commercial solver; without a licence it takes 2000 variables and 2000 rows.

Status values: https://docs.gurobi.com/projects/optimizer/en/current/reference/numericcodes/statuscodes.html
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bdnn.errors import SolverNotAvailableError
from bdnn.network.activation import FloatArray
from bdnn.program import Program
from bdnn.solvers.base import AbstractSolver, Feature, cone_lower
from bdnn.solvers.result import Monitor, SolveResult, Termination


@dataclass(frozen=True)
class Gurobi(AbstractSolver):
    """The Gurobi solver, with the settings of :class:`~bdnn.solvers.AbstractSolver`."""

    name: ClassVar[str] = "gurobi"
    package: ClassVar[str] = "gurobipy"
    distribution: ClassVar[str] = "gurobipy"
    extra: ClassVar[str | None] = "gurobi"
    features: ClassVar[frozenset[Feature]] = frozenset(Feature)

    def _solve(self, monitor: Monitor, start: FloatArray | None) -> SolveResult:
        import gurobipy

        program, limits = monitor.program, monitor.limits
        settings = {
            "OutputFlag": int(self.log),
            "Threads": self.threads,
            "Seed": self.seed,
            "MIPGap": limits.gap,
            "MIPGapAbs": limits.absolute_gap,
            "FeasibilityTol": self.tolerance,
            "IntFeasTol": self.tolerance,
        }
        if limits.nodes is not None:
            settings["NodeLimit"] = limits.nodes
        try:
            # The settings belong to the environment because it greets with the licence otherwise.
            with (
                gurobipy.Env(params=settings) as environment,
                gurobipy.Model(env=environment) as model,
            ):
                x = _fill(gurobipy, model, program)
                if start is not None:
                    x.Start = np.where(np.isnan(start), gurobipy.GRB.UNDEFINED, start)
                model.Params.TimeLimit = monitor.remaining
                with monitor.stopped_by(model.terminate):
                    model.optimize(_listener(gurobipy, x, monitor))
                    if model.Status == gurobipy.GRB.INF_OR_UNBD:
                        # Presolving saw one of the two; without these steps it tells which.
                        model.Params.DualReductions = 0
                        model.optimize()
                return _translate(gurobipy, model, x, monitor)
        except gurobipy.GurobiError as error:
            raise _explained(gurobipy, program, error) from error


def _fill(gurobipy: Any, model: Any, program: Program) -> Any:
    kinds = gurobipy.GRB
    types = np.where(program.integer, kinds.INTEGER, kinds.CONTINUOUS)
    lower = cone_lower(program)
    x = model.addMVar(program.n_variables, lb=lower, ub=program.upper, vtype=types)
    matrix, low, high = program.matrix, program.row_lower, program.row_upper
    # Gurobi keeps a row with two sides as a row and a variable; two rows count less for a licence.
    for has_side, sense, side in (
        ((low == high), kinds.EQUAL, low),
        ((low != high) & np.isfinite(low), kinds.GREATER_EQUAL, low),
        ((low != high) & np.isfinite(high), kinds.LESS_EQUAL, high),
    ):
        rows = np.flatnonzero(has_side)
        if rows.size:
            model.addMConstr(matrix[rows], x, sense, side[rows])
    for cone in program.cones:
        for members, radius in zip(cone.members, cone.radius.tolist(), strict=True):
            inside, edge = x[members], x[radius]
            model.addConstr((inside * inside).sum() <= edge * edge)
    objective = program.linear @ x + program.offset
    if program.quadratic.any():
        objective = objective + program.quadratic @ (x * x)
    model.setObjective(objective, kinds.MINIMIZE)
    return x


def _listener(gurobipy: Any, x: Any, monitor: Monitor) -> Callable[[Any, int], None]:
    kinds = gurobipy.GRB.Callback

    def listen(model: Any, where: int) -> None:
        if where == kinds.MIPSOL:
            monitor.incumbent(model.cbGetSolution(x), model.cbGet(kinds.MIPSOL_OBJBND))
        elif where == kinds.MIP:
            monitor.improve_bound(model.cbGet(kinds.MIP_OBJBND))
        if monitor.stopping:
            model.terminate()

    return listen


def _translate(gurobipy: Any, model: Any, x: Any, monitor: Monitor) -> SolveResult:
    kinds = gurobipy.GRB
    names = {
        kinds.OPTIMAL: ("OPTIMAL", Termination.OPTIMAL),
        kinds.INFEASIBLE: ("INFEASIBLE", Termination.INFEASIBLE),
        kinds.UNBOUNDED: ("UNBOUNDED", Termination.UNBOUNDED),
        kinds.TIME_LIMIT: ("TIME_LIMIT", Termination.TIME_LIMIT),
        kinds.NODE_LIMIT: ("NODE_LIMIT", Termination.NODE_LIMIT),
        kinds.INTERRUPTED: ("INTERRUPTED", Termination.INTERRUPTED),
    }
    message, termination = names.get(model.Status, (f"status {model.Status}", Termination.FAILED))
    if model.SolCount and model.ObjVal <= -kinds.INFINITY:
        message, termination = "UNBOUNDED", Termination.UNBOUNDED
    has_solution = model.SolCount and termination is not Termination.UNBOUNDED
    return monitor.finish(
        termination,
        solution=np.asarray(x.X) if has_solution else None,
        bound=model.ObjBound if model.IsMIP else None,
        nodes=int(model.NodeCount),
        message=message,
    )


def _explained(gurobipy: Any, program: Program, error: Any) -> Exception:
    """Turn a licence error into a sentence with the remedy; others stay what they are."""
    codes = gurobipy.GRB.Error
    if error.errno == codes.SIZE_LIMIT_EXCEEDED:
        return SolverNotAvailableError(
            f"Gurobi's licence is limited to small models, and this one has {program.n_variables} "
            f"variables and {program.n_rows} rows: install a full licence or choose another solver."
        )
    if error.errno == codes.NO_LICENSE:
        return SolverNotAvailableError(
            f"Gurobi finds no licence ({error}): install one or choose another solver."
        )
    return error  # type: ignore[no-any-return]

"""SCIP, the free solver that also takes squares in the objective and second-order cones.

Status values: https://www.scipopt.org/doc/html/type__stat_8h.php
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.program import Program
from bdnn.solvers.base import AbstractSolver, Feature, cone_lower
from bdnn.solvers.result import INFINITE, Monitor, SolveResult, Termination


@dataclass(frozen=True)
class Scip(AbstractSolver):
    """The SCIP solver, with the settings of :class:`~bdnn.solvers.AbstractSolver`.

    SCIP searches with one thread, whatever ``threads`` says.
    """

    name: ClassVar[str] = "scip"
    package: ClassVar[str] = "pyscipopt"
    distribution: ClassVar[str] = "PySCIPOpt"
    extra: ClassVar[str | None] = "scip"
    features: ClassVar[frozenset[Feature]] = frozenset(Feature)

    def _solve(self, monitor: Monitor, start: FloatArray | None) -> SolveResult:
        scip = _import()
        program, limits = monitor.program, monitor.limits
        model, variables = self._load(scip, program)
        if start is not None:
            _hand_start(model, variables, program, start)
        settings = {
            "limits/time": min(monitor.remaining, INFINITE),
            "limits/gap": limits.gap,
            "limits/absgap": limits.absolute_gap,
            "randomization/randomseedshift": self.seed,
            "numerics/feastol": self.tolerance,
            # SCIP would take Ctrl-C for itself and the thread that waits would never hear of it.
            "misc/catchctrlc": False,
        }
        if limits.nodes is not None:
            settings["limits/totalnodes"] = limits.nodes
        model.setParams(settings)
        listener = _listener(scip, variables[: program.n_variables], monitor)
        model.includeEventhdlr(listener, "bdnn", "reports incumbents and bounds")
        with monitor.stopped_by(model.interruptSolve):
            model.optimizeNogil()
        if model.getStatus() == "inforunbd":
            _decide(model)
        return _translate(model, variables[: program.n_variables], monitor)

    def write(self, program: Program, path: str) -> None:
        """Write a program to a file; the ending .lp or .mps chooses the format."""
        model, _ = self._load(_import(), program, names=True)
        model.writeProblem(path, verbose=False)

    def _load(self, scip: Any, program: Program, *, names: bool = False) -> tuple[Any, list[Any]]:
        """Build SCIP's model; the sum of squares, if any, is the last variable."""
        model = scip.Model()
        model.hideOutput(not self.log)
        model.addObjoffset(program.offset)
        columns = zip(
            program.column_names() if names else map(str, range(program.n_variables)),
            np.where(program.integer, "I", "C").tolist(),
            np.maximum(cone_lower(program), -INFINITE).tolist(),
            np.minimum(program.upper, INFINITE).tolist(),
            program.linear.tolist(),
            strict=True,
        )
        variables = [model.addVar(*column) for column in columns]
        _add_rows(scip, model, variables, program, names=names)
        _add_cones(scip, model, variables, program)
        if program.quadratic.any():
            variables.append(_add_squares(scip, model, variables, program))
        return model, variables


def _import() -> Any:
    from pyscipopt import scip

    return scip


def _add_rows(
    scip: Any, model: Any, variables: list[Any], program: Program, *, names: bool
) -> None:
    """Add the linear rows.

    140,000 rows of 5 terms take 3.1 s of processor time, most of it inside PySCIPOpt. An LP file
    written here and read by SCIP takes 1.7 s, too small a gain for a detour over the disk.
    """
    matrix = program.matrix
    terms = [scip.Term(variable) for variable in variables]
    pointer, columns = matrix.indptr.tolist(), matrix.indices.tolist()
    values = matrix.data.tolist()
    lower = np.maximum(program.row_lower, -INFINITE).tolist()
    upper = np.minimum(program.row_upper, INFINITE).tolist()
    row_names = program.row_names() if names else map(str, range(program.n_rows))
    nothing = None
    for row, name in enumerate(row_names):
        here = slice(pointer[row], pointer[row + 1])
        content = dict(zip([terms[j] for j in columns[here]], values[here], strict=True))
        if not content:
            # PySCIPOpt has no row without terms, so a variable that is always 0 stands in.
            nothing = nothing or scip.Term(model.addVar("nothing", "C", 0.0, 0.0))
            content = {nothing: 1.0}
        model.addCons(scip.ExprCons(scip.Expr(content), lower[row], upper[row]), name)


def _add_cones(scip: Any, model: Any, variables: list[Any], program: Program) -> None:
    for cone in program.cones:
        for number, (members, radius) in enumerate(
            zip(cone.members.tolist(), cone.radius.tolist(), strict=True)
        ):
            squares = {scip.Term(variables[radius], variables[radius]): -1.0}
            squares |= {scip.Term(variables[j], variables[j]): 1.0 for j in members}
            row = scip.ExprCons(scip.Expr(squares), None, 0.0)
            model.addCons(row, f"{cone.name}_{number}")


def _add_squares(scip: Any, model: Any, variables: list[Any], program: Program) -> Any:
    """Put the squares under a variable of their own, since SCIP's objective is linear."""
    total = model.addVar("sum_of_squares", "C", None, None, 1.0)
    used = np.flatnonzero(program.quadratic)
    squares = {
        scip.Term(variables[j], variables[j]): value
        for j, value in zip(used.tolist(), program.quadratic[used].tolist(), strict=True)
    }
    squares[scip.Term(total)] = -1.0
    model.addCons(scip.ExprCons(scip.Expr(squares), None, 0.0), "sum_of_squares_row")
    return total


def _hand_start(model: Any, variables: list[Any], program: Program, start: FloatArray) -> None:
    values = start
    if len(variables) > program.n_variables:
        values = np.append(start, program.quadratic @ (start * start))
    complete = not np.isnan(values).any()
    solution = model.createOrigSol() if complete else model.createPartialSol()
    for number in np.flatnonzero(~np.isnan(values)).tolist():
        model.setSolVal(solution, variables[number], values[number])
    model.addSol(solution)


def _listener(scip: Any, variables: list[Any], monitor: Monitor) -> Any:
    kinds = scip.PY_SCIP_EVENTTYPE
    progress = kinds.NODESOLVED | kinds.LPSOLVED

    class Listener(scip.Eventhdlr):  # type: ignore[misc]
        def eventinit(self) -> None:
            self.model.catchEvent(kinds.BESTSOLFOUND, self)
            self.model.catchEvent(progress, self)

        def eventexec(self, event: Any) -> None:
            bound = self.model.getDualbound()
            if event.getType() == kinds.BESTSOLFOUND:
                monitor.incumbent(_best(self.model, variables), bound)
            else:
                monitor.improve_bound(bound)

    return Listener()


def _best(model: Any, variables: list[Any]) -> FloatArray:
    best = model.getBestSol()
    return np.array([best[variable] for variable in variables])


def _decide(model: Any) -> None:
    """Tell infeasible from unbounded, which presolving alone cannot."""
    model.freeTransform()
    model.setParam("presolving/maxrounds", 0)
    model.optimizeNogil()


def _translate(model: Any, variables: list[Any], monitor: Monitor) -> SolveResult:
    status = model.getStatus()
    termination = {
        "optimal": Termination.OPTIMAL,
        "gaplimit": Termination.OPTIMAL,  # `finish` looks at the gap itself
        "infeasible": Termination.INFEASIBLE,
        "unbounded": Termination.UNBOUNDED,
        "inforunbd": Termination.UNBOUNDED,
        "timelimit": Termination.TIME_LIMIT,
        "totalnodelimit": Termination.NODE_LIMIT,
        "userinterrupt": Termination.INTERRUPTED,
    }.get(status, Termination.FAILED)
    return monitor.finish(
        termination,
        solution=_best(model, variables) if model.getNSols() else None,
        bound=float(model.getDualbound()),
        nodes=int(model.getNTotalNodes()),
        message=status,
    )

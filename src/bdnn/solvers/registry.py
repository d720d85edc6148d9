"""The solvers by name, the choice of one for a program, and programs as files."""

from __future__ import annotations

from pathlib import Path

from bdnn.errors import ModelError
from bdnn.program import Program
from bdnn.solvers.base import AbstractSolver, required_features
from bdnn.solvers.cpsat import CpSat
from bdnn.solvers.gurobi import Gurobi
from bdnn.solvers.highs import Highs
from bdnn.solvers.scip import Scip

# In the order of preference: CP-SAT takes purely integer programs only and is fastest there.
SOLVERS: dict[str, type[AbstractSolver]] = {
    solver.name: solver for solver in (CpSat, Highs, Scip, Gurobi)
}


def available_solvers() -> list[str]:
    """Names of the solvers whose packages are installed."""
    return [name for name, solver in SOLVERS.items() if solver.is_available()]


def get_solver(solver: str | AbstractSolver, *, threads: int = 1, seed: int = 0) -> AbstractSolver:
    """Turn a name into a solver; a solver is returned as it is."""
    if isinstance(solver, AbstractSolver):
        return solver
    if solver not in SOLVERS:
        raise ModelError(
            f"solver must be 'auto' or one of {', '.join(map(repr, SOLVERS))}, got {solver!r}: "
            "choose one of these."
        )
    return SOLVERS[solver](threads=threads, seed=seed)


def choose_solver(
    program: Program, solver: str | AbstractSolver = "auto", *, threads: int = 1, seed: int = 0
) -> AbstractSolver:
    """Take the solver that is asked for, or the first installed one that can handle the program."""
    if solver != "auto":
        return get_solver(solver, threads=threads, seed=seed)
    needs = required_features(program)
    for name, kind in SOLVERS.items():
        if kind.is_available() and needs <= kind.features:
            return get_solver(name, threads=threads, seed=seed)
    capable = [name for name, kind in SOLVERS.items() if needs <= kind.features]
    # No installed solver fits: the error of the first capable one names the package to install.
    chosen = get_solver((capable or ["highs"])[0], threads=threads, seed=seed)
    chosen.check_available()
    chosen.check_supports(program)
    return chosen


def write_program(program: Program, path: str | Path) -> None:
    """Write a program to a file, with the names of its blocks.

    Parameters
    ----------
    program : Program
    path : str or path
        Ends in ``.lp`` for people or ``.mps`` for solvers. Cones and squares are written by SCIP,
        everything else by HiGHS.
    """
    path = Path(path)
    if path.suffix not in (".lp", ".mps"):
        raise ModelError(f"a program is written to .lp or .mps, got '{path}': choose one of these.")
    is_linear = not program.cones and not program.quadratic.any()
    if not is_linear and not Scip.is_available():
        raise ModelError(
            "a program with cones or squares is written by SCIP, which is not installed: run "
            "pip install 'bdnn[scip]'."
        )
    try:
        path.open("w").close()
    except OSError as error:
        raise ModelError(
            f"'{path}' cannot be written ({error.strerror}): choose another place."
        ) from error
    writer = Highs() if is_linear else Scip()
    writer.write(program, str(path))

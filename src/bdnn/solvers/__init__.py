"""The solvers behind one interface, what they say, and programs as files."""

from bdnn.solvers.base import AbstractSolver, Feature
from bdnn.solvers.cpsat import CpSat
from bdnn.solvers.gurobi import Gurobi
from bdnn.solvers.highs import Highs
from bdnn.solvers.registry import (
    available_solvers,
    choose_solver,
    get_solver,
    write_program,
)
from bdnn.solvers.result import Limits, SolveResult, SolverEvent, Termination, relative_gap
from bdnn.solvers.scip import Scip

__all__ = [
    "AbstractSolver",
    "CpSat",
    "Feature",
    "Gurobi",
    "Highs",
    "Limits",
    "Scip",
    "SolveResult",
    "SolverEvent",
    "Termination",
    "available_solvers",
    "choose_solver",
    "get_solver",
    "relative_gap",
    "write_program",
]

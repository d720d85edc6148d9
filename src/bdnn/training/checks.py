"""What a method cannot do is said before any work."""

from __future__ import annotations

from bdnn.errors import ModelError
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.solvers.base import AbstractSolver
from bdnn.training.limits import Budget


def check_start(architecture: Architecture, start: Network | None) -> None:
    """Refuse a start of another architecture."""
    if start is not None and _architecture(start) != architecture:
        got = _architecture(start) or type(start).__name__
        raise ModelError(
            f"start must be a network {architecture}, got {got}: embed it first, or leave start "
            "out."
        )


def check_nodes(budget: Budget, method: str, *, has_nodes: bool) -> None:
    """Refuse a limit of nodes to a method that has none."""
    if budget.nodes is not None and not has_nodes:
        raise ModelError(
            f"limits: nodes are for one program and its solver, which method '{method}' does not "
            "have: use seconds, or method 'auto' or 'exact'."
        )


def check_solver(solver: str | AbstractSolver, method: str) -> None:
    """Refuse a solver to methods that have no use for one."""
    if method in ("descent", "gradients") and solver != "auto":
        name = solver if isinstance(solver, str) else solver.name
        raise ModelError(
            f"method '{method}' needs no solver, got solver '{name}' too: leave it out, or use "
            "method 'auto' or 'exact'."
        )


def _architecture(start: object) -> Architecture | None:
    return start.architecture if isinstance(start, Network) else None

"""What a solver says: why it stopped, what it holds, how far from optimal that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from bdnn.network.activation import FloatArray


class Termination(Enum):
    """Why a solver stopped; whether it holds a solution is told by the result alone."""

    OPTIMAL = "optimal"
    GAP_LIMIT = "gap limit"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time limit"
    NODE_LIMIT = "node limit"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True)
class Limits:
    """When a solver has to stop.

    Parameters
    ----------
    seconds : float
        Wall-clock time, building of the vendor's model included.
    gap : float
        Relative gap at which the search may end, see :func:`relative_gap`.
    absolute_gap : float
        Absolute difference of objective and bound at which the search may end. For an objective
        that takes only integer values anything below 1 is exact.
    nodes : int or None
        Branch-and-bound nodes; CP-SAT, which has none, counts conflicts.
    """

    seconds: float = math.inf
    gap: float = 0.0
    absolute_gap: float = 1e-6
    nodes: int | None = None


@dataclass(frozen=True)
class SolverEvent:
    """A better solution or a better bound, told while the solver runs."""

    kind: Literal["incumbent", "bound"]
    seconds: float
    objective: float
    bound: float
    solution: FloatArray | None = None


@dataclass(frozen=True)
class SolveResult:
    """The end of a solve.

    Parameters
    ----------
    termination : Termination
        Why the solver stopped.
    solution : array or None
        Best point, or None if none was found.
    objective, bound : float
        Value of that point (inf without one) and proven lower bound (-inf without one).
    seconds : float
    nodes : int
    message : str
        The vendor's own word for the status.
    """

    termination: Termination
    solution: FloatArray | None
    objective: float
    bound: float
    seconds: float
    nodes: int = 0
    message: str = ""

    @property
    def gap(self) -> float:
        """Relative distance of objective and bound."""
        return relative_gap(self.objective, self.bound)


def relative_gap(objective: float, bound: float) -> float:
    """Distance of objective and bound relative to the objective, 0 where they meet.

    The formula is the same for all solvers: ``|objective - bound| / |objective|``, and infinite
    without both numbers.
    """
    if not (math.isfinite(objective) and math.isfinite(bound)):
        return math.inf
    distance = abs(objective - bound)
    if distance <= 1e-9 * max(1.0, abs(objective)):
        return 0.0
    return distance / abs(objective) if objective else math.inf

"""When training has to stop, and what it may use."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real

from bdnn.errors import ModelError

# Part of the time that is left for the training itself, whatever comes before it.
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Budget:
    """When training has to stop, and what it may use.

    Parameters
    ----------
    seconds : float
        Wall-clock time of the whole run.
    gap : float
        Relative gap of loss and bound at which the run may end.
    nodes : int or None
        Branch-and-bound nodes of a solver.
    loss : float or None
        Loss at which the run may end.
    threads : int
        Threads or processes.
    seed : int
    """

    seconds: float = math.inf
    gap: float = 0.0
    nodes: int | None = None
    threads: int = 1
    seed: int = 0
    loss: float | None = None

    def __post_init__(self) -> None:
        if not is_number(self.seconds) or not self.seconds > 0:
            raise ModelError(
                f"time_limit must be a positive number of seconds, got {self.seconds!r}: "
                "give for example 60."
            )
        if not is_number(self.gap) or not 0 <= self.gap < math.inf:
            raise ModelError(f"mip_gap must be 0 or more, got {self.gap!r}: give for example 0.01.")
        if self.nodes is not None and (not _is_whole(self.nodes) or self.nodes < 1):
            raise ModelError(
                f"node_limit must be a whole number from 1, got {self.nodes!r}: use None for none."
            )
        if self.loss is not None and (not is_number(self.loss) or not 0 <= self.loss < math.inf):
            raise ModelError(
                f"loss_limit must be a number from 0, got {self.loss!r}: use None for none."
            )

    def after(self, seconds: float) -> Budget:
        """What is left once so many seconds are gone, at least a small share."""
        return replace(self, seconds=max(self.seconds - seconds, _LEAST_SHARE * self.seconds))


def is_number(value: object) -> bool:
    """Tell numbers from what a user may give by mistake, True and False included."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)

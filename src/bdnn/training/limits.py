"""When training has to stop, and what it may use."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from numbers import Integral, Real

from bdnn.errors import ModelError

# Part of the time that is left for the training itself, whatever comes before it.
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Limits:
    """When training has to stop.

    Parameters
    ----------
    seconds : float, default 60
        After which the best network so far is returned.
    gap : float, default 0
        Relative gap of loss and bound that is good enough.
    nodes : int or None, default None
        Branch-and-bound nodes (CP-SAT: conflicts) after which to stop.
    loss : float or None, default None
        Loss that is good enough.
    tolerance : float, default 1e-6
        For regressors: difference of loss and bound per sample, in variances (absolute loss:
        standard deviations) of the targets, up to which a network counts as optimal.
    """

    seconds: float = 60.0
    gap: float = 0.0
    nodes: int | None = None
    loss: float | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not is_number(self.seconds) or not self.seconds > 0:
            raise ModelError(
                f"limits: seconds must be a positive number, got {self.seconds!r}: give for "
                "example 60."
            )
        if not is_number(self.gap) or not 0 <= self.gap < math.inf:
            raise ModelError(
                f"limits: gap must be 0 or more, got {self.gap!r}: give for example 0.01."
            )
        if self.nodes is not None and (not _is_whole(self.nodes) or self.nodes < 1):
            raise ModelError(
                f"limits: nodes must be a whole number from 1, got {self.nodes!r}: use None for "
                "none."
            )
        if self.loss is not None and (not is_number(self.loss) or not 0 <= self.loss < math.inf):
            raise ModelError(
                f"limits: loss must be a number from 0, got {self.loss!r}: use None for none."
            )
        if not is_number(self.tolerance) or not 0 < self.tolerance < 1:
            raise ModelError(
                f"limits: tolerance must be above 0 and below 1, got {self.tolerance!r}: give for "
                "example 1e-6."
            )


@dataclass(frozen=True)
class Budget(Limits):
    """Limits of a run, and what it may use.

    Parameters
    ----------
    seconds, gap, nodes, loss, tolerance
        See :class:`Limits`; no limit of time by default.
    threads : int
        Threads or processes.
    seed : int
    """

    seconds: float = math.inf
    threads: int = 1
    seed: int = 0

    @classmethod
    def of(cls, limits: Limits, *, threads: int, seed: int) -> Budget:
        """Limits of a user with what a run may use."""
        return cls(**asdict(limits), threads=threads, seed=seed)

    def after(self, seconds: float) -> Budget:
        """What is left once so many seconds are gone, at least a small share."""
        return replace(self, seconds=max(self.seconds - seconds, _LEAST_SHARE * self.seconds))


def is_number(value: object) -> bool:
    """Tell numbers from what a user may give by mistake, True and False included."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_positive(name: str, value: object) -> None:
    """Refuse a setting that is no positive number."""
    if not is_number(value) or not value > 0:  # type: ignore[operator]
        raise ModelError(f"{name} must be positive, got {value!r}: raise it.")


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)

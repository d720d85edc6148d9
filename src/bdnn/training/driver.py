"""Phases, which methods are lists of, and how they are executed: a failure loses no network."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bdnn.clock import Slot
from bdnn.errors import BDNNError
from bdnn.training.run import Run
from bdnn.training.schedule import Share


@dataclass(frozen=True, eq=False)
class Phase(ABC):
    """A part of a method's work, which offers networks and bounds to the run.

    Parameters
    ----------
    share : Share
        How long it may take.
    reserve : float
        Seconds that earlier phases leave to it.
    """

    share: Share = field(default=Share(), kw_only=True)
    reserve: float = field(default=0.0, kw_only=True)

    #: For messages and the history.
    name: ClassVar[str]
    #: Whether it also follows a proof, a small enough loss or the end of the time.
    is_final: ClassVar[bool] = False

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether there is anything to do."""
        del run
        return True

    @abstractmethod
    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Do it, until the slot is over."""


def execute(phases: Sequence[Phase], run: Run[Any]) -> None:
    """Execute phases in turn until the run has to end.

    Networks are frozen and search states belong to their phase, so that a phase that fails leaves
    nothing half-changed: the failure is noted, and the next phase goes on with the best network.
    What we raise on purpose is an answer and no failure, and so is an error of the user's handler.
    """
    failure: Exception | None = None
    for place, phase in enumerate(phases):
        if run.interrupted:
            break
        try:
            seconds = _seconds(phase, run, sum(later.reserve for later in phases[place + 1 :]))
            is_over = run.stopping or seconds <= 0
            if (is_over and not phase.is_final) or not phase.applies(run):
                continue
            phase.execute(run, run.slot(phase.name, seconds, until_close=not phase.is_final))
        except KeyboardInterrupt:
            run.stop()
        except BDNNError:
            raise
        except Exception as error:
            if run.strict or error is run.handler_error:
                raise
            failure = error
            run.note(f"phase '{phase.name}' failed ({type(error).__name__}: {error})")
    if failure is not None and run.incumbent is None:
        raise failure
    if run.remaining <= 0 and run.ended == "feasible":
        run.end("time limit", run.reason)


def _seconds(phase: Phase, run: Run[Any], reserve: float) -> float:
    """What is left for a phase, without what later ones are promised."""
    left = run.remaining if math.isinf(reserve) else run.remaining - reserve
    return phase.share.seconds(left=max(0.0, left), limit=run.budget.seconds, elapsed=run.seconds)

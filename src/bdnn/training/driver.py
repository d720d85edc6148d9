"""Phases, which methods are lists of, and how they are executed: a failure loses no network."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from bdnn.errors import BDNNError
from bdnn.training.run import Run


class Phase(Protocol):
    """A part of a method's work, which offers networks and bounds to the run."""

    @property
    def name(self) -> str:
        """For messages and the history."""

    @property
    def is_final(self) -> bool:
        """Whether it also follows a proof or the end of the time."""

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether there is anything to do."""

    def execute(self, run: Run[Any]) -> None:
        """Do it."""


@dataclass(frozen=True)
class Whole:
    """All of a method's work as one phase."""

    name: str
    work: Callable[[Run[Any]], None]
    is_final: bool = True

    def applies(self, run: Run[Any]) -> bool:
        """There always is something to do."""
        del run
        return True

    def execute(self, run: Run[Any]) -> None:
        """Do it."""
        self.work(run)


def execute(phases: Iterable[Phase], run: Run[Any]) -> None:
    """Execute phases in turn until the run has to end.

    Networks are frozen and search states belong to their phase, so that a phase that fails leaves
    nothing half-changed: the failure is noted, and the next phase goes on with the best network.
    What we raise on purpose is an answer and no failure, and so is an error of the user's handler.
    """
    failure: Exception | None = None
    for phase in phases:
        if run.interrupted:
            break
        try:
            if (run.stopping and not phase.is_final) or not phase.applies(run):
                continue
            phase.execute(run)
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

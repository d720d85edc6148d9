"""What follows a proof or its attempt: wider margins, or a choice by held-out samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bdnn.clock import Slot
from bdnn.network.network import Network
from bdnn.selection.choice import choose_by_validation, refit_by_validation
from bdnn.training.driver import Phase
from bdnn.training.phases.search import Search, is_ready
from bdnn.training.run import Run

_NO_TIME = "the time limit left no time to find out by validation how to train"


@dataclass(frozen=True, eq=False)
class Widen(Phase):
    """Serve the objectives after the loss, which never rises by it if it comes first.

    With held-out samples ways to train, or networks, are compared instead.
    """

    search: Search

    name: ClassVar[str] = "margin"
    is_final: ClassVar[bool] = True

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether anything follows the loss, and there are moves for it."""
        wants = run.validation is not None or self.search.widens or not self.search.is_led_by_loss
        return wants and self.search.is_compiled and run.is_free

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Widen or choose."""
        search, seconds = self.search, slot.remaining
        reserve = run.schedule.last_passes * run.pass_seconds
        # A rushed run has trained nothing yet.
        least = run.schedule.rushed * seconds if search.pace.is_rushed else 0.0
        slot = run.slot(self.name, max(seconds - reserve, least), until_close=False)
        if slot.is_over() or not is_ready(run, slot):
            return
        training, validation = run.training_part, run.validation
        found: Network | None = None
        if validation is not None and (training is None or self._compares(run, slot.remaining)):
            with search.few_threads():
                found = (
                    choose_by_validation(search, validation, slot)
                    if training is None
                    else refit_by_validation(search, training, validation, slot)
                )
            if found is not None:
                _take(run, found)
        elif search.widens or not search.is_led_by_loss:
            refined = search.refined(run.best, search.objective, slot.remaining)
            if search.is_led_by_loss:
                run.offer(refined, "margin", or_equal=True)
            else:
                run.choose(refined, "margin")

    def _compares(self, run: Run[Any], seconds: float) -> bool:
        """Whether there is time to train in several ways; a given network is just trained on."""
        if run.given is not None:
            return False
        if not self.search.pace.allows(seconds):
            run.note(_NO_TIME)
            return False
        return True


@dataclass(frozen=True, eq=False)
class Choose(Phase):
    """Of all networks that were offered take the one that held-out samples prefer."""

    name: ClassVar[str] = "validation"
    is_final: ClassVar[bool] = True

    def applies(self, run: Run[Any]) -> bool:
        """Tell whether there are such samples."""
        return run.validation is not None

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Compare by the loss of these samples, of equal ones by that of the others."""
        validation = run.validation
        assert validation is not None
        pool = [network for network in run.candidates if run.problem.is_feasible(network)]
        if pool:
            best = min(pool, key=lambda n: (validation.value(n), run.problem.objective(n)))
            _take(run, best)


def _take(run: Run[Any], network: Network) -> None:
    if run.incumbent and run.objective(network) > run.incumbent.objective:
        run.note("validation preferred a network of higher training loss")
    run.choose(network, "validation")

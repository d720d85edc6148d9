"""Training with further samples begins with the network of the earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdnn.bounds.previous import PreviousFit
from bdnn.problem.losses.output import OutputLoss
from bdnn.search.descent import descend
from bdnn.search.loading import wait_until_ready

if TYPE_CHECKING:
    from bdnn.training.run import Run

# Sweeps after which moves from the earlier network have found what they can; share of the time.
_SWEEPS, _SHARE = 300, 0.1


def continue_from(run: Run[OutputLoss], earlier: PreviousFit) -> None:
    """Take over what earlier samples prove of all samples."""
    run.earlier = earlier
    slot = run.slot("earlier", min(0.2, 0.02 * run.remaining))
    if earlier.applies(run.problem) and not run.stopping:
        for bound in earlier.bounds(run.problem, slot, run.loss):
            run.prove(bound, "earlier")


def improve_earlier(recorder: Run[OutputLoss]) -> None:
    """Adapt the earlier network to all samples by one-unit moves, so that a solver starts well."""
    if recorder.stopping or recorder.given is None:
        return
    slot = recorder.slot("search", _SHARE * recorder.remaining)
    if not wait_until_ready(slot, levels=recorder.problem.architecture.has_levels):
        return
    found = descend(
        recorder.problem,
        slot=slot,
        seed=recorder.budget.seed,
        start=recorder.given,
        target=recorder.target,
        max_sweeps=_SWEEPS,
        on_network=lambda network: recorder.offer(network, "search"),
    )
    recorder.offer(found.network, "search")

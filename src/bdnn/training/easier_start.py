"""Networks of an easier shape, which those that are asked for can copy."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.search.descent import descend
from bdnn.search.embedding import embed, shallow_problem
from bdnn.search.starts import as_levels, of_steps

if TYPE_CHECKING:
    from bdnn.training.search_run import Search

# Sweeps of a shallow network, and of one of steps.
_SHALLOW_SWEEPS, _STEP_SWEEPS = 64, 256
_SHARE = 0.3


def easier_start(search: Search, slot: Slot) -> None:
    """Offer a copy of an easier network, within a share of the time."""
    shape = search.recorder.problem.architecture
    if shape.has_levels and shape.thresholds == "neuron":
        _offer_steps(search, slot.part(_SHARE))
    elif not shape.has_levels:
        _offer_shallow(search, slot.part(_SHARE))


def _offer_shallow(search: Search, slot: Slot) -> None:
    """Depth never has to hurt."""
    recorder = search.recorder
    problem = shallow_problem(recorder.problem)
    if problem is None:
        return
    recorder.mark("shallow")
    found = descend(
        problem,
        slot=slot,
        seed=search.spawn_seed(),
        start=search.start,
        target=recorder.target,
        max_sweeps=_SHALLOW_SWEEPS,
    )
    with suppress(ModelError):  # for example no spare unit to make a constant of
        recorder.offer(embed(found.network, recorder.problem.architecture), "shallow")


def _offer_steps(search: Search, slot: Slot) -> None:
    """More values never have to hurt."""
    recorder = search.recorder
    recorder.mark("steps")
    found = descend(
        of_steps(recorder.problem),
        slot=slot,
        seed=search.spawn_seed(),
        start=search.start,
        target=float(recorder.bound.value),
        max_sweeps=_STEP_SWEEPS,
    )
    recorder.offer(as_levels(found.network, recorder.problem.architecture), "steps")

"""Search for guarantees: annealing of the worst lead in balls around the samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.certified import CertifiedLoss
from bdnn.search.certified import Balls, best_stump, improve_worst_case, stumps
from bdnn.search.embedding import embed
from bdnn.search.limits import projected
from bdnn.search.loading import wait_for_worst_case
from bdnn.search.starts import as_levels
from bdnn.training.base import Phase
from bdnn.training.gradients import Gradients
from bdnn.training.limits import Share, check_positive
from bdnn.training.phases.as_classes import AsClasses, search_for
from bdnn.training.phases.search import NOT_LOADED
from bdnn.training.run import Run

_PHASE = "certify"
# Annealing sweeps of the first round, of all later ones, and wanted leads in units of the default.
_FIRST_SWEEPS, _SWEEPS = 20, 100
_LEADS = (1.0, 0.5, 2.0)


def balls_of(loss: CertifiedLoss) -> Balls:
    """Regions for the search, rounding to the grid included."""
    regions = loss.regions
    n_features = regions.centre.shape[1]
    spread = regions.radius + regions.rounding * np.sqrt(n_features)
    if regions.norm == "l1":
        spread = regions.radius + regions.rounding * n_features
    return Balls(
        regions.low,
        regions.high,
        regions.centre,
        spread,
        regions.norm,
        loss.labels,
        loss.line_weight,
    )


def default_lead(architecture: Architecture) -> float:
    """Worst lead worth having: grows with the square root of the hidden width."""
    return float(np.ceil(np.sqrt(architecture.hidden[0])) * architecture.weights[-1].limit)


@dataclass(frozen=True, eq=False)
class DescendWorstCase(Phase):
    """Anneal from new starts until proven, out of time, or more time has stopped paying.

    Deeper layers copy the first one, units of other values are steps; and constraints are kept by
    moving weights to where they may be.
    """

    # Worst lead over other classes beyond which nothing is gained, in units of weights; grows with
    # the width by default.
    wanted_lead: float | None
    patience: float

    name: ClassVar[str] = _PHASE

    def __post_init__(self) -> None:
        check_positive("patience", self.patience)
        if self.wanted_lead is not None:
            check_positive("wanted_margin", self.wanted_lead)

    def execute(self, run: Run[Any], slot: Slot) -> None:
        """Search, and say why that ended."""
        shape, balls = run.problem.architecture, balls_of(run.problem.loss)
        # What is copied must not be wider than the layers that copy it.
        spare = int(len(shape.hidden) > 1 and shape.thresholds == "zero")
        shallow = replace(
            shape,
            hidden=(max(1, min(shape.hidden) - spare),),
            weights=(shape.weights[0], shape.weights[-1]),
            activations=(),
        )
        lead = self.wanted_lead or default_lead(shallow)
        rng = np.random.default_rng(run.budget.seed)
        self._offer_stump(run, shallow, balls, rng)
        if not wait_for_worst_case(run.slot("load", slot.remaining, until_close=False)):
            return run.end("time limit", NOT_LOADED)
        rounds = 0
        while not slot.is_over():
            if run.is_stalled(self.patience) and rounds > len(_LEADS):
                return
            is_given = rounds == 0 and run.given is not None and shape == shallow
            found = improve_worst_case(
                balls,
                run.best if is_given else stumps(shallow, balls, rng),
                wanted=lead * _LEADS[rounds % len(_LEADS)],
                sweeps=_FIRST_SWEEPS if rounds == 0 else _SWEEPS,
                slot=slot,
                rng=rng,
            )
            try:
                network = _copied(found, shape)
            except ModelError:  # for example no spare unit to make a constant of
                return run.end("feasible", "deeper layers are too narrow to copy what was found")
            run.offer(projected(run.problem, network, rng), _PHASE)
            rounds += 1

    def _offer_stump(
        self, run: Run[Any], shallow: Architecture, balls: Balls, rng: np.random.Generator
    ) -> None:
        """Begin with one feature, so that no class alone is the answer where that is better."""
        stump = best_stump(shallow, balls)
        if stump is None:
            return
        try:
            network = _copied(stump, run.problem.architecture)
        except ModelError:
            return
        run.offer(projected(run.problem, network, rng), _PHASE)


def _copied(network: Network, shape: Architecture) -> Network:
    if shape.has_levels:
        network = embed(network, replace(shape, activations=()))
        return as_levels(network, shape)
    return network if network.architecture == shape else embed(network, shape)


@search_for.register(CertifiedLoss)
def _(loss: CertifiedLoss, run: Run[Any], method: Any, share: Share) -> Phase:
    """Raise the worst leads where these are known, and wide margins elsewhere."""
    if loss.has_program(run.problem.architecture):
        return DescendWorstCase(method.wanted_margin, method.patience, share=share)
    return AsClasses(Gradients(method.wanted_margin), share=share)

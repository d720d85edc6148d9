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
from bdnn.search.certified import Balls, improve_worst_case, stumps
from bdnn.search.embedding import as_levels, embed
from bdnn.search.limits import projected
from bdnn.search.loading import wait_for_worst_case
from bdnn.training.base import Phase
from bdnn.training.gradients import Gradients
from bdnn.training.limits import Share, check_positive
from bdnn.training.phases.as_classes import AsClasses, search_for
from bdnn.training.phases.robust_starts import robust_starts
from bdnn.training.phases.search import NOT_LOADED
from bdnn.training.run import Run

_PHASE = "certify"
# Annealing sweeps of the first round, of all later ones, and wanted leads in units of the default.
_FIRST_SWEEPS, _SWEEPS = 20, 100
_LEADS = (1.0, 0.5, 2.0)
# Part of the time that plain models to begin with may take.
_STARTS = 0.2


def balls_of(loss: CertifiedLoss) -> Balls:
    """Regions for the search, rounding to the grid included.

    Where a program takes wider ones, so does the search.
    """
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
        "linf" if regions.is_widened else regions.norm,
        loss.labels,
        loss.line_weight,
        regions.bins,
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
        share = run.slot("starts", _STARTS * slot.remaining)
        start = self._offer_starts(run, balls, rng, share)
        if not wait_for_worst_case(run.slot("load", slot.remaining, until_close=False)):
            return run.end("time limit", NOT_LOADED)
        rounds = 0
        while not slot.is_over():
            if run.is_stalled(self.patience) and rounds > len(_LEADS):
                return
            begin = stumps(shallow, balls, rng)
            if rounds == 0 and run.given is not None and shape == shallow:
                begin = run.best
            elif rounds < len(_LEADS) and start is not None:
                begin = _beside(start, begin)
            found = improve_worst_case(
                balls,
                begin,
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

    def _offer_starts(
        self, run: Run[Any], balls: Balls, rng: np.random.Generator, slot: Slot
    ) -> Network | None:
        """Begin with the best of plain models, which goes on record; return it as it was found."""
        best, shape = None, run.problem.architecture
        for name, start in robust_starts(shape, balls, run.budget.seed, slot):
            try:
                network = _copied(start, shape)
            except ModelError:  # it has not the room
                continue
            network = projected(run.problem, network, rng)
            loss = float(run.problem.value(network))
            is_best = run.offer(network, f"robust {name}")
            best = start if is_best else best
            run.step(start=f"robust {name}", loss=loss, kept=str(is_best).lower())
        return best


def _beside(start: Network, stumps: Network) -> Network:
    """A network whose first units are those of a start, and the others the ones of stumps.

    The others have no say at first.
    """
    shape, units = stumps.architecture, len(start.weights[0])
    if len(start.weights) != 2 or units > len(stumps.weights[0]):
        return stumps
    W, V = stumps.weights[0].copy(), np.zeros_like(stumps.weights[1])
    t = stumps.thresholds[0].copy()
    W[:units], t[:units] = start.weights[0], start.thresholds[0]
    V[:, :units] = start.weights[1]
    return Network(shape, (W, V), (t, start.thresholds[1]))


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

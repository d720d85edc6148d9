"""Certified training: a sample counts as right only if its class holds in its whole ball.

The loss is the weight of the samples that are not certified by the sound bound of
:mod:`bdnn.robustness.certify`, which for one hidden layer is exact up to units that cannot flip
independently. What no network can certify, because balls of different classes meet, is the bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.errors import ModelError
from bdnn.mip import DEFAULT_EPS
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.create import classification
from bdnn.problem.losses.certified import CertifiedLoss
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.samples import Samples
from bdnn.robustness.perturbation import PerturbationSet
from bdnn.search.certified import Balls, improve_worst_case, stumps
from bdnn.search.embedding import embed
from bdnn.search.loading import wait_for_worst_case
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver
from bdnn.training.base import AbstractMethod
from bdnn.training.exact import ExactSolve
from bdnn.training.run import Run

_PHASE = "certify"
# Annealing sweeps of the first round, of all later ones, and wanted leads in units of the default.
_FIRST_SWEEPS, _SWEEPS = 20, 100
_LEADS = (1.0, 0.5, 2.0)
# Beyond this many (sample, unit, unit above) triples a program takes solvers too long to read.
_LARGEST_PROGRAM = 20_000


def certified_problem(
    architecture: Architecture,
    scaler: Encoder,
    X: FloatArray,
    labels: NDArray[np.intp],
    radius: FloatArray,
    norm: str,
    sample_weight: FloatArray | None = None,
) -> Problem[CertifiedLoss]:
    """Put raw samples and their radii together; samples without weight are dropped."""
    samples = Samples.merge(scaler.transform(X), sample_weight, apart=True)
    rows = samples.rows
    # Regions are about inputs: the network that looks around is of no meaning.
    plain = classification(architecture, samples.inputs, labels[rows], merge=False)
    around = PerturbationSet.create(Model(scaler, plain.constant_network()), X[rows], norm=norm)
    regions = around.regions(radius[rows])
    loss = CertifiedLoss.of(samples, labels, regions, architecture.n_outputs)
    return Problem(architecture, samples, loss)


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


@dataclass(frozen=True)
class Certified(AbstractMethod):
    """Find networks that are right in a ball around every sample: by search, then by a solver.

    Parameters
    ----------
    wanted_lead : float, optional
        Worst lead over other classes beyond which nothing is gained, in units of weights; grows
        with the width by default.
    patience : float
        Seconds without a better network or bound after which the search, and then the solver, end.
    search : bool
        Whether to search before the solver; without, the program is all there is.
    solve : bool
        Whether a solver goes on where the search has no proof, for programs of moderate size.
    eps : float
        Strictness margin of continuous weights in the program.
    """

    wanted_lead: float | None = None
    patience: float = 5.0
    search: bool = True
    solve: bool = True
    eps: float = DEFAULT_EPS

    name: ClassVar[str] = "certified"
    has_nodes: ClassVar[bool] = True
    uses_validation: ClassVar[bool] = True

    def _train(self, recorder: Run[OutputLoss], solver: str | AbstractSolver) -> None:
        problem = recorder.problem
        loss: Any = problem.loss
        if not isinstance(loss, CertifiedLoss):
            raise ModelError(
                "method 'certified' needs a radius, got none: give for example robust=Robust(0.1)."
            )
        shape = problem.architecture
        refusal = loss.refusal(shape)
        if refusal is not None:
            raise ModelError(refusal)
        if solver != "auto":
            get_solver(solver).check_available()
        ended, engine, message = "feasible", "", ""
        candidates: list[Network] = []
        if self.search:
            share = 0.5 if self.solve else 1.0
            ended, candidates = self._search(recorder, balls_of(loss), share * recorder.remaining)
            if ended == "time limit" and not candidates:
                message = "the compiled search was not loaded when its time was over"
        sizes = (*shape.hidden, shape.n_outputs)
        small = len(problem.inputs) * sum(a * b for a, b in pairwise(sizes)) <= _LARGEST_PROGRAM
        if self.solve and not recorder.stopping and (small or not self.search):
            exact = ExactSolve.prepare(recorder, solver, eps=self.eps)
            patience = self.patience if self.search else None
            ended = exact.run(seconds=recorder.remaining, patience=patience)
            engine = exact.solver_name
        if recorder.validation is not None and candidates:
            self._choose(recorder, candidates)
        recorder.solver = engine
        recorder.end(ended, message)

    def _search(
        self, recorder: Run[OutputLoss], balls: Balls, seconds: float
    ) -> tuple[str, list[Network]]:
        """Anneal from new starts until proven, out of time, or more time has stopped paying."""
        slot = recorder.slot(_PHASE, seconds)
        if not wait_for_worst_case(recorder.slot("load", seconds, until_close=False)):
            return "time limit", []
        shape = recorder.problem.architecture
        # Deeper layers copy the first one, so that it must not be wider than they are.
        spare = int(len(shape.hidden) > 1 and shape.thresholds == "zero")
        shallow = replace(
            shape,
            hidden=(max(1, min(shape.hidden) - spare),),
            weights=(shape.weights[0], shape.weights[-1]),
            activations=(),
        )
        lead = self.wanted_lead or default_lead(shallow)
        rng = np.random.default_rng(recorder.budget.seed)
        candidates: list[Network] = []
        while not slot.is_over():
            rounds = len(candidates)
            if recorder.is_stalled(self.patience) and rounds > len(_LEADS):
                return "feasible", candidates
            start = stumps(shallow, balls, rng)
            if rounds == 0 and recorder.given is not None and shape == shallow:
                start = recorder.given
            found = improve_worst_case(
                balls,
                start,
                wanted=lead * _LEADS[rounds % len(_LEADS)],
                sweeps=_FIRST_SWEEPS if rounds == 0 else _SWEEPS,
                slot=slot,
                rng=rng,
            )
            network = found if shape == shallow else embed(found, shape)
            recorder.offer(network, _PHASE)
            candidates.append(network)
        return "time limit" if recorder.remaining <= 0 else "feasible", candidates

    def _choose(self, recorder: Run[OutputLoss], candidates: list[Network]) -> None:
        """Of all rounds' networks take the one that certifies most of the validation samples."""
        validation = recorder.validation
        assert validation is not None
        pool = [network for network in (recorder.network, *candidates) if network is not None]
        best = min(pool, key=lambda n: (validation.value(n), recorder.problem.value(n)))
        recorder.choose(best, "validation")

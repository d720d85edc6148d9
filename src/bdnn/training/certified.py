"""Certified training: a sample counts as right only if its class holds in its whole ball.

The loss is the weight of the samples that are not certified by the sound bound of
:mod:`bdnn.robustness.certify`, which for one hidden layer is exact up to units that cannot flip
independently. What no network can certify, because balls of different classes meet, is the bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bdnn.activation import BoolArray, FloatArray
from bdnn.architecture import Architecture
from bdnn.errors import ModelError
from bdnn.formulation import DEFAULT_EPS
from bdnn.formulation.certified import CertifiedModel
from bdnn.formulation.certified_layers import Regions
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.robustness.certify import is_guaranteed
from bdnn.robustness.surroundings import Surroundings
from bdnn.scaling import Scaler
from bdnn.search.certified import MOVES, Balls, improve_worst_case, stumps
from bdnn.search.embedding import embed
from bdnn.search.overlaps import overlap_bound
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import choose_solver, get_solver
from bdnn.stepwise import unrolled
from bdnn.training.base import AbstractMethod, Recorder
from bdnn.training.exact import ExactSolve
from bdnn.training.result import Trained

_PHASE = "certify"
# Annealing sweeps of the first round, of all later ones, and wanted leads in units of the default.
_FIRST_SWEEPS, _SWEEPS = 20, 100
_LEADS = (1.0, 0.5, 2.0)
# Beyond this many (sample, unit, unit above) triples a program takes solvers too long to read.
_LARGEST_PROGRAM = 20_000


@dataclass(frozen=True, eq=False)
class CertifiedProblem(TrainingProblem):
    """Minimise the weight of the samples whose class does not hold in their ball.

    Parameters
    ----------
    architecture, inputs, mass
        See :class:`~bdnn.problem.TrainingProblem`; one line per sample, none is merged, because
        samples of equal scaled inputs may have different balls.
    around : Surroundings
        What samples can become; its network and classes are of no meaning.
    radius : array of shape (n_samples,)
    """

    around: Surroundings
    radius: FloatArray

    conflict_origin: ClassVar[str] = "overlapping balls"

    @classmethod
    def create(
        cls,
        architecture: Architecture,
        scaler: Scaler,
        X: FloatArray,
        labels: NDArray[np.intp],
        radius: FloatArray,
        norm: str,
        sample_weight: FloatArray | None = None,
    ) -> CertifiedProblem:
        """Put raw samples and their radii together; samples without weight are dropped."""
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        keep = weight > 0
        X, labels, radius, weight = X[keep], labels[keep], radius[keep], weight[keep]
        inputs = scaler.transform(X)
        plain = TrainingProblem.from_samples(architecture, inputs, labels, weight, merge=False)
        around = Surroundings.create(plain.constant_network(), scaler, X, norm=norm)
        return cls(architecture, plain.inputs, plain.mass, around, radius)

    @property
    def labels(self) -> NDArray[np.intp]:
        """Class of every sample."""
        return np.asarray(self.mass.argmax(axis=1))

    @cached_property
    def conflict_bound(self) -> float:
        """Weight that no classifier can certify, because balls of different classes meet."""
        scaled = self.around.X * self.around.weight
        weight = self.mass.sum(axis=1)
        return overlap_bound(scaled, self.labels, self.radius, weight, self.around.norm)

    def is_certified(self, network: Network) -> BoolArray:
        """Tell which samples get their own class in their whole ball."""
        steps = unrolled(network, "certified training")
        around = replace(self.around, network=steps, classes=self.labels)
        return is_guaranteed(around, self.radius)

    def loss(self, network: Network) -> float:
        """Weight of the samples that are not certified."""
        return float(self.mass.sum(axis=1)[~self.is_certified(network)].sum())

    @cached_property
    def balls(self) -> Balls:
        """The same for the search, rounding to the grid included."""
        around = self.around
        low, high = around.input_box(*around.box(self.radius))
        spread = self.radius + around.half_step * np.sqrt(around.X.shape[1])
        if around.norm == "l1":
            spread = self.radius + around.half_step * around.X.shape[1]
        return Balls(
            low,
            high,
            around.centre,
            spread,
            around.norm,
            self.labels,
            self.mass.sum(axis=1),
        )

    @property
    def regions(self) -> Regions:
        """The same for the program."""
        around, balls = self.around, self.balls
        return Regions(
            balls.low, balls.high, balls.centre, self.radius, around.half_step, around.norm
        )


def default_lead(architecture: Architecture) -> float:
    """Worst lead worth having: grows with the square root of the hidden width."""
    return float(np.ceil(np.sqrt(architecture.hidden[0])) * architecture.weights[-1].limit)


class CertifiedSolve(ExactSolve):
    """A certified problem as a program with a solver."""

    model: CertifiedModel  # type: ignore[assignment]

    @classmethod
    def of(cls, recorder: Recorder, solver: str | AbstractSolver, eps: float) -> CertifiedSolve:
        """Build the model and choose a solver that can handle it."""
        problem, budget = recorder.problem, recorder.budget
        assert isinstance(problem, CertifiedProblem)
        recorder.note("build")
        balls = problem.balls
        model = CertifiedModel.build(
            problem.architecture, problem.regions, balls.labels, balls.mass, eps=eps
        )
        engine = (
            choose_solver(model.program, threads=budget.threads, seed=budget.seed)
            if solver == "auto"
            else get_solver(solver, threads=budget.threads, seed=budget.seed)
        )
        engine.check_supports(model.program)
        return cls(recorder, model, engine)  # type: ignore[arg-type]

    @property
    def bound_origin(self) -> str:
        """What proves the solver's bounds."""
        margin = self.model.margin
        kept = f", for units and leads that keep a margin of {margin:.2g}" if margin else ""
        return f"solver {self.engine.name}{kept}"

    def _judge(self, solution: FloatArray, claimed: float, phase: str) -> None:
        self.recorder.offer(self.model.read(solution), phase)


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

    def _train(self, recorder: Recorder, solver: str | AbstractSolver) -> Trained:
        problem = recorder.problem
        if not isinstance(problem, CertifiedProblem):
            raise ModelError(
                "method 'certified' needs a radius, got none: give robust_radius and "
                "robust_loss='certified'."
            )
        shape = problem.architecture
        if not shape.hidden or shape.ties != "score":
            raise ModelError(
                "certified training needs a hidden layer and ties='score', got "
                f"hidden={shape.hidden} and ties='{shape.ties}': give for example hidden=(20,)."
            )
        if solver != "auto":
            get_solver(solver).check_available()
        ended, engine, message = "feasible", "", ""
        candidates: list[Network] = []
        if self.search:
            share = 0.5 if self.solve else 1.0
            ended, candidates = self._search(recorder, problem, share * recorder.remaining)
            if ended == "time limit" and not candidates:
                message = "the compiled search was not loaded when its time was over"
        sizes = (*shape.hidden, shape.n_outputs)
        small = len(problem.inputs) * sum(a * b for a, b in pairwise(sizes)) <= _LARGEST_PROGRAM
        if self.solve and not recorder.stopping and (small or not self.search):
            exact = CertifiedSolve.of(recorder, solver, self.eps)
            patience = self.patience if self.search else None
            ended = exact.run(seconds=recorder.remaining, patience=patience)
            engine = exact.solver_name
        if recorder.validation is not None and candidates:
            self._choose(recorder, candidates)
        return recorder.verdict(self.name, ended=ended, solver=engine, message=message)

    def _search(
        self, recorder: Recorder, problem: CertifiedProblem, seconds: float
    ) -> tuple[str, list[Network]]:
        """Anneal from new starts until proven, out of time, or more time has stopped paying."""
        deadline = recorder.seconds + seconds
        if not MOVES.wait(lambda: recorder.heartbeat("load") or recorder.seconds > deadline):
            return "time limit", []
        shape = problem.architecture
        # Deeper layers copy the first one, so that it must not be wider than they are.
        spare = int(len(shape.hidden) > 1 and shape.thresholds == "zero")
        shallow = replace(
            shape,
            hidden=(max(1, min(shape.hidden) - spare),),
            weights=(shape.weights[0], shape.weights[-1]),
        )
        lead = self.wanted_lead or default_lead(shallow)
        rng = np.random.default_rng(recorder.budget.seed)
        candidates: list[Network] = []
        while not recorder.stopping and recorder.seconds < deadline:
            rounds = len(candidates)
            if recorder.is_stalled(self.patience) and rounds > len(_LEADS):
                return "feasible", candidates
            start = stumps(shallow, problem.balls, rng)
            if rounds == 0 and recorder.given is not None and shape == shallow:
                start = recorder.given
            found = improve_worst_case(
                problem.balls,
                start,
                wanted=lead * _LEADS[rounds % len(_LEADS)],
                sweeps=_FIRST_SWEEPS if rounds == 0 else _SWEEPS,
                seconds=deadline - recorder.seconds,
                rng=rng,
                on_sweep=lambda network: recorder.heartbeat(_PHASE),
            )
            network = found if shape == shallow else embed(found, shape)
            recorder.offer(network, _PHASE)
            candidates.append(network)
        return "time limit" if recorder.remaining <= 0 else "feasible", candidates

    def _choose(self, recorder: Recorder, candidates: list[Network]) -> None:
        """Of all rounds' networks take the one that certifies most of the validation samples."""
        validation = recorder.validation
        assert validation is not None
        pool = [network for network in (recorder.network, *candidates) if network is not None]
        best = min(pool, key=lambda n: (validation.loss(n), recorder.problem.loss(n)))
        recorder.choose(best, "validation")

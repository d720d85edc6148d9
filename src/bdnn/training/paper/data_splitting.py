"""The paper's iterative data splitting (Algorithm 2).

Every epoch draws a batch and demands that the batch samples of a cluster have the same activations;
then the cluster with the largest loss is cut in two. Of all epochs the network with the fewest
validation errors is kept. With a radius the first-layer activations of a batch's inputs hold in
balls around them (the paper's robust model). Constraints hold for all samples: every network on the
way keeps what they say of its batch, and only one that keeps all of them is returned.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np
from threadpoolctl import threadpool_limits

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.mip import DEFAULT_EPS
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.program import IndexArray
from bdnn.search.loading import wait_until_ready
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import Phase
from bdnn.training.limits import is_number
from bdnn.training.paper.clusters import BatchKind, Partition, Sampler, SplitKind
from bdnn.training.paper.construction import construct
from bdnn.training.paper.epoch import Candidate, EpochProblem, EpochSolution, EpochSolver
from bdnn.training.paper.polish import Judge, Judgement, is_learnt, learnt, polish
from bdnn.training.phases.as_classes import OutputMethod
from bdnn.training.run import Run


@dataclass(frozen=True)
class DataSplitting(OutputMethod):
    """Train on batches whose clusters share their activations, and split clusters as they fail.

    A radius holds for the inputs of the batch that the network comes from. A batch that is all the
    data makes that a promise for all inputs; otherwise the result's message says for how many
    inputs it holds.

    Parameters
    ----------
    epochs : int
    batch_size : int
        Samples per batch, which with the number of clusters bounds the work of an epoch.
    batches : {"random", "contiguous", "all"}
        A random batch per epoch, the next window of samples, or all samples in several batches.
    split : {"labels", "kmeans"}
        Cut a cluster by a plane between its classes, or by k-means.
    split_first : bool
        Whether the first cut comes before the first epoch's problem.
    construct : bool
        Whether an epoch's network is constructed first, and a solver asked only where that does
        not meet the bound.
    patience : float
        Seconds a solver may take for one epoch; with ``paper=True`` an equal share of the time.
    polish : bool
        Whether the best network is trained further at the end, on the true loss and its margin or,
        as ``refit`` says, by gradients.
    refit : bool
        Where samples are held out for validation: whether the polish trains on these as well, once
        they have chosen the epoch, up to 3000 inputs by gradients with noise. Under constraints and
        with a radius of its own it never does.
    eps : float
        Strictness margin of continuous weights.
    paper : bool
        The paper's setting: k-means, one random batch per epoch, the first cut after the first
        epoch, no polish.
    """

    epochs: int = 20
    batch_size: int = 64
    batches: BatchKind = "random"
    split: SplitKind = "labels"
    split_first: bool = True
    construct: bool = True
    patience: float = 0.2
    polish: bool = True
    refit: bool = True
    eps: float = DEFAULT_EPS
    paper: bool = False

    name: ClassVar[str] = "data_splitting"
    handles: ClassVar[frozenset[str]] = frozenset({"any loss", "solver"})

    @property
    def refits(self) -> bool:
        return self.refit and self._settled().polish

    def output_phases(self, run: Run[Any], solver: str | AbstractSolver) -> list[Phase]:
        """All epochs, and the polish of the best network."""
        method = self._settled()
        method._check()
        if run.problem.terms or run.problem.architecture.has_levels:
            # A construction heeds no terms and is of steps, so that the solver gets all the time.
            method = replace(method, patience=math.inf)
        split = _Splitting(run, method, solver)
        if not method.polish:
            return [_Load(), _Epochs(split)]
        return [_Load(), _Epochs(split, share=run.schedule.epochs), _Polish(split)]

    def _settled(self) -> DataSplitting:
        if not self.paper:
            return self
        return replace(
            self,
            batches="random",
            split="kmeans",
            split_first=False,
            patience=math.inf,
            polish=False,
        )

    def _check(self) -> None:
        for name in ("epochs", "batch_size"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ModelError(
                    f"{name} must be a whole number from 1, got {value!r}: give for example 20."
                )
        if not is_number(self.patience) or not self.patience > 0:
            raise ModelError(
                f"patience must be a positive number of seconds, got {self.patience!r}: give for "
                "example 0.2."
            )
        for name, kinds in (("batches", BatchKind), ("split", SplitKind)):
            known = get_args(kinds)
            if getattr(self, name) not in known:
                raise ModelError(
                    f"{name} must be one of {', '.join(map(repr, known))}, got "
                    f"{getattr(self, name)!r}: choose one of these."
                )


class _Load(Phase):
    """Wait for compiled code, which epochs should not pay for."""

    name: ClassVar[str] = "load"
    is_final: ClassVar[bool] = True

    def execute(self, run: Run[Any], slot: Slot) -> None:
        wait_until_ready(slot, run.problem.architecture, objectives=("loss",))


@dataclass(frozen=True, eq=False)
class _Epochs(Phase):
    """Split, solve and record, epoch by epoch."""

    split: _Splitting

    name: ClassVar[str] = "epoch"
    is_final: ClassVar[bool] = True
    chooses: ClassVar[bool] = True

    def execute(self, run: Run[Any], slot: Slot) -> None:
        # The matrices of an epoch are small: more threads than asked for would only wait.
        with threadpool_limits(run.budget.threads, "blas"):
            self.split.run_epochs(slot)
        if run.interrupted or not self.split.method.polish:
            self.split.conclude()


@dataclass(frozen=True, eq=False)
class _Polish(Phase):
    """Train the best network further, by gradients or for fewer errors on known samples."""

    split: _Splitting

    name: ClassVar[str] = "polish"
    is_final: ClassVar[bool] = True

    def execute(self, run: Run[Any], slot: Slot) -> None:
        if not self.split.is_content:
            run.mark(self.name)
            with threadpool_limits(run.budget.threads, "blas"):
                self.split.polish(slot)
        self.split.conclude()


class _Splitting:
    """What epochs and polish share: the partition, and the best network with its judge."""

    def __init__(
        self,
        run: Run[OutputLoss],
        method: DataSplitting,
        solver: str | AbstractSolver,
    ) -> None:
        self.run, self.method = run, method
        self._is_cut = False
        self._pass_seconds = run.pass_seconds
        self.rng = np.random.default_rng(run.budget.seed)
        # Samples that epochs train on; what else the run's problem holds is for the polish.
        self.problem = run.training_part or run.problem
        self.partition = Partition(self.problem)
        self.sampler = Sampler(self.problem, method.batch_size)
        self.judge = Judge(self.problem, run.validation, self.rng)
        self.solver = EpochSolver(
            solver,
            run.budget.threads,
            run.budget.seed,
            eps=method.eps,
            construct=construct if method.construct else None,
            patience=method.patience,
            products_per_second=run.schedule.products_per_second,
        )
        self.best = Candidate(run.best)
        self._best_judged = self.judge.judge(self.best)
        if run.network is None:  # not even a constant network keeps what is asked
            self._best_judged = Judgement(math.inf, math.inf, math.inf)
        # Inputs for which the best network keeps it.
        self._kept = np.arange(len(self.problem.inputs))

    def run_epochs(self, slot: Slot) -> None:
        """Split the worst cluster and solve anew, as often as was asked or until time is over."""
        run, method = self.run, self.method
        current = Candidate(run.given or run.problem.constant_network())
        for number in range(method.epochs):
            if number > 0 or method.split_first:
                losses = np.zeros(len(self.problem.inputs))
                losses[self.judge.rows] = self.judge.losses(current)
                self.partition.split_worst(losses, method.split, self.rng)
            left = min(slot.remaining, run.remaining - self._reserve)
            if run.interrupted or left <= 0:
                self._is_cut = True
                return
            began = time.perf_counter()
            solved, rows = self._epoch(number, current, left / (method.epochs - number))
            current = solved.candidate
            self._record(number, solved, rows, began)
            if self.is_content:
                return

    @property
    def is_content(self) -> bool:
        """Whether the loss or the gap that a user would stop at is reached.

        A proof alone ends nothing: of networks of equal loss validation may prefer a later.
        """
        budget = self.run.budget
        return self.run.is_close and (budget.loss is not None or budget.gap > 0)

    @property
    def _reserve(self) -> float:
        """Time for the last passes over all samples."""
        return self.run.schedule.last_passes * self._pass_seconds

    def _epoch(
        self, number: int, current: Candidate, seconds: float
    ) -> tuple[EpochSolution, IndexArray]:
        """Solve the problems of an epoch's batches one after the other, each from the last.

        Returned are the solutions as one, and the inputs of the last batch.
        """
        parts: list[EpochSolution] = []
        batches = list(self.sampler.draw(self.method.batches, number, self.rng))
        slot = self.run.slot("epoch", seconds, until_close=False)
        for place, (rows, batch) in enumerate(batches):
            solved = self.solver.solve(
                EpochProblem.create(batch, self.partition.cluster[rows]),
                current,
                rng=self.rng,
                slot=slot.part(1.0 / (len(batches) - place)),
            )
            if solved.status == "interrupted":
                self.run.interrupted = True
            current = solved.candidate
            parts.append(solved)
            if slot.is_over():
                break
        return EpochSolution.joined(parts), rows

    def _record(self, number: int, solved: EpochSolution, rows: IndexArray, began: float) -> None:
        judged = self.judge.judge(solved.candidate)
        if judged.key < self._best_judged.key and self._holds(solved.candidate.network, rows):
            self._kept = rows
            self._take(solved.candidate, judged, "epoch")
        error = judged.validation_error
        self.run.step(
            epoch=number + 1,
            clusters=self.partition.n_clusters,
            loss=solved.loss,
            bound=solved.bound,
            train_accuracy=1.0 - judged.train_error,
            validation_accuracy=None if error is None else 1.0 - error,
            seconds=time.perf_counter() - began,
            status=solved.status,
            solved_by=solved.solved_by,
        )

    def _take(self, candidate: Candidate, judged: Judgement, phase: str) -> None:
        self.best, self._best_judged = candidate, judged
        began = time.perf_counter()
        self.run.choose(candidate.network, phase)
        self._pass_seconds = time.perf_counter() - began

    def polish(self, slot: Slot) -> None:
        """Train the best network by gradients, or take what the judge prefers."""
        run, slot = self.run, slot.part(most=slot.remaining - self._reserve)
        if is_learnt(run):
            found = learnt(run, self.best, slot=slot, rng=self.rng)
            if found is not None:
                run.choose(found.network, "polish")
            return
        for candidate in polish(run, self.best, slot=slot, rng=self.rng, settle=self._settled):
            judged = self.judge.judge(candidate)
            is_better = judged.pooled_key < self._best_judged.pooled_key
            if is_better and self._holds(candidate.network, self._kept):
                self._take(candidate, judged, "polish")

    def conclude(self) -> None:
        """Say why the run ended, and for how many inputs the first layer keeps what is asked."""
        run, inputs = self.run, self.run.problem.inputs
        run.solver = self.solver.used
        run.end("time limit" if run.remaining <= 0 or self._is_cut else "feasible")
        pattern = run.problem.loss.pattern
        if pattern is None or run.network is None:
            return
        held = int(pattern.holds(run.network, inputs).sum())
        if held < len(inputs):
            run.note(
                f"first-layer activations hold within the radius for {held} of {len(inputs)} inputs"
            )

    def _holds(self, network: Network, rows: IndexArray) -> bool:
        """Whether constraints are kept, and first-layer activations for all of these balls."""
        problem, pattern = self.problem, self.problem.loss.pattern
        if not self.run.problem.is_feasible(network):
            return False
        if pattern is None:
            return True
        return bool(pattern.subset(rows).holds(network, problem.inputs[rows]).all())

    def _settled(self, network: Network) -> Network | None:
        """With thresholds that no perturbation of the best network's batch crosses."""
        pattern = self.problem.loss.pattern
        if pattern is None:
            return network
        return pattern.subset(self._kept).settled(network, self.problem.inputs[self._kept])

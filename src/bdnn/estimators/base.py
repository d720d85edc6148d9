"""What classifier and regressor share: parameters, and the way of a fit."""

from __future__ import annotations

import os
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bdnn.clock import to_the_end
from bdnn.constraints import AbstractConstraint
from bdnn.encoding import Encoder, Inputs
from bdnn.errors import ModelError, ModelFileError
from bdnn.estimators.fitted import FittedModel
from bdnn.estimators.learning import card_constraints
from bdnn.estimators.problems import (
    MakeProblem,
    Robust,
    Task,
    check_constraints,
    check_robust,
    check_same_shape,
    make_task,
)
from bdnn.estimators.samples import LabelledSamples, Memory, recalled
from bdnn.mip.model import GrowingModel, NetworkModel
from bdnn.model import Model, TargetScaler
from bdnn.model_file import ModelRecord
from bdnn.network.activation import Activation
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network
from bdnn.progress import ProgressDisplay
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver, write_program
from bdnn.training.base import AbstractMethod, get_method
from bdnn.training.limits import Budget, Limits
from bdnn.training.result import Progress, TrainingResult

# A table of probabilities gains nothing from more rows.
_MOST_CALIBRATED = 20_000

# Parameters that a model file keeps as objects.
_OBJECTS: dict[str, Any] = {"inputs": Inputs, "limits": Limits, "robust": Robust}
_LIMITS = ("time limit", "node limit", "interrupted")


@dataclass(kw_only=True, eq=False, repr=False)
class BDNNEstimator(FittedModel):
    """The parameters of both estimators, and how one is fitted."""

    hidden: int | Sequence[int] = (25,)
    weights: str | WeightSet | Sequence[str | WeightSet] = "ternary"
    thresholds: str = "neuron"
    activation: str | Activation | Sequence[str | Activation] = "step"
    method: str | AbstractMethod = "auto"
    solver: str | AbstractSolver = "auto"
    inputs: str | Inputs = "auto"
    limits: Limits | None = None
    validation_fraction: float = 0.0
    robust: Robust | None = None
    constraints: AbstractConstraint | Sequence[AbstractConstraint] = ()
    start: Network | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[Progress], bool | None] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    @abstractmethod
    def _architecture(self, n_features: int, n_outputs: int) -> Architecture:
        """What the parameters say of the network."""

    @abstractmethod
    def _loss(
        self,
        samples: LabelledSamples,
        architecture: Architecture,
        budget: Budget,
        targets: TargetScaler | None,
        /,
    ) -> tuple[MakeProblem, TargetScaler | None]:
        """How inputs become a problem, and how targets are scaled: as before, if that is given."""

    @abstractmethod
    def _finished(self, task: Task, budget: Budget) -> Task:
        """Add what only classes or numbers have."""

    def _task(
        self,
        samples: LabelledSamples,
        architecture: Architecture,
        encoder: Encoder,
        budget: Budget,
        targets: TargetScaler | None = None,
        *,
        is_learnt: bool = False,
    ) -> Task:
        """Make the problem and what else the method is asked."""
        make, targets = self._loss(samples, architecture, budget, targets)
        constraints = check_constraints(self.constraints)
        if is_learnt:
            constraints = card_constraints(constraints, architecture)
        task = make_task(
            samples,
            architecture,
            encoder,
            get_method(self.method),
            make,
            robust=self.robust,
            constraints=constraints,
            seed=budget.seed,
        )
        return self._finished(replace(task, targets=targets), budget)

    def _counts_all(self, method: AbstractMethod, samples: LabelledSamples) -> bool:
        """Whether the loss counts samples that are held out, too."""
        del method, samples
        return False

    def _fit(
        self, samples: LabelledSamples, unscaled: Encoder, models: GrowingModel | None = None
    ) -> Self:
        """Train from nothing."""
        began = time.perf_counter()
        method, budget = get_method(self.method), self._budget()
        samples = check_robust(self.robust, samples)
        labels = samples.labels if samples.labels.ndim == 1 else None
        inputs = Inputs.of(self.inputs)
        if inputs.scale == "auto" and self.robust is not None:
            inputs = replace(inputs, scale="standard")
        encoder = Encoder.learn(
            samples.values,
            unscaled.columns,
            inputs,
            weights=self._architecture(1, samples.n_outputs).weights[0],
            sample_weight=samples.weight,
            labels=labels,
            header=unscaled.header,
        )
        architecture = self._architecture(encoder.n_inputs, samples.n_outputs)
        counts_all = self._counts_all(method, samples)
        samples = samples.split(self.validation_fraction, budget.seed, counts_all=counts_all)
        task = self._task(samples, architecture, encoder, budget)
        return self._train(task, budget, began, start=self.start, models=models)

    def write_program(self, path: str | os.PathLike[str]) -> Path:
        """Write the mixed-integer program of the last training, constraints included.

        For people who want to look at it or to give it to another solver: the loss and all terms
        over all networks of the shape, as :class:`bdnn.mip.NetworkModel` has it.

        Parameters
        ----------
        path : path
            Ends in ``.lp`` for people or ``.mps`` for solvers.

        Returns
        -------
        Path
            Of the file.
        """
        check_is_fitted(self, "model_")
        samples, architecture = self._recalled()
        task = self._task(samples, architecture, self.encoder_, self._budget(), self.model_.targets)
        write_program(NetworkModel.build(task.problem).program, Path(path))
        return Path(path)

    @classmethod
    def from_record(cls, record: ModelRecord) -> Self:
        """Make a fitted estimator of what a model file holds."""
        settings = dict(record.settings)
        has_column_names = settings.pop("has_column_names", False)
        columns_in = settings.pop("columns_in", None) or record.model.feature_names
        try:
            for name, kind in _OBJECTS.items():
                if isinstance(settings.get(name), dict):
                    settings[name] = kind(**settings[name])
            estimator = cls(**settings)
            estimator._columns_in = tuple(map(str, columns_in))
            estimator._takes_codes = False
            result = TrainingResult.from_dict(record.result)
        except (TypeError, KeyError) as error:
            raise ModelFileError(
                f"the model file has settings that are not known ({error})."
            ) from error
        estimator._take(record.model, result, dict(record.certificate))
        estimator.n_features_in_ = len(estimator._columns_in)
        if has_column_names:
            estimator.feature_names_in_ = np.array(estimator._columns_in, dtype=object)
        estimator.extra_ = dict(record.extra)
        return estimator

    def _take(
        self,
        model: Model,
        result: TrainingResult,
        certificate: dict[str, Any],
        memory: Memory | None = None,
    ) -> None:
        """Be fitted, and keep what further samples need; a file does not hold it."""
        self.model_, self.result_ = model, result
        self._certificate, self._memory = certificate, memory

    def _recalled(
        self, given: LabelledSamples | None = None
    ) -> tuple[LabelledSamples, Architecture]:
        """Samples of the last training and the shape of its network, which parameters must ask."""
        memory = self._memory
        kept = memory.architecture if memory else self.network_.architecture
        architecture = kept
        if self.result_.status != "selected":  # where no parameter said how the network looks
            architecture = self._architecture(self.encoder_.n_inputs, kept.n_outputs)
            check_same_shape(architecture, kept, Inputs.of(self.inputs), self.encoder_)
        known = recalled(memory, given, self._certificate.get("data", {}))
        return known if self.robust is None else check_robust(self.robust, known), architecture

    def _train(
        self,
        task: Task,
        budget: Budget,
        began: float,
        *,
        models: GrowingModel | None = None,
        **options: Any,
    ) -> Self:
        """Let the method train, and take over what it gives."""
        # What comes before the training takes seconds where samples are many.
        prepared = time.perf_counter() - began
        with self.watched(budget) as watch:
            network, result = task.method.train(
                task.problem,
                validation=task.validation,
                training_part=task.training_part,
                budget=budget.after(prepared),
                solver=self.solver,
                models=models,
                on_progress=watch,
                **options,
            )
        memory = Memory(task.samples, task.problem.architecture, models)

        def finish() -> TrainingResult:
            error = result.error if task.true_problem is None else task.true_problem.error(network)
            told = replace(result, error=error, seconds=result.seconds + prepared)
            model = Model(task.encoder, network, task.samples.plain_classes, task.targets)
            if model.kind == "classifier":
                model = self._calibrated(model, task)
            self._take(model, told, task.certificate, memory)
            return told

        _warn_if_stopped(to_the_end(finish))
        return self

    @staticmethod
    def _calibrated(model: Model, task: Task) -> Model:
        """Learn probabilities from held-out rows where the network has not seen them."""
        samples = task.samples
        weight = samples.weight_in(samples.counted | samples.held_out)
        held_out = samples.held_out & (weight > 0)
        is_unseen = held_out.any() and not samples.counts_all
        rows = np.flatnonzero(held_out if is_unseen else samples.counted & (weight > 0))
        rows = rows[:: 1 + len(rows) // _MOST_CALIBRATED]
        scores = model.network.scores(task.inputs[rows])
        origin = "held-out rows" if is_unseen else "training rows"
        return model.calibrated(scores, samples.labels[rows], weight[rows], origin)

    @contextmanager
    def watched(self, budget: Budget) -> Iterator[Callable[[Progress], bool | None] | None]:
        """What a run tells its moments: the callback, and with ``verbose`` a display."""
        if not self.verbose:
            yield self.callback
            return
        with ProgressDisplay[Progress](attrgetter("text"), budget.seconds) as display:

            def watch(moment: Progress) -> bool | None:
                display(moment)
                return None if self.callback is None else self.callback(moment)

            yield watch

    def _budget(self) -> Budget:
        """Limits of a run; what cannot be is refused before any work."""
        if self.n_jobs == 0 or not (self.callback is None or callable(self.callback)):
            raise ModelError(
                f"n_jobs must not be 0 and callback must be callable, got {self.n_jobs!r} and "
                f"{self.callback!r}: give for example n_jobs=1 and callback=None."
            )
        if self.limits is not None and not isinstance(self.limits, Limits):
            raise ModelError(
                f"limits must be Limits or None, got {self.limits!r}: give for example "
                "Limits(seconds=60)."
            )
        budget = Budget.of(
            self.limits or Limits(),
            threads=effective_n_jobs(self.n_jobs),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        if self.solver != "auto":
            get_solver(self.solver).check_available()
        return budget


def _warn_if_stopped(result: TrainingResult) -> None:
    """Warn of a run that a limit ended, where the user called ``fit``: four calls up."""
    if result.status in _LIMITS:
        remedy = {"interrupted": "let it finish"}.get(result.status, "give more time (limits)")
        if result.bound == 0 < result.minimised:
            remedy = (
                f"a bound of 0 rules nothing out; take a narrower network (hidden), or {remedy},"
            )
        warnings.warn(
            f"training was ended ({result.status}) after {result.seconds:.1f} s with loss "
            f"{result.minimised:g} and bound {result.bound:g}: {remedy} for a better network or "
            "a proof.",
            ConvergenceWarning,
            stacklevel=5,
        )

"""What classifier and regressor share: parameters, the way of a fit, and methods over the model."""

from __future__ import annotations

import os
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bdnn.constraints import AbstractConstraint
from bdnn.encoding.encoder import Encoder
from bdnn.errors import DataError, ModelError, ModelFileError
from bdnn.estimators.problems import Robust, Task, check_robust, check_same_shape
from bdnn.estimators.samples import LabelledSamples, Memory, recalled
from bdnn.estimators.validation import check_features
from bdnn.export.c import CExport, export_c
from bdnn.export.onnx import to_onnx
from bdnn.export.rules import to_rules
from bdnn.mip.model import GrowingModel
from bdnn.model import Model, TargetScaler
from bdnn.model_file import ModelRecord, write_model
from bdnn.network.activation import Activation, FloatArray
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network
from bdnn.robustness import Attack, Certification, PerturbationSet, Verification
from bdnn.robustness import attack as attack_samples
from bdnn.robustness import certify as certify_samples
from bdnn.robustness import verify as verify_samples
from bdnn.robustness.domain import Domain
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.registry import get_solver
from bdnn.training.base import AbstractMethod, get_method
from bdnn.training.limits import Budget, Limits
from bdnn.training.result import Progress, TrainingResult

_LIMITS = ("time limit", "node limit", "interrupted")
# Parameters that a model file keeps as objects.
_OBJECTS: dict[str, Any] = {"limits": Limits, "robust": Robust}


@dataclass(kw_only=True, eq=False, repr=False)
class BDNNEstimator(BaseEstimator):  # type: ignore[misc]
    """A fitted model and what can be asked of it; fields are the parameters of both estimators.

    Attributes
    ----------
    model_ : Model
    result_ : TrainingResult
    extra_ : dict
        What a model file held beside the model.
    """

    hidden: int | Sequence[int] = (25,)
    weights: str | WeightSet | Sequence[str | WeightSet] = "ternary"
    thresholds: str = "neuron"
    activation: str | Activation | Sequence[str | Activation] = "step"
    method: str | AbstractMethod = "auto"
    solver: str | AbstractSolver = "auto"
    scale: str | None = "auto"
    limits: Limits | None = None
    validation_fraction: float = 0.0
    robust: Robust | None = None
    constraints: AbstractConstraint | Sequence[AbstractConstraint] = ()
    start: Network | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    callback: Callable[[Progress], bool | None] | None = None

    @property
    def network_(self) -> Network:
        """The trained network."""
        return self.model_.network

    @property
    def encoder_(self) -> Encoder:
        """From raw columns to inputs of the network."""
        return self.model_.encoder

    @property
    def input_names_(self) -> tuple[str, ...] | None:
        """Column names, or those given to ``fit``."""
        return self.model_.names

    @property
    def history_(self) -> tuple[Progress, ...]:
        """Loss and bound over time: moments with ``seconds``, ``phase``, ``loss``, ``bound``."""
        return tuple(self.result_.history)

    def certify(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        radius: ArrayLike | None = None,
        norm: str = "linf",
        units: str = "scaled",
        domain: Domain | None = None,
    ) -> Certification:
        """Guarantee radii within which no perturbation changes the predicted class.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,), optional
            Labels, for certified accuracy.
        radius : float or array of shape (n_samples,), optional
            For the question which samples are certified.
        norm : {"linf", "l1", "l2"}, default "linf"
        units : {"scaled", "raw"}, default "scaled"
            What the radius measures: scaled inputs, or ``X`` itself.
        domain : Domain, optional
            Ranges, whole numbers, fixed features and categories.

        Returns
        -------
        Certification
            See :func:`bdnn.robustness.certify`.
        """
        return certify_samples(self._around(X, y, norm, units, domain), radius)

    def verify(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        radius: ArrayLike | None = None,
        norm: str = "linf",
        units: str = "scaled",
        domain: Domain | None = None,
        reference: ArrayLike | None = None,
        **options: Any,
    ) -> Verification:
        """Find the smallest perturbation that changes the class of every sample.

        Parameters
        ----------
        X, y, radius, norm, units, domain
            As for :meth:`certify`; without a radius as far as it takes.
        reference : array, optional
            Samples from which an attack starts; by default ``X``.
        **options
            ``smallest``, ``method``, ``solver``, ``time_limit``, ``n_jobs`` and ``on_progress`` of
            :func:`bdnn.robustness.verify`.

        Returns
        -------
        Verification
        """
        around = self._around(X, y, norm, units, domain)
        return verify_samples(around, radius, reference=self._reference(reference), **options)

    def attack(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        radius: ArrayLike,
        norm: str = "linf",
        units: str = "scaled",
        domain: Domain | None = None,
        reference: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        **options: Any,
    ) -> Attack:
        """Perturb samples within a radius so that their class changes.

        Parameters
        ----------
        X, y, radius, norm, units, domain
            As for :meth:`certify`.
        reference : array, optional
            Samples from which the boundary attack starts; by default ``X``.
        random_state : int, RandomState or None, default None
        **options
            ``method``, ``draws``, ``time_limit`` and ``n_jobs`` of
            :func:`bdnn.robustness.attack`.

        Returns
        -------
        Attack
        """
        around = self._around(X, y, norm, units, domain)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        return attack_samples(
            around, radius, reference=self._reference(reference), seed=seed, **options
        )

    def rules(self) -> str:
        """The network as text, one rule per unit; see :func:`bdnn.export.rules.to_rules`."""
        check_is_fitted(self, "model_")
        return to_rules(self.model_)

    def to_c(self, **options: Any) -> CExport:
        """The model as a C99 header; options as for :func:`bdnn.export.c.export_c`."""
        check_is_fitted(self, "model_")
        return export_c(self.model_, data=self._certificate.get("data"), **options)

    def to_onnx(self) -> bytes:
        """The model as an ONNX file; see :func:`bdnn.export.onnx.to_onnx`."""
        check_is_fitted(self, "model_")
        return to_onnx(self.model_)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        extra: Mapping[str, Any] | None = None,
        promises: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Write the fitted model to a JSON file.

        Parameters
        ----------
        path : path
        extra : mapping, optional
            Plain data to keep with the model.
        promises : sequence of mappings
            What else ``bdnn check`` should find true, each with its ``kind``; see the format of
            model files.
        """
        check_is_fitted(self, "model_")
        settings = {
            key: _plain_parameter(value) for key, value in self.get_params(deep=False).items()
        }
        # Constraints are about the data and live on as promises.
        settings["constraints"] = []
        settings["has_column_names"] = hasattr(self, "feature_names_in_")
        certificate = dict(self._certificate)
        if certificate or promises:
            kept = certificate.get("promises", ())
            certificate["promises"] = [*kept, *(dict(promise) for promise in promises)]
        record = ModelRecord(
            self.model_, settings, self.result_.to_dict(), dict(extra or {}), certificate
        )
        write_model(record, path)

    @classmethod
    def from_record(cls, record: ModelRecord) -> Self:
        """Make a fitted estimator of what a model file holds."""
        settings = dict(record.settings)
        has_column_names = settings.pop("has_column_names", False)
        try:
            for name, kind in _OBJECTS.items():
                if settings.get(name) is not None:
                    settings[name] = kind(**settings[name])
            estimator = cls(**settings)
            result = TrainingResult.from_dict(record.result)
        except (TypeError, KeyError) as error:
            raise ModelFileError(
                f"the model file has settings that are not known ({error})."
            ) from error
        estimator._take(record.model, result, dict(record.certificate))
        estimator.n_features_in_ = record.model.n_features
        if has_column_names:
            estimator.feature_names_in_ = np.array(record.model.feature_names, dtype=object)
        estimator.extra_ = dict(record.extra)
        return estimator

    @abstractmethod
    def _architecture(self, n_features: int, n_outputs: int) -> Architecture:
        """What the parameters say of the network."""

    @abstractmethod
    def _task(
        self,
        samples: LabelledSamples,
        architecture: Architecture,
        encoder: Encoder,
        method: AbstractMethod,
        budget: Budget,
        targets: TargetScaler | None = None,
    ) -> Task:
        """Make the problem and what else the method is asked; targets are scaled as before."""

    def _counts_all(self, method: AbstractMethod, samples: LabelledSamples) -> bool:
        """Whether the loss counts samples that are held out, too."""
        del method, samples
        return False

    def _fit(
        self, samples: LabelledSamples, unscaled: Encoder, models: GrowingModel | None = None
    ) -> Self:
        """Train from nothing."""
        began = time.perf_counter()
        architecture = self._architecture(samples.values.shape[1], samples.n_outputs)
        method, budget = get_method(self.method), self._budget()
        samples = check_robust(self.robust, samples)
        labels = samples.labels if samples.labels.ndim == 1 else None
        is_unit = self.scale == "auto" and self.robust is not None and labels is not None
        encoder = Encoder.fit(
            samples.values,
            "standard" if is_unit else self.scale,
            weights=architecture.weights[0],
            sample_weight=samples.weight,
            labels=labels,
            unscaled=unscaled,
        )
        counts_all = self._counts_all(method, samples)
        samples = samples.split(self.validation_fraction, budget.seed, counts_all=counts_all)
        task = self._task(samples, architecture, encoder, method, budget)
        return self._train(task, budget, began, start=self.start, models=models)

    def _recalled(
        self, given: LabelledSamples | None = None
    ) -> tuple[LabelledSamples, Architecture]:
        """Samples of the last training and the shape of its network, which parameters must ask."""
        memory = self._memory
        kept = memory.architecture if memory else self.network_.architecture
        architecture = self._architecture(self.n_features_in_, kept.n_outputs)
        check_same_shape(architecture, kept, self.scale, self.encoder_.scale)
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
        network, result = task.method.train(
            task.problem,
            validation=task.validation,
            training_part=task.training_part,
            budget=budget.after(prepared),
            solver=self.solver,
            models=models,
            on_progress=self.callback,
            **options,
        )
        error = result.error if task.true_problem is None else task.true_problem.error(network)
        result = replace(result, error=error, seconds=result.seconds + prepared)
        model = Model(task.encoder, network, task.classes, task.targets)
        memory = Memory(task.samples, task.problem.architecture, models)
        self._take(model, result, task.certificate, memory)
        _warn_if_stopped(result)
        return self

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

    def _values(self, X: ArrayLike) -> FloatArray:
        """Raw features for the fitted model."""
        check_is_fitted(self, "model_")
        return check_features(self, X, reset=False)

    def _reference(self, X: ArrayLike | None) -> FloatArray | None:
        return None if X is None else self._values(X)

    def _around(
        self, X: ArrayLike, y: ArrayLike | None, norm: str, units: str, domain: Domain | None
    ) -> PerturbationSet:
        values = self._values(X)
        return PerturbationSet.create(self.model_, values, y, norm=norm, units=units, domain=domain)

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

    def _unscaled(self, feature_names: Sequence[str] | None, encoder: Encoder | None) -> Encoder:
        """What the features are: as told, with names given to ``fit``, or the columns' own."""
        if encoder is None:
            names = getattr(self, "feature_names_in_", None)
            names = names if feature_names is None else feature_names
            if names is None:
                return Encoder.of_features(self.n_features_in_)
            encoder = Encoder.of_features(len(names), list(map(str, names)))
        if encoder.n_features != self.n_features_in_:
            raise DataError(
                f"feature_names must name {self.n_features_in_} features, got "
                f"{encoder.n_features}: give one name per column."
            )
        return encoder


def _warn_if_stopped(result: TrainingResult) -> None:
    """Warn of a run that a limit ended, where the user called ``fit``: four calls up."""
    if result.status in _LIMITS:
        remedy = "run longer" if result.status != "interrupted" else "let it finish"
        warnings.warn(
            f"training was ended ({result.status}) after {result.seconds:.1f} s with loss "
            f"{result.minimised:g} and bound {result.bound:g}: {remedy} for a better network or "
            "a proof.",
            ConvergenceWarning,
            stacklevel=5,
        )


def _plain_parameter(value: Any) -> Any:
    """Parameter as JSON: names of methods and solvers, nothing for networks and functions."""
    named = AbstractMethod | AbstractSolver | WeightSet | Activation
    if isinstance(value, named):
        return value.name
    if isinstance(value, Limits | Robust):
        return asdict(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain_parameter(item) for item in value]
    if isinstance(value, Mapping):
        # JSON turns keys into strings, so a class weight per label is kept as readable text only.
        return None
    return value if isinstance(value, str | int | float | bool | None) else None

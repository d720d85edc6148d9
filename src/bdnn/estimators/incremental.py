"""Further samples for a trained classifier."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from bdnn.activation import BoolArray, FloatArray
from bdnn.architecture import Architecture
from bdnn.constraints.problem import ConstrainedProblem
from bdnn.errors import DataError, ModelError
from bdnn.estimators.common import warn_if_stopped
from bdnn.estimators.demands import is_demanding
from bdnn.estimators.validation import check_features, check_weights
from bdnn.export.certificate import describe_data
from bdnn.formulation.growth import GrowingModel
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.scaling import AUTO_KINDS, Scaler
from bdnn.solvers.base import AbstractSolver
from bdnn.training.base import AbstractMethod, ProgressHandler
from bdnn.training.budget import Budget
from bdnn.training.incremental import Earlier
from bdnn.training.registry import get_method
from bdnn.training.result import TrainingResult


class Problems(NamedTuple):
    """Samples that the loss counts, those for validation, and the former without the latter."""

    problem: TrainingProblem
    validation: TrainingProblem | None = None
    training_part: TrainingProblem | None = None


@dataclass(frozen=True, eq=False)
class KnownSamples:
    """Samples that a model was trained on.

    Parameters
    ----------
    values : array of shape (n_samples, n_features)
        Unscaled; the user's own array where that needed no conversion.
    labels : array of int
        Index of every sample's class.
    own_weight, weight : array or None
        What the user gave, and together with the weights of classes.
    held_out : array of bool
        Which samples validation has.
    counts_all : bool
        Whether the loss counts these as well.
    """

    values: FloatArray
    labels: NDArray[np.intp]
    own_weight: FloatArray | None
    weight: FloatArray | None
    held_out: BoolArray
    counts_all: bool = False

    @property
    def counted(self) -> BoolArray:
        """Which samples the loss counts."""
        return np.ones_like(self.held_out) if self.counts_all else ~self.held_out

    def problems(self, make: Callable[[BoolArray], TrainingProblem]) -> Problems:
        """What a method trains on and validates by; ``make`` gives the problem of some samples."""
        problem = make(self.counted)
        if not self.held_out.any():
            return Problems(problem)
        training = make(~self.held_out) if self.counts_all else problem
        validation = make(self.held_out)
        if not (len(training.inputs) and len(validation.inputs)):  # one part has no weight at all
            return Problems(problem)
        return Problems(problem, validation, training if self.counts_all else None)

    def problem(
        self, architecture: Architecture, scaler: Scaler, part: BoolArray
    ) -> TrainingProblem:
        """The training problem of a part of the samples."""
        weight = None if self.weight is None else self.weight[part]
        scaled = scaler.transform(self.values[part])
        return TrainingProblem.from_samples(architecture, scaled, self.labels[part], weight)

    def checksum(self) -> bytes:
        """Say whether the user's array is still what it was, in no time."""
        return hashlib.blake2b(np.ascontiguousarray(self.values).data).digest()

    def describe(self, n_classes: int) -> dict[str, Any]:
        """What the certificate says of the samples that the loss counts."""
        used = self.counted if self.weight is None else self.counted & (self.weight > 0)
        class_weight = None
        if self.weight is not None and self.own_weight is None:
            class_weight = np.ones(n_classes)
            class_weight[self.labels] = self.weight
        return describe_data(
            self.values,
            self.labels,
            used=used,
            class_weight=None if class_weight is None else class_weight.tolist(),
            sample_weight=self.own_weight is not None,
        )


class IncrementalMixin:
    """The methods ``partial_fit`` and ``extend`` of a classifier."""

    network_: Network
    result_: TrainingResult
    scaler_: Scaler
    classes_: NDArray[Any]
    method: str | AbstractMethod
    solver: str | AbstractSolver
    scale: str | None
    robust_radius: Any
    callback: ProgressHandler | None
    _architecture: Callable[[], Architecture]
    _budget: Callable[[], Budget]
    _check_labels: Callable[[ArrayLike, int], NDArray[Any]]
    _fit_samples: Callable[..., Self]
    _held_out: Callable[[NDArray[np.intp], int], BoolArray]
    _weigh: Callable[..., FloatArray | None]

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train with samples that come in parts; the network is that of all of them together.

        The first part makes the scaler and sets the classes; the others :meth:`extend`.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        classes : array of shape (n_classes,), optional
            All labels that will ever come; needed in the first call only.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        if hasattr(self, "network_"):
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise DataError(
                    f"classes must stay {self.classes_.tolist()}, got "
                    f"{np.unique(classes).tolist()}: leave them out after the first call."
                )
            return self.extend(X, y, sample_weight)
        self._check_unconstrained()
        if classes is None:
            raise DataError(
                "classes must be given in the first call of partial_fit, got None: list all labels "
                "that will come."
            )
        values = check_features(self, X, reset=True)
        given = np.unique(np.asarray(classes))
        if len(given) < 2:
            raise DataError(
                f"classes must be at least two, got {given.tolist()}: list all labels that will "
                "come."
            )
        self.classes_ = given
        labels = self._known_labels(y, len(values))
        return self._fit_samples(
            values, labels, sample_weight, fewest_classes=1, models=GrowingModel()
        )

    def extend(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        old: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Train with further samples, from the network and the bound at hand.

        Scaler, classes and the shape of the network stay; ``result_`` is then about all samples.
        Methods ``auto``, ``exact`` and ``descent`` can do it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Further samples only. The estimator knows the others: it refers to the array it was
            fitted with, which must not have changed since.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        old : tuple of arrays (X, y), optional
            The samples that the model was trained on, for a model that was read from a file, which
            does not hold them.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        check_is_fitted(self, "network_")
        architecture = self._check_extendable()
        method, budget = get_method(self.method), self._budget()
        known = self._recalled(old, budget.seed)
        values = check_features(self, X, reset=False)
        labels = self._known_labels(y, len(values))
        samples = self._joined(
            known, values, labels, check_weights(sample_weight, len(values)), budget.seed
        )
        result = self.result_
        earlier = Earlier(
            known.problem(architecture, self.scaler_, known.counted),
            self.network_,
            result.bound,
            result.bound_origin,
        )
        models = self._models or GrowingModel()
        make = partial(samples.problem, architecture, self.scaler_)
        problem, validation, training_part = samples.problems(make)
        facts = samples.describe(len(self.classes_))
        self.network_, self.result_ = method.train(
            problem,
            validation=validation,
            training_part=training_part,
            budget=budget.after(time.perf_counter() - began),
            solver=self.solver,
            earlier=earlier,
            models=models,
            on_progress=self.callback,
        )
        self._remember(samples, models, problem, facts)
        return self

    def _remember(
        self,
        samples: KnownSamples,
        models: GrowingModel | None,
        problem: TrainingProblem,
        facts: dict[str, Any],
    ) -> None:
        """Keep what :meth:`extend` and the certificate need."""
        self._samples: KnownSamples | None = samples
        # A program may be large; it is kept for those who have shown that they will continue it.
        self._models = models
        self._data_facts = facts
        self._checksum = samples.checksum()
        constrained = problem if isinstance(problem, ConstrainedProblem) else None
        self._promises: tuple[Any, ...] = tuple(constrained.promises() if constrained else ())
        self._demands: dict[str, Any] = constrained.certificate() if constrained else {}
        self._is_plain = constrained is None and self.robust_radius is None
        warn_if_stopped(self.result_, stacklevel=5)

    def _check_extendable(self) -> Architecture:
        """Refuse what cannot be continued, before any work."""
        get_method(self.method).check_continues()
        self._check_unconstrained()
        if self.robust_radius is not None:
            raise ModelError(
                "extend does not train with robust_radius: fit a new model with all samples."
            )
        if not self._is_plain:
            # Its bound is one for other networks or another loss.
            raise ModelError(
                "extend does not go on from training with robust_radius, sparsity, regularizer or "
                "constraints: fit a new model with all samples."
            )
        architecture = self._architecture()
        kept = self.network_.architecture
        kinds = (self.scaler_.kind, *(["auto"] if self.scaler_.kind in AUTO_KINDS else []))
        if architecture != kept or self.scale not in kinds:
            raise ModelError(
                f"extend keeps the network {kept} with scale {self.scaler_.kind!r}, got parameters "
                f"for {architecture} with scale {self.scale!r}: set them back or fit anew."
            )
        return kept

    def _check_unconstrained(self) -> None:
        if is_demanding(self):
            raise ModelError(
                "partial_fit and extend do not train with sparsity, regularizer or constraints: "
                "fit a new model with all samples."
            )

    def _known_labels(self, y: ArrayLike, n_samples: int) -> NDArray[np.intp]:
        """Indices of labels among the classes."""
        labels = self._check_labels(y, n_samples)
        is_new = ~np.isin(labels, self.classes_)
        if is_new.any():
            raise DataError(
                f"y must hold classes of {self.classes_.tolist()}, got "
                f"{labels[is_new][:1].tolist()[0]!r} too: fit a new model with all samples."
            )
        return np.asarray(np.searchsorted(self.classes_, labels))

    def _recalled(self, old: tuple[ArrayLike, ArrayLike] | None, seed: int) -> KnownSamples:
        """The samples of the last training, checked to be those."""
        samples = self._samples
        if old is not None:
            # Files do not say whether the loss counted samples that were held out.
            again = self._given_again(old, seed)
            ways = [again, replace(again, counts_all=not again.counts_all)]
            facts = [way.describe(len(self.classes_)) for way in ways]
            are_same = self._data_facts in facts
            samples = ways[facts.index(self._data_facts)] if are_same else again
        elif samples is not None:
            are_same = samples.checksum() == self._checksum
        else:
            raise ModelError(
                "a model that was read from a file does not hold the samples it was trained on: "
                "give them as old=(X, y), or fit a new model."
            )
        if not are_same:
            raise DataError(
                "the samples that the model was trained on must be given as they were, got other "
                "rows, labels or weights: do not change them before extend, or fit a new model."
            )
        return samples

    def _given_again(self, old: tuple[ArrayLike, ArrayLike], seed: int) -> KnownSamples:
        if not isinstance(old, tuple | list) or len(old) != 2:
            raise DataError("old must be the pair (X, y) of the samples trained on: give both.")
        values = check_features(self, old[0], reset=False)
        labels = self._known_labels(old[1], len(values))
        weight = self._weigh(labels, None, fewest_classes=1)
        held_out, counts_all = self._held_out(labels, seed), get_method(self.method).refits
        return KnownSamples(values, labels, None, weight, held_out, counts_all)

    def _joined(
        self,
        known: KnownSamples,
        values: FloatArray,
        labels: NDArray[np.intp],
        own_weight: FloatArray | None,
        seed: int,
    ) -> KnownSamples:
        """Known and further samples, of which the same share is held out."""
        both = np.concatenate([known.labels, labels])
        joint_weight = None
        if known.own_weight is not None or own_weight is not None:
            joint_weight = np.concatenate(
                [
                    np.ones(len(part)) if weight is None else weight
                    for part, weight in (
                        (known.labels, known.own_weight),
                        (labels, own_weight),
                    )
                ]
            )
        return KnownSamples(
            np.concatenate([known.values, values]),
            both,
            joint_weight,
            self._weigh(both, joint_weight, fewest_classes=1),
            np.concatenate([known.held_out, self._held_out(labels, seed)]),
            known.counts_all,
        )

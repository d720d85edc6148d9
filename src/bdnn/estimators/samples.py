"""The rows of a fit: what is to be learnt of them, weights, which are held out; kept for more."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import compute_class_weight, compute_sample_weight

from bdnn.errors import DataError, ModelError
from bdnn.estimators.tables import check_mask, check_rows, check_weights
from bdnn.mip.model import GrowingModel
from bdnn.model_file.data import describe_data
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.norms import check_radius
from bdnn.training.limits import is_number


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Samples that an estimator is trained on. Build them with :meth:`create`."""

    # (n_samples, n_features): raw; the user's own array where that needed no conversion.
    values: FloatArray
    # Index of every sample's class; or targets, of shape (n_samples, n_outputs).
    labels: NDArray[Any]
    classes: NDArray[Any]  # labels in the order of the outputs; empty for targets
    own_weight: FloatArray | None  # what the user gave, and together with the weights of classes
    weight: FloatArray | None
    held_out: BoolArray  # which samples validation has
    counts_all: bool = False  # whether the loss counts these as well
    # Of every sample: how far it may move, and its group for fairness.
    radius: FloatArray | None = None
    must: BoolArray | None = None  # which samples must be right
    groups: NDArray[Any] | None = None

    @classmethod
    def create(
        cls,
        values: FloatArray,
        labels: NDArray[Any],
        classes: NDArray[Any],
        sample_weight: ArrayLike | None,
        *,
        class_weight: Mapping[Any, float] | str | None = None,
        fewest_classes: int = 0,
        radius: ArrayLike | None = None,
        must: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> LabelledSamples:
        """Check what is given of samples, and weigh them by their classes too; none is held out."""
        n_samples = len(values)
        weight = own_weight = check_weights(sample_weight, n_samples)
        if class_weight is not None:
            if isinstance(class_weight, Mapping):
                # Of all classes: a part of the samples may lack some that are weighed.
                balance = compute_class_weight(class_weight, classes=classes, y=classes)[labels]
            else:
                balance = compute_sample_weight(class_weight, classes[labels])
            product = balance if weight is None else balance * weight
            weight = check_weights(product, len(labels), name="class_weight")
        present = np.unique(labels if weight is None else labels[weight > 0])
        if len(present) < fewest_classes:
            raise DataError(
                "y must hold at least two classes, got one class "
                f"({classes[present].tolist()[0]!r}): check the target column."
            )
        return cls(
            values,
            labels,
            classes,
            own_weight,
            weight,
            held_out=np.zeros(n_samples, dtype=bool),
            radius=None if radius is None else check_radius(radius, n_samples),
            must=None if must is None else check_mask(must, n_samples),
            groups=None if groups is None else check_rows(groups, n_samples, "groups"),
        )

    def split(self, share: Any, seed: int, *, counts_all: bool) -> LabelledSamples:
        """Keep a share of every class for validation, at random; what must be right is trained."""
        if not is_number(share) or not 0 <= share < 1:
            raise ModelError(
                f"validation_fraction must be from 0 to below 1, got {share!r}: give for example "
                "0.2, or 0 for none."
            )
        held_out = np.zeros(len(self.labels), dtype=bool)
        rng = np.random.default_rng(seed)
        strata = self.labels if self.labels.ndim == 1 else np.zeros(len(self.labels))
        for label in np.unique(strata) if share else ():
            members = rng.permutation(np.flatnonzero(strata == label))
            held_out[members[: int(share * len(members))]] = True
        if self.must is not None:
            held_out &= ~self.must
        return replace(self, held_out=held_out, counts_all=counts_all)

    def joined(
        self, more: LabelledSamples, class_weight: Mapping[Any, float] | str | None = None
    ) -> LabelledSamples:
        """These samples and further ones, all weighed anew."""
        both, own_weight = (self, more), None
        if any(part.own_weight is not None for part in both):
            own_weight = np.concatenate(
                [
                    np.ones(len(part.labels)) if part.own_weight is None else part.own_weight
                    for part in both
                ]
            )
        if (self.groups is None) != (more.groups is None):
            raise DataError(
                "groups must be given for all samples or for none, got them for a part: give them "
                "to fit and to extend."
            )
        must = [np.zeros_like(p.held_out) if p.must is None else p.must for p in both]
        samples = self.create(
            np.concatenate([part.values for part in both]),
            np.concatenate([part.labels for part in both]),
            self.classes,
            own_weight,
            class_weight=class_weight,
            radius=_joined(self.radius, more.radius),
            must=np.concatenate(must) if any(map(np.any, must)) else None,
            groups=_joined(self.groups, more.groups),
        )
        held_out = np.concatenate([part.held_out for part in both])
        return replace(samples, held_out=held_out, counts_all=self.counts_all)

    @property
    def plain_classes(self) -> tuple[Any, ...]:
        """Labels for the model, as plain values."""
        return tuple(c.item() if isinstance(c, np.generic) else c for c in self.classes)

    @property
    def n_outputs(self) -> int:
        """Number of classes or targets."""
        return len(self.classes) if self.labels.ndim == 1 else int(self.labels.shape[1])

    @property
    def counted(self) -> BoolArray:
        """Which samples the loss counts."""
        return np.ones_like(self.held_out) if self.counts_all else ~self.held_out

    def weight_in(self, part: BoolArray) -> FloatArray:
        """Weights of all samples, 0 outside of a part."""
        return np.where(part, 1.0 if self.weight is None else self.weight, 0.0)

    def checksum(self) -> bytes:
        """Say whether the user's array is still what it was, in no time."""
        return hashlib.blake2b(np.ascontiguousarray(self.values).data).digest()

    def describe(self) -> dict[str, Any]:
        """What the certificate says of the samples that the loss counts."""
        used = self.counted if self.weight is None else self.counted & (self.weight > 0)
        class_weight = None
        if self.weight is not None and self.own_weight is None:
            class_weight = np.ones(len(self.classes))
            class_weight[self.labels] = self.weight
        return describe_data(
            self.values,
            self.labels,
            used=used,
            class_weight=None if class_weight is None else class_weight.tolist(),
            sample_weight=None if self.own_weight is None else self.weight,
        )


@dataclass(frozen=True, eq=False)
class Memory:
    """Samples and program of the last training."""

    samples: LabelledSamples
    # What was asked for; the network may have got rid of units that nothing listens to.
    architecture: Architecture
    # The program. It may be large, and is kept for those who have shown that they will continue it.
    models: GrowingModel | None = None
    _checksum: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_checksum", self.samples.checksum())

    @property
    def is_unchanged(self) -> bool:
        """Whether the user's array is still what it was."""
        return self.samples.checksum() == self._checksum


def recalled(
    memory: Memory | None, given: LabelledSamples | None, data: Mapping[str, Any]
) -> LabelledSamples:
    """The samples of the last training, checked to be those that ``data`` describes."""
    if given is not None:
        # Files do not say whether the loss counted samples that were held out.
        for samples in (given, replace(given, counts_all=not given.counts_all)):
            if samples.describe() == data:
                return samples
    elif memory is None:
        raise ModelError(
            "a model that was read from a file does not hold the samples it was trained on: give "
            "them as old=(X, y), or fit a new model."
        )
    elif memory.is_unchanged:
        return memory.samples
    raise DataError(
        "the samples that the model was trained on must be given as they were, got other rows, "
        "labels or weights: do not change them before extend, or fit a new model."
    )


def _joined(first: NDArray[Any] | None, second: NDArray[Any] | None) -> NDArray[Any] | None:
    return None if first is None or second is None else np.concatenate([first, second])

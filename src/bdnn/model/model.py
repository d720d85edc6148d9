"""A model: the encoder of its inputs, its network, and what the outputs mean.

Certifying, exporting, saving and drawing are functions over this object; an estimator holds one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.clock import BackgroundLoad
from bdnn.encoding.encoder import Encoder
from bdnn.encoding.reading import check_codes
from bdnn.encoding.scaling import learn_scale
from bdnn.errors import DataError, ModelError, UnsupportedFeatureError
from bdnn.model.calibration import Calibration
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network

if TYPE_CHECKING:
    from bdnn.model.predictor import Predictor

Label = str | int | float | bool

_BLOCK_ENTRIES = 1 << 17
# Entries of rows after which compiled code is worth loading, and those that a call counts for.
_MANY_ENTRIES = 1 << 22
_CALL_ENTRIES = 1 << 12
# Rows whose labels compiled code copies sooner.
_MANY_ROWS = 100


@dataclass(frozen=True, eq=False)
class TargetScaler:
    """What identity outputs stand for: ``shift + factor * value``, one of each per output.

    Targets are standardised first. A weight of 1 in the last layer then stands for ``unit``
    standard deviations, so that the weight set reaches over the whole range of the targets: one
    continuous weight does by itself, integer weights by half of the units together.
    """

    shift: FloatArray  # (n_outputs,)
    factor: FloatArray
    unit: FloatArray  # (n_outputs,): factor in standard deviations of the targets

    @classmethod
    def fit(
        cls,
        targets: FloatArray,
        *,
        weights: WeightSet,
        width: int,
        sample_weight: FloatArray | None = None,
    ) -> TargetScaler:
        """Learn from targets of shape (n_samples, n_outputs); ``width`` units feed the outputs."""
        standard = learn_scale(targets, "standard", weights=weights, sample_weight=sample_weight)
        used = targets if sample_weight is None else targets[sample_weight > 0]
        scaled = (used - standard.shift) * standard.factor
        reach = np.maximum(np.ptp(scaled, axis=0), 1.0)
        unit = reach / max(1, weights.limit * width // 2) if weights.integer else reach
        return cls(standard.shift, unit / standard.factor, unit)

    def transform(self, targets: FloatArray) -> FloatArray:
        """Turn targets into values of the outputs."""
        return np.asarray((targets - self.shift) / self.factor)

    def inverse(self, values: FloatArray) -> FloatArray:
        """Turn values of the outputs into predictions."""
        return np.asarray(self.shift + self.factor * values)


@dataclass(frozen=True, eq=False)
class Model:
    """All that decides a prediction, and the names to speak of it.

    Parameters
    ----------
    encoder : Encoder
        From raw columns to inputs of the network.
    network : Network
    classes : tuple of str, int, float or bool
        Labels in the order of the outputs; empty for a regressor.
    targets : TargetScaler or None
        What the numbers of identity outputs stand for; only regressors have it.
    calibration : Calibration or None
        How likely classes are, by their scores.
    """

    encoder: Encoder
    network: Network
    classes: tuple[Label, ...] = ()
    targets: TargetScaler | None = None
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        n_outputs = self.network.architecture.n_outputs
        if self.classes and len(self.classes) != n_outputs:
            raise ModelError(
                f"a model needs one class per output, got {len(self.classes)} for {n_outputs}: "
                "check the classes."
            )
        if self.encoder.n_inputs != self.network.architecture.n_features:
            raise ModelError(
                f"the encoder makes {self.encoder.n_inputs} inputs where the network takes "
                f"{self.network.architecture.n_features}: keep them together."
            )

    def __reduce__(self) -> tuple[type[Model], tuple[object, ...]]:
        # Without what is made of these again.
        return Model, tuple(getattr(self, field.name) for field in fields(self))

    def __repr__(self) -> str:
        return f"<Model: {self.kind} of {len(self.encoder.columns)} columns, {self.network!r}>"

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Names of the raw columns that some weight looks at."""
        used = self.encoder.column_of[self.network.weights[0].any(axis=0)]
        return tuple(self.encoder.columns[j].name for j in np.unique(used))

    @property
    def kind(self) -> Literal["classifier", "regressor"]:
        """What the outputs are: classes, or numbers."""
        return "classifier" if self.network.architecture.output == "step" else "regressor"

    @property
    def n_features(self) -> int:
        """Number of raw columns."""
        return self.encoder.n_columns

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the raw columns, ``x1``, ``x2``, ... where they have none."""
        return self.encoder.names

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the raw columns where these came with the data."""
        return self.encoder.names if self.encoder.header else None

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The classes as an array."""
        return np.array(self.classes)

    def inputs(self, X: ArrayLike) -> FloatArray:
        """What the network is given for the codes of raw columns."""
        return self.encoder.transform(X)

    def outcomes(self, X: FloatArray) -> NDArray[np.intp]:
        """Index of every sample's predicted class."""
        return self.checked_outcomes(X)[0]

    def checked_outcomes(self, X: FloatArray) -> tuple[NDArray[np.intp], bool]:
        """Index of every sample's predicted class, and whether a cell is missing.

        Numbers that are infinite or too large are refused.
        """
        if LOADING.is_worth_it(X.size):
            return self.predictor.checked_outcomes(X)
        has_gaps = not check_codes(X)
        found = np.empty(len(X), dtype=np.intp)
        # Blocks of rows stay in cache from the encoder to the class.
        block = max(1, _BLOCK_ENTRIES // max(X.shape[1], self.encoder.n_inputs))
        for first in range(0, len(X), block):
            rows = slice(first, first + block)
            found[rows] = self.network.predict(self.inputs(X[rows]))
        return found, has_gaps

    def named(self, outcomes: NDArray[np.intp], labels: NDArray[Any]) -> NDArray[Any]:
        """Labels of outcomes, by compiled code if that is there."""
        if len(outcomes) < _MANY_ROWS or not LOADING.is_ready:
            return labels.take(outcomes)
        from bdnn.model.predictor import take

        return take(labels, outcomes)

    @cached_property
    def predictor(self) -> Predictor:
        """The model as compiled code."""
        from bdnn.model.predictor import Predictor

        return Predictor(self)

    def predict(self, X: FloatArray) -> NDArray[Any]:
        """Labels of samples; of a regressor numbers of shape (n_samples, n_outputs)."""
        if self.targets is not None:
            return self.targets.inverse(self.network.values(self.inputs(X)))
        return self.named(self.outcomes(X), self.labels)

    def probabilities(self, X: FloatArray) -> FloatArray:
        """Probabilities of the classes, of shape (n_samples, n_classes)."""
        if self.calibration is None:
            raise UnsupportedFeatureError(
                "the model has no table of probabilities: train it again with this version."
            )
        return self.calibration.probabilities(self.network.scores(self.inputs(X)))

    def calibrated(
        self, scores: FloatArray, labels: NDArray[np.intp], weight: FloatArray, origin: str
    ) -> Model:
        """The model with probabilities that are learnt from scores of rows and their classes."""
        used = weight > 0
        step = self.network.score_step
        found = Calibration.fit(scores[used], labels[used], weight[used], step=step, origin=origin)
        return replace(self, calibration=found)

    def codes(self, y: ArrayLike, n_samples: int) -> NDArray[np.intp]:
        """Labels as numbers of outputs, -1 for one that the model does not know."""
        labels = np.asarray(y)
        if labels.shape != (n_samples,):
            raise DataError(
                f"y must be one label per sample, got shape {labels.shape} for {n_samples} "
                "samples: check its length."
            )
        match = labels[:, None] == self.labels
        return np.where(match.any(axis=1), match.argmax(axis=1), -1)

    def require_classifier(self, what: str) -> None:
        """Raise an error for a regressor, whose outputs are no classes."""
        if self.kind != "classifier":
            raise UnsupportedFeatureError(
                f"{what} is for classifiers, got a regressor: predict, save or export it instead."
            )


def _load() -> None:
    """Predict with models of one input, which compiles for models of all shapes."""
    from bdnn.model.predictor import Predictor

    shape = Architecture.create(1, 2, hidden=(), weights="continuous")
    for weight in (1.0, 0.5):  # with room for sums of 16 bits, and without
        weights, thresholds = (np.full((2, 1), weight),), (np.zeros((2, 1)),)
        small = Model(Encoder.of_features(1), Network(shape, weights, thresholds), ("a", "b"))
        for rows in (np.zeros(1), np.zeros((1, 1)), np.zeros((1000, 1))):
            Predictor(small)(rows)


class _Loading(BackgroundLoad):
    """Loads the compiled code once a process has predicted enough, and lets nobody wait."""

    def __init__(self) -> None:
        super().__init__(_load, name="bdnn-compile-predictor")
        self._seen = 0

    def is_worth_it(self, n_entries: int) -> bool:
        """Count a call, and tell whether the code is there."""
        self._seen += n_entries + _CALL_ENTRIES
        if self._seen > _MANY_ENTRIES:
            self.start()
        return self.is_ready


#: The compiled code of predictions.
LOADING = _Loading()

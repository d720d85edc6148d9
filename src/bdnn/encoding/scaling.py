"""Scaling of features: ``(x - shift) * factor``, put on a grid.

Scaled inputs are rounded to multiples of a power of two. Sums of such numbers with integer weights
are free of rounding, so that the model a solver sees, the forward pass and code on a device agree
to the last bit; and a sum over samples in another order moves no input.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from bdnn.errors import DataError, ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import WeightSet

#: Zero mean and unit variance; zero mean and one power of two for all features, which keeps their
#: proportions; or the interval [0, 1].
ScaleKind = Literal["standard", "common", "minmax"]
#: What the kind "auto" chooses from.
AUTO_KINDS: tuple[ScaleKind, ...] = ("standard", "common")

# Integer weights gain nothing from finer inputs, and integer solvers are faster on coarse ones.
_INTEGER_STEP = 2.0**-6
_CONTINUOUS_STEP = 2.0**-20
#: Largest scaled input: whatever is larger counts as this.
LARGEST_SCALED = 2.0**30
# Enough to tell two scales apart, and few enough to compare all pairs in a tenth of a second.
_COMPARED_SAMPLES = 1000
_NEIGHBOURS = 5


class Scale(NamedTuple):
    """Shift and factor of every feature, and the grid they are for."""

    kind: ScaleKind
    shift: FloatArray
    factor: FloatArray
    step: float

    def transform(self, X: FloatArray) -> FloatArray:
        """Scale rows of features."""
        return put_on_grid(X, self.shift, self.factor, self.step)


def put_on_grid(
    values: FloatArray, shift: FloatArray | float, factor: FloatArray | float, step: float
) -> FloatArray:
    """Scale numbers and round them to multiples of a step."""
    # New data may be far outside what was seen; beyond this a unit's decision is long settled.
    with np.errstate(over="ignore"):
        scaled: FloatArray = values - shift
        scaled *= factor
    np.clip(scaled, -LARGEST_SCALED, LARGEST_SCALED, out=scaled)
    scaled /= step
    np.rint(scaled, out=scaled)
    scaled *= step
    return scaled


def learn_scale(
    X: FloatArray,
    kind: str,
    *,
    weights: WeightSet,
    sample_weight: FloatArray | None = None,
    labels: NDArray[np.intp] | None = None,
) -> Scale:
    """Learn shift and factor of features; see :meth:`bdnn.encoding.Encoder.fit`."""
    kinds = [*get_args(ScaleKind), *(["auto"] if labels is not None else [])]
    if kind not in kinds:
        listed = ", ".join(map(repr, kinds))
        raise ModelError(
            f"inputs: scale must be {listed} or None, got {kind!r}: choose one of these."
        )
    if sample_weight is not None:
        # A sample without weight is no sample, and must not stretch a range either.
        counted = sample_weight > 0
        X, sample_weight = X[counted], sample_weight[counted]
        labels = None if labels is None else labels[counted]
    if kind == "auto":
        assert labels is not None
        standard, common = (
            learn_scale(X, each, weights=weights, sample_weight=sample_weight)
            for each in AUTO_KINDS
        )
        return common if _is_clearly_nearer(common, standard, X, labels) else standard
    if kind == "minmax":
        shift = X.min(axis=0)
        spread = X.max(axis=0) - shift
    else:
        shift = np.average(X, axis=0, weights=sample_weight)
        spread = np.sqrt(np.average((X - shift) ** 2, axis=0, weights=sample_weight))
    # A feature whose spread is rounding noise is constant; it must not be blown up. The
    # smallest normal number is the smallest one with a finite inverse.
    noise = 8 * np.finfo(float).eps * np.abs(X).max(axis=0, initial=0.0)
    noise = np.maximum(noise, np.finfo(float).tiny)
    varying = spread > noise
    if kind == "common" and varying.any():
        largest = spread[varying].max()  # taken out, so that no square overflows
        usual = largest * np.sqrt(np.mean((spread[varying] / largest) ** 2))
        # A power of two keeps whole numbers evenly spaced on the grid.
        spread[varying] = 2.0 ** np.rint(np.log2(usual))
    factor = 1.0 / np.where(varying, spread, 1.0)
    step = _INTEGER_STEP if weights.integer else _CONTINUOUS_STEP
    return Scale(kind, shift, factor, step)  # type: ignore[arg-type]


def _is_clearly_nearer(one: Scale, other: Scale, X: FloatArray, labels: NDArray[np.intp]) -> bool:
    """Whether near neighbours are more often of one class by the first scale than by the second.

    By more than a standard error, or the next part of the data would be scaled in another way.

    What a feature's unit means cannot be seen from the feature. Pixels and lengths have one unit,
    and features that hardly vary deserve little weight; a price beside a percentage does not, and
    its larger numbers mean nothing.
    """
    if len(X) > _COMPARED_SAMPLES:
        some = np.random.default_rng(0).choice(len(X), _COMPARED_SAMPLES, replace=False)
        X, labels = X[some], labels[some]
    # Each sample once, so that weights count as repetitions do.
    distinct = np.unique(np.column_stack([X, labels]), axis=0, return_index=True)[1]
    X, labels = X[distinct], labels[distinct]
    gains = _agreement(one.transform(X), labels) - _agreement(other.transform(X), labels)
    return bool(gains.mean() > gains.std() / np.sqrt(len(gains)))


def _agreement(scaled: FloatArray, labels: NDArray[np.intp]) -> FloatArray:
    """Share of every sample's nearest neighbours that are of its class.

    Written by hand, because the neighbours of scikit-learn take longer to import than most fits.
    """
    count = min(_NEIGHBOURS, len(scaled) - 1)
    if count < 1:
        return np.zeros(len(scaled))
    squares = np.einsum("ij,ij->i", scaled, scaled)
    distances = squares[:, None] + squares - 2 * (scaled @ scaled.T)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
    return np.asarray((labels[nearest] == labels[:, None]).mean(axis=1))


def grid_step(X: FloatArray) -> float | None:
    """Find the coarsest power of two of which all entries are multiples, None if too fine.

    Multiples of a power of two are what sums leave unrounded. The step is found up to 2**-20, and
    only where the multiples stay below 2**31, which is what integer solvers take without trouble.
    """
    if not np.isfinite(X).all():
        raise DataError("inputs must be finite: remove or fill NaN and infinite values.")
    largest = np.abs(X).max(initial=0.0)
    for exponent in range(6, -21, -1):
        step = 2.0**exponent
        if largest / step >= 2.0**31:
            return None
        # Multiplied back, because the smallest floats divided by a step are 0.
        if (np.rint(X / step) * step == X).all():
            return step
    return None

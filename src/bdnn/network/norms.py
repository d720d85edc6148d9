"""Norms of perturbations, their duals, and the checks of what a user asks."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bdnn.errors import DataError, ModelError
from bdnn.network.activation import FloatArray

Norm = Literal["linf", "l1", "l2"]
Units = Literal["scaled", "raw"]

# More than the rounding of any sum of ours, relative to its size.
SLACK = 2.0**-40


def check_norm(norm: object, *, name: str = "norm") -> Norm:
    """Refuse what is no norm."""
    if norm not in get_args(Norm):
        raise ModelError(f"{name} must be 'linf', 'l1' or 'l2', got {norm!r}: choose one of these.")
    return norm  # type: ignore[return-value]


def check_units(units: object) -> Units:
    """Refuse what is no unit of a radius."""
    if units not in get_args(Units):
        raise ModelError(f"units must be 'scaled' or 'raw', got {units!r}: choose one of these.")
    return units  # type: ignore[return-value]


def check_radius(
    radius: ArrayLike, n_samples: int | None = None, *, name: str = "radius"
) -> FloatArray:
    """Turn one radius, or one per sample, into an array of one per sample.

    Without a number of samples the array has the shape that was given.
    """
    try:
        values = np.asarray(radius, dtype=float)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    is_truth = np.asarray(radius).dtype == bool
    if is_truth or values.ndim > 1 or not (np.isfinite(values) & (values >= 0)).all():
        raise ModelError(
            f"{name} must be finite and 0 or more, one number or one per sample, got "
            f"{_brief(radius)}: give for example 0.1."
        )
    if n_samples is None:
        return values
    if values.ndim == 1 and len(values) != n_samples:
        raise DataError(
            f"{name} must be one number or one per sample, got {len(values)} for {n_samples} "
            "samples: check its length."
        )
    return np.broadcast_to(values, (n_samples,)).copy()


def length(norm: Norm, moves: FloatArray) -> FloatArray:
    """Norm along the last axis."""
    sizes = np.abs(moves)
    if norm == "linf":
        return np.asarray(sizes.max(axis=-1, initial=0.0))
    if norm == "l1":
        return np.asarray(sizes.sum(axis=-1))
    largest = sizes.max(axis=-1, initial=0.0)
    with np.errstate(invalid="ignore"):  # so that squares neither overflow nor vanish
        parts = sizes / np.where(largest > 0, largest, 1.0)[..., None]
    return np.asarray(
        np.where(np.isinf(largest), np.inf, largest * np.sqrt((parts**2).sum(axis=-1)))
    )


def dual_length(norm: Norm, weights: FloatArray) -> FloatArray:
    """Dual norm along the last axis: the most that a move of length 1 changes ``w.x``."""
    dual: dict[Norm, Norm] = {"linf": "l1", "l1": "linf", "l2": "l2"}
    return length(dual[norm], weights)


def _brief(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."

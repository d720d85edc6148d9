"""What a classifier keeps of its training, and when it can go on from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bdnn.constraints import AbstractConstraint
from bdnn.encoding.scaling import AUTO_KINDS
from bdnn.errors import DataError, ModelError
from bdnn.estimators.samples import LabelledSamples
from bdnn.mip.model import GrowingModel
from bdnn.model import Model
from bdnn.network.architecture import Architecture
from bdnn.problem.create import demands_of
from bdnn.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Memory:
    """Samples and program of the last training.

    Parameters
    ----------
    samples : LabelledSamples
    models : GrowingModel or None
        The program. It may be large, and is kept for those who have shown that they will continue
        it.
    """

    samples: LabelledSamples
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


def check_same_shape(model: Model, architecture: Architecture, scale: str | None) -> None:
    """Refuse parameters that ask for another network or encoder than there is."""
    kept, kind = model.network.architecture, model.encoder.scale
    kinds = (kind, *(["auto"] if kind in AUTO_KINDS else []))
    if architecture != kept or scale not in kinds:
        raise ModelError(
            f"extend keeps the network {kept} with scale {kind!r}, got parameters for "
            f"{architecture} with scale {scale!r}: set them back or fit anew."
        )


def check_weights_only(robust: object, constraints: Sequence[AbstractConstraint]) -> None:
    """Refuse what says something else of all samples than of some of them."""
    found = ["robust"] if robust is not None else []
    found += [constraint.name for constraint in constraints if constraint.is_about_samples]
    if found:
        raise ModelError(
            "partial_fit and extend go on with what is asked of weights alone, got "
            f"{' and '.join(found)}: fit a new model with all samples."
        )


def check_same_networks(problem: Problem[Any], trained: Mapping[str, Any]) -> None:
    """Refuse a bound for other networks or another loss; bounds of both parts then add up.

    A price is paid once, and its share of the earlier bound is not known.
    """
    before = ("robust" in trained, trained.get("constraints", []), "penalty" in trained)
    if before != (False, demands_of(problem).get("constraints", []), problem.has_price):
        raise ModelError(
            "extend does not go on from training with robust or other constraints: fit a new model "
            "with all samples."
        )
    if problem.has_price:
        raise ModelError(
            f"extend does not go on with a price, got {problem.demands}: fit a new model with all "
            "samples."
        )

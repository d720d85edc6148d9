"""What a classifier keeps of its training, and when it can go on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from bdnn.encoding.scaling import AUTO_KINDS
from bdnn.errors import DataError, ModelError
from bdnn.estimators.samples import LabelledSamples
from bdnn.mip.model import GrowingModel
from bdnn.network.architecture import Architecture
from bdnn.problem.bound import Bound
from bdnn.problem.create import demands_of
from bdnn.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Memory:
    """Samples and program of the last training.

    Parameters
    ----------
    samples : LabelledSamples
    architecture : Architecture
        What was asked for; the network may have got rid of units that nothing listens to.
    models : GrowingModel or None
        The program. It may be large, and is kept for those who have shown that they will continue
        it.
    """

    samples: LabelledSamples
    architecture: Architecture
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


def check_same_shape(
    asked: Architecture, kept: Architecture, scale: str | None, kind: str | None
) -> None:
    """Refuse parameters that ask for another network or encoder than there is."""
    kinds = (kind, *(["auto"] if kind in AUTO_KINDS else []))
    if asked != kept or scale not in kinds:
        raise ModelError(
            f"extend keeps the network {kept} with scale {kind!r}, got parameters for "
            f"{asked} with scale {scale!r}: set them back or fit anew."
        )


def continued(
    bound: Bound,
    problem: Problem[Any],
    robust: Mapping[str, Any] | None,
    trained: Mapping[str, Any],
) -> Bound:
    """What an earlier bound says of the earlier part of a problem; nothing where that is not known.

    A bound for all networks is one for those that keep what is asked now. Otherwise the same must
    have been asked, and of more samples it must ask no less: so it is with what speaks of weights,
    and with balls in which activations hold.
    """
    before = tuple(trained.get(key) for key in ("robust", "constraints", "penalty"))
    demands = demands_of(problem)
    now = (robust, demands.get("constraints"), demands.get("penalty"))
    grows = not any(term.sees_samples for term in problem.terms)
    grows = grows and (robust is None or robust["loss"] == "pattern")
    is_kept = before == (None, None, None) or (before == now and grows)
    return bound if is_kept else Bound(Fraction(0), "zero")

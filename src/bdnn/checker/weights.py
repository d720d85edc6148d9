"""What a sample counts: 1, a weight of its class, or a weight of its own that the file states.

Balanced weights follow from the data and are recomputed. All others are nothing that data could
confirm: they are part of what is claimed and are printed with it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bdnn.checker.claims import Claim, exact, false, number_text, proven, shown
from bdnn.checker.model import CheckedModel
from bdnn.checker.samples import Samples
from bdnn.errors import ModelFileError

_ROUNDING = Fraction(1, 10**9)
_MOST_SHOWN = 6


@dataclass(frozen=True)
class Weights:
    """Weights of all samples."""

    of_rows: list[Fraction] | None  # None where the file does not hold them
    words: str = ""  # how they are printed with a claim, empty if all are 1
    claims: tuple[Claim, ...] = ()  # what could be decided about them

    @property
    def are_whole(self) -> bool:
        """Whether sums of weights are whole numbers, which are stated without rounding."""
        return all(weight.denominator == 1 for weight in set(self.of_rows or ()))


def read_weights(model: CheckedModel, samples: Samples) -> Weights:
    """Read the weights that a file states, and recompute those that follow from the data."""
    own, by_class = model.data.get("sample_weight"), model.data.get("class_weight")
    setting = model.part("settings").get("class_weight")
    try:
        if isinstance(own, list):
            return _own_weights(own, samples)
        if own:
            return Weights(None)
        if by_class is None and setting is not None and not model.data:
            return Weights(None)  # an old file without a certificate
        if by_class is None:
            return Weights([Fraction(1)] * len(samples))
        return _class_weights(
            model, samples, by_class, is_balanced="balanced" in (by_class, setting)
        )
    except ValueError as error:
        raise ModelFileError(
            f"the certificate's weights of samples make no sense ({error}): save the model again."
        ) from error


def _own_weights(values: list[Any], samples: Samples) -> Weights:
    weights = [exact(value) for value in values]
    if len(weights) != len(samples) or min(weights) <= 0:
        return Weights(None, claims=(false("weights", "are not one above 0 for every sample"),))
    low, high = number_text(min(weights)), number_text(max(weights))
    return Weights(weights, f"samples weigh {low} to {high} as the file says")


def _class_weights(
    model: CheckedModel, samples: Samples, values: Any, *, is_balanced: bool
) -> Weights:
    balanced = _balanced(model, samples)
    weights = balanced if values == "balanced" else _stated(model, values)
    used = set(samples.classes)
    if is_balanced:
        for c in used:
            if abs(weights[c] - balanced[c]) > _ROUNDING * balanced[c]:
                label, wanted = shown(model.classes[c]), number_text(balanced[c])
                detail = f"{label} weighs {number_text(weights[c])}, {wanted} would be balanced"
                return Weights(None, claims=(false("class weights", detail),))
        words, claims = "balanced", (proven("class weights", "balanced, as the data say"),)
        return Weights([balanced[c] for c in samples.classes], words, claims)
    if any(weights[c] <= 0 for c in used):
        return Weights(None, claims=(false("class weights", "leave out samples that are counted"),))
    shares = [
        f"{number_text(weights[c])} for {shown(model.classes[c])}"
        for c in sorted(used)[:_MOST_SHOWN]
    ]
    more = ", ..." if len(used) > _MOST_SHOWN else ""
    words = f"samples weigh {', '.join(shares)}{more}"
    return Weights([weights[c] for c in samples.classes], words)


def _stated(model: CheckedModel, values: Any) -> list[Fraction]:
    if not isinstance(values, list) or len(values) != len(model.classes):
        raise ValueError("they are not one per class")
    return [exact(value) for value in values]


def _balanced(model: CheckedModel, samples: Samples) -> list[Fraction]:
    """Weights that make classes equal, as doubles; of all samples given to training."""
    counts = Counter(samples.fitted)
    n_rows, n_classes = len(samples.fitted), len(counts)
    return [
        Fraction(n_rows / (n_classes * counts[c]) if counts[c] else 1)
        for c in range(len(model.classes))
    ]

"""Numbers that bounds of scaled inputs rest on."""

from __future__ import annotations

import math
from fractions import Fraction

# Relative error of the scaler, which subtracts and multiplies once: two roundings, doubled twice.
SCALING_ERROR = Fraction(1, 2**50)
_LARGEST_SCALED = Fraction(2**30)


def clipped(scaled: Fraction) -> Fraction:
    """A scaled input as far as the encoder lets it grow."""
    return max(-_LARGEST_SCALED, min(_LARGEST_SCALED, scaled))


def root_above(square: Fraction) -> Fraction:
    """A fraction not below a square root, and hardly above."""
    scale = 2**60
    return Fraction(math.isqrt(math.ceil(square * scale * scale)) + 1, scale)

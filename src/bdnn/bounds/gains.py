"""What answers are worth, as whole numbers that compiled code and solvers can add up."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray
from bdnn.problem.losses.output import OutputLoss

Integers = NDArray[np.int64]


class Gains(NamedTuple):
    """What being on is worth to every output at every input, in multiples of a step.

    With ``mistakes`` the sum of ``abs(values)`` where an output is not what is cheaper, the loss is
    what is irreducible plus at least ``step * mistakes``, and no more where this ``is_exact``.
    """

    values: Integers
    step: Fraction
    is_exact: bool


class Mistakes(NamedTuple):
    """What one output should be at the inputs where it matters, and what a mistake costs there."""

    inputs: Integers
    wanted: BoolArray
    costs: Integers


def gains_of(loss: OutputLoss, *, bits: int = 62) -> Gains:
    """Write gains as integers whose sizes add up to so many bits.

    Where weights have too many digits gains are rounded towards 0, and bounds stay true.
    """
    exact = loss.counts - loss.counts_on
    sizes = [abs(int(value)) for value in exact.ravel()]
    shared = math.gcd(*sizes) or 1
    places = max(0, (sum(sizes) // shared).bit_length() - bits)
    unit = shared << places
    is_exact = not any(size % unit for size in sizes)
    rounded = [size // unit for size in sizes]
    values = np.array(rounded, dtype=np.int64).reshape(exact.shape)
    return Gains(np.where(exact > 0, values, -values), unit * loss.grain, is_exact)


def mistakes_of(gains: Integers) -> Mistakes:
    """Leave out the inputs at which an output may be what it likes."""
    inputs = np.flatnonzero(gains)
    return Mistakes(inputs, gains[inputs] > 0, np.abs(gains[inputs]))

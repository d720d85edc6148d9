"""Losses as whole multiples of a step: gains to add up in integers, and floats made exact.

What answers are worth is written as integers that compiled code and solvers can add up. Bounds that
a solver has computed in floats become multiples of the step where that is safe.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray
from bdnn.problem.bound import Bound, Condition
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.samples import IntegerArray

Integers = NDArray[np.int64]

# What solvers are off by at most, in units of a sample's weight and relative to a thousand of them.
_ROUNDING = Fraction(1, 10**6)
# Part of a step beyond which nobody can tell which multiple a float stands for.
_SAFE = Fraction(1, 100)


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
    return gains_from(loss.counts - loss.counts_on, loss.grain, bits=bits)


def gains_from(exact: IntegerArray, grain: Fraction, *, bits: int) -> Gains:
    """Do the same with whole multiples of a grain, which may be of any size."""
    sizes = [abs(int(value)) for value in exact.ravel()]
    shared = math.gcd(*sizes) or 1
    places = max(0, (sum(sizes) // shared).bit_length() - bits)
    unit = shared << places
    is_exact = not any(size % unit for size in sizes)
    rounded = [size // unit for size in sizes]
    values = np.array(rounded, dtype=np.int64).reshape(exact.shape)
    return Gains(np.where(exact > 0, values, -values), unit * grain, is_exact)


def mistakes_of(gains: Integers) -> Mistakes:
    """Leave out the inputs at which an output may be what it likes."""
    inputs = np.flatnonzero(gains)
    return Mistakes(inputs, gains[inputs] > 0, np.abs(gains[inputs]))


def lift(
    value: float,  # a finite bound on numbers that differ from ``base`` by multiples of ``step``
    step: Fraction,  # 0 where nothing is known of the numbers
    base: Fraction = Fraction(0),
) -> Fraction | None:
    """Raise a solver's bound to the next value that can be.

    Returns None where the solver's tolerance is more than a hundredth of the step.
    """
    exact = Fraction(value)
    rounding = _ROUNDING * max(Fraction(1), abs(exact) / 1000)
    if rounding > _SAFE * step:
        return None
    return base + step * math.ceil((exact - rounding - base) / step)


def solver_bound(
    problem: Problem[Any],
    value: float,
    origin: str,
    *,
    margin: float = 0.0,  # what inactive units keep in the solver's program
) -> Bound:
    """Make a record of a bound on the objective, with what floats take for granted."""
    least = problem.irreducible.value
    step = Fraction(0) if problem.has_price else problem.loss.step
    lifted = lift(value, step, least)
    if lifted is not None:
        return Bound(max(least, lifted), origin, Condition(margin))
    tolerance = problem.tolerance(Fraction(value)) or _ROUNDING * Fraction(problem.loss.total)
    return Bound(Fraction(value), origin, Condition(margin, tolerance))

"""Bounds that were computed in floats, as fractions: multiples of a step where that is safe."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from bdnn.problem.bound import Bound, Condition
from bdnn.problem.problem import Problem

# What solvers are off by at most, in units of a sample's weight and relative to a thousand of them.
_ROUNDING = Fraction(1, 10**6)
# Part of a step beyond which nobody can tell which multiple a float stands for.
_SAFE = Fraction(1, 100)


def lift(value: float, step: Fraction, base: Fraction = Fraction(0)) -> Fraction | None:
    """Raise a solver's bound to the next value that can be.

    Parameters
    ----------
    value : float
        A finite bound on numbers that differ from ``base`` by multiples of ``step``.
    step : Fraction
        0 where nothing is known of the numbers.
    base : Fraction

    Returns
    -------
    Fraction or None
        None where the solver's tolerance is more than a hundredth of the step.
    """
    exact = Fraction(value)
    rounding = _ROUNDING * max(Fraction(1), abs(exact) / 1000)
    if rounding > _SAFE * step:
        return None
    return base + step * math.ceil((exact - rounding - base) / step)


def solver_bound(problem: Problem[Any], value: float, origin: str, *, margin: float = 0.0) -> Bound:
    """Make a record of a bound on the objective, with what floats take for granted.

    Parameters
    ----------
    problem : Problem
    value : float
    origin : str
    margin : float
        What inactive units keep in the solver's program.
    """
    least = problem.irreducible.value
    step = Fraction(0) if problem.has_price else problem.loss.step
    lifted = lift(value, step, least)
    if lifted is not None:
        return Bound(max(least, lifted), origin, Condition(margin))
    tolerance = problem.tolerance(Fraction(value)) or _ROUNDING * Fraction(problem.loss.total)
    return Bound(Fraction(value), origin, Condition(margin, tolerance))

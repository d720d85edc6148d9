"""Bounds of solvers: raised to the lattice where that is safe, with their tolerance elsewhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bdnn.bounds.lattice import lift, solver_bound
from tests.bounds.cases import CROSS, make

STEP = Fraction(2)


@pytest.mark.parametrize(
    ("value", "raised"), [(1.2, 2), (2.0, 2), (2.0 + 1e-9, 2), (2.0 - 1e-9, 2), (2.1, 4), (-0.5, 0)]
)
def test_a_bound_is_the_next_multiple_of_the_step(value, raised):
    assert lift(value, STEP) == raised
    assert lift(value + 1, STEP, Fraction(1)) == raised + 1


def test_a_step_near_the_tolerance_says_nothing():
    for value, step in ((0.3, Fraction(1, 10**5)), (1e9 + 0.5, Fraction(2)), (0.3, Fraction(0))):
        assert lift(value, step) is None


def test_the_record_says_what_is_taken_for_granted():
    problem = make(CROSS, [0, 1, 0, 1], (2,))
    bound = solver_bound(problem, 1.3, "solver test", margin=1e-4)
    assert (bound.value, bound.origin) == (2, "solver test")
    assert (bound.condition.margin, bound.condition.tolerance) == (1e-4, 0)
    tiny = make(CROSS, [0, 1, 0, 1], (2,), sample_weight=np.array([1e-9, 1.0, 1.0, 1.0]))
    assert solver_bound(tiny, 1.3, "solver test").condition.tolerance > 0

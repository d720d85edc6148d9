"""Gains are the loss in integers or less; floats are raised where that is safe."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bdnn.bounds.lattice import gains_of, lift, mistakes_of, solver_bound
from tests.bounds.cases import CROSS, make

STEP = Fraction(2)
WEIGHTS = [
    None,
    np.array([3.0, 6.0, 9.0, 3.0]),
    np.array([0.1, 0.7, 1e-3, 5.0]),
    np.array([1e300, 1.0, 1e-300, 5e-324]),
]


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


@pytest.mark.parametrize("weight", WEIGHTS, ids=str)
@pytest.mark.parametrize("bits", [10, 30, 62])
@pytest.mark.parametrize("labels", [[0, 1, 1, 0], [0, 1, 2, 1]])
def test_losses_are_sums_of_gains(labels, weight, bits):
    problem = make(np.arange(4.0)[:, None], labels, (2,), sample_weight=weight)
    gains = gains_of(problem.loss, bits=bits)
    assert int(np.abs(gains.values).sum()) < 2**bits
    rng = np.random.default_rng(0)
    for _ in range(20):
        on = rng.random(gains.values.shape) < 0.5
        wrong = on != (gains.values > 0)
        found = problem.irreducible.value + gains.step * int(np.abs(gains.values)[wrong].sum())
        true = problem.loss.of_outputs(on)
        assert found <= true
        if gains.is_exact:
            assert found == true


def test_whole_weights_have_their_largest_step():
    problem = make(np.arange(4.0)[:, None], [0, 1, 1, 0], (2,), sample_weight=WEIGHTS[1])
    gains = gains_of(problem.loss, bits=10)
    assert gains.is_exact
    assert gains.step == Fraction(3)


def test_inputs_at_which_nothing_matters_are_left_out():
    inputs, wanted, costs = mistakes_of(np.array([0, -3, 2, 0]))
    assert inputs.tolist() == [1, 2]
    assert wanted.tolist() == [False, True]
    assert costs.tolist() == [3, 2]

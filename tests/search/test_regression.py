"""Moves of regression units: the compiled choice, its numpy twin, brute force, and true losses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.clock import Slot
from bdnn.search.kernels import forward, split
from bdnn.search.refit import refit
from bdnn.search.regression import build, kick, squared, sweep
from bdnn.search.state import SearchState
from tests.grids import examples
from tests.problems import regression_problem
from tests.search import reference
from tests.search.parts import Parts

BOTH = pytest.mark.parametrize("kernels", [split, reference], ids=["compiled", "numpy"])


@st.composite
def lines(draw):
    """Breakpoints on a line with the moments of what switches there."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_outputs = draw(st.integers(1, 60)), draw(st.integers(1, 3))
    weight = rng.integers(1, 4, n).astype(float)
    moments = np.column_stack([weight, weight[:, None] * rng.normal(size=(n, n_outputs))])
    breaks = np.rint(rng.normal(size=n) * 8) / 4
    signs = rng.choice([-1.0, 1.0], n)
    rules = np.array(
        [draw(st.sampled_from([0.0, 2.0])), 1.0, *(rng.integers(0, 2, 3).astype(float))]
    )
    limits = draw(st.sampled_from([(-np.inf, np.inf), (-0.8, 1.3)]))
    return breaks, signs, moments, rules, limits


@BOTH
@given(lines())
@examples(60)
def test_the_best_split_is_that_of_brute_force(kernels, line):
    breaks, signs, moments, rules, (low, high) = line
    price = np.linspace(1.0, 2.0, moments.shape[1] - 1)
    base = moments[signs < 0].sum(axis=0)
    total = float(moments[:, 0].sum())
    step, gain = kernels.best_split(breaks, signs, moments, base, total, price, rules, low, high)

    def gain_at(point):
        on = np.where(signs > 0, point > breaks, point < breaks)
        size, *sums = moments[on].sum(axis=0)
        return reference.set_gain(np.array(sums), size, total, price, rules)

    ends = np.unique(np.clip(breaks, max(low, -99.0), min(high, 99.0)))
    points = np.concatenate([[ends[0] - 0.5], 0.5 * (ends[1:] + ends[:-1]), [ends[-1] + 0.5]])
    points = points[(points > low) & (points < high)]
    if len(points):
        assert gain >= max(map(gain_at, points)) - 1e-9
    assert gain == pytest.approx(gain_at(step), abs=1e-9)
    assert low <= step <= high


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_the_gain_is_the_decrease_of_the_loss(bias):
    rng = np.random.default_rng(0)
    r, w, on = rng.normal(size=12), rng.integers(1, 3, 12).astype(float), rng.random(12) < 0.5
    r = r - bias * np.average(r, weights=w)
    rules = np.array([0.7, 5.0, 0.0, 1.0, bias])
    gain = split.set_gain(np.array([w[on] @ r[on]]), w[on].sum(), w.sum(), np.ones(1), rules)
    design = np.column_stack([on, np.full(12, bias)])
    gram = design.T @ (w[:, None] * design) + np.diag([0.7, 0.0 if bias else 1.0])
    a, b = np.linalg.solve(gram, design.T @ (w * r))
    loss = w @ (r - design @ [a, b]) ** 2 + 0.7 * a**2
    assert gain == pytest.approx(w @ r**2 - loss)


@pytest.mark.parametrize("kind", ["squared", "absolute"])
@pytest.mark.parametrize("weights", [["ternary", "continuous"], ["ternary", "int:2"]])
def test_fits_sweeps_and_kicks_are_what_they_say(kind, weights):
    problem = regression_problem(3, n_samples=30, n_features=3, hidden=(4,), weights=weights,
                                 kind=kind)  # fmt: skip
    rng = np.random.default_rng(1)
    network = build(problem, rng, slot=Slot())
    fitted = refit(problem, network)
    assert problem.value(fitted) <= problem.value(network) + 1e-12
    for _ in range(3):
        better = sweep(problem, network, rng, slot=Slot())
        assert problem.value(better) <= problem.value(network)
        network = kick(problem, better, rng)


@pytest.mark.parametrize("kind", ["squared", "absolute"])
def test_the_last_layer_is_fitted_exactly(kind):
    problem = regression_problem(
        5, n_samples=25, n_features=3, hidden=(3,), weights=["ternary", "continuous"], kind=kind
    )
    rng = np.random.default_rng(0)
    network = refit(problem, build(problem, rng, slot=Slot()))
    for _ in range(300):
        W = np.clip(network.weights[-1] + 0.1 * rng.normal(size=(1, 3)), -1, 1)
        t = network.output_thresholds + 0.1 * rng.normal(size=1)
        other = type(network)(
            network.architecture, (network.weights[0], W), (network.thresholds[0], t)
        )
        assert problem.value(other) >= problem.value(network) - 1e-9


@pytest.mark.parametrize("kind", ["squared", "absolute"])
@pytest.mark.parametrize("kernels", [Parts(forward), reference], ids=["compiled", "numpy"])
def test_gains_of_units_are_differences_of_losses(kernels, kind):
    problem = regression_problem(
        7, n_samples=12, hidden=(3, 2), weights="continuous", kind=kind, n_outputs=2
    )
    state = SearchState(problem, build(problem, np.random.default_rng(0), slot=Slot()))
    gains = kernels.unit_gains(state.arrays, None, 0, 1)
    losses = []
    for threshold in (1e9, -1e9):
        state.arrays.thresholds[1] = threshold
        kernels.commit(state.arrays, None, 0, 1)
        losses.append(problem.value(state.to_network()))
        assert state.cost + problem.loss.offset == pytest.approx(float(losses[-1]))
    assert gains.sum() == pytest.approx(losses[0] - losses[1])


def test_squares_of_an_absolute_problem_merge_equal_inputs():
    problem = regression_problem(2, n_samples=20, kind="absolute")
    assert len(squared(problem).loss.targets) == len(problem.inputs) < len(problem.loss.targets)

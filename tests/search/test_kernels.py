"""Compiled primitives equal their numpy twins, and both equal brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.search.kernels import forward, intervals, line, lines
from bdnn.search.kernels.arrays import Lines
from bdnn.search.moves import unit as elementwise
from bdnn.search.objective import Objective
from bdnn.search.state import SearchState
from tests.grids import examples
from tests.search import reference
from tests.search.parts import Parts
from tests.strategies import (
    any_activation,
    architectures,
    arrays,
    bits,
    dyadic,
    problems_with_networks,
)

forward, intervals, line, lines = map(Parts, (forward, intervals, line, lines))
elementwise = Parts(elementwise)
gains_on_grid = st.integers(-3, 3).map(float)
PAIR = pytest.mark.parametrize("searches", [line, reference], ids=["compiled", "numpy"])


@st.composite
def units(draw, max_inputs=70):
    m = draw(st.integers(1, max_inputs))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    grid = draw(st.sampled_from([1.0, 16.0, 1e6]))
    sums = np.rint(rng.normal(size=m) * 3 * grid) / grid
    direction = np.rint(rng.normal(size=m) * 2 * grid) / grid
    return sums, direction, rng.integers(-3, 4, m).astype(float), draw(dyadic)


def brute_force(sums, direction, gains, threshold, low=-np.inf, high=np.inf):
    """Best merit over all midpoints between breakpoints, and beyond them."""
    moving = direction != 0
    breaks = np.unique((threshold - sums[moving]) / direction[moving])
    breaks = breaks[(breaks > low) & (breaks < high)]
    ends = [low if np.isfinite(low) else breaks.min(initial=0.0) - 1.0]
    ends.append(high if np.isfinite(high) else breaks.max(initial=0.0) + 1.0)
    points = np.concatenate(([ends[0]], breaks, [ends[1]]))
    wide = np.diff(points) > 1e-8 * (1 + np.abs(points[:-1]))
    steps = (0.5 * (points[1:] + points[:-1]))[wide]
    return max(gains[sums + t * direction >= threshold].sum() for t in steps)


@PAIR
@given(units(), st.booleans())
@examples(60)
def test_line_search_equals_brute_force(searches, unit, boxed):
    sums, direction, gains, threshold = unit
    low, high = (-0.75, 1.25) if boxed else (-np.inf, np.inf)
    step, merit, width = searches.line_search(sums, direction, gains, threshold, low, high)
    assert merit == pytest.approx(brute_force(sums, direction, gains, threshold, low, high))
    assert low <= step <= high
    assert width > 0
    assert gains[sums + step * direction >= threshold].sum() == pytest.approx(merit)


@PAIR
@pytest.mark.parametrize("n_inputs", [3, 60, 4000])
def test_steps_stay_finite_whatever_the_inputs_are(searches, n_inputs):
    rng = np.random.default_rng(0)
    for _ in range(20):
        sums, direction = rng.normal(size=(2, n_inputs)) * 10.0 ** rng.uniform(-300, 100, n_inputs)
        gains = rng.integers(-3, 4, n_inputs).astype(float)
        arguments = (sums, direction, gains, sums[0], -np.inf, np.inf)
        step, merit, _ = searches.line_search(*arguments)
        assert abs(step) <= 2e100
        assert np.isfinite(sums + step * direction).all()
        assert merit <= gains[gains > 0].sum()


@given(units(), st.booleans())
@examples(60)
def test_line_search_is_the_same_compiled(unit, boxed):
    limits = (-0.75, 1.25) if boxed else (-np.inf, np.inf)
    assert line.line_search(*unit, *limits) == pytest.approx(reference.line_search(*unit, *limits))


@pytest.mark.parametrize("spread", ["normal", "cauchy", "integer", "one"])
@pytest.mark.parametrize("boxed", [False, True])
def test_bins_are_as_exact_as_sorting(spread, boxed):
    rng = np.random.default_rng(1)
    size = 20_000
    draws = {
        "normal": rng.normal(size=size),
        "cauchy": rng.standard_cauchy(size),
        "integer": rng.integers(-9, 10, size).astype(float),
        "one": np.where(rng.random(size) < 0.9, 1.0, rng.normal(size=size)),
    }
    direction = rng.normal(size=size)
    limits = (-0.75, 1.25) if boxed else (-np.inf, np.inf)
    for gains in (rng.integers(-2, 3, size).astype(float), np.where(draws["one"] > 0.3, 1.0, -1.0)):
        arguments = (draws[spread], direction, gains, 0.125, *limits)
        assert line.line_search(*arguments)[1:] == pytest.approx(
            reference.line_search(*arguments)[1:], rel=1e-9, abs=1e-9
        )
        arguments = (draws[spread], gains, *limits)
        assert line.threshold_search(*arguments)[1:] == pytest.approx(
            reference.threshold_search(*arguments)[1:], rel=1e-9, abs=1e-9
        )


@PAIR
@given(units())
@examples(60)
def test_threshold_search_equals_brute_force(searches, unit):
    sums, _, gains, _ = unit
    level, merit, _ = searches.threshold_search(sums, gains, -np.inf, np.inf)
    levels = np.concatenate((np.unique(sums), [sums.max() + 1.0]))
    assert merit == max(gains[sums >= candidate].sum() for candidate in levels)
    assert gains[sums >= level].sum() == merit


@given(units(), st.sampled_from([(-1, 0, 1), (-1, 1), tuple(range(-5, 6))]))
@examples(60)
def test_value_search_tries_every_value(unit, values):
    sums, direction, gains, threshold = unit
    ascending = np.array(values, dtype=float)
    arguments = (sums, direction, gains, threshold, ascending[-1], ascending)
    found = line.value_search(*arguments)
    assert found == pytest.approx(reference.value_search(*arguments))


@given(
    st.lists(st.floats(-1e9, 1e9) | st.sampled_from([0.0, 1.0]), min_size=0, max_size=300),
)
@examples(100)
def test_bucket_sort_sorts(keys):
    values = np.array(keys, dtype=float)
    order = intervals.sorted_order(values, len(values))
    assert (values[order] == np.sort(values)).all()
    assert sorted(order) == list(range(len(values)))


@pytest.mark.parametrize("size", [10, 1000, 50_000])
def test_bucket_sort_survives_clusters_and_heavy_tails(size):
    rng = np.random.default_rng(0)
    keys = np.concatenate((rng.standard_cauchy(size), 1e-6 * rng.normal(size=size), np.ones(size)))
    order = intervals.sorted_order(keys, len(keys))
    assert (np.diff(keys[order]) >= 0).all()


@given(st.integers(1, 40), st.integers(1, 4), st.data())
@examples(30)
def test_sums_and_merits_are_the_same_compiled(m, n, data):
    H, w = data.draw(arrays((n, m), dyadic)), data.draw(arrays((n,), dyadic))
    gains = data.draw(arrays((m,), gains_on_grid))
    numbers = Lines(H, np.zeros((n, 0), np.uint8), 0.0, 1.0)
    sums = lines.combine(numbers, w, 0.5)
    assert (sums == reference.combine(H, w, 0.5)).all()
    unit = sums, np.array([0.25]), gains[None]
    assert line.level_merit(*unit) == reference.level_merit(*unit)


@given(st.integers(1, 40), st.data(), dyadic.filter(bool))
@examples(30)
def test_elementwise_loops_are_the_same_compiled(m, data, number):
    values, start = data.draw(arrays((m,), dyadic)), data.draw(arrays((m,), dyadic))
    for name, arguments in [
        ("assign", (values,)),
        ("add_scaled", (number, values)),
        ("shift_by", (number,)),
        ("divide", (number,)),
        ("fill", (number,)),
        ("total_of", ()),
        ("largest_of", ()),
    ]:
        one, two = start.copy(), start.copy()
        ours = getattr(elementwise, name)(one, *arguments)
        theirs = getattr(reference, name)(two, *arguments)
        assert (ours, one.tolist()) == (theirs, two.tolist()), name


@given(
    problems_with_networks(architectures() | architectures(activation=any_activation))
    | problems_with_networks(architectures(n_features=st.integers(1, 20)), elements=bits),
    st.sampled_from([("loss",), ("error",), ("margin",), ("loss", "margin"), ("error", "margin")]),
    st.data(),
)
@examples(120)
def test_forward_primitives_are_the_same_compiled(case, order, data):
    problem, network = case
    goal = Objective.create(order, problem.architecture, 2.0).goal(problem)
    state = SearchState(problem, network, goal)
    s, v = state.arrays, state.levels
    assert (v is None) == all(len(rule.values) == 2 for rule in problem.architecture.activations)
    compiled = [s.sums.copy(), s.level.copy(), s.cost.copy()]
    reference.refresh(s, v, 0)
    for ours, theirs in zip(compiled, (s.sums, s.level, s.cost), strict=True):
        assert np.allclose(ours, theirs)
    unit = data.draw(st.integers(0, state.n_units - 1))
    k = int(np.searchsorted(s.unit_at, unit, side="right")) - 1
    gains = forward.unit_gains(s, v, k, unit)
    assert gains.shape == (problem.architecture.activation_of(k).n_thresholds, len(s.cost))
    assert np.allclose(gains, reference.unit_gains(s, v, k, unit))
    H, picked, sums = lines.unit_task(s, v, k, unit)
    matters = (gains != 0.0).any(axis=0)
    below = reference.inputs_of(s, v, k)
    if matters.any():
        assert (
            np.stack([lines.line_of(H, j) for j in range(len(below))]) == below[:, matters]
        ).all()
    assert (H.values.size == 0) or (H.codes.size == 0)
    assert np.allclose(picked, gains[:, matters])
    assert (sums == s.sums[unit, matters]).all()
    s.thresholds[unit] += data.draw(dyadic)
    copy = s._replace(sums=s.sums.copy(), level=s.level.copy(), cost=s.cost.copy())
    cost = reference.commit(copy, v, k, unit)
    assert forward.commit(s, v, k, unit) == pytest.approx(cost)
    assert np.allclose(s.sums, copy.sums)
    assert (s.level == copy.level).all()

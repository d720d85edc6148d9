"""Inputs that are bits: packed, counted and looked up, with the same answers as numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdnn.clock import Slot
from bdnn.network.activation import weighted_sums
from bdnn.network.architecture import Architecture
from bdnn.network.packed import PackedRows
from bdnn.problem.losses.output import classification
from bdnn.search import random_start, widen_margin
from bdnn.search.kernels import bits as kernels
from bdnn.search.kernels import counting
from bdnn.search.kernels.arrays import Lines
from bdnn.search.state import SearchState
from bdnn.search.walk import Walk
from tests.search import reference
from tests.search.parts import Parts

kernels, counting = Parts(kernels), Parts(counting)
seeds = st.integers(0, 2**32 - 1)


def as_numbers(problem):
    """The same problem, its inputs not packed."""
    return replace(problem, samples=replace(problem.samples, lines=problem.inputs))


def table(seed, *, n_rows=120, n_features=13, hidden=(4,), weights="ternary", **options):
    """A noisy table of bits, its rows of different weights."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_features)) < rng.random(n_features)).astype(float)
    y = (X[:, :3].sum(axis=1) + rng.random(n_rows) >= 2).astype(int)
    shape = Architecture.create(n_features, 2, hidden=hidden, weights=weights, **options)
    return classification(shape, X, y, rng.integers(1, 4, n_rows).astype(float))


@given(seeds, st.integers(1, 30), st.integers(1, 300), st.sampled_from([1.0, 1.0 / 3.0, 1e6]))
@settings(max_examples=60, deadline=None)
def test_sums_of_bits_are_those_of_the_network(seed, n_features, n_rows, unit):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_rows, n_features))
    w, sums = rng.integers(-4, 5, n_features) * unit, np.empty(n_rows)
    kernels.sum_bits(PackedRows.of(X).packed, w, sums)
    assert (sums == weighted_sums(X.astype(float), w[None])[:, 0]).all()


@given(seeds, st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (-2.0, 3.0)]), st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_counting_finds_the_threshold_that_sorting_finds(seed, pair, n_rows):
    rng = np.random.default_rng(seed)
    n, values = 6, np.arange(-2.0, 3.0)
    codes = rng.integers(0, 2, (n, n_rows)).astype(np.uint8)
    H, numbers = Lines(np.empty((n, 0)), codes, *pair), np.array(pair)[codes]
    w, gains = rng.choice(values, n), rng.integers(-3, 4, n_rows).astype(float)
    sums, limit = w @ numbers, np.full(n, 2.0)
    counts = counting.counts_for(None, H, sums, w, -limit, limit, values)
    assert counts.end == 12 * np.abs(pair).max()
    counted = np.empty(0)  # sums that count are kept as whole numbers
    for j in range(n):
        counting.tally(counts, H, j, gains)
        assert counts.ends.tolist() == [sums.min(), sums.max()]
        for value in values:
            moved = sums + (value - w[j]) * numbers[j]
            found = counting.counted_threshold(counts, H, value - w[j], gains.sum())
            assert found == reference.threshold_search(moved, gains, -np.inf, np.inf)
        change = rng.choice(values) - w[j]
        w[j] += change
        sums += change * numbers[j]
        counting.move_sums(counts, counted, change, H, j)


@pytest.mark.parametrize("spoilt", ["weight", "limit", "pair", "size"])
def test_what_is_not_whole_or_small_is_not_counted(spoilt):
    w, low, high, pair = np.ones(2), -np.ones(2), np.ones(2), (0.0, 1.0)
    if spoilt == "weight":
        w[1] = 0.5
    elif spoilt == "limit":
        high[0] = 0.5
    elif spoilt == "pair":
        pair = (0.25, 1.0)
    else:
        pair = (0.0, 1e9)
    H = Lines(np.empty((2, 0)), np.ones((2, 3), np.uint8), *pair)
    assert counting.counts_for(None, H, np.zeros(3), w, low, high, np.ones(1)).end == 0


@pytest.mark.parametrize("weights", ["ternary", "binary", "int:2", "int:5", "continuous"])
@pytest.mark.parametrize("hidden", [(), (4,), (3, 3)])
@pytest.mark.parametrize("thresholds", ["neuron", "layer"])
def test_search_walks_the_same_way_over_bits_and_numbers(weights, hidden, thresholds):
    packed = table(1, hidden=hidden, weights=weights, thresholds=thresholds)
    assert isinstance(packed.lines, PackedRows)
    ends = []
    for problem in (packed, as_numbers(packed)):
        rng = np.random.default_rng(0)
        state = SearchState(problem, random_start(problem, rng))
        assert (state.arrays.bits.size > 0) == (state.arrays.inputs.size == 0)
        walk = Walk(state, rng, Slot())
        for _ in range(6):
            walk.step()
        ends.append((walk.best_network, walk.best_cost))
    assert ends[0] == ends[1]
    assert float(packed.objective(ends[0][0])) == ends[0][1]


def test_wide_margins_are_the_same_over_bits_and_numbers():
    packed = table(2, hidden=())
    wide = [
        widen_margin(problem, packed.constant_network(), slot=Slot(), seed=0, sweeps=2)
        for problem in (packed, as_numbers(packed))
    ]
    assert wide[0] == wide[1]

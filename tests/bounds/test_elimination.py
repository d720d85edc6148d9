"""Proofs that every network errs: equal to enumeration, and made of integers only."""

from __future__ import annotations

import time
from itertools import combinations_with_replacement

import numpy as np
import pytest

from bdnn.bounds.listed import elimination as unit_elimination
from bdnn.bounds.listed.columns import climb, collect_units, column_values
from bdnn.bounds.listed.elimination import (
    DualProgram,
    Elimination,
    OutOfTimeError,
    is_error_certain,
    to_duals,
)
from bdnn.bounds.listed.table import UnitTable
from bdnn.bounds.listed.units import ListedUnits
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.problem.losses.output import classification
from tests.bounds.cases import best
from tests.grids import long

TERNARY = WeightSet.parse("ternary")


def in_a_minute():
    ends = time.perf_counter() + 60
    return lambda: time.perf_counter() > ends


def table_of(seed, n_inputs=9, n_features=2):
    rng = np.random.default_rng(seed)
    inputs = np.unique(rng.integers(-3, 4, size=(n_inputs, n_features)) / 4.0, axis=0)
    return UnitTable(inputs, TERNARY), rng.random(len(inputs)) < 0.5


def all_units(table):
    """Where units are on, for every weight vector, cut and side."""
    found = set()
    for k in range(table.n_vectors):
        for q in np.flatnonzero(table.is_cut[k]):
            for cut in (q, -1 - q):
                found.add(tuple(table.pattern(k, int(cut)).tolist()))
    return np.array(sorted(found))


def some_network_is_right(units, wanted, n_units, threshold):
    return any(
        ((units[list(chosen)].sum(axis=0) >= threshold) == wanted).all()
        for chosen in combinations_with_replacement(range(len(units)), n_units)
    )


@pytest.mark.parametrize("n_units", [1, 2, 3])
@pytest.mark.parametrize("seed", [*range(5), *long(*range(5, 25))])
def test_errors_are_certain_where_enumeration_finds_no_network(seed, n_units):
    table, wanted = table_of(seed, n_inputs=7 + 2 * n_units)
    units = all_units(table)
    for threshold in range(1, n_units + 1):
        expected = not some_network_is_right(units, wanted, n_units, threshold)
        assert is_error_certain(table, wanted, n_units, threshold, in_a_minute()) == expected


OPTIONS = [
    {"_CLIMBS": 0},
    {"_SHORT_LIST": 1},
    {"_STEPS": 1},
    {"_LEFT": 0.01},
    {"_MOST_ROUNDS": 1},
    {"_MOST_ROUNDS": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", [*range(20, 26), *long(*range(26, 50))])
def test_no_setting_proves_what_is_not_true(seed, options, monkeypatch):
    for name, value in options.items():
        monkeypatch.setattr(unit_elimination, name, value)
    table, wanted = table_of(seed, n_inputs=9)
    units = all_units(table)
    for threshold in (1, 2):
        is_certain = is_error_certain(table, wanted, 2, threshold, in_a_minute())
        assert is_certain != some_network_is_right(units, wanted, 2, threshold)


@pytest.mark.parametrize("seed", range(10))
def test_collected_units_are_those_of_a_value_that_no_neighbour_beats(seed):
    table, wanted = table_of(seed, n_inputs=12, n_features=3)
    duals = np.random.default_rng(seed).integers(0, 9, size=len(wanted)).astype(np.int32)
    least = int(0.6 * duals.sum())
    collected = {tuple(column) for column in collect_units(table, wanted, duals, least).T.tolist()}
    every = (all_units(table) == wanted).astype(int)
    valuable = {tuple(line) for line in every.tolist() if line @ duals >= least}
    assert collected <= valuable
    # What was left out serves no input that one of the others does not serve as well.
    for line in valuable - collected:
        assert any(all(a <= b for a, b in zip(line, other, strict=True)) for other in collected)


def test_too_many_units_are_not_collected(monkeypatch):
    from bdnn.bounds.listed import columns as served_units

    table, wanted = table_of(0)
    monkeypatch.setattr(served_units, "_LARGEST_LIST", 3 * len(wanted))
    assert collect_units(table, wanted, np.ones(len(wanted), dtype=np.int32), 0) is None


@pytest.mark.parametrize("seed", range(5))
def test_prices_are_those_of_the_units(seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 2, size=(6, 11)).astype(np.uint8)
    duals = rng.integers(0, 1000, size=6).astype(np.int32)
    assert np.array_equal(column_values(columns, duals), duals @ columns)


def test_steps_find_the_excess_of_a_program():
    rng = np.random.default_rng(0)
    columns = (rng.random((20, 40)) < 0.5).astype(np.uint8)
    needs = np.full(20, 2)
    program = DualProgram(20)
    program.ask(needs, 3)
    program.add(columns)
    excess, duals = program.propose()
    exact = int(needs @ duals.astype(np.int64)) - 3 * int(column_values(columns, duals).max())
    assert exact == pytest.approx(excess, abs=100)
    start = np.ones(20, dtype=np.float32)
    is_found = climb(columns, needs.astype(np.float32), 3, start, 5000)
    assert is_found == (excess > 0)
    if is_found:
        proven = to_duals(start)
        value = int(column_values(columns, proven).max())
        assert int(needs @ proven.astype(np.int64)) > 3 * value


def test_a_program_forgets_units_that_do_not_matter():
    rng = np.random.default_rng(0)
    columns = (rng.random((15, 900)) < 0.6).astype(np.uint8)
    whole, parts = DualProgram(15), DualProgram(15)
    for program in (whole, parts):
        program.ask(np.full(15, 2), 3)
    whole.add(columns)
    excess, _ = whole.propose()
    for _ in range(40):
        found, duals = parts.propose()
        values = column_values(columns, duals)
        parts.add(columns[:, np.argsort(-values)[:30]])
    assert found == pytest.approx(excess, rel=1e-6)


def test_time_ends_without_a_claim():
    columns = np.eye(6, dtype=np.uint8)
    with pytest.raises(OutOfTimeError):
        Elimination(columns, np.full(6, 2), 5, lambda: True).is_refuted()


def test_a_rule_that_takes_too_long_is_not_called_refuted(monkeypatch):
    def too_slow(self):
        raise OutOfTimeError

    monkeypatch.setattr(Elimination, "is_refuted", too_slow)
    table = UnitTable(np.array([[0.0], [1.0]]), TERNARY)
    assert is_error_certain(table, np.array([False, True]), 2, 1, lambda: False) is False


@pytest.mark.parametrize("seed", [0, 1, *long(*range(2, 6))])
def test_five_units_have_a_bound_only_where_no_network_is_right(seed):
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(-2, 3, size=(14, 2)), axis=0).astype(float)
    labels = rng.integers(0, 2, size=len(X))
    weight = rng.integers(2, 5, size=len(X)).astype(float)
    shape = Architecture.create(2, 2, hidden=(5,), weights="ternary")
    problem = classification(shape, X, labels, weight)
    units = np.unique(all_units(UnitTable(X, TERNARY)), axis=0)
    is_right = any(_reachable(units, labels == 1, threshold) for threshold in range(1, 6))
    for threads in (1, 2):
        bound = best(ListedUnits(threads=threads), problem, seconds=60.0).value
        assert (bound == 0) if is_right else (bound >= 2 * weight.min())


def _reachable(units, wanted, threshold, n_units=5):
    """Whether some five units are right, by counts of how many are on at each input."""
    states = {(0,) * len(wanted)}
    for left in range(n_units - 1, -1, -1):
        grown = {tuple(np.add(state, unit)) for state in states for unit in units}
        states = {
            state
            for state in grown
            if all(
                (count + left >= threshold) if on else (count < threshold)
                for count, on in zip(state, wanted, strict=True)
            )
        }
    return bool(states)

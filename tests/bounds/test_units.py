"""Bounds from a list of all units: equal to enumeration, never above any network, proofs exact."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.bounds.listed.node import Node, Task, Team, required
from bdnn.bounds.listed.relaxation import Relaxation
from bdnn.bounds.listed.table import UnitTable, is_listable
from bdnn.bounds.listed.units import ListedUnits, most_listed
from bdnn.bounds.rules import Rule
from bdnn.clock import Slot
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network
from bdnn.problem.losses.output import classification
from tests.bounds.cases import CROSS, best, make, tiny
from tests.grids import examples
from tests.oracle import smallest_loss

KINDS = ["ternary", "binary", "int:2"]


def bound_of(problem, **options):
    return best(ListedUnits(), problem, **options).value


@examples(25)
@given(tiny(), st.sampled_from([(), (1,), (2,)]), st.sampled_from(KINDS))
def test_bound_is_the_smallest_loss(samples, hidden, weights):
    problem = make(*samples, hidden, weights=weights)
    assert bound_of(problem) == smallest_loss(problem)


@examples(10)
@given(tiny(most=6), st.sampled_from(["ternary", "binary"]))
def test_three_units(samples, weights):
    problem = make(*samples, (3,), weights=weights)
    assert bound_of(problem) == smallest_loss(problem)


@examples(15)
@given(tiny(), st.sampled_from([(1,), (2,), (3,)]), st.sampled_from(["layer", "zero"]))
def test_other_thresholds_only_leave_out_networks(samples, hidden, thresholds):
    problem = make(*samples, hidden, weights="ternary", thresholds=thresholds)
    assert bound_of(problem) <= smallest_loss(problem)


@examples(25)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.sampled_from(KINDS),
    st.sampled_from(["ternary", "continuous", "int:3"]),
)
def test_no_network_is_below_the_bound(seed, n_units, first, second):
    rng = np.random.default_rng(seed)
    if second != "ternary":
        n_units = min(n_units, 3)
    shape = Architecture.create(3, 2, hidden=(n_units,), weights=(first, second))
    X = rng.integers(-3, 4, size=(14, 3)) / 4
    weights = [
        rng.uniform(-1, 1, size) if not kind.integer else rng.choice(kind.values, size)
        for kind, size in zip(shape.weights, [(n_units, 3), (2, n_units)], strict=True)
    ]
    thresholds = (rng.uniform(-1, 1, n_units), rng.uniform(-1, 1, 2))
    network = Network(shape, tuple(weights), thresholds)
    # Labels of the network with a few mistakes, so that the bound has something to exceed.
    labels = network.outputs(X)[:, 1] ^ (rng.random(len(X)) < 0.2)
    weight = rng.integers(1, 4, size=len(X)).astype(float)
    problem = classification(shape, X, labels.astype(np.int64), weight)
    bound = bound_of(problem, seconds=1.0)
    opposite = Network(
        shape,
        (weights[0], np.vstack([-weights[1][1], weights[1][1]])),
        (thresholds[0], np.array([1e-9 - thresholds[1][1], thresholds[1][1]])),
    )
    assert bound <= min(problem.value(network), problem.value(opposite))


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_knows_all_units(kind):
    rng = np.random.default_rng(1)
    kind = WeightSet.parse(kind)
    X = rng.integers(-2, 3, size=(6, 3)).astype(float)
    table = UnitTable(X, kind)
    sums = [X @ np.array(w) for w in product(kind.values, repeat=3)]
    units = {tuple(s >= t) for s in sums for t in [*s, s.max() + 1]}
    for _ in range(40):
        state = rng.integers(-1, 2, size=6)
        on, off = np.flatnonzero(state > 0).tolist(), np.flatnonzero(state < 0).tolist()
        fitting = np.array(
            [u for u in units if all(u[i] for i in on) and not any(u[i] for i in off)]
        )
        domain = table.domain(on, off)
        gains = rng.integers(-5, 6, size=6)
        values, cuts = table.best(domain, gains)
        assert table.is_empty(values) == (len(fitting) == 0)
        always_on, always_off = table.decided(domain)
        if not len(fitting):
            assert (always_on & always_off).all()
            continue
        assert values.max() == (fitting @ gains).max()
        assert (always_on == fitting.all(axis=0)).all()
        assert (always_off == ~fitting.any(axis=0)).all()
        for vector, cut, value in zip(domain.vectors, cuts, values, strict=True):
            pattern = table.pattern(vector, cut)
            if value > -(10**6):
                assert tuple(pattern) in units
                assert pattern @ gains == value


def test_a_refuted_node_has_no_network():
    rng = np.random.default_rng(2)
    X = rng.integers(-2, 3, size=(9, 2)).astype(float)
    X = np.unique(X, axis=0)
    wanted = rng.random(len(X)) < 0.5
    costs = rng.integers(1, 3, size=len(X))
    kind = WeightSet.parse("ternary")
    sums = [X @ np.array(w) for w in product(kind.values, repeat=2)]
    units = np.array(sorted({tuple(s >= t) for s in sums for t in [*s, s.max() + 1]}))
    task = Task(UnitTable(X, kind), wanted, costs)
    rule = Rule.create((1, 1), 1)
    for where, level in product(range(len(X)), [None, 0, 1, 2, 3]):
        teams = (Team((0,), on=(where,)), Team((1,), off=(where,)))
        node = Node(rule, teams, np.ones(len(X), dtype=bool))
        outcome = Relaxation(task, node, level).examine(Slot())
        truth = min(
            costs[(a | b) != wanted].sum()
            for a in units[units[:, where]]
            for b in units[~units[:, where]]
        )
        assert outcome.bound <= truth
        if outcome.is_attained:
            assert truth <= level


def test_what_an_input_needs():
    majority = Rule.create((1, 1, 1), 2)
    apart = ((0,), (1,), (2,))
    assert required(majority, ((0, 1, 2),), (0,), True) == (((0,), 2),)
    assert set(required(majority, apart, (0, 0, 0), True)) == {
        ((0, 1), 1),
        ((0, 2), 1),
        ((1, 2), 1),
        ((0, 1, 2), 2),
    }
    assert set(required(majority, apart, (-1, 0, 0), True)) == {((1,), 1), ((2,), 1)}
    assert required(majority, apart, (1, 0, 0), True) == (((1, 2), 1),)
    assert required(majority, apart, (1, 1, 0), True) == ()
    assert required(majority, apart, (-1, -1, 0), True) is None
    assert required(majority, apart, (1, 1, 0), False) is None


def test_threads_change_nothing():
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, size=(40, 3)) / 4
    problem = make(X, rng.integers(0, 2, 40), (2,), weights="ternary")
    ways = [list(ListedUnits(threads).bounds(problem, Slot())) for threads in (1, 3)]
    n_nodes = int(ways[0][-1].origin.split()[-2])
    assert n_nodes > 10  # so that there is something to do side by side
    assert ways[0] == ways[1]


def test_run_ends_at_a_known_loss_and_when_told():
    problem = make(CROSS, [1, 1, 0, 0], (1,), weights="ternary")
    found = list(ListedUnits().bounds(problem, Slot.of(60), 2))
    assert [bound.value for bound in found] == [2]
    assert "all units" in found[0].origin
    assert not list(ListedUnits().bounds(problem, Slot.of(0)))
    assert not list(ListedUnits().bounds(problem, Slot(is_stopped=lambda: True)))


def test_what_is_listed():
    ternary, free = WeightSet.parse("ternary"), WeightSet.parse("continuous")
    assert is_listable(ternary, 500, 9)
    assert not is_listable(ternary, 500, 20)
    assert not is_listable(free, 500, 2)
    assert not is_listable(ternary, 0, 2)
    wide = make(CROSS, [0, 1, 0, 1], (5,), weights="ternary")
    assert bound_of(wide) == 0
    assert not ListedUnits().applies(make(CROSS, [0, 1, 0, 1], (6,), weights="ternary"))
    assert not ListedUnits().applies(make(CROSS, [0, 1, 0, 2], (2,), weights="ternary"))
    assert most_listed(Architecture.create(2, 2, hidden=(5,), weights="int:2")) == 4
    balanced = make(np.zeros((2, 2)), [0, 1], (2,), weights="ternary")
    assert bound_of(balanced) == 2


@pytest.mark.parametrize("weight", [0.5, 0.1])
def test_weights_need_not_be_whole(weight):
    problem = make(CROSS, [1, 1, 0, 0], (1,), weights="ternary", sample_weight=np.full(4, weight))
    assert bound_of(problem) == smallest_loss(problem)

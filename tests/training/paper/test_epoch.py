"""The problem of an epoch: bounds, construction, solver and enumeration agree."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.clock import Slot
from bdnn.mip import NetworkModel, Reductions
from bdnn.network.architecture import WeightSet
from bdnn.problem.losses.output import classification
from bdnn.search import random_start
from bdnn.training.paper.construction import allowed_units, construct, propose_directions
from bdnn.training.paper.epoch import Candidate, EpochProblem, EpochSolver
from tests.grids import examples, in_turn
from tests.oracle import smallest_loss
from tests.problems import random_problem

SETS = ["continuous", "ternary", "binary", "int:2"]
KINDS = ["neuron", "layer", "zero"]


def tiny_epoch(seed, *, n_clusters=3, n_samples=7, **options) -> EpochProblem:
    problem = random_problem(seed, n_samples=n_samples, **options)
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, n_clusters, len(problem.inputs))
    return EpochProblem.create(problem, cluster)


def solve(epoch, *, seed=0, alone=False):
    previous = Candidate(epoch.problem.constant_network())
    solver = EpochSolver(seed=seed, construct=None if alone else construct)
    rng = np.random.default_rng(seed)
    return solver.solve(epoch, previous, rng=rng, slot=Slot.of(60))


@pytest.mark.parametrize(
    ("weights", "thresholds", "is_plain"), in_turn(product(SETS, KINDS), [False, True])
)
def test_the_optimum_is_the_enumerated_one(weights, thresholds, is_plain):
    for seed in range(3):
        epoch = tiny_epoch(
            seed, hidden=(2,), weights=weights, thresholds=thresholds, n_classes=2 + seed % 2
        )
        best = smallest_loss(epoch.problem, epoch.groups.tolist())
        solved = solve(epoch, alone=is_plain)
        if np.isinf(best):  # weights of -1 and 1 at threshold 0 cannot always leave clusters whole
            assert (solved.status, solved.loss) == ("infeasible", np.inf)
            assert (solved.bound >= 0, solved.solved_by) == (True, "previous")
            continue
        assert (solved.status, solved.loss, solved.bound) == ("optimal", best, best)
        assert epoch.is_feasible(solved.candidate.network)
        assert epoch.problem.value(solved.candidate.network) == best


@pytest.mark.parametrize("hidden", [(), (2, 2), (3, 2, 2)])
def test_other_depths_too(hidden):
    epoch = tiny_epoch(5, hidden=hidden, n_samples=5)
    best = smallest_loss(epoch.problem, epoch.groups.tolist())
    for alone in (False, True):
        solved = solve(epoch, alone=alone)
        assert (solved.status, solved.loss) == ("optimal", best)


@examples(40)
@given(st.integers(0, 10_000), st.sampled_from(SETS), st.sampled_from(KINDS), st.integers(1, 5))
def test_bounds_and_construction_enclose_the_optimum(seed, weights, thresholds, n_clusters):
    epoch = tiny_epoch(
        seed, n_clusters=n_clusters, hidden=(2,), weights=weights, thresholds=thresholds
    )
    best = smallest_loss(epoch.problem, epoch.groups.tolist())
    hulls = epoch.hull_bound(Slot())
    assert epoch.majority_bound <= hulls <= best
    built = construct(epoch, np.random.default_rng(seed), hulls, Slot.of(5))
    if built is not None:
        assert epoch.is_feasible(built.network)
        assert epoch.problem.value(built.network) >= best


def test_clusters_that_no_plane_separates_share_their_answer():
    # The second cluster lies between the points of the first.
    X = np.array([[0.0], [2.0], [1.0], [5.0]])
    base = random_problem(0, n_features=1, hidden=(4,)).architecture
    batch = classification(base, X, np.array([0, 0, 1, 1]))
    cluster = np.array(
        [0 if x in (0.0, 2.0) else (1 if x == 1.0 else 2) for x in batch.inputs[:, 0]]
    )
    epoch = EpochProblem.create(batch, cluster)
    assert epoch.majority_bound == 0
    assert epoch.hull_bound(Slot()) == 2
    solved = solve(epoch)
    assert (solved.status, solved.loss, solved.bound) == ("optimal", 2, 2)


@examples(40)
@given(st.integers(0, 10_000), st.sampled_from(SETS), st.sampled_from(KINDS))
def test_allowed_units_cut_no_cluster(seed, weights, thresholds):
    epoch = tiny_epoch(
        seed, n_clusters=4, n_samples=12, n_features=3, weights=weights, thresholds=thresholds
    )
    kind = WeightSet.parse(weights)
    rng = np.random.default_rng(seed)
    directions = propose_directions(epoch, kind, 30, rng)
    assert kind.contains(directions)
    pool = allowed_units(epoch, directions, thresholds)
    on = epoch.problem.inputs @ pool.W.T >= pool.t
    common = epoch.patterns(on)
    assert common is not None
    assert (pool.on == common.T).all()
    assert (pool.margin >= 0).all()
    if thresholds != "neuron":
        assert len(np.unique(pool.t)) <= 1
    assert thresholds != "zero" or not pool.t.any()


@pytest.mark.parametrize("reductions", [Reductions(), Reductions.none()], ids=["reduced", "plain"])
@pytest.mark.parametrize("weights", ["continuous", "ternary", "binary"])
@pytest.mark.parametrize("hidden", [(), (3,), (3, 2)])
def test_a_lifted_network_violates_no_row(hidden, weights, reductions):
    lifted = 0
    for seed in range(10):
        problem = random_problem(seed, n_samples=9, hidden=hidden, weights=weights)
        network = random_start(problem, np.random.default_rng(seed))
        on = network.activations(problem.inputs)
        groups = np.unique(on[0], axis=0, return_inverse=True)[1].reshape(-1)
        model = NetworkModel.build(problem, groups=groups, reductions=reductions)
        start = model.lift(network)
        if start is None:  # the random network does not keep the margin
            continue
        lifted += 1
        assert model.program.violation(start) <= 1e-6
        read = model.read(start)
        assert EpochProblem(problem, groups).is_feasible(read)
        assert problem.value(read) <= problem.value(network)
    assert lifted >= 5


def test_a_network_that_cuts_a_cluster_is_no_start():
    problem = random_problem(1, n_samples=9, hidden=(3,))
    network = random_start(problem, np.random.default_rng(1))
    model = NetworkModel.build(problem, groups=np.zeros(len(problem.inputs), dtype=int))
    assert model.lift(network) is None
    assert model.lift(problem.constant_network()) is not None


def test_a_cluster_has_one_set_of_activations():
    epoch = tiny_epoch(1, n_clusters=2, n_samples=9, hidden=(4, 3))
    model = NetworkModel.build(epoch.problem, groups=epoch.groups)
    assert [len(steps.u) for steps in model.steps] == [2, 2, 2]
    plain = NetworkModel.build(epoch.problem)
    assert [len(steps.u) for steps in plain.steps] == [len(epoch.problem.inputs)] * 3

"""Certified training: leads against the sound bound, moves that never cost, honest losses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.clock import Slot
from bdnn.constraints import Forbid, Sparsity
from bdnn.encoding import Encoder
from bdnn.errors import ModelError
from bdnn.estimators.problems import Surrounded, certified_problem
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.create import constrain
from bdnn.search.certified import _state, improve_worst_case, stumps
from bdnn.search.kernels.certified import (
    anneal_tops,
    anneal_unit,
    refresh_leads,
    total_cost,
)
from bdnn.training import Auto, Budget, Descent, Exact, Gradients
from bdnn.training.phases.worst_case import balls_of
from tests.grids import examples

NORMS = ("linf", "l1", "l2")


def blobs(seed=0, n_samples=40, n_classes=2, **options):
    """Classes around corners of a square, as a certified problem."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_samples) % n_classes
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    X = corners[labels] + rng.normal(scale=0.15, size=(n_samples, 2))
    radius, norm = options.pop("radius", 0.1), options.pop("norm", "linf")
    weight = options.pop("sample_weight", None)
    shape = Architecture.create(2, n_classes, **{"hidden": (4,), **options})
    scaler = Encoder.fit(X, "minmax", weights=shape.weights[0])
    radii = np.broadcast_to(np.asarray(radius, dtype=float), (n_samples,))
    balls = Surrounded(X, radii, norm)
    return certified_problem(shape, scaler, scaler.transform(X), labels, balls, weight)


def random_network(shape, rng):
    """Weights of the sets and thresholds among the sums."""
    W, V = (
        rng.choice(kind.values, size) if kind.integer else rng.uniform(-1, 1, size)
        for kind, size in zip(
            shape.weights,
            [(shape.hidden[0], shape.n_features), (shape.n_outputs, shape.hidden[0])],
            strict=True,
        )
    )
    t, T = rng.uniform(-0.5, 1.0, len(W)), rng.uniform(-1, 1, len(V))
    return Network(shape, (W, V), (t, T))


@given(
    st.integers(0, 10_000),
    st.sampled_from(["ternary", "binary", "int:3", "continuous"]),
    st.sampled_from(NORMS),
    st.integers(2, 3),
)
@examples(40)
def test_positive_leads_are_what_the_sound_bound_certifies(seed, weights, norm, n_classes):
    problem = blobs(seed, n_classes=n_classes, weights=weights, norm=norm, n_samples=15)
    network = random_network(problem.architecture, np.random.default_rng(seed))
    state = _state(balls_of(problem.loss), network, 1.0)
    refresh_leads(state)
    worst = state.lead.min(axis=1)
    certified = problem.loss.is_certified(network)
    # The search may be off by rounding, and for l_1 and l_2 it allows for more of it.
    assert (certified[worst > 1e-6]).all()
    if norm == "linf":
        assert not certified[worst < -1e-6].any()


@given(
    st.integers(0, 10_000),
    st.sampled_from(["ternary", "int:2", "continuous"]),
    st.sampled_from(NORMS),
    st.sampled_from(["neuron", "zero"]),
)
@examples(30)
def test_cold_moves_never_raise_the_cost(seed, weights, norm, thresholds):
    problem = blobs(seed, 20, 3, weights=weights, norm=norm, thresholds=thresholds)
    rng = np.random.default_rng(seed)
    state = _state(
        balls_of(problem.loss), stumps(problem.architecture, balls_of(problem.loss), rng), 2.0
    )
    cost = refresh_leads(state)
    for _ in range(3):
        anneal_tops(state, 0.0, rng)
        for unit in range(len(state.t)):
            anneal_unit(state, unit, 0.0, rng)
            reached = total_cost(state)
            assert reached <= cost + 1e-6
            cost = reached
        assert refresh_leads(state) == pytest.approx(cost, abs=1e-6)


@pytest.mark.parametrize("weights", ["ternary", "binary", "continuous"])
@pytest.mark.parametrize("norm", NORMS)
def test_separated_classes_are_certified_and_proven(weights, norm):
    problem = blobs(weights=weights, norm=norm, radius=0.05)
    network, result = Auto().train(problem, budget=Budget(20, seed=0))
    assert result.loss == problem.value(network)
    assert result.loss == result.bound == 0
    assert result.is_proven


def test_overlaps_are_given_up_and_nothing_else():
    """One sample of each class on the same spot: one of them is lost, the others are kept."""
    problem = blobs(n_samples=20, radius=0.05)
    X = problem.inputs.copy()
    X[1] = X[0]
    radius = np.full(20, 0.05)
    shape = problem.architecture
    scaler = Encoder.fit(X, None, weights=shape.weights[0])
    inputs = scaler.transform(X)
    balls = Surrounded(X, radius, "linf")
    problem = certified_problem(shape, scaler, inputs, problem.loss.labels, balls)
    _, result = Auto().train(problem, budget=Budget(20, seed=1))
    assert (result.loss, result.bound, result.bound_origin) == (1, 1, "overlapping balls")
    assert result.is_proven


def test_a_radius_of_zero_is_ordinary_training():
    problem = blobs(radius=0.0)
    network, result = Auto().train(problem, budget=Budget(20, seed=0))
    assert result.loss == 0
    assert (network.predict(problem.inputs) == problem.loss.labels).all()


def test_deep_networks_copy_a_shallow_one():
    problem = blobs(radius=0.05, hidden=(4, 3, 5))
    network, result = Auto().train(problem, budget=Budget(20, seed=0))
    assert network.architecture == problem.architecture
    assert result.loss == problem.value(network) == 0


def test_radii_and_weights_differ_from_sample_to_sample():
    radius = np.where(np.arange(40) < 20, 0.05, 0.3)
    weight = np.where(np.arange(40) < 20, 1.0, 0.25)
    problem = blobs(radius=radius, sample_weight=weight)
    network, result = Auto(patience=0.5).train(problem, budget=Budget(60, seed=0))
    assert result.loss == pytest.approx(weight[~problem.loss.is_certified(network)].sum())
    assert result.bound <= result.loss


def test_the_same_seed_gives_the_same_network():
    problem = blobs(radius=0.1, n_classes=3)
    rng = np.random.default_rng
    one, two = (
        improve_worst_case(
            balls_of(problem.loss),
            stumps(problem.architecture, balls_of(problem.loss), rng(3)),
            wanted=2.0,
            sweeps=5,
            slot=Slot(),
            rng=rng(4),
        )
        for _ in range(2)
    )
    assert all((a == b).all() for a, b in zip(one.weights, two.weights, strict=True))


@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_moves_keep_terms_about_weights(weights):
    problem = constrain(
        blobs(radius=0.05, weights=weights), [Forbid(1), Sparsity(per_unit=(1, None), total=8)]
    )
    balls, rng = balls_of(problem.loss), np.random.default_rng(0)
    network = improve_worst_case(
        balls,
        stumps(problem.architecture, balls, rng),
        wanted=2.0,
        sweeps=40,
        slot=Slot(),
        rng=rng,
        terms=problem,
    )
    assert problem.is_feasible(network)
    assert problem.value(network) < problem.value(problem.constant_network())


@pytest.mark.parametrize("method", [Auto(), Descent(), Gradients()], ids=lambda m: m.name)
def test_margins_guarantee_where_no_leads_are_known(method):
    problem = blobs(hidden=())
    network, result = method.train(problem, budget=Budget(2, seed=0))
    assert result.bound <= result.loss == problem.value(network)
    assert result.loss < problem.value(problem.constant_network())
    with pytest.raises(ModelError, match="a solver has no program: use method 'auto'"):
        Exact().train(problem, budget=Budget(1))

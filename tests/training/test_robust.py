"""Methods with a radius: what is promised holds for the network that is returned."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bdnn
from bdnn import BDNNClassifier, Inputs, Limits
from bdnn.errors import DataError, ModelError, NoSolutionError, UnsupportedFeatureError
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.create import with_pattern
from bdnn.problem.pattern import Pattern
from bdnn.training import Budget, DataSplitting, Exact, LocalSearch
from bdnn.training.paper.clusters import Sampler
from tests.grids import examples, in_turn
from tests.problems import random_problem, weighted, xor
from tests.sentences import assert_one_sentence
from tests.strategies import architectures, problems_with_networks
from tests.training.paper.test_clusters import clouds

METHODS = {
    "local": LocalSearch(starts=2),
    "moves": LocalSearch(starts=2, subproblems="search"),
    "neighbourhoods": LocalSearch(starts=1, units=0.5, samples=0.7),
    "paper local": LocalSearch(paper=True),
    "splitting": DataSplitting(epochs=3, batch_size=99),
    "paper splitting": DataSplitting(epochs=3, batch_size=99, paper=True),
}


def survives(network: Network, inputs: FloatArray, radius: FloatArray, norm: str) -> bool:
    """Ask the worst corners of every ball for their first-layer activations."""
    W = network.weights[0]
    before = network.activations(inputs)[0]
    # Just inside the ball, where rounding decides nothing.
    length = (1 - 1e-9) * radius[:, None]
    for unit, w in enumerate(W):
        if norm == "linf":
            step = np.sign(w)
        elif norm == "l1":
            step = np.sign(w) * (np.arange(len(w)) == np.abs(w).argmax())
        else:
            step = w / max(float(np.linalg.norm(w)), 1e-300)
        for side in (-1.0, 1.0):
            after = network.activations(inputs + side * length * step)[0]
            if (after[:, unit] != before[:, unit]).any():
                return False
    return True


def check(problem, network, result, radius, norm) -> None:
    radii = np.broadcast_to(np.asarray(radius, dtype=float), (len(problem.inputs),))
    assert Pattern.create(radii, norm, len(problem.inputs)).holds(network, problem.inputs).all()
    assert survives(network, problem.inputs, radii, norm)
    assert result.loss == problem.value(network) >= result.bound


SHAPES = [
    ("ternary", "neuron", (3,)),
    ("continuous", "neuron", (2,)),
    ("binary", "layer", (3,)),
    ("int:2", "zero", (2, 2)),
    ("ternary", "neuron", ()),
]


@pytest.mark.parametrize(
    ("name", "norm", "weights", "thresholds", "hidden"),
    in_turn(product(METHODS, ["linf", "l1"]), SHAPES),
)
def test_what_is_promised_holds(name, norm, weights, thresholds, hidden):
    problem = random_problem(
        2, n_samples=9, values=4, hidden=hidden, weights=weights, thresholds=thresholds
    )
    radius = np.linspace(0.1, 0.6, len(problem.inputs))
    asked = with_pattern(problem, radius, norm)
    network, result = METHODS[name].train(asked, budget=Budget(seconds=0.6, seed=1))
    check(problem, network, result, radius, norm)


@pytest.mark.parametrize("name", ["local", "splitting"])
def test_euclidean_balls(name):
    problem = random_problem(2, n_samples=7, hidden=(2,))
    asked = with_pattern(problem, 0.3, "l2")
    network, result = METHODS[name].train(asked, budget=Budget(seconds=2.0, seed=1))
    check(problem, network, result, 0.3, "l2")


@pytest.mark.parametrize("name", ["local", "splitting"])
def test_the_loss_is_no_smaller_than_the_least_and_often_it(name):
    reached = harder = 0
    for seed in range(3):
        problem = random_problem(seed, n_samples=7, hidden=(2,))
        asked = with_pattern(problem, 0.6)
        least = Exact().train(asked, budget=Budget(20)).result
        assert least.is_proven
        found = METHODS[name].train(asked, budget=Budget(2, seed=0))
        assert found.result.loss >= least.loss
        reached += found.result.loss == least.loss
        harder += METHODS[name].train(problem, budget=Budget(2, seed=0)).result.loss < least.loss
    assert reached >= (2 if name == "local" else 1)
    assert harder >= 1  # so that the radius matters


@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_radii_that_leave_the_classes_apart_cost_nothing(weights):
    problem = clouds(60, weights=weights)
    for method in (LocalSearch(starts=1), DataSplitting(epochs=4, batch_size=60, polish=False)):
        network, result = method.train(
            with_pattern(problem, 0.02), budget=Budget(seconds=3, seed=0)
        )
        check(problem, network, result, 0.02, "linf")
        assert result.error < 0.2
        assert len(np.unique(network.predict(problem.inputs))) == 2


@pytest.mark.parametrize("name", ["local", "splitting"])
def test_no_radius_is_the_ordinary_method(name):
    problem = random_problem(3, n_samples=8, hidden=(2,))
    method = METHODS[name]
    plain = method.train(problem, budget=Budget(5, seed=0))
    zero = method.train(with_pattern(problem, 0.0), budget=Budget(5, seed=0))
    assert zero.result.loss == plain.result.loss
    for ours, theirs in zip(zero.network.weights, plain.network.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("weights", ["ternary", "continuous", "binary"])
def test_a_radius_beyond_all_distances_leaves_a_constant_network(name, weights):
    problem = xor(weights=weights)
    network, result = METHODS[name].train(
        with_pattern(problem, 5.0), budget=Budget(seconds=1.0, seed=0)
    )
    check(problem, network, result, 5.0, "linf")
    assert result.loss == 4  # two of four samples wrong, at two outputs each
    assert len(np.unique(network.predict(problem.inputs))) == 1


def test_a_batch_that_is_less_than_the_data():
    problem = clouds(80, weights="ternary")
    radius = np.linspace(0.01, 0.05, len(problem.inputs))
    method = DataSplitting(epochs=1, batch_size=20, batches="contiguous")
    (rows, batch) = next(Sampler(problem, 20).draw("contiguous", 0, np.random.default_rng()))
    for polish in (False, True):
        network, result = replace(method, polish=polish).train(
            with_pattern(problem, radius), budget=Budget(seconds=2.0, seed=0)
        )
        held = Pattern.create(radius, "linf", len(radius)).holds(network, problem.inputs)
        assert held[rows].all()
        assert survives(network, batch.inputs, radius[rows], "linf")
        assert result.loss == problem.value(network)
        assert result.error < 0.3
        expected = f"hold within the radius for {held.sum()} of {len(held)} inputs"
        assert held.all() or expected in result.message


@examples(60)
@given(
    problems_with_networks(architectures(max_hidden=1)),
    st.sampled_from(["linf", "l1", "l2"]),
    st.floats(0.0, 3.0),
)
def test_settled_networks_hold(pair, norm, radius):
    problem, network = pair
    robust = Pattern.create(radius, norm, len(problem.inputs))
    firm = robust.settled(network, problem.inputs)
    shape = problem.architecture
    if firm is None:
        assert shape.thresholds == "zero"
        assert not shape.weights[0].zero
        return
    assert robust.holds(firm, problem.inputs).all()
    if robust.holds(network, problem.inputs).all():
        assert firm is network
    if shape.thresholds == "layer":
        assert len(np.unique(firm.thresholds[0])) == 1


def test_settled_thresholds_are_the_nearest():
    shape = random_problem(0, n_features=1, hidden=(1,)).architecture
    inputs = np.array([[0.0], [4.0], [10.0]])
    robust = Pattern.create([1.0, 1.0, 2.5], "linf", 3)
    for t, wanted in ((0.5, 2.0), (2.0, 2.0), (-0.9, -7.75), (4.6, 6.25), (9.0, 6.25)):
        network = Network(shape, (np.ones((1, 1)), np.ones((2, 1))), (np.array([t]), np.zeros(2)))
        assert robust.settled(network, inputs).step_thresholds[0] == pytest.approx([wanted])


@pytest.mark.parametrize("method", [Exact(), LocalSearch(), DataSplitting()], ids=lambda m: m.name)
def test_bad_input(method):
    problem = xor()
    for asked, kind in (
        ((-1.0,), ModelError),
        ((float("nan"),), ModelError),
        ((float("inf"),), ModelError),
        (("wide",), ModelError),
        ((0.1, "l0"), ModelError),
        (((0.1, 0.2),), DataError),
    ):
        with pytest.raises(kind) as caught:
            with_pattern(problem, *asked)
        assert_one_sentence(caught.value)
    with pytest.raises(UnsupportedFeatureError, match="second-order cones") as caught:
        method.train(with_pattern(problem, 0.1, "l2"), solver="cpsat")
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("name", METHODS)
def test_weights_that_leave_no_network_say_so(name):
    # One input at the origin: without thresholds and zeros every unit is crossed there.
    problem = xor(weights="binary", thresholds="zero")
    with pytest.raises(NoSolutionError, match="smaller radius") as caught:
        METHODS[name].train(with_pattern(problem, 0.1), budget=Budget(1.0, seed=0))
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("name", ["local", "splitting"])
def test_weights_that_leave_few_networks_find_one(name):
    # No constant network here, and thresholds cannot be moved: the programs find what there is.
    shape = xor(weights="binary", thresholds="zero").architecture
    inputs = np.array(list(product((-3.0, -1.0, 2.0), (-0.5, 0.5))))
    mass = np.eye(2)[(inputs[:, 0] > 0).astype(int)]
    problem = weighted(shape, inputs, mass)
    network, result = METHODS[name].train(with_pattern(problem, 0.2), budget=Budget(3.0, seed=0))
    check(problem, network, result, 0.2, "linf")


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("method", ["local_search", DataSplitting(epochs=4, batch_size=40)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_through_the_estimator(method, norm):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.where(y[:, None] == 1, 3.0, 1.0) + rng.normal(scale=0.4, size=(40, 3))
    radius = np.where(np.arange(40) < 20, 0.02, 0.08)
    model = BDNNClassifier(
        hidden=(3,),
        inputs=Inputs(scale="minmax"),
        method=method,
        robust=bdnn.Robust(norm=norm, loss="pattern"),
        limits=Limits(seconds=2),
        random_state=0,
    ).fit(X, y, radius=radius)
    assert survives(model.network_, model.encoder_.transform(X), radius, norm)
    assert model.score(X, y) > 0.9

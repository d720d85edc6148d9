"""Cuts of one raw column move together in the loss, the search, the program and the checker."""

import json
from itertools import product

import numpy as np
import pytest

from bdnn import BDNNClassifier, Inputs, Limits, Robust
from bdnn.checker import check_model, read_model
from bdnn.encoding import Bit, Column, Encoder
from bdnn.estimators.problems import Surrounded, certified_problem
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.search.certified import _state
from bdnn.search.kernels.certified import refresh_leads
from bdnn.training import Auto, Budget, Descent, Exact
from bdnn.training.phases.worst_case import balls_of
from tests.checker.models import samples_of
from tests.grids import long

METHODS = (Auto(patience=0.5), Descent(patience=0.5), Exact())


def cuts_of(*columns):
    """An encoder of cuts, a list of them per column."""
    named = tuple(Column(f"c{j}", "number", (), 0.0, "fill", 1.0) for j in range(len(columns)))
    bits = [Bit(j, "ge", float(cut)) for j, cuts in enumerate(columns) for cut in cuts]
    return Encoder(named, (), tuple(bits))


def problem_of(X, y, radius, encoder, **shape):
    asked = Architecture.create(encoder.n_inputs, int(y.max()) + 1, **shape)
    balls = Surrounded(X, np.full(len(X), radius), "linf", "raw")
    return certified_problem(asked, encoder, encoder.transform(X), y.astype(np.intp), balls)


def is_kept(network, encoder, X, y, radius):
    """Which rows keep their class in all cells that they reach, by going through raw values."""
    found = []
    for x, label in zip(X, y, strict=True):
        sides = []
        for j, value in enumerate(x):
            cuts = [bit.value for bit in encoder.bits if bit.column == j]
            inside = [cut for cut in cuts if value - radius <= cut <= value + radius]
            below = [np.nextafter(cut, -np.inf) for cut in inside]
            ends = [value - radius, value, value + radius, *inside, *below]
            sides.append([end for end in ends if value - radius <= end <= value + radius])
        rows = np.array(list(product(*sides)))
        found.append((network.predict(encoder.transform(rows)) == label).all())
    return np.array(found)


def random_case(seed, n_samples=12):
    rng = np.random.default_rng(seed)
    encoder = cuts_of([1, 2, 3], [1, 2])
    X = rng.integers(0, 9, (n_samples, 2)) / 2 + 0.25
    y = ((X[:, 0] > 1) & (X[:, 0] < 3)).astype(int) ^ (rng.random(n_samples) < 0.1)
    return encoder, X, y


def random_network(shape, rng):
    weights = [
        rng.choice(kind.values, (a, b)) if kind.integer else rng.uniform(-1, 1, (a, b))
        for kind, a, b in zip(shape.weights, shape.widths[1:], shape.widths[:-1], strict=True)
    ]
    thresholds = [rng.integers(-1, 3, len(W)) - 0.5 for W in weights]
    return Network(shape, tuple(weights), tuple(thresholds))


@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_search_and_program_know_the_sums_of_the_loss(weights):
    for seed in range(10):
        encoder, X, y = random_case(seed)
        problem = problem_of(X, y, 0.6, encoder, hidden=(3,), weights=weights)
        network = random_network(problem.architecture, np.random.default_rng(seed))
        W = network.weights[0]
        low, high = problem.loss.regions.sums(W)
        balls = balls_of(problem.loss)
        state = _state(balls, network, 1.0)
        refresh_leads(state)
        for found in ((state.lower.T, state.upper.T), balls.sums(W)):
            np.testing.assert_allclose(found[0], low, atol=1e-12)
            np.testing.assert_allclose(found[1], high, atol=1e-12)
        (sets,) = problem.loss.input_sets(problem.samples)
        for part, whole in zip(sets.sums(W), (low, high), strict=True):
            np.testing.assert_allclose(part, whole, atol=1e-12)


def test_the_loss_of_one_unit_is_that_of_raw_values():
    for seed in range(20):
        encoder, X, y = random_case(seed)
        problem = problem_of(X, y, 0.6, encoder, hidden=(1,))
        network = random_network(problem.architecture, np.random.default_rng(seed))
        lost = (~is_kept(network, encoder, X, y, 0.6)).sum()
        assert problem.value(network) == lost


@pytest.mark.parametrize("seed", [0, *long(1, 2, 3)])
def test_the_program_finds_the_least_loss_of_all_networks(seed):
    encoder, X, y = random_case(seed, n_samples=8)
    problem = problem_of(X, y, 0.6, encoder, hidden=(1,), weights="ternary")
    found = Exact().train(problem, budget=Budget(seconds=60, seed=0))
    shape, best = problem.architecture, len(y)
    tops = [(np.array([[-1.0], [1.0]]) * side, np.array([-0.5, 0.5]) * side) for side in (1, -1)]
    for w in product((-1.0, 0.0, 1.0), repeat=encoder.n_inputs):
        for level in range(-2, 4):
            for V, T in tops:
                network = Network(shape, (np.array([w]), V), (np.array([float(level)]), T))
                best = min(best, int(problem.value(network)))
    assert found.result.status == "optimal"
    assert found.result.loss == best


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_checked_certificates_of_training(tmp_path, method):
    _, X, y = random_case(1, n_samples=20)
    model = BDNNClassifier(
        hidden=(2,),
        weights="ternary",
        objective="loss",
        inputs=Inputs("cuts", cuts=3),
        robust=Robust(0.3, units="raw"),
        method=method,
        limits=Limits(seconds=20),
        random_state=0,
    ).fit(X, y)
    sure = model.certify(X, y, radius=0.3, units="raw").accuracy
    assert model.result_.loss == round(len(y) * (1 - sure))
    assert _verdict(model, X, y, tmp_path) == "proven"


def test_a_radius_per_column_is_checked(tmp_path):
    _, X, y = random_case(2, n_samples=20)
    units = {"x1": 0.3, 1: 0.0}
    for inputs in (Inputs("cuts", cuts=3), Inputs("scaled")):
        model = BDNNClassifier(
            hidden=(2,),
            weights="ternary",
            objective="loss",
            inputs=inputs,
            robust=Robust(1.0, units=units),
            method=Descent(patience=0.5),
            random_state=0,
        ).fit(X, y)
        assert _verdict(model, X, y, tmp_path) == "proven"
        path = tmp_path / "model.json"
        content = json.loads(path.read_text())
        content["certificate"]["robust"]["units"] = [30.0, 30.0]
        assert _verdict_of(content, X, y, path) != "proven"


def _verdict(model, X, y, folder):
    path = folder / "model.json"
    model.save(path)
    return _verdict_of(json.loads(path.read_text()), X, y, path)


def _verdict_of(content, X, y, path):
    """What the checker says of the loss of a file's content."""
    path.write_text(json.dumps(content))
    record = read_model(path)
    claims = check_model(record, samples_of(record, X, y, None))
    return {claim.name: claim.verdict for claim in claims}["loss"]

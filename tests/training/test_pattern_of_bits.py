"""First-layer activations that hold on cuts and texts, and certified training with l_1 and l_2."""

from itertools import product

import numpy as np
import pytest

from bdnn import BDNNClassifier, BDNNRegressor, Inputs, Limits, Robust
from bdnn.encoding import Bit, Column, Encoder, Number
from bdnn.mip import NetworkModel
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.network.norms import length
from bdnn.problem.create import with_pattern_in
from bdnn.problem.losses.output import classification
from bdnn.training import Auto, Budget, Exact
from bdnn.training.robust import Surrounded, certified_problem
from tests.training.test_bins import cuts_of, random_case, random_network

NORMS = ["linf", "l1", "l2"]


def pattern_problem(X, y, radius, norm, encoder, **shape):
    asked = Architecture.create(encoder.n_inputs, int(y.max()) + 1, **shape)
    problem = classification(asked, encoder.transform(X), y.astype(np.intp))
    balls = Surrounded(X, np.full(len(X), radius), norm, "raw")
    return with_pattern_in(problem, balls.regions(problem.samples.rows, encoder))


def cells_around(encoder, x, radius, norm):
    """Raw rows of all cells that a row reaches, each the nearest of its cell."""
    sides = []
    for j, value in enumerate(x):
        cuts = [bit.value for bit in encoder.bits if bit.column == j]
        below = [np.nextafter(cut, -np.inf) for cut in cuts if cut <= value]
        sides.append([value, *below, *(cut for cut in cuts if cut > value)])
    rows = np.array(list(product(*sides)))
    return rows[length(norm, rows - x) <= radius]


def keeps(network, encoder, x, radius, norm):
    """Whether a row keeps its first-layer activations in all cells that it reaches."""
    on = network.activations(encoder.transform(cells_around(encoder, x, radius, norm)))[0]
    return bool((on == on[0]).all())


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("weights", ["ternary", "continuous"])
def test_what_holds_is_what_no_cell_changes(norm, weights):
    known = found = 0
    for seed in range(25):
        encoder, X, y = random_case(seed)
        problem = pattern_problem(X, y, 0.8, norm, encoder, hidden=(2,), weights=weights)
        network = random_network(problem.architecture, np.random.default_rng(seed))
        held = problem.loss.pattern.holds(network, problem.inputs)[problem.samples.line]
        kept = np.array([keeps(network, encoder, x, 0.8, norm) for x in X])
        lines = problem.samples.line
        true = np.array([kept[lines == line].all() for line in lines])
        assert (true | ~held).all()
        if norm == "linf":
            np.testing.assert_array_equal(held, true)
        known, found = known + true.sum(), found + held.sum()
    assert found >= 0.9 * known


def test_rows_of_equal_inputs_have_regions_of_their_own():
    encoder = cuts_of([1.0], [1.0])
    X, y = np.array([[1.1, 1.9], [1.9, 1.1], [1.5, 1.5], [1.5, 1.5]]), np.array([0, 1, 1, 0])
    problem = pattern_problem(X, y, 0.2, "linf", encoder, hidden=(1,), weights="ternary")
    assert len(problem.inputs) == 1
    assert len(problem.loss.pattern.line) == 3
    shape = problem.architecture
    # Two rows may lose one of their bits, and none may lose both.
    for t, is_held in ((1.0, True), (2.0, False)):
        layers = np.ones((1, 2)), np.ones((2, 1))
        assert problem.holds(Network(shape, layers, (np.array([t]), np.zeros(2)))) == is_held


@pytest.mark.parametrize("norm", NORMS)
def test_settled_networks_hold_in_all_cells(norm):
    for seed in range(15):
        encoder, X, y = random_case(seed)
        problem = pattern_problem(X, y, 0.6, norm, encoder, hidden=(3,), weights="ternary")
        network = random_network(problem.architecture, np.random.default_rng(seed))
        settled = problem.settled(network)
        assert settled is not None
        assert all(keeps(settled, encoder, x, 0.6, norm) for x in X)


@pytest.mark.parametrize("norm", NORMS)
def test_starts_keep_the_rows_of_the_program(norm):
    for seed in range(6):
        encoder, X, y = random_case(seed)
        problem = pattern_problem(X, y, 0.6, norm, encoder, hidden=(2,), weights="ternary")
        settled = problem.settled(
            random_network(problem.architecture, np.random.default_rng(seed))
        )
        model = NetworkModel.build(problem)
        x = model.lift(settled)
        if norm == "linf":
            assert x is not None
        if x is not None:
            assert model.program.violation(x) < 1e-6
            again = model.read(x)
            assert problem.holds(again)
            assert problem.value(again) <= problem.value(settled)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(2))
def test_the_program_finds_the_least_loss_of_networks_that_hold(norm, seed):
    encoder, X, y = random_case(seed, n_samples=8)
    problem = pattern_problem(X, y, 0.6, norm, encoder, hidden=(1,), weights="ternary")
    found = Exact().train(problem, budget=Budget(seconds=60, seed=0))
    shape, best = problem.architecture, np.inf
    tops = [(np.array([[-1.0], [1.0]]) * side, np.array([-0.5, 0.5]) * side) for side in (1, -1)]
    tops += [(V * 0, T * 2 - 0.25 * side) for (V, T), side in product(tops, (-1, 1))]
    for w in product((-1.0, 0.0, 1.0), repeat=encoder.n_inputs):
        for level in range(-2, 4):
            for V, T in tops:
                network = Network(shape, (np.array([w]), V), (np.array([level - 0.5]), T))
                if all(keeps(network, encoder, x, 0.6, norm) for x in X):
                    best = min(best, int(problem.value(network)))
    assert problem.holds(found.network)
    assert found.result.loss >= best
    assert found.result.bound <= best
    if norm == "linf":
        assert (found.result.status, found.result.loss) == ("optimal", best)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("method", ["auto", "exact", "data_splitting"])
def test_pattern_on_cuts_and_texts(norm, method):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(24, 2))
    y = (X[:, 0] > 0.1).astype(int)
    model = BDNNClassifier(
        hidden=(2,),
        inputs=Inputs("cuts", "standard", cuts=4),
        robust=Robust(0.05, norm, "pattern"),
        method=method,
        limits=Limits(seconds=3),
        random_state=0,
    ).fit(X, y)
    if "batch" not in model.result_.message and "hold within" not in model.result_.message:
        for x in X:
            moved = x + 0.99 * 0.05 * rng.uniform(-1, 1, (40, 2)) / np.sqrt(2) / 2
            on = model.network_.activations(model.encoder_.transform(np.vstack([x, moved])))[0]
            assert (on == on[0]).all()

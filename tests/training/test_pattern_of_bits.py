"""First-layer activations that hold on cuts and texts, and certified training with l_1 and l_2."""

from itertools import product

import numpy as np
import pytest

from bdnn import BDNNClassifier, BDNNRegressor, Inputs, Limits, Robust
from bdnn.checker import check_model, read_model
from bdnn.estimators.problems import Surrounded, certified_problem
from bdnn.mip import NetworkModel
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.network.norms import length
from bdnn.problem.create import with_pattern_in
from bdnn.problem.losses.output import classification
from bdnn.training import Budget, Exact
from bdnn.training.phases.worst_case import balls_of
from tests.checker.models import edit, samples_of
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
        settled = problem.settled(random_network(problem.architecture, np.random.default_rng(seed)))
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
def test_the_program_finds_the_least_loss_of_networks_that_hold(norm):
    encoder, X, y = random_case(0, n_samples=8)
    problem = pattern_problem(X, y, 0.6, norm, encoder, hidden=(1,), weights="ternary")
    found = Exact().train(problem, budget=Budget(seconds=60, seed=0))
    best = np.inf
    cells = [encoder.transform(cells_around(encoder, x, 0.6, norm)) for x in X]
    first = np.cumsum([0, *(len(part) for part in cells)])[:-1]
    own, of_row = np.vstack(cells), np.repeat(np.arange(len(X)), [len(part) for part in cells])
    for w in product((-1.0, 0.0, 1.0), repeat=encoder.n_inputs):
        sums = own @ np.array(w)
        for t in np.arange(-2.5, 4.0):
            on = sums >= t
            if (on != on[first][of_row]).any():
                continue
            # What two outputs can say of one unit: each is its value, the contrary, or the same.
            unit = on[first]
            answers = np.array([unit, ~unit, unit | True, unit & False])
            wrong = [(answers != (y == label)).sum(axis=1).min() for label in (0, 1)]
            best = min(best, sum(wrong))
    assert problem.holds(found.network)
    assert all(keeps(found.network, encoder, x, 0.6, norm) for x in X)
    assert found.result.bound <= best <= found.result.loss
    if norm == "linf":
        assert found.result.status == "optimal"


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("method", ["auto", "data_splitting"])
@pytest.mark.parametrize("inputs", ["cuts", "both", "scaled"])
def test_what_training_promises_is_checked(norm, method, inputs, tmp_path):
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(24, 2)), 2)
    y = (X[:, 0] > 0.1).astype(int)
    model = BDNNClassifier(
        hidden=(2,),
        inputs=Inputs(inputs, "standard", cuts=4),
        robust=Robust(0.05, norm, "pattern"),
        method=method,
        limits=Limits(seconds=60, loss=12),
        random_state=0,
    ).fit(X, y)
    path = tmp_path / "model.json"
    model.save(path)
    claim = _first_layer(path, X, y)
    if method != "data_splitting":  # which promises it for a batch
        assert claim.verdict == "proven", claim.detail
    if claim.verdict == "proven":
        for x in X:
            moves = rng.uniform(-1, 1, (40, 2))
            moves *= 0.05 / np.maximum(1e-9, length(norm, moves))[:, None]
            if inputs == "scaled":  # the ball is around what the network sees
                seen = model.encoder_.transform(x[None]) + np.vstack([[0.0, 0.0], 0.999 * moves])
            else:
                moved = x + 0.999 * moves / model.encoder_.units
                seen = model.encoder_.transform(np.vstack([x, moved]))
            on = model.network_.activations(seen)[0]
            assert (on == on[0]).all()
    wide = edit(path, lambda content: content["certificate"]["robust"].update(radius=50.0), path)
    if len(np.unique(model.network_.activations(model.encoder_.transform(X))[0], axis=0)) > 1:
        assert _first_layer(wide, X, y).verdict == "claimed"


def _first_layer(path, X, y):
    record = read_model(path)
    claims = check_model(record, samples_of(record, X, y, None))
    (claim,) = [claim for claim in claims if claim.name == "first layer"]
    return claim


def test_texts_stay_what_they_are():
    X = [["a", 0.0], ["b", 1.0], ["a", 2.0], ["b", 3.0]]
    model = BDNNClassifier(
        hidden=(1,), robust=Robust(0.4, loss="pattern"), method="exact", limits=Limits(seconds=5)
    ).fit(X, [0, 1, 0, 1])
    assert model.result_.loss == 0


def test_numbers_predicted_from_bits_hold_too():
    X = np.linspace(0, 4, 12)[:, None]
    model = BDNNRegressor(
        hidden=(2,),
        inputs=Inputs("cuts", cuts=3),
        robust=Robust(0.01, "l1", "pattern"),
        limits=Limits(seconds=60, loss=6.0),
        random_state=0,
    ).fit(X, X[:, 0] > 2)
    moved = X + 0.009 / model.encoder_.units
    before, after = (
        model.network_.activations(model.encoder_.transform(part))[0] for part in (X, moved)
    )
    assert (before == after).all()


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_certified_rows_keep_their_class_in_all_cells(norm):
    known = found = 0
    for seed in range(25):
        encoder, X, y = random_case(seed)
        shape = Architecture.create(encoder.n_inputs, 2, hidden=(2,), weights="ternary")
        balls = Surrounded(X, np.full(len(X), 0.8), norm, "raw")
        problem = certified_problem(shape, encoder, encoder.transform(X), y.astype(np.intp), balls)
        network = random_network(shape, np.random.default_rng(seed))
        sure = problem.loss.is_certified(network)
        for x, label, is_sure in zip(X, y, sure, strict=True):
            rows = encoder.transform(cells_around(encoder, x, 0.8, norm))
            kept = bool((network.predict(rows) == label).all())
            assert kept or not is_sure
            known, found = known + kept, found + is_sure
        balls = balls_of(problem.loss)
        low, high = problem.loss.regions.sums(network.weights[0])
        wide = balls.sums(network.weights[0])
        assert (wide[0] <= low + 1e-12).all()
        assert (wide[1] >= high - 1e-12).all()
    assert found >= 0.8 * known


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("method", ["descent", "exact"])
@pytest.mark.parametrize("inputs", ["cuts", "both"])
def test_certified_training_is_checked(norm, method, inputs, tmp_path):
    _, X, y = random_case(1, n_samples=20)
    model = BDNNClassifier(
        hidden=(2,),
        weights="ternary",
        objective="loss",
        inputs=Inputs(inputs, cuts=3),
        robust=Robust(0.4, norm, units="raw"),
        method=method,
        limits=Limits(seconds=60, loss=7),
        random_state=0,
    ).fit(X, y)
    status = model.verify(X, radius=0.4, norm=norm, units="raw").status
    lost = ((status != "robust") | (model.predict(X) != y)).sum()
    assert model.result_.bound <= lost <= model.result_.loss <= 7
    assert "solver" not in model.result_.bound_origin
    path = tmp_path / "model.json"
    model.save(path)
    record = read_model(path)
    claims = check_model(record, samples_of(record, X, y, None))
    verdicts = {claim.name: claim.verdict for claim in claims}
    assert verdicts["loss"] == "proven"
    assert "false" not in verdicts.values()

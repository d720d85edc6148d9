"""Algorithm 1: losses never rise, local optima are local optima, the record tells all."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn import BDNNClassifier, Limits
from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.network import Network
from bdnn.search import random_start
from bdnn.training import Budget, LocalSearch
from bdnn.training.paper.halves import Halves, Neighbourhood, free_layers
from bdnn.training.paper.programs import HalfPrograms
from tests.grids import examples, in_turn
from tests.oracle import smallest_loss
from tests.problems import random_problem
from tests.sentences import assert_one_sentence
from tests.strategies import architectures, problems_with_networks

MODES = [
    LocalSearch(starts=2, polish=False),
    LocalSearch(starts=2, subproblems="search", polish=False),
    LocalSearch(starts=1, subproblems="mip"),
    LocalSearch(starts=2, units=0.5, samples=0.7),
    LocalSearch(starts=1, start="search"),
    LocalSearch(paper=True),
]


def check(problem, network, result):
    """The record is complete, losses never rise within a start, and the best one is returned."""
    assert result.loss == problem.value(network) >= result.bound
    for start in {step["start"] for step in result.steps}:
        losses = [step["loss"] for step in result.steps if step["start"] == start]
        assert losses == sorted(losses, reverse=True)
    assert all(step["subproblem"] in ("H1", "H2") for step in result.steps)
    assert all(
        step["seconds"] >= 0 and step["status"] and step["solved_by"] for step in result.steps
    )
    assert result.loss <= min((step["loss"] for step in result.steps), default=np.inf)
    for step in result.steps:
        assert step["status"] != "optimal" or step["loss"] >= step["bound"]


SHAPES = [
    ("ternary", "neuron", (4,)),
    ("continuous", "layer", (3,)),
    ("binary", "zero", (3, 3)),
    ("int:2", "layer", (3, 2, 2)),
    ("continuous", "neuron", (3, 3)),
    ("ternary", "zero", ()),
]


@pytest.mark.parametrize(
    ("weights", "thresholds", "hidden", "method"), in_turn(SHAPES, MODES), ids=str
)
def test_the_loss_never_rises(method, weights, thresholds, hidden):
    problem = random_problem(
        4, n_samples=14, n_classes=3, hidden=hidden, weights=weights, thresholds=thresholds
    )
    network, result = method.train(problem, budget=Budget(seconds=8, seed=3))
    check(problem, network, result)
    assert result.method == "local_search"


@examples(25)
@given(problems_with_networks(architectures(max_hidden=2)), st.integers(0, 5))
def test_a_subproblem_never_raises_the_loss(pair, seed):
    problem, network = pair
    rng, halves = np.random.default_rng(seed), Halves(problem)
    hood = Neighbourhood.draw(problem, 1.0, 1.0, rng)
    for half in (1, 2):
        layers = free_layers(half, problem.architecture.n_layers)
        if not layers:
            continue
        before = problem.value(network)
        target = problem.floor
        options = {"rng": rng, "slot": Slot.of(20)}
        moved = halves.move(network, layers, hood, target=target, **options)
        assert problem.value(moved) <= before
        solved = HalfPrograms(halves).solve(network, layers, hood, **options)
        assert problem.value(solved.network) <= before
        if solved.status == "optimal" and all(w.integer for w in problem.architecture.weights):
            assert problem.value(solved.network) == pytest.approx(solved.bound)
            assert solved.bound >= halves.bound(network, layers) - 1e-9
        network = solved.network


def test_odd_and_even_layers_are_freed_in_turn():
    assert [free_layers(half, 5) for half in (1, 2)] == [(0, 2, 4), (1, 3)]
    assert [free_layers(half, 1) for half in (1, 2)] == [(0,), ()]


def test_the_end_is_no_better_than_the_optimum_and_reaches_it_on_small_problems():
    reached = 0
    for seed in range(5):
        problem = random_problem(seed, n_samples=7, hidden=(3,))
        _, result = LocalSearch(polish=False).train(problem, budget=Budget(20, seed=0))
        best = smallest_loss(problem)
        assert result.loss >= best
        reached += result.loss == best
    assert reached >= 3


def test_a_paper_start_that_is_infeasible_is_skipped():
    problem = random_problem(0, n_samples=12, hidden=(3, 3))
    network, result = LocalSearch(paper=True).train(problem, budget=Budget(20, seed=0))
    first, second = result.steps[:2]
    assert (first["subproblem"], first["status"]) == ("H1", "infeasible")
    assert second["loss"] <= first["loss"]
    check(problem, network, result)


def test_a_paper_start_is_not_judged_by_activations_that_were_not_drawn():
    problem = random_problem(0, n_samples=12, hidden=(1, 1, 1, 1))
    for seed in range(3):
        _, result = LocalSearch(paper=True).train(problem, budget=Budget(20, seed=seed))
        assert result.steps[0]["solved_by"] != "bound"


def test_another_draw_follows_a_round_without_gain():
    problem = random_problem(4, n_samples=12, hidden=(4,))
    method = LocalSearch(starts=1, units=0.5, subproblems="mip", polish=False)
    _, result = method.train(problem, budget=Budget(60, seed=0))
    losses = [step["loss"] for step in result.steps if step["subproblem"] == "H2"]
    assert result.status == "optimal" or losses[-3] == losses[-2] == losses[-1]


def test_threads_do_not_change_the_network():
    problem = random_problem(2, n_samples=40, n_features=4, hidden=(3,))
    method = LocalSearch(starts=3, subproblems="search", polish=False)
    one, two = (method.train(problem, budget=Budget(seconds=60, threads=n, seed=5)) for n in (1, 2))
    assert one.network == two.network


def test_a_given_network_is_where_the_first_start_begins():
    problem = random_problem(6, n_samples=20, n_features=3, hidden=(4,))
    start = random_start(problem, np.random.default_rng(1))
    _, result = LocalSearch(starts=1, subproblems="mip").train(
        problem, start=start, budget=Budget(seconds=10, seed=0)
    )
    assert result.steps[0]["loss"] <= problem.value(start)


def test_only_freed_units_move():
    problem = random_problem(7, n_samples=20, n_features=3, hidden=(5,))
    rng = np.random.default_rng(0)
    network = random_start(problem, rng)
    units = (np.array([True, False, False, False, True]), np.ones(2, dtype=bool))
    moved = Halves(problem).move(
        network, (0,), Neighbourhood(units), rng=rng, target=0.0, slot=Slot()
    )
    np.testing.assert_array_equal(moved.weights[0][~units[0]], network.weights[0][~units[0]])


@pytest.mark.parametrize("share", [1, np.int64(1), np.float32(0.5), Fraction(1, 2)])
def test_a_share_may_be_any_number(share):
    problem = random_problem(7, n_samples=10, hidden=(3,))
    method = LocalSearch(starts=1, units=share, samples=share, polish=False)
    assert method.train(problem, budget=Budget(seconds=10)).result.loss >= 0


@pytest.mark.parametrize("subproblems", ["mip", "search"])
def test_only_named_units_move(subproblems):
    problem = random_problem(7, n_samples=20, n_features=3, hidden=(3, 2), weights="ternary")
    start = random_start(problem, np.random.default_rng(1))
    # The second unit of the first layer and the first of the second.
    method = LocalSearch(starts=1, units=[1, 3], subproblems=subproblems, polish=False)
    found, result = method.train(problem, start=start, budget=Budget(seconds=20, seed=0))
    assert result.loss < problem.value(start)
    np.testing.assert_array_equal(found.weights[0][[0, 2]], start.weights[0][[0, 2]])
    np.testing.assert_array_equal(found.weights[1][[1]], start.weights[1][[1]])


def test_only_activations_of_named_samples_change():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    rows = [4, 5, 6, 7]
    options = {
        "hidden": (3,),
        "weights": "ternary",
        "limits": Limits(seconds=20),
        "random_state": 0,
    }
    begun = BDNNClassifier(method="descent", **options).fit(X, y)
    shaken = begun.network_.weights[0].copy()
    shaken[:, 0] = 0.0
    start = Network(
        begun.network_.architecture, (shaken, begun.network_.weights[1]), begun.network_.thresholds
    )
    mask = np.isin(np.arange(30), rows)
    for named in (rows, mask):
        method = LocalSearch(starts=1, samples=named, subproblems="mip", polish=False)
        model = BDNNClassifier(method=method, start=start, **options).fit(X, y)
        inputs = model.encoder_.transform(X)
        before, after = (net.activations(inputs)[0] for net in (start, model.network_))
        assert not (before != after)[~mask].any()


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (LocalSearch(samples=[30]), "samples must be numbers from 0 to 29 of the 30 samples"),
        (LocalSearch(samples=[]), "samples must be numbers from 0 to 29"),
        (LocalSearch(samples=np.array([0.5])), "samples must be numbers"),
        (LocalSearch(units=[3]), "units must be numbers from 0 to 2 of the 3 hidden units"),
        (LocalSearch(samples=[True] * 29), "samples must be numbers from 0 to 29"),
        (LocalSearch(units="all"), "units must be a share above 0 and up to 1, or a list"),
        (LocalSearch(samples=[0], subproblems="search"), "needs a solver"),
    ],
)
def test_names_of_what_is_not_there(method, message):
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30) % 2
    with pytest.raises(ModelError, match=message) as caught:
        BDNNClassifier(hidden=(3,), method=method, limits=Limits(seconds=5)).fit(X, y)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("paper", [False, True])
def test_the_time_limit_holds(paper):
    problem = random_problem(3, n_samples=300, n_features=6, hidden=(6, 6))
    LocalSearch().train(random_problem(0, hidden=(2,)), budget=Budget(60))  # loads compiled code
    started = time.perf_counter()
    _, result = LocalSearch(paper=paper).train(problem, budget=Budget(seconds=1.0, seed=0))
    assert time.perf_counter() - started < 12  # generous: machines may be busy
    assert np.isfinite(result.loss)


def test_no_time_limit_is_needed():
    problem = random_problem(3, n_samples=10, hidden=(3,))
    _, result = LocalSearch(starts=1).train(problem)
    assert np.isfinite(result.loss)


def test_a_callback_ends_the_run_and_the_network_is_kept():
    problem = random_problem(3, n_samples=60, n_features=5, hidden=(4,))
    network, result = LocalSearch(paper=True).train(
        problem, budget=Budget(60, seed=0), on_progress=lambda moment: moment.phase == "local"
    )
    assert result.status == "interrupted"
    assert result.loss == problem.value(network)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"starts": 0}, "starts"),
        ({"start": "nowhere"}, "start"),
        ({"subproblems": "magic"}, "subproblems"),
        ({"units": 0.0}, "units"),
        ({"samples": 1.5}, "samples"),
        ({"samples": 0.5, "subproblems": "search"}, "samples"),
    ],
)
def test_bad_settings_are_named(options, word):
    with pytest.raises(ModelError, match=word) as caught:
        LocalSearch(**options).train(random_problem(0), budget=Budget(seconds=5))
    assert_one_sentence(caught.value)

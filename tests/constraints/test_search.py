"""The search never returns a network that breaks a rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.clock import Slot
from bdnn.constraints import DemographicParity, Monotone, MustClassify, Sparsity
from bdnn.errors import NoSolutionError
from bdnn.problem.terms.monotone import path_signs
from bdnn.search.descent import descend
from bdnn.search.margin import widen_margin
from bdnn.search.starts import make_start
from bdnn.search.walk import search_within
from bdnn.training import Auto, Descent, Exact
from bdnn.training.limits import Budget
from tests.constraints.asking import constrain
from tests.constraints.demands import constrained
from tests.grids import examples
from tests.problems import random_problem, xor
from tests.strategies import architectures, problems_with_networks

all_shapes = architectures(max_hidden=2, n_outputs=st.integers(2, 3))


def search(problem, *, start="random", sweeps=8, seed=0):
    found = []
    rng = np.random.default_rng(seed)
    begin = make_start(problem, start, rng, slot=Slot.of(1.0))
    search_within(problem, begin, rng=rng, sweeps=sweeps, slot=Slot(), on_network=found.append)
    return found


@given(constrained(problems_with_networks(all_shapes)), st.integers(0, 99), st.booleans())
@examples(40)
def test_every_reported_network_keeps_all_rules(case, seed, from_given):
    problem, network = case
    if not problem.terms:
        return
    found = search(problem, seed=seed, start=network if from_given else "random")
    values = [problem.objective(one) for one in found]
    assert all(problem.is_feasible(one) for one in found)
    assert values == sorted(values, reverse=True)


CASES = {
    "per layer": {"sparsity": Sparsity(per_layer=(2, None))},
    "features": {"sparsity": Sparsity(features=2, per_unit=2)},
    "price": {"sparsity": Sparsity(price=0.3)},
    "monotone": {"constraints": [Monotone(0), Monotone(2, -1)]},
    "fair": {"constraints": DemographicParity(np.arange(10) % 2, 0.0)},
    "right": {"constraints": MustClassify(range(8))},
}


@pytest.mark.parametrize("case", CASES)
def test_the_search_reaches_the_proven_optimum(case):
    plain = random_problem(4, n_samples=12, n_features=3, hidden=(2,), values=4)
    assert len(plain.inputs) == 10
    problem = constrain(plain, **CASES[case])
    best = Exact().train(problem, budget=Budget(seconds=100)).result
    assert best.is_proven
    networks = [one for seed in range(4) for one in search(problem, seed=seed, sweeps=80)]
    least = min(problem.objective(one) for one in networks)
    assert least >= best.minimised - 1e-6
    assert least == pytest.approx(best.minimised)


@pytest.mark.parametrize("case", CASES)
def test_units_of_several_values_keep_rules(case):
    plain = random_problem(
        4, n_samples=12, n_features=3, hidden=(2,), values=4, activation="ternary"
    )
    problem = constrain(plain, **CASES[case])
    found = [one for seed in range(4) for one in search(problem, seed=seed, sweeps=20)]
    assert found
    assert all(problem.is_feasible(one) for one in found)


@pytest.mark.parametrize("case", ["per layer", "price", "monotone", "right"])
def test_a_descent_keeps_rules(case):
    plain = random_problem(4, n_samples=12, n_features=3, values=4)
    problem = constrain(plain, **CASES[case])
    found = descend(problem, slot=Slot(), seed=0, max_sweeps=40, restarts=3, target=-1.0)
    assert problem.is_feasible(found.network)
    assert found.loss == pytest.approx(float(problem.objective(found.network)))


@pytest.mark.parametrize("case", CASES)
def test_wider_margins_keep_rules(case):
    plain = random_problem(4, n_samples=12, n_features=3, hidden=(2,), values=4)
    problem = constrain(plain, **CASES[case])
    found = [one for seed in range(4) for one in search(problem, seed=seed, sweeps=80)]
    network = min(found, key=problem.objective)
    order = ("loss", "margin", "sparsity")
    wide = widen_margin(problem, network, slot=Slot(), seed=0, objectives=order, sweeps=5)
    assert problem.is_feasible(wide)
    assert problem.objective(wide) <= problem.objective(network)


def test_auto_proves_what_the_search_found():
    problem = constrain(xor(), sparsity=Sparsity(total=8))
    found = Auto(patience=0.2).train(problem, budget=Budget(seconds=60))
    assert found.result.is_proven
    assert problem.is_feasible(found.network)


def test_monotone_features_move_scores_one_way():
    plain = random_problem(7, n_samples=20, n_features=2, hidden=(3, 2), values=5, n_classes=3)
    problem = constrain(plain, constraints=Monotone(0, label=1))
    rng = np.random.default_rng(0)
    for network in search(problem, sweeps=30):
        X = rng.normal(size=(50, 2)) * 3
        scores = network.scores(X)
        moved = network.scores(X + np.array([2.0, 0.0]))
        assert (moved[:, 1] >= scores[:, 1]).all()
        assert (moved[:, [0, 2]] <= scores[:, [0, 2]]).all()
        assert not path_signs(network.weights, 0)[-1][1][1]


def test_a_search_that_finds_nothing_says_what_for():
    # An exclusive or has no such network with one hidden unit.
    problem = constrain(xor(hidden=(1,)), constraints=MustClassify([0, 1, 2, 3]))
    with pytest.raises(NoSolutionError, match=r"MustClassify.*'exact'"):
        Descent(patience=0.1).train(problem, budget=Budget(seconds=30))

"""Units of several values: solvers against enumeration and each other, search, twins, refusals."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from bdnn.bounds import FREE
from bdnn.clock import Slot
from bdnn.constraints import LinearRows, Regularizer
from bdnn.mip import Reductions
from bdnn.network.activation import Activation
from bdnn.network.expansion import to_twin
from bdnn.problem.create import constrain
from bdnn.solvers.registry import available_solvers
from bdnn.training import Auto, Budget, DataSplitting, Descent, Exact, LocalSearch
from tests.grids import long
from tests.oracle import smallest_loss
from tests.problems import random_problem

BUDGET = Budget(seconds=60)
FIXED = Activation((-1, 0, 2), (-0.5, 0.5))
ODD = Activation((-1, 0, 1), (0.1, 0.7))
RULES = ("sign", "ternary", "levels:3", FIXED)


@cache
def case(rule, weights, thresholds, hidden, seed=4):
    problem = random_problem(
        seed,
        n_samples=6,
        values=2,
        hidden=hidden,
        weights=weights,
        thresholds=thresholds,
        activation=rule,
    )
    return problem, smallest_loss(problem)


def table():
    """Values x weights x thresholds x depth; a third for each solver, quick a ninth."""
    grid = [
        (rule, weights, thresholds, hidden)
        for rule, weights, thresholds, hidden in product(
            RULES, ("ternary", "binary", "continuous"), ("neuron", "layer", "zero"), ((1,), (1, 1))
        )
        # Of continuous weights only free thresholds of their own can be enumerated.
        if weights != "continuous" or (thresholds == "neuron" and rule != FIXED)
    ]
    for place, solver in enumerate(available_solvers()):
        for number, options in enumerate(grid):
            if (number + place) % 3 == 0 and not (solver == "cpsat" and "continuous" in options):
                rule, *rest = options
                name = getattr(rule, "name", rule)
                yield pytest.param(
                    solver,
                    *options,
                    marks=pytest.mark.long if (number + place) % 9 else (),
                    id="-".join(map(str, [solver, name, *rest])),
                )


@pytest.mark.parametrize(("solver", "rule", "weights", "thresholds", "hidden"), list(table()))
def test_smallest_loss(solver, rule, weights, thresholds, hidden):
    problem, best = case(rule, weights, thresholds, hidden)
    number = len(weights) + len(hidden)
    reductions = Reductions() if number % 2 else Reductions.none()
    network, result = Exact(reductions=reductions).train(problem, solver=solver, budget=BUDGET)
    assert (result.is_proven, result.loss, result.bound) == (True, best, best)
    assert problem.value(network) == best
    assert network.architecture == problem.architecture


def test_the_table_has_losses_of_all_sizes():
    losses = {case(rule, "ternary", "neuron", (1,))[1] for rule in RULES}
    losses |= {case(rule, "ternary", "zero", (1, 1))[1] for rule in RULES}
    assert len(losses) > 2


@pytest.mark.parametrize("rule", ["ternary", FIXED])
def test_two_units(rule):
    problem, best = case(rule, "ternary", "neuron", (2,), seed=7)
    _, result = Exact().train(problem, budget=BUDGET)
    assert (result.is_proven, result.loss) == (True, best)


@pytest.mark.parametrize(("rule", "thresholds"), [("ternary", "layer"), (ODD, "neuron")])
def test_solvers_agree(rule, thresholds):
    """Where nothing is enumerated: shared thresholds of continuous weights, odd distances."""
    problem = random_problem(
        5,
        n_samples=6,
        hidden=(1,),
        weights="continuous" if rule == "ternary" else "ternary",
        thresholds=thresholds,
        activation=rule,
    )
    solvers = [solver for solver in available_solvers() if solver != "cpsat"]
    found = {Exact().train(problem, solver=s, budget=BUDGET).result.bound for s in solvers}
    assert len(found) == 1


@pytest.mark.parametrize("rule", ["ternary", "sign", *long("levels:3", FIXED)])
@pytest.mark.parametrize("thresholds", ["neuron", *long("layer", "zero")])
def test_search_finds_what_enumeration_finds(rule, thresholds):
    problem, best = case(rule, "ternary", thresholds, (1,))
    network, result = Descent(patience=60.0).train(problem, budget=Budget(seconds=60, seed=1))
    assert result.loss == problem.value(network) == best
    assert result.bound <= best


def test_auto_proves_what_the_search_cannot():
    problem, best = case("ternary", "ternary", "neuron", (1,))
    network, result = Auto().train(problem, budget=Budget(seconds=60, seed=0))
    assert (result.status, result.loss, problem.value(network)) == ("optimal", best, best)


@pytest.mark.parametrize("rule", ["ternary", "levels:4", FIXED])
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
def test_free_bounds_are_below_the_smallest_loss(rule, thresholds):
    problem, best = case(rule, "ternary", thresholds, (1,), seed=2)
    assert all(bound.value <= best for bound in FREE.bounds(problem, Slot.of(60)))


@pytest.mark.parametrize("method", [Exact(), LocalSearch(), DataSplitting(epochs=1), Descent()])
def test_two_values_are_trained_by_their_twin(method):
    problem, best = case("sign", "ternary", "neuron", (1,))
    start = problem.constant_network()
    network, result = method.train(problem, budget=Budget(seconds=60), start=start)
    assert network.architecture == problem.architecture
    assert result.loss == problem.value(network) >= best
    assert result.error == problem.error(network)
    if result.is_proven:
        assert result.loss == best
    assert np.array_equal(to_twin(network).outputs(problem.inputs), network.outputs(problem.inputs))


def test_continuous_twins_report_what_the_network_itself_does():
    problem = random_problem(3, n_samples=12, hidden=(2,), weights="continuous", activation="sign")
    network, result = Exact().train(problem, budget=BUDGET)
    assert result.loss == problem.value(network)
    assert result.bound <= result.loss


@pytest.mark.parametrize(
    "method",
    [
        LocalSearch(starts=2),
        LocalSearch(paper=True),
        LocalSearch(starts=1, units=0.5, samples=0.7),
        DataSplitting(epochs=3, batch_size=99),
        DataSplitting(epochs=3, batch_size=5, paper=True),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("rule", "thresholds", "hidden"),
    [
        ("ternary", "neuron", (2,)),
        ("levels:4", "layer", (2, 2)),
        ("values:-1/0/1@-0.5/0.5", "zero", (2,)),
        ("sign", "layer", (2, 2)),
    ],
)
def test_methods_of_the_paper(method, rule, thresholds, hidden):
    problem = random_problem(0, hidden=hidden, activation=rule, thresholds=thresholds)
    network, result = method.train(problem, budget=Budget(seconds=0.5, seed=0))
    assert result.loss == problem.value(network) >= result.bound
    assert network.architecture == problem.architecture


@pytest.mark.parametrize(
    "asked",
    [
        Regularizer(saturated_margin=0.25),
        LinearRows(lambda v: v.activations[0][:, 0].sum() >= 3),
        LinearRows(lambda v: v.thresholds[1][0] >= 1),
    ],
    ids=["margin", "activations", "thresholds"],
)
@pytest.mark.parametrize("method", [Exact(), Descent(patience=0.3)], ids=lambda m: m.name)
def test_terms_speak_of_the_network_and_not_of_its_twin(asked, method):
    plain = random_problem(3, n_samples=8, hidden=(2,), activation="sign")
    problem = constrain(plain, asked)
    network, result = method.train(problem, budget=Budget(seconds=10, seed=0))
    assert problem.is_feasible(network)
    assert result.minimised == float(problem.objective(network)) >= result.bound

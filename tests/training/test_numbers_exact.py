"""Solvers find the enumerated optimum of regression problems, natively or by tangents."""

from __future__ import annotations

import pytest

from bdnn.errors import UnsupportedFeatureError
from bdnn.solvers.registry import available_solvers
from bdnn.training import Auto, Exact
from bdnn.training.limits import Budget
from tests.grids import in_turn
from tests.oracle import smallest_regression_loss
from tests.problems import regression_problem

SOLVERS = [name for name in available_solvers() if name != "cpsat"]
BUDGET = Budget(seconds=120)

CASES = {
    "squared": {},
    "absolute": {"kind": "absolute"},
    "weighted": {"weighted": True},
    "ridge": {"ridge": 0.5},
    "int:2 above binary": {"weights": ["binary", "int:2"]},
    "two outputs": {"n_outputs": 2, "n_samples": 6},
    "no thresholds": {"thresholds": "zero"},
    "shared threshold": {"thresholds": "layer", "n_samples": 6},
    "sign": {"activation": "sign", "n_samples": 6},
    "three values": {"activation": "ternary", "hidden": (1,)},
    "four values, absolute": {"activation": "levels:4", "kind": "absolute", "hidden": (1,)},
    "uneven values, ridge": {"activation": "values:-1/0/3", "ridge": 0.5, "hidden": (1,)},
    "fixed distances": {"activation": "values:-1/0/1@-0.5/0.5", "n_samples": 5},
    "sign without thresholds": {"activation": "sign", "thresholds": "zero"},
    "three values, shared thresholds": {
        "activation": "ternary",
        "thresholds": "layer",
        "n_samples": 5,
        "weights": ["binary", "int:2"],
    },
    "three values, two outputs": {
        "activation": "ternary",
        "n_outputs": 2,
        "n_samples": 5,
        "hidden": (1,),
    },
    "absolute, weighted, two outputs": {
        "kind": "absolute",
        "weighted": True,
        "n_outputs": 2,
        "n_samples": 5,
    },
}


@pytest.mark.parametrize(("case", "solver"), in_turn(CASES, SOLVERS))
def test_the_optimum_is_the_enumerated_one(case, solver):
    problem = regression_problem(1, **CASES[case])
    wanted = smallest_regression_loss(problem)
    network, result = Exact().train(problem, budget=BUDGET, solver=solver)
    assert result.is_proven
    assert result.loss == pytest.approx(wanted, abs=float(problem.loss.tolerance))
    assert problem.value(network) == pytest.approx(result.loss)
    assert abs(result.loss - result.bound) <= float(problem.loss.tolerance)


@pytest.mark.parametrize("kind", ["squared", "absolute"])
@pytest.mark.parametrize("weights", ["continuous", ["ternary", "continuous"]])
def test_solvers_agree_on_continuous_weights(kind, weights):
    problem = regression_problem(3, kind=kind, weights=weights)
    results = [Exact().train(problem, budget=BUDGET, solver=solver).result for solver in SOLVERS]
    for result in results:
        assert result.is_proven
        assert result.loss == pytest.approx(results[0].loss, abs=2 * float(problem.loss.tolerance))


@pytest.mark.parametrize(
    "options",
    [
        {"activation": "sign", "weights": "continuous", "n_samples": 5},
        {
            "activation": ["ternary", "values:-1/0/3"],
            "weights": ["ternary", "ternary", "continuous"],
            "hidden": (2, 1),
            "kind": "absolute",
        },
    ],
    ids=["sign", "a set per layer"],
)
def test_solvers_agree_on_units_of_several_values(options):
    problem = regression_problem(3, **options)
    results = [Exact().train(problem, budget=BUDGET, solver=solver).result for solver in SOLVERS]
    for result in results:
        assert result.is_proven
        assert result.loss == pytest.approx(results[0].loss, abs=2 * float(problem.loss.tolerance))


def test_more_values_are_never_worse_than_steps():
    losses = [
        Exact()
        .train(regression_problem(8, hidden=(1,), activation=name), budget=BUDGET)
        .result.loss
        for name in ("step", "levels:3")
    ]
    assert losses[1] < losses[0]


@pytest.mark.parametrize("thresholds", ["neuron", "layer"])
def test_auto_proves_units_of_other_values(thresholds):
    problem = regression_problem(1, activation="ternary", hidden=(1,), thresholds=thresholds)
    result = Auto().train(problem, budget=BUDGET).result
    assert (result.is_proven, result.method) == (True, "auto")
    assert result.loss == pytest.approx(
        smallest_regression_loss(problem), abs=float(problem.loss.tolerance)
    )


def test_two_hidden_layers_are_never_worse_than_one():
    deep = regression_problem(4, hidden=(2, 1), weights=["ternary", "ternary", "int:2"])
    shallow = regression_problem(4, hidden=(1,), weights=["ternary", "int:2"])
    losses = [Exact().train(p, budget=BUDGET).result.loss for p in (deep, shallow)]
    assert losses[0] <= losses[1] + float(shallow.loss.tolerance)


def test_a_linear_model_is_a_regression_in_a_box():
    problem = regression_problem(5, hidden=(), weights="continuous", n_samples=12)
    results = [Exact().train(problem, budget=BUDGET, solver=solver).result for solver in SOLVERS]
    searched = Auto().train(problem, budget=BUDGET).result
    for result in results:
        assert result.is_proven
        assert result.loss == pytest.approx(searched.loss, abs=2 * float(problem.loss.tolerance))


def test_cpsat_says_what_it_cannot_do():
    with pytest.raises(UnsupportedFeatureError, match="'cpsat' cannot handle continuous variables"):
        Exact().train(regression_problem(1), budget=BUDGET, solver="cpsat")


def test_the_bound_of_tangents_names_its_origin():
    result = Exact().train(regression_problem(1), budget=BUDGET, solver="highs").result
    assert result.proof.origin == "solver highs with tangents"
    result = Exact().train(regression_problem(1, weights="continuous"), solver="highs")[1]
    assert "keep a margin" in result.bound_origin


def test_a_wider_tolerance_ends_sooner_and_holds():
    problem = regression_problem(1, tolerance=0.05)
    result = Exact().train(problem, budget=BUDGET, solver="highs").result
    assert result.is_proven
    assert result.loss <= smallest_regression_loss(problem) + float(problem.loss.tolerance)


def test_auto_proves_what_search_finds():
    problem = regression_problem(6, n_samples=6)
    result = Auto().train(problem, budget=BUDGET).result
    assert result.is_proven
    assert result.loss == pytest.approx(
        smallest_regression_loss(problem), abs=float(problem.loss.tolerance)
    )


def test_a_node_limit_is_kept_and_named():
    problem = regression_problem(7, n_samples=20, hidden=(3,), n_features=3)
    budget = Budget(seconds=120, nodes=1)
    result = Exact().train(problem, budget=budget, solver="highs").result
    assert result.status == "node limit"
    assert result.bound <= result.loss

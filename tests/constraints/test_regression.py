"""Rules about weights in regression: the enumerated optimum, solvers, refusals, the estimator."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bdnn import BDNNRegressor, Limits, load
from bdnn.constraints import FixedWeight, Forbid, Sparsity
from bdnn.errors import InfeasibleError, ModelError
from bdnn.solvers.registry import available_solvers
from bdnn.training import Auto, Descent, Exact
from bdnn.training.limits import Budget
from tests.constraints.asking import constrain
from tests.grids import in_turn
from tests.oracle import smallest_regression_loss
from tests.problems import regression_problem
from tests.sentences import assert_one_sentence

SOLVERS = [name for name in available_solvers() if name != "cpsat"]
BUDGET = Budget(seconds=120)

# What is asked for, and the same said of the weights V of two units and a of the output.
CASES = {
    "per unit": (
        {"sparsity": Sparsity(per_unit=(1, None))},
        lambda V, a: (V != 0).sum(1).max() < 2,
    ),
    "per layer": (
        {"sparsity": Sparsity(per_layer=1)},
        lambda V, a: np.count_nonzero(V) < 2 and np.count_nonzero(a) < 2,
    ),
    "total": (
        {"sparsity": Sparsity(total=3)},
        lambda V, a: np.count_nonzero(V) + np.count_nonzero(a) < 4,
    ),
    "features": ({"sparsity": Sparsity(features=1)}, lambda V, a: (V != 0).any(0).sum() < 2),
    "units": ({"sparsity": Sparsity(units=1)}, lambda V, a: np.count_nonzero(a) < 2),
    "forbidden": ({"sparsity": Sparsity(forbidden=[0])}, lambda V, a: not V[:, 0].any()),
    "Forbid": ({"constraints": Forbid(1)}, lambda V, a: not V[:, 1].any()),
    "FixedWeight": (
        {
            "constraints": [
                FixedWeight(0, 0, 0, 1),
                FixedWeight(0, 1, 0, -1),
                FixedWeight(0, 1, 1, -1),
            ]
        },
        lambda V, a: V[0, 0] == 1 and V[1, 0] == -1 and V[1, 1] == -1,
    ),
    "an output without a unit": (
        {"constraints": [FixedWeight(1, 0, 0, 0)]},
        lambda V, a: a[0] == 0,
    ),
    "both": (
        {"sparsity": Sparsity(per_unit=1), "constraints": [FixedWeight(0, 0, 1, 1)]},
        lambda V, a: V[0, 1] == 1 and (V != 0).sum(1).max() < 2 and np.count_nonzero(a) < 2,
    ),
}


def enumerated(problem, keeps):
    """Smallest loss over all ternary weights of two units, their values and the output."""
    values, rule = (-1.0, 0.0, 1.0), problem.architecture.activation_of(0)
    best = np.inf
    for numbers in product(values, repeat=4):
        V = np.array(numbers).reshape(2, 2)
        outputs = [np.array(a) for a in product(values, repeat=2) if keeps(V, np.array(a))]
        if not outputs:
            continue
        for one, two in product(*(_taken(problem.inputs @ v, rule) for v in V)):
            for a in outputs:
                left = problem.loss.targets[:, 0] - (a[0] * one + a[1] * two)[problem.loss.group]
                best = min(best, _loss(problem, left))
    return best


def _taken(sums, rule):
    limits = [*np.unique(sums), np.inf]
    found = set()
    for t in product(limits, repeat=rule.n_thresholds):
        if list(t) == sorted(t):
            found.add(tuple(np.array(rule.values)[(sums[:, None] >= np.array(t)).sum(axis=1)]))
    return [np.array(values, dtype=float) for values in sorted(found)]


def _loss(problem, left):
    weight, price = problem.loss.weight, problem.loss.price[0]
    if problem.loss.kind == "squared":
        rest = weight @ (left - np.average(left, weights=weight)) ** 2
    else:
        rest = min(weight @ np.abs(left - c) for c in left)
    return problem.loss.offset + price * rest


def asked(seed, demands, **options):
    return constrain(regression_problem(seed, **options), **demands)


@pytest.mark.parametrize(("case", "solver"), in_turn(CASES, SOLVERS))
def test_the_optimum_is_the_enumerated_one(case, solver):
    demands, keeps = CASES[case]
    problem = asked(0, demands, n_samples=6)
    wanted = enumerated(problem, keeps)
    assert wanted > smallest_regression_loss(problem) + 1e-3  # the rule is in the way
    network, result = Exact().train(problem, budget=BUDGET, solver=solver)
    assert result.is_proven
    assert result.loss == pytest.approx(wanted, abs=float(problem.loss.tolerance))
    assert problem.value(network) == pytest.approx(result.loss)
    assert case == "units" or keeps(network.weights[0], network.weights[1][0])


@pytest.mark.parametrize("case", ["per unit", "units", "FixedWeight"])
@pytest.mark.parametrize(
    "options", [{"kind": "absolute"}, {"activation": "sign"}], ids=["absolute", "sign"]
)
def test_rules_combine_with_losses_and_activations(case, options):
    demands, keeps = CASES[case]
    problem = asked(2, demands, n_samples=5, **options)
    result = Exact().train(problem, budget=BUDGET).result
    assert result.is_proven
    assert result.loss == pytest.approx(
        enumerated(problem, keeps), abs=float(problem.loss.tolerance)
    )


@pytest.mark.parametrize("kind", ["squared", "absolute"])
@pytest.mark.parametrize(
    "demands",
    [
        {"sparsity": Sparsity(per_layer=(None, 1))},
        {"sparsity": Sparsity(features=1), "constraints": FixedWeight(0, 0, 1, 0.5)},
    ],
    ids=["one output weight", "one feature and a fixed weight"],
)
def test_solvers_agree_on_continuous_weights(kind, demands):
    problem = asked(3, demands, kind=kind, weights="continuous", n_samples=5)
    trained = [Exact().train(problem, budget=BUDGET, solver=name) for name in SOLVERS]
    for network, result in trained:
        assert problem.is_feasible(network)
        assert result.is_proven
        assert result.loss == pytest.approx(
            trained[0].result.loss, abs=2 * float(problem.loss.tolerance)
        )


def test_several_outputs_are_fitted_above_their_own_units():
    demands = {"sparsity": Sparsity(per_unit=(None, 1))}
    problem = asked(3, demands, n_outputs=2, n_samples=5, weights=["ternary", "continuous"])
    trained = [Exact().train(problem, budget=BUDGET, solver=name) for name in SOLVERS]
    for network, result in trained:
        assert (np.count_nonzero(network.weights[-1], axis=1) <= 1).all()
        assert result.is_proven
        assert result.loss == pytest.approx(
            trained[0].result.loss, abs=2 * float(problem.loss.tolerance)
        )


def test_unused_units_are_removed():
    problem = asked(1, {"sparsity": Sparsity(units=1)}, hidden=(3,), n_samples=6)
    network, result = Exact().train(problem, budget=BUDGET)
    assert network.architecture.hidden == (1,)
    assert problem.value(network) == pytest.approx(result.loss)


@pytest.mark.parametrize("case", CASES)
def test_a_search_keeps_rules_and_a_solver_proves_its_network(case):
    problem = asked(1, CASES[case][0], n_samples=6)
    result = Auto().train(problem, budget=BUDGET).result
    assert (result.is_proven, result.method) == (True, "auto")


@pytest.mark.parametrize(
    ("case", "options"),
    in_turn(CASES, [{}, {"kind": "absolute"}, {"activation": "ternary", "thresholds": "layer"}]),
    ids=str,
)
def test_the_search_keeps_rules(case, options):
    problem = asked(1, CASES[case][0], n_samples=9, **options)
    network, result = Descent(patience=1.0).train(problem, budget=BUDGET)
    assert problem.is_feasible(network)
    assert result.minimised <= problem.objective(problem.constant_network()) + 1e-9


@pytest.mark.parametrize(
    ("demands", "kind", "message"),
    [
        ({"sparsity": Sparsity(total=99)}, ModelError, "total must be a whole number"),
        ({"constraints": "age"}, ModelError, "constraints must be constraints"),
        ({"constraints": Forbid("age")}, ModelError, "'age'"),
        ({"constraints": [Forbid(0), FixedWeight(0, 0, 0, 1)]}, ModelError, "contradict"),
        (
            {"sparsity": Sparsity(features=0), "constraints": FixedWeight(0, 0, 0, 1)},
            InfeasibleError,
            r"no network keeps Sparsity\(features=0\) and FixedWeight",
        ),
    ],
)
def test_what_cannot_be_kept_is_named(demands, kind, message):
    with pytest.raises(kind, match=message) as error:
        asked(1, demands)
    assert_one_sentence(error.value)


def test_nothing_asked_changes_nothing():
    problem = regression_problem(1)
    assert constrain(problem, sparsity=Sparsity(), constraints=()) is problem


def test_the_estimator_keeps_rules_by_name_of_feature(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (8, 3)).astype(float)
    y = X[:, 0] + 0.1 * X[:, 2]
    model = BDNNRegressor(
        hidden=(2,),
        constraints=[Sparsity(per_unit=(1, None)), Forbid("c")],
        limits=Limits(seconds=120),
        random_state=0,
        method="exact",
    ).fit(X, y, feature_names=["a", "b", "c"])
    W = model.network_.weights[0]
    assert not W[:, 2].any()
    assert (np.count_nonzero(W, axis=1) <= 1).all()
    model.save(tmp_path / "model.json")
    assert np.array_equal(load(tmp_path / "model.json").predict(X), model.predict(X))
    searched = BDNNRegressor(hidden=(2,), constraints=Sparsity(total=5), method="descent")
    weights = searched.fit(X, y).network_.weights
    assert sum(np.count_nonzero(W) for W in weights) <= 5

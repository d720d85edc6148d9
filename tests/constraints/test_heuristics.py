"""The paper's heuristics under constraints: what they return keeps every rule, also with radii."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn import BDNNClassifier, Inputs, Limits, Robust
from bdnn.constraints import (
    DemographicParity,
    FixedWeight,
    Forbid,
    LinearRows,
    Monotone,
    Regularizer,
    Sparsity,
)
from bdnn.network.architecture import Architecture
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import classification
from bdnn.problem.terms.monotone import path_signs
from bdnn.training import DataSplitting, Exact, LocalSearch
from bdnn.training.limits import Budget
from bdnn.training.run import Run
from tests.constraints.asking import constrain
from tests.constraints.demands import constrained
from tests.grids import examples, in_turn
from tests.problems import random_problem
from tests.strategies import architectures, problems_with_networks
from tests.training.test_robust import survives

RNG = np.random.default_rng(5)
X = RNG.integers(0, 5, (24, 3)).astype(float)
Y = (X[:, 0] + X[:, 1] * X[:, 2] > 6).astype(int)
GROUP = np.arange(24) % 2

# Options, and how to see from weights and predictions alone that they are kept.
DEMANDS = {
    "per unit": (
        {"constraints": Sparsity(per_unit=1)},
        lambda net, said: all((W != 0).sum(axis=1).max() <= 1 for W in net.weights),
    ),
    "features": (
        {"constraints": Sparsity(features=2)},
        lambda net, said: (net.weights[0] != 0).any(axis=0).sum() <= 2,
    ),
    "total": (
        {"constraints": Sparsity(total=6)},
        lambda net, said: sum((W != 0).sum() for W in net.weights) <= 6,
    ),
    "monotone": (
        {"constraints": Monotone(0, +1)},
        lambda net, said: not path_signs(net.weights, 0)[-1][1][1],
    ),
    "forbid": (
        {"constraints": Forbid(1)},
        lambda net, said: not net.weights[0][:, 1].any(),
    ),
    "must classify": (
        {"must": np.isin(np.arange(24), [2, 11])},
        lambda net, said: (said[[2, 11]] == Y[[2, 11]]).all(),
    ),
    "parity": (
        {"constraints": DemographicParity(None, 0.25), "groups": GROUP},
        lambda net, said: abs(said[GROUP == 0].mean() - said[GROUP == 1].mean()) <= 0.25,
    ),
    "own rows": (
        {"constraints": LinearRows(lambda v: v.weights[0].sum() <= 0)},
        lambda net, said: net.weights[0].sum() <= 1e-6,
    ),
}
METHODS = {
    "local search": LocalSearch(starts=2),
    "local search from a search": LocalSearch(starts=1, start="search"),
    "local search by moves": LocalSearch(starts=2, subproblems="search"),
    "local search in parts": LocalSearch(starts=1, units=0.5, samples=0.5),
    "local search of the paper": LocalSearch(paper=True),
    "data splitting": DataSplitting(epochs=4, batch_size=12),
    "data splitting in batches": DataSplitting(epochs=2, batch_size=12, batches="all"),
    "data splitting of the paper": DataSplitting(epochs=4, batch_size=24, paper=True),
}


def fit(method, *, must=None, groups=None, **options):
    options = {"hidden": (2,), "weights": "ternary", "limits": Limits(seconds=20.0), **options}
    model = BDNNClassifier(method=method, random_state=0, inputs=Inputs(scale=None), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, Y, must=must, groups=groups)


@pytest.fixture(scope="module")
def optima():
    """Smallest objectives, by one program."""
    return {name: fit("exact", **options).result_ for name, (options, _) in DEMANDS.items()}


@pytest.mark.parametrize(("name", "method"), in_turn(DEMANDS, METHODS))
def test_demands_are_kept_and_no_loss_is_below_the_optimum(name, method, optima):
    options, is_kept = DEMANDS[name]
    model = fit(METHODS[method], **options)
    assert is_kept(model.network_, model.predict(X))
    best = optima[name]
    assert best.is_proven
    assert model.result_.loss >= best.loss
    assert model.result_.bound <= best.loss
    if model.result_.is_proven:
        assert model.result_.loss == best.loss


@pytest.mark.parametrize(
    ("options", "method"),
    in_turn(
        [
            {"weights": "continuous", "constraints": Sparsity(per_unit=1)},
            {"hidden": (2, 2), "constraints": Sparsity(units=3)},
            {"thresholds": "layer", "constraints": Monotone(0, +1)},
            {"thresholds": "zero", "constraints": FixedWeight(0, 0, 0, 1)},
            {"constraints": Sparsity(price=0.5)},
            {"constraints": Regularizer(l1=0.25, saturated_margin=0.125)},
        ],
        ["local search", "data splitting"],
    ),
    ids=str,
)
def test_shapes_and_prices(method, options):
    found, best = fit(METHODS[method], **options), fit("exact", **options)
    assert found.result_.minimised >= best.result_.bound - 1e-6
    plain = classification(best.network_.architecture, X, Y)
    given = options["constraints"]
    if getattr(given, "units", None) is None:  # units without listeners are taken out at the end
        asked = constrain(plain, constraints=given)
        assert asked.is_feasible(found.network_)
        assert asked.objective(found.network_) == pytest.approx(found.result_.minimised)
    else:
        assert sum((W != 0).any(axis=0).sum() for W in found.network_.weights[1:]) <= 3


@pytest.mark.parametrize(
    ("method", "weights", "norm"),
    in_turn(
        ["local search", "data splitting of the paper", "auto", "exact"],
        product(["ternary", "continuous"], ["linf", "l1", "l2"]),
    ),
)
def test_radii_and_sparsity_together(method, weights, norm):
    model = fit(
        METHODS.get(method, method),
        weights=weights,
        constraints=Sparsity(features=2),
        robust=Robust(0.2, norm=norm, loss="pattern"),
        limits=Limits(seconds=4.0),
    )
    assert (model.network_.weights[0] != 0).any(axis=0).sum() <= 2
    assert survives(model.network_, X, np.full(len(X), 0.2), norm)


def test_no_subproblem_of_a_start_raises_the_loss():
    steps = fit(LocalSearch(starts=3), constraints=Sparsity(per_unit=2)).result_.steps
    for start in range(3):
        losses = [step["loss"] for step in steps if step["start"] == start]
        assert losses == sorted(losses, reverse=True)
        assert len(losses) >= 2


def test_all_layers_but_one_fixed_is_a_local_optimum_of_the_program():
    """A search that ends by itself cannot be improved by freeing every second layer."""
    problem = constrain(random_problem(3, n_samples=10, hidden=(3,)), sparsity=Sparsity(per_unit=1))
    network, result = LocalSearch(starts=1).train(problem, budget=Budget(seconds=30))
    assert result.status in ("feasible", "optimal")
    best = Exact().train(problem, budget=Budget(seconds=30)).result
    assert best.loss <= result.loss
    again = LocalSearch(starts=1).train(problem, budget=Budget(seconds=30), start=network).result
    assert again.loss == result.loss


def test_validation_chooses_among_epochs_under_constraints():
    model = fit(
        DataSplitting(epochs=4, batch_size=12),
        constraints=Sparsity(per_unit=2),
        validation_fraction=0.25,
    )
    assert all(step["validation_accuracy"] is not None for step in model.result_.steps)
    assert all((W != 0).sum(axis=1).max() <= 2 for W in model.network_.weights)


all_shapes = architectures(max_hidden=2, n_outputs=st.integers(2, 3))


@given(constrained(problems_with_networks(all_shapes)), st.data())
@examples(60)
def test_what_is_kept_on_all_lines_is_kept_on_the_needed_ones(case, data):
    problem, network = case
    if not problem.terms:
        return
    n = len(problem.inputs)
    drawn = data.draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    lines = np.union1d(np.array(drawn), problem.needed_lines)
    part = problem.subset(lines)
    assert len(part.inputs) == len(lines)
    assert problem.subset(np.arange(n)).is_feasible(network)
    shares = any("Parity" in rule.name for rule in problem.terms)  # asked of all lines together
    assert shares or part.is_feasible(network)
    assert part.weight_limits.low[0].shape == problem.weight_limits.low[0].shape


def test_own_rows_that_a_random_start_breaks_are_kept_at_the_end():
    rows = LinearRows(lambda v: v.activations[0][:, 0].sum() <= 5)
    model = fit(LocalSearch(starts=2), constraints=rows)
    assert model.network_.activations(X)[0][:, 0].sum() <= 5
    assert model.result_.solver


def test_more_starts_are_drawn_where_none_kept_what_was_asked():
    method = LocalSearch(starts=1, subproblems="mip")
    model = fit(method, hidden=(3,), must=np.arange(24) < 12)
    assert (model.predict(X[:12]) == Y[:12]).all()


def test_a_batch_compares_groups_by_what_it_has_of_them():
    lines = np.arange(100.0)[:, None]
    group = np.arange(100) >= 90
    shape = Architecture.create(1, 2, hidden=(2,))
    problem = classification(shape, lines, (np.arange(100) % 2))
    fair = constrain(problem, constraints=DemographicParity(group, 0.1))
    (whole,) = fair.terms
    # Without one of the groups there is nothing to compare.
    assert whole.restrict(np.arange(12), problem).A.shape[0] == 0
    (part,) = fair.subset(np.r_[np.arange(9), np.arange(90, 93)]).terms
    everybody, nobody = np.tile([False, True], (12, 1)), np.tile([True, False], (12, 1))
    only_one_group = np.where((np.arange(12) >= 9)[:, None], everybody, nobody)
    assert part.holds_for(everybody)
    assert part.holds_for(nobody)
    assert not part.holds_for(only_one_group)


def test_a_price_that_is_left_is_no_loss_limit():
    problem = constrain(random_problem(3, n_samples=8, hidden=(2,)), sparsity=Sparsity(price=0.5))
    network = Exact().train(problem, budget=Budget(seconds=10)).network
    recorder = Run(problem, Budget(seconds=1))
    recorder.offer(network, "start")
    # All of the loss, and nothing of the prices.
    recorder.prove(Bound(problem.value(network), "test"), "bound")
    assert problem.objective(network) > problem.value(network)
    recorder.end("time limit")
    assert recorder.result("exact").result.status == "time limit"


def test_programs_that_nobody_can_read_in_time_are_left_alone():
    rng = np.random.default_rng(0)
    many, labels = rng.normal(size=(20_000, 10)), rng.integers(0, 2, 20_000)
    model = BDNNClassifier(
        hidden=(20,),
        method=LocalSearch(subproblems="mip"),
        constraints=Sparsity(per_unit=2),
        limits=Limits(seconds=2),
    )
    with pytest.warns(Warning, match="time limit"):
        model.fit(many, labels)
    assert "too large to be handed to a solver" in model.result_.message
    assert model.result_.seconds <= 1.1 * 2 + 1

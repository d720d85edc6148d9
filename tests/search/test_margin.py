"""Later objectives improve, earlier ones never suffer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.clock import Slot, Ticks
from bdnn.errors import ModelError
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from bdnn.search import Objective, descend, output_margins, widen_margin
from bdnn.search.objective import hinge, smallest_margin
from tests.grids import examples
from tests.problems import random_problem, xor
from tests.strategies import problems_with_networks


def fitted(**options):
    problem = random_problem(4, n_samples=40, n_features=3, values=5, **options)
    return problem, descend(problem, slot=Slot.of(60), seed=0, max_sweeps=30).network


@pytest.mark.parametrize("weights", ["continuous", "ternary", "int:3"])
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
def test_margin_widens_at_equal_loss(weights, thresholds):
    problem, network = fitted(hidden=(6,), weights=weights, thresholds=thresholds, n_classes=3)
    wide = widen_margin(problem, network, slot=Slot.of(60), seed=0, wanted_margin=4.0, sweeps=30)
    assert problem.value(wide) <= problem.value(network)
    if problem.value(wide) == problem.value(network):
        assert hinge(problem, wide, 4.0) <= hinge(problem, network, 4.0)
    alone = widen_margin(
        problem,
        network,
        slot=Slot.of(60),
        seed=0,
        objectives=("margin",),
        wanted_margin=4.0,
        sweeps=30,
    )
    assert hinge(problem, alone, 4.0) < hinge(problem, network, 4.0)


@given(
    problems_with_networks(),
    st.sampled_from(
        [("loss", "margin"), ("error", "margin"), ("margin", "sparsity"), ("loss", "sparsity")]
    ),
)
@examples(40)
def test_result_is_never_worse_in_the_order_of_objectives(case, order):
    problem, network = case
    better = widen_margin(
        problem, network, slot=Slot.of(60), seed=0, objectives=order, wanted_margin=2.0, sweeps=4
    )
    objective = Objective.create(order, problem.architecture, 2.0)
    assert objective.key(problem, better) <= objective.key(problem, network)


def test_sparsity_before_margin_keeps_weights_removed():
    problem = random_problem(4, n_samples=8, hidden=(8,))
    network = descend(problem, slot=Slot.of(60), seed=0, max_sweeps=30).network
    order = ("loss", "sparsity", "margin")
    sparse = widen_margin(problem, network, slot=Slot.of(60), seed=0, objectives=order[:2])
    both = widen_margin(problem, network, slot=Slot.of(60), seed=0, objectives=order, sweeps=20)
    count = [sum(np.count_nonzero(W) for W in n.weights) for n in (network, sparse, both)]
    assert count[0] > count[1] >= count[2]
    assert problem.value(both) <= problem.value(network)


def test_margin_alone_may_trade_errors_and_time_limit_holds():
    problem, network = fitted(hidden=(6,))
    clock, calls = Ticks(), []
    widen_margin(
        problem,
        network,
        slot=Slot.of(100, clock=clock),
        seed=0,
        objectives=("margin",),
        sweeps=10**6,
        on_network=calls.append,
    )
    assert calls
    assert clock.now < 110


def test_same_seed_same_result():
    problem, network = fitted(hidden=(6,))
    one, two = (
        widen_margin(problem, network, slot=Slot.of(30), seed=3, sweeps=10) for _ in range(2)
    )
    assert one == two


def test_margins_are_score_minus_best_other():
    problem, network = fitted(hidden=(3,), n_classes=4)
    scores = network.preactivations(problem.inputs)[-1] - network.output_thresholds
    for c in range(4):
        others = np.delete(scores, c, axis=1).max(axis=1)
        assert output_margins(problem, network)[:, c] == pytest.approx(scores[:, c] - others)


@pytest.mark.parametrize("order", [(), ("sparsity",), ("loss", "loss"), ("accuracy",)])
def test_orders_that_make_no_sense_are_refused(order):
    with pytest.raises(ModelError):
        Objective.create(order, xor().architecture)


def test_earlier_objectives_outweigh_later_ones():
    problem = random_problem(0, n_samples=20, weighted=True, hidden=(5,))
    objective = Objective.create(("loss", "error", "margin"), problem.architecture)
    goal = objective.goal(problem)
    assert (
        goal[0]
        > goal[1] * problem.loss.label_weight.sum()
        > goal[2] * problem.loss.label_weight.sum()
    )
    assert goal[2] == 1.0


def test_smallest_margin_grows_and_the_loss_stays():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (40, 3)).astype(float)
    shape = Architecture.create(3, 2, hidden=(8,), weights="ternary")
    problem = classification(shape, X, (X[:, 0] + X[:, 1] > 0).astype(int))
    start = descend(problem, slot=Slot.of(20), seed=0, max_sweeps=300).network
    order = ("loss", "smallest_margin")
    wide = widen_margin(problem, start, slot=Slot.of(20), seed=0, objectives=order, sweeps=30)
    assert problem.value(wide) == problem.value(start) == 0
    assert smallest_margin(problem, wide) > smallest_margin(problem, start) > 0

"""The regression model: networks go in and come out, starts break no row, counts are as stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.clock import Slot
from bdnn.mip import NetworkModel, Reductions
from bdnn.problem.create import regression
from bdnn.search.regression import build
from tests.grids import examples
from tests.problems import regression_problem
from tests.strategies import any_activation, architectures, networks, samples

CASES = [
    {},
    {"kind": "absolute", "n_outputs": 2},
    {"weights": ["binary", "int:2"], "ridge": 0.5},
    {"weights": "continuous"},
    {"hidden": (2, 3), "weights": ["ternary", "binary", "continuous"]},
    {"hidden": (), "weights": "continuous"},
    {"thresholds": "zero", "weights": ["ternary", "continuous"]},
]


@pytest.mark.parametrize(
    ("case", "tangents"),
    [
        (case, tangents)
        for case in CASES
        for tangents in (False, True)
        if not (tangents and case.get("kind") == "absolute")  # only squares have tangents
    ],
    ids=str,
)
def test_a_lifted_network_breaks_no_row_and_keeps_its_loss(case, tangents):
    problem = regression_problem(2, n_samples=10, **case)
    network = build(problem, np.random.default_rng(0), slot=Slot())
    model = NetworkModel.build(problem, takes_squares=not tangents)
    if tangents:
        rng = np.random.default_rng(1)
        for _ in range(3):
            touched = rng.normal(size=problem.loss.targets.shape)
            model.loss.add_tangents(touched, rng.uniform(-1, 1, model.layers[-1].W.shape))
    start = model.lift(network)
    assert start is not None
    assert not np.isnan(start).any()
    assert model.program.violation(start) <= 1e-9
    assert model.program.objective(start) == pytest.approx(problem.value(network))
    read = model.read(start)
    np.testing.assert_allclose(
        read.values(problem.inputs), network.values(problem.inputs), atol=1e-12
    )


numbers = architectures(max_hidden=2, min_hidden=1, activation=any_activation).map(
    lambda shape: replace(shape, output="identity")
)


@given(numbers.flatmap(lambda shape: networks(st.just(shape))), st.data())
@examples(100)
def test_units_of_several_values_break_no_row(network, data):
    shape = network.architecture
    X = data.draw(samples(shape.n_features, 2))[0]
    # Targets near the network's own values, so that its errors are among those worth modelling.
    targets = network.values(X) + 0.25 * np.cos(np.arange(len(X)))[:, None]
    problem = regression(shape, X, targets)
    if problem.value(network) > problem.value(problem.constant_network()):
        return
    model = NetworkModel.build(problem)
    start = model.lift(network)
    if start is None:
        assert model.margin > 0  # only where data do not give one
        return
    assert model.program.violation(start) <= 1e-6
    assert model.program.objective(start) == pytest.approx(problem.value(network), abs=1e-9)
    np.testing.assert_allclose(
        model.read(start).values(problem.inputs), network.values(problem.inputs), atol=1e-9
    )


def test_row_counts_are_those_of_the_documentation():
    problem = regression_problem(2, n_samples=9, hidden=(3,), weights=["ternary", "continuous"])
    m, d = len(problem.inputs), 3
    sizes = {}
    for kind, name, count, _ in NetworkModel.build(
        problem, takes_squares=False
    ).program.size_table():
        sizes[kind, name] = sizes.get((kind, name), 0) + count
    assert sizes["variables", "u1"] == m * d
    assert sizes["variables", "s2"] == m * d
    assert sizes["rows", "product_upper_u2"] == sizes["rows", "product_lower_w2"] == m * d
    assert sizes["rows", "residual"] == sizes["variables", "e"] == sizes["variables", "f"] == m
    absolute = regression_problem(2, n_samples=9, kind="absolute")
    sizes = {name: n for kind, name, n, _ in NetworkModel.build(absolute).program.size_table()}
    assert sizes["above"] == sizes["below"] == sizes["f"] == 9


def test_one_output_needs_no_negative_weights():
    problem = regression_problem(2, weights=["ternary", "continuous"])
    model = NetworkModel.build(problem)
    assert model.reductions.signed
    assert (model.program.lower[model.layers[-1].W] == 0).all()
    assert not NetworkModel.build(problem, reductions=Reductions.none()).reductions.signed
    assert not NetworkModel.build(regression_problem(2, n_outputs=2)).reductions.signed
    assert not NetworkModel.build(regression_problem(2, thresholds="zero")).reductions.signed
    assert NetworkModel.build(regression_problem(2, activation="levels:3")).reductions.signed
    assert not NetworkModel.build(
        regression_problem(2, activation="values:0/1/3")
    ).reductions.signed


def test_only_squares_that_no_solver_takes_are_relaxed():
    for kind, takes_squares in (("squared", True), ("absolute", False)):
        problem = regression_problem(2, kind=kind)
        model = NetworkModel.build(problem, takes_squares=takes_squares)
        assert not model.loss.is_relaxed
        assert model.loss.true_value(model.lift(problem.constant_network())) is None

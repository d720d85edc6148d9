"""Blocks of constraints in the program: lifted starts break no row and cost what they should."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.constraints import FixedWeight, LinearRows, Monotone, Regularizer, Sparsity
from bdnn.mip import NetworkModel, Reductions
from bdnn.solvers.registry import choose_solver
from bdnn.solvers.result import Limits
from tests.constraints.asking import constrain
from tests.constraints.demands import constrained
from tests.grids import examples
from tests.problems import random_problem, regression_problem
from tests.strategies import any_activation, architectures, problems_with_networks

half = st.integers(-7, 7).map(lambda k: k + 0.5)
integer_shapes = architectures(
    max_hidden=2, weights=st.sampled_from(["ternary", "binary", "int:2", "int:5"])
)
shapes_of_levels = architectures(
    max_hidden=2,
    min_hidden=1,
    activation=any_activation,
    weights=st.sampled_from(["ternary", "binary", "int:2"]),
)
REDUCTIONS = st.sampled_from([Reductions(), Reductions.none()])


@given(constrained(problems_with_networks(integer_shapes)), REDUCTIONS)
@examples(120)
def test_lifted_starts_break_no_row_and_cost_their_objective(case, reductions):
    check_start(*case, reductions)


@given(constrained(problems_with_networks(shapes_of_levels)), REDUCTIONS)
@examples(120)
def test_so_they_do_above_units_of_several_values(case, reductions):
    check_start(*case, reductions)


def check_start(problem, network, reductions):
    model = NetworkModel.build(problem, reductions=reductions)
    start = model.lift(network)
    if start is None:  # thresholds that rows of the user's do not leave where the model has them
        assert any(term.name.startswith("LinearRows") for term in problem.terms)
        return
    assert not np.isnan(start).any()
    assert model.program.violation(start) <= 1e-6
    read = model.read(start)
    assert problem.is_feasible(read)
    assert model.program.objective(start) == pytest.approx(float(problem.objective(read)), abs=1e-6)
    assert problem.objective(read) <= problem.objective(network) + 1e-6 or problem.has_price


def test_own_rows_speak_of_values_and_numbers():
    problem = regression_problem(3, n_samples=6, hidden=(2,), activation="ternary")
    rows = LinearRows(lambda v: [v.activations[0].sum() <= 2, v.activations[1][0, 0] <= 0.25])
    asked = constrain(problem, constraints=rows)
    model = NetworkModel.build(asked)
    outcome = choose_solver(model.program).solve(model.program, limits=Limits(seconds=60))
    network = model.read(outcome.solution)
    inner, outer = network.activations(problem.inputs)
    assert inner.sum() <= 2
    assert outer[0, 0] <= 0.25 + 1e-6
    assert asked.is_feasible(network)
    assert outcome.objective == pytest.approx(float(asked.objective(network)), abs=1e-5)


def row_counts(model):
    return {block.name: block.count for block in model.program.row_blocks}


def test_counts_of_sparsity_rows():
    problem = random_problem(5, n_samples=9, n_features=3, hidden=(4,), n_classes=3)
    limits = Sparsity(per_unit=2, per_layer=(5, None), total=9, features=2, units=3)
    counts = row_counts(NetworkModel.build(constrain(problem, sparsity=limits)))
    n, d, c = 3, 4, 3
    assert counts["support_upper1"] == counts["support_lower1"] == d * n
    assert counts["support_upper2"] == counts["support_lower2"] == c * d
    assert (counts["per_unit1"], counts["per_unit2"]) == (d, c)
    assert counts["per_layer1"] == counts["total"] == counts["features"] == counts["units"] == 1
    assert "per_layer2" not in counts
    assert (counts["features0"], counts["units1"]) == (d * n, c * d)


def test_counts_of_path_and_margin_rows():
    problem = random_problem(5, n_samples=9, n_features=3, hidden=(4, 2), n_classes=3)
    asked = constrain(
        problem,
        constraints=Monotone(1, label=2),
        regularizer=Regularizer(saturated_margin=1.0, max_margin=1.0, l1=0.1),
    )
    counts = row_counts(NetworkModel.build(asked))
    assert counts["path1_2_upper"] == counts["path1_2_lower"] == 4
    # Two rows per weight on each side for hidden units, one for outputs.
    assert len([name for name in counts if name.startswith("path")]) == 6
    m, c = problem.loss.label_weight.shape
    own, other = (problem.loss.label_weight > 0).sum(), (problem.loss.cost_on > 0).sum()
    assert counts["lack_own"] == counts["worst_own"] == own
    assert counts["lack_other"] == counts["worst_other"] == other
    assert own + other >= m * c
    assert counts["abs1"] == 4 * 3


def test_constraints_switch_off_the_reductions_they_break():
    problem = random_problem(5, hidden=(2,))

    def used(**options):
        model = NetworkModel.build(constrain(problem, **options))
        reductions = model.reductions
        return reductions.one_output, reductions.one_sided, reductions.signed

    assert used(sparsity=Sparsity(per_unit=1)) == (True, True, True)
    assert used(sparsity=Sparsity(total=3)) == (False, True, False)
    assert used(constraints=FixedWeight(0, 0, 0, 1)) == (True, True, False)
    assert used(constraints=FixedWeight(1, 0, 0, 1)) == (False, True, False)
    assert used(regularizer=Regularizer(max_margin=1.0)) == (False, False, False)


def test_nothing_asked_changes_nothing():
    problem = random_problem(5, hidden=(2,))
    assert constrain(problem, sparsity=Sparsity(), regularizer=Regularizer()) is problem
    assert not problem.terms

"""The loss that docs/contributing/loss.md adds in one file works as any other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bdnn.constraints import Forbid
from bdnn.mip import NetworkModel
from bdnn.problem.create import constrain
from bdnn.training import Auto, Budget, DataSplitting, Descent, Exact, LocalSearch
from tests.problems import random_problem
from tests.test_docs import ROOT, python_of


@pytest.fixture(scope="module")
def whole_answers():
    namespace = {}
    exec(python_of(ROOT / "docs" / "contributing" / "loss.md"), namespace)
    return namespace["WholeAnswers"]


def problem_of(make, seed, **options):
    problem = random_problem(
        seed, n_samples=7, weights="ternary", hidden=(1,), weighted=True, **options
    )
    return problem.with_loss(make(problem.loss))


def smallest(problem):
    """By trying all hidden units, and all outputs that one unit can have."""
    sums = [problem.inputs @ np.array(W) for W in product((-1.0, 0.0, 1.0), repeat=2)]
    units = {tuple(line >= t) for line in sums for t in np.arange(-6, 7) - 0.5}
    counts, best = problem.loss.classes.counts, problem.loss.classes.total
    for unit in map(np.array, units):
        answers = (unit, ~unit, np.ones_like(unit), np.zeros_like(unit))
        for on in product(answers, repeat=2):
            right = [on[c] & ~on[1 - c] for c in (0, 1)]
            best = min(best, sum(counts[~right[c], c].sum() for c in (0, 1)))
    return best


@pytest.mark.parametrize("seed", range(3))
def test_program_finds_the_optimum(whole_answers, seed):
    problem = problem_of(whole_answers, seed)
    network, result = Exact().train(problem, budget=Budget(30, seed=0))
    assert result.status == "optimal"
    assert result.loss == float(problem.value(network)) == float(smallest(problem))


@pytest.mark.parametrize("method", [Auto(), Descent(), LocalSearch(), DataSplitting(epochs=2)])
def test_every_method_takes_it(whole_answers, method):
    problem = problem_of(whole_answers, 1)
    network, result = method.train(problem, budget=Budget(2, seed=0))
    assert (
        result.loss
        == float(problem.value(network))
        <= float(problem.value(problem.constant_network()))
    )
    assert result.bound <= float(smallest(problem)) <= result.loss


def test_terms_hold_beside_it(whole_answers):
    problem = constrain(problem_of(whole_answers, 2), [Forbid(0)])
    network, _ = Exact().train(problem, budget=Budget(30, seed=0))
    assert (network.weights[0][:, 0] == 0).all()


def test_lifted_networks_break_no_row(whole_answers):
    problem = problem_of(whole_answers, 0)
    model = NetworkModel.build(problem)
    network = problem.constant_network()
    start = model.lift(network)
    assert model.program.violation(start) <= 1e-9
    assert model.program.objective(start) == float(problem.value(network))

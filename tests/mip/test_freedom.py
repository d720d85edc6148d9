"""Large-neighbourhood programs: the start fits, fixed units stay, losses never rise."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.mip import NetworkModel
from bdnn.mip.freedom import free_units
from bdnn.search import random_start
from bdnn.solvers import Limits, choose_solver
from tests.grids import in_turn
from tests.problems import random_problem


@pytest.mark.parametrize(
    ("weights", "thresholds"),
    in_turn(["ternary", "binary", "continuous"], ["neuron", "layer", "zero"]),
)
def test_only_the_freed_units_change(weights, thresholds):
    problem = random_problem(
        3, n_samples=12, n_features=3, hidden=(4,), weights=weights, thresholds=thresholds
    )
    model = NetworkModel.build(problem)
    starts = (random_start(problem, np.random.default_rng(seed)) for seed in range(50))
    start = next(x for x in map(model.lift, starts) if x is not None)
    free = np.array([1, 2])
    program = free_units(model, start, 0, free)
    assert program.violation(start) <= 1e-6
    outcome = choose_solver(program).solve(program, limits=Limits(seconds=20), start=start)
    assert outcome.objective <= program.objective(start) + 1e-6
    kept = np.setdiff1d(np.arange(4), free)
    W = model.layers[0].W[kept]
    np.testing.assert_allclose(outcome.solution[W], start[W], atol=1e-6)
    assert problem.value(model.read(outcome.solution)) <= outcome.objective + 1e-6

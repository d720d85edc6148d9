from __future__ import annotations

import numpy as np
import pytest

from bdnn.mip import NetworkModel, Reductions
from bdnn.problem.losses.output import OutputBlock
from bdnn.program import Program
from tests.problems import random_problem


def loss_of(on, off):
    return OutputBlock(np.array(on, dtype=float), np.array(off, dtype=float))


@pytest.mark.parametrize(
    ("on", "off", "step"),
    [
        ([[0, 1]], [[1, 0]], 1),
        ([[0, 2]], [[4, 0]], 2),
        ([[0, 6]], [[9, 0]], 3),
        ([[3, 5]], [[0, 0]], 1),
        ([[1, 1]], [[1, 4]], 3),
        ([[1, 1]], [[1, 1]], 0),
        ([[0.5, 0]], [[0, 1]], 0),
        # Differences of 2 with costs of a half: the offset carries the half.
        ([[0.5, 2]], [[2.5, 0]], 2),
        ([[1e300, 0]], [[0, 1]], 0),
        ([[2.0**60, 0]], [[0, 1]], 0),
    ],
)
def test_step_is_the_smallest_difference_of_two_losses(on, off, step):
    assert loss_of(on, off).step == step


@pytest.mark.parametrize(
    ("bound", "rounded"),
    [
        (-np.inf, -np.inf),
        (0.5, 0.5),
        (0.6, 2.5),
        (2.5, 2.5),
        (2.5 + 1e-9, 2.5),
        (2.4999999, 2.5),
        (2.6, 4.5),
    ],
)
def test_bounds_are_raised_to_the_next_possible_loss(bound, rounded):
    assert loss_of([[0.5, 2]], [[2.5, 0]]).round_up(bound) == rounded


def test_bounds_stay_where_no_step_is_known():
    assert loss_of([[0.5, 0]], [[0, 1]]).round_up(0.3) == 0.3


def test_no_difference_means_one_loss():
    loss = loss_of([[1, 1]], [[1, 1]])
    assert loss.round_up(1.2) == 1.2


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_is_the_loss(seed):
    rng = np.random.default_rng(seed)
    on, off = rng.integers(0, 5, (2, 4, 3)).astype(float)
    program = Program()
    u = program.add_variables("u", (4, 3), integer=True)
    loss_of(on, off).add(program, u)
    z = rng.integers(0, 2, (4, 3))
    assert program.objective(z.ravel().astype(float)) == np.where(z, on, off).sum()


@pytest.mark.parametrize("reductions", [Reductions(), Reductions.none()])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_losses_are_whole_steps_apart(reductions, weighted):
    problem = random_problem(2, weighted=weighted, n_samples=8, hidden=(2,))
    model = NetworkModel.build(problem, reductions=reductions)
    step, offset = model.loss.step, model.loss.cost_off.sum()
    assert step >= 1
    rng = np.random.default_rng(0)
    for _ in range(50):
        z = rng.integers(0, 2, model.loss.cost_on.shape)
        loss = np.where(z, model.loss.cost_on, model.loss.cost_off).sum()
        assert (loss - offset) % step == 0

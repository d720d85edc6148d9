from __future__ import annotations

import numpy as np
import pytest

from bdnn.blocks.bounds import box_bounds, layer_bounds
from bdnn.mip import NetworkModel, Reductions
from tests.problems import random_problem

OPTIONS = {"unit": 1.0, "eps": 1e-4}


def test_box_bounds_by_hand():
    lowest, highest = box_bounds(np.array([[1.0, -2.0], [0.0, 0.0]]), (-1.0, 1.0))
    assert lowest.tolist() == [-3, 0]
    assert highest.tolist() == [3, 0]
    lowest, highest = box_bounds(np.array([[1.0, -2.0]]), (0.0, 2.0))
    assert (lowest.tolist(), highest.tolist()) == ([-4], [2])


@pytest.mark.parametrize("box", [(-1.0, 1.0), (0.0, 3.0), (1.0, 1.0)])
def test_box_bounds_hold_and_are_reached(box):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 3))
    lowest, highest = box_bounds(X, box)
    corners = np.array(np.meshgrid(*[box] * 3)).reshape(3, -1)
    sums = X @ corners
    np.testing.assert_allclose(sums.min(axis=1), lowest)
    np.testing.assert_allclose(sums.max(axis=1), highest)


@pytest.mark.parametrize(
    ("thresholds", "normalised", "limits"),
    [
        ("zero", True, (0.0, 0.0)),
        ("zero", False, (0.0, 0.0)),
        ("layer", True, (-1.0, 1.0)),
        ("layer", False, (-3.0, 6.0)),
        ("neuron", True, (-3.0, 6.0)),
    ],
)
def test_threshold_range(thresholds, normalised, limits):
    bounds = layer_bounds(
        np.array([-3.0, -1.0]),
        np.array([2.0, 5.0]),
        exact=True,
        thresholds=thresholds,
        normalised=normalised,
        **OPTIONS,
    )
    assert bounds.threshold == limits
    assert bounds.margin == 1.0


def test_margin_is_larger_than_what_big_m_times_tolerance_can_hide():
    for reach in (1.0, 10.0, 1000.0):
        bounds = layer_bounds(
            np.array([-reach]),
            np.array([reach]),
            exact=False,
            thresholds="neuron",
            normalised=True,
            **OPTIONS,
        )
        assert bounds.margin >= 1e-4
        largest = max(bounds.big_m_active.max(), bounds.big_m_inactive.max())
        assert bounds.margin > 1e-6 * largest


@pytest.mark.parametrize("weights", ["continuous", "ternary", "binary", "int:2"])
@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("reductions", [Reductions(), Reductions.none()])
def test_rows_are_slack_for_every_weight_in_the_box(weights, thresholds, reductions):
    """A row whose activation says "not me" must not cut off any weights and thresholds."""
    problem = random_problem(
        7, n_samples=7, values=5, weights=weights, thresholds=thresholds, hidden=(2, 2)
    )
    model = NetworkModel.build(problem, reductions=reductions)
    rng = np.random.default_rng(0)
    program = model.program
    matrix, blocks = program.matrix, {block.name: block for block in program.row_blocks}
    for _ in range(50):
        x = np.zeros(program.n_variables)
        for k, layer in enumerate(model.layers):
            ends = rng.random() < 0.5  # corners of the box are where big-M is tight
            x[layer.W] = _sample(rng, layer.W.shape, *layer.range, ends=ends)
            if layer.t is not None:
                low, high = layer.bounds.threshold
                x[layer.t[0 if layer.kind == "layer" else slice(None)]] = _sample(
                    rng, () if layer.kind == "layer" else layer.t.shape, low, high, ends=ends
                )
            if k > 0:
                inputs = rng.integers(0, 2, model.steps[k - 1].u.shape)
                x[model.products[k - 1].s] = x[layer.W][None] * inputs[:, None, :]
        for k, steps in enumerate(model.steps, start=1):
            for side, value in (("active", 0.0), ("inactive", 1.0)):
                block = blocks.get(f"{side}{k}")
                if block is None:
                    continue
                x[steps.u] = value
                rows = slice(block.first, block.first + block.count)
                activity = matrix[rows] @ x
                assert (activity >= program.row_lower[rows] - 1e-9).all()
                assert (activity <= program.row_upper[rows] + 1e-9).all()


def test_big_m_of_the_first_layer_is_reached():
    """No smaller value would do: some weights of the box meet the row with equality."""
    problem = random_problem(7, weights="ternary", hidden=())
    bounds = NetworkModel.build(problem).layers[0].bounds
    inputs = problem.inputs / bounds.unit
    farthest = np.abs(inputs).sum(axis=1)
    assert np.array_equal(bounds.big_m_active, bounds.threshold[1] + farthest)
    assert np.array_equal(bounds.big_m_inactive, farthest - bounds.threshold[0] + 1.0)
    assert bounds.threshold == (-farthest.max(), farthest.max() + 1.0)


def _sample(rng, shape, low, high, *, ends):
    if ends:
        return np.where(rng.random(shape) < 0.5, low, high)
    return rng.uniform(low, high, shape)

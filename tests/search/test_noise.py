"""Noise of ranks stays among a feature's values, noise of a class among its differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.search.starts.straight_through import ClassNoise, RankNoise
from tests.grids import examples


def noisy(inputs, spread, *, weight=None, seed=0, copies=50):
    rng = np.random.default_rng(seed)
    weight = np.ones(len(inputs)) if weight is None else weight
    noise = RankNoise(inputs, weight, spread, rng)
    return np.array([noise.moved(np.arange(len(inputs))) for _ in range(copies)])


@given(st.integers(0, 1000), st.integers(1, 40), st.sampled_from([1e-9, 0.05, 1.0, 100.0]))
@examples(60)
def test_moved_values_are_values_of_the_feature(seed, n_inputs, spread):
    rng = np.random.default_rng(seed)
    inputs = np.round(rng.normal(size=(n_inputs, 3)), 1) * [1.0, 1e-6, 1e6]
    for j, column in enumerate(np.moveaxis(noisy(inputs, spread, seed=seed, copies=5), 2, 0)):
        assert np.isin(column, inputs[:, j]).all()


def test_no_noise_moves_nothing_and_much_noise_reaches_both_ends():
    inputs = np.random.default_rng(1).normal(size=(60, 2))
    assert (noisy(inputs, 1e-9) == inputs).all()
    far = noisy(inputs, 10.0)
    assert (far.min(axis=(0, 1)) == inputs.min(axis=0)).all()
    assert (far.max(axis=(0, 1)) == inputs.max(axis=0)).all()


def test_noise_does_not_depend_on_the_scale_but_on_ranks():
    inputs = np.random.default_rng(2).normal(size=(80, 2))
    stretched = np.sign(inputs) * np.abs(inputs) ** 3
    same = noisy(inputs, 0.1)
    assert (noisy(stretched, 0.1) == np.sign(same) * np.abs(same) ** 3).all()


@pytest.mark.parametrize("spread", [0.05, 0.2])
def test_the_spread_is_a_share_of_the_samples(spread):
    inputs = np.arange(1000.0)[:, None]
    moved = (noisy(inputs, spread, copies=200) - inputs)[:, 450:550] / 1000
    assert moved.std() == pytest.approx(spread, rel=0.05)
    assert abs(moved.mean()) < 0.1 * spread


def test_features_of_two_values_are_left_alone():
    inputs = np.random.default_rng(3).normal(size=(50, 4))
    inputs[:, 0], inputs[:, 2] = inputs[:, 0] > 1.5, 7.0
    moved = noisy(inputs, 0.3)
    assert (moved[:, :, [0, 2]] == inputs[:, [0, 2]]).all()
    assert (moved[:, :, [1, 3]] != inputs[:, [1, 3]]).any(axis=(0, 1)).all()


def test_an_input_of_some_weight_is_as_good_as_so_many_samples():
    values = np.arange(4.0)[:, None]
    weight = np.array([6.0, 1.0, 2.0, 1.0])
    samples = np.repeat(values, weight.astype(int), axis=0)

    def from_the_second(copies, rows):
        return [(copies[:, rows] == value).mean() for value in range(4)]

    one = from_the_second(noisy(values, 0.3, weight=weight, copies=20000), [1])
    same = from_the_second(noisy(samples, 0.3, copies=20000), [6])
    assert one == pytest.approx(same, abs=0.02)
    # Without the weights the first value is nearer than the last two together.
    unweighted = from_the_second(noisy(values, 0.3, copies=20000), [1])
    assert unweighted != pytest.approx(same, abs=0.02)


def moves(inputs, label_weight, most, *, seed=0, copies=200):
    noise = ClassNoise(inputs, label_weight, most, np.random.default_rng(seed))
    return np.array([noise.drawn(np.arange(len(inputs))) for _ in range(copies)])


@given(st.integers(0, 1000), st.integers(1, 30), st.sampled_from([0.1, 0.8, 2.0]))
@examples(60)
def test_samples_move_by_parts_of_differences_within_their_class(seed, n_inputs, most):
    rng = np.random.default_rng(seed)
    inputs, labels = rng.normal(size=(n_inputs, 3)), rng.integers(3, size=n_inputs)
    for row, moved in enumerate(np.moveaxis(moves(inputs, np.eye(3)[labels], most), 1, 0)):
        own = inputs[labels == labels[row]]
        differences = (own[:, None] - own[None, :]).reshape(-1, 3)
        # A move is a part of one of the differences: the largest feature tells which part.
        lengths = np.abs(differences).max(axis=1)
        directions = differences[lengths > 0] / lengths[lengths > 0, None]
        size = np.abs(moved).max(axis=1)
        assert (size <= most * lengths.max() + 1e-12).all()
        for move in moved[size > 0][:5] / size[size > 0][:5, None]:
            assert np.abs(directions - move).max(axis=1).min() < 1e-9


def test_moves_have_no_direction_that_they_prefer():
    rng = np.random.default_rng(4)
    inputs, label_weight = rng.exponential(size=(40, 2)), np.ones((40, 1))
    drawn = moves(inputs, label_weight, 0.8, copies=2000)
    assert abs(drawn.mean()) < 0.01 * drawn.std() * 5
    assert drawn.std() > 0.2


def test_features_of_two_values_do_not_move_along_a_class():
    inputs = np.random.default_rng(3).normal(size=(50, 4))
    inputs[:, 0], inputs[:, 2] = inputs[:, 0] > 1.5, 7.0
    drawn = moves(inputs, np.ones((50, 2)), 0.8)
    assert (drawn[:, :, [0, 2]] == 0).all()
    assert (drawn[:, :, [1, 3]] != 0).any(axis=(0, 1)).all()


def test_inputs_are_drawn_by_their_weight_and_never_without_one():
    inputs = np.array([[0.0], [1.0], [5.0], [100.0]])
    label_weight = np.array([[3.0, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    noise = ClassNoise(inputs, label_weight, 1.0, np.random.default_rng(0))
    drawn = noise._of_class(np.zeros(40000, dtype=np.intp))
    assert np.bincount(drawn, minlength=4) / 40000 == pytest.approx([0.75, 0.25, 0, 0], abs=0.01)
    assert (noise._of_class(np.full(100, 2)) == 2).all()


def test_a_light_class_is_not_lost_beside_a_heavy_one():
    label_weight = np.zeros((6, 3))
    label_weight[[0, 1], 0], label_weight[[2, 3], 1], label_weight[[4, 5], 2] = 1e16, 1.0, 1e-12
    noise = ClassNoise(np.arange(6.0)[:, None], label_weight, 1.0, np.random.default_rng(0))
    for first in (0, 2, 4):
        drawn = noise._of_class(np.full(1000, first))
        assert np.bincount(drawn, minlength=6)[[first, first + 1]] == pytest.approx(500, abs=80)

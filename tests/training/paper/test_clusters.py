"""Batches and clusters: sizes, what stays together, what a cut gains."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from bdnn.training.paper.clusters import Partition, Sampler, majority_loss
from bdnn.training.paper.epoch import Candidate
from bdnn.training.paper.polish import Judge
from tests.problems import random_problem, weighted


def clouds(n=300, seed=0, weights="ternary", hidden=(6,)):
    """Two classes in two clouds of unequal size, five features."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = np.rint(64 * (rng.normal(size=(n, 5)) + 2.5 * y[:, None])) / 64
    shape = Architecture.create(5, 2, hidden=hidden, weights=weights)
    return classification(shape, X, y)


@pytest.mark.parametrize("kind", ["random", "contiguous"])
def test_a_batch_has_the_wanted_size_and_real_samples(kind):
    problem = random_problem(0, n_samples=40, weighted=True, hidden=(2,))
    sampler = Sampler(problem, 16)
    for epoch in range(5):
        ((rows, batch),) = sampler.draw(kind, epoch, np.random.default_rng(epoch))
        assert batch.loss.label_weight.sum() == 16
        assert (batch.loss.label_weight <= problem.loss.label_weight[rows]).all()
        np.testing.assert_array_equal(batch.inputs, problem.inputs[rows])


def test_all_batches_together_are_the_data():
    problem = random_problem(0, n_samples=40, weighted=True, hidden=(2,))
    total = np.zeros_like(problem.loss.label_weight)
    for rows, batch in Sampler(problem, 16).draw("all", 0, np.random.default_rng(0)):
        assert batch.loss.label_weight.sum() <= 16
        total[rows] += batch.loss.label_weight
    np.testing.assert_array_equal(total, problem.loss.label_weight)


def test_windows_move_on_and_wrap_around():
    problem = random_problem(3, n_samples=10, n_features=6, hidden=(2,))
    sampler = Sampler(problem, 4)
    seen = np.zeros_like(problem.loss.label_weight)
    for epoch in range(5):  # twenty samples: every one of ten twice
        ((rows, batch),) = sampler.draw("contiguous", epoch, np.random.default_rng(0))
        seen[rows] += batch.loss.label_weight
    np.testing.assert_array_equal(seen, 2 * problem.loss.label_weight)


def test_fractional_weights_are_drawn_whole():
    base = random_problem(0, n_samples=20, hidden=(2,))
    problem = weighted(base.architecture, base.inputs, base.loss.label_weight * 0.3)
    ((rows, batch),) = Sampler(problem, 6).draw("random", 0, np.random.default_rng(1))
    kept = batch.loss.label_weight > 0
    assert kept.sum() == 6
    np.testing.assert_allclose(batch.loss.label_weight[kept], problem.loss.label_weight[rows][kept])


def test_huge_integer_weights_are_drawn_whole():
    base = random_problem(0, n_samples=20, hidden=(2,))
    problem = weighted(base.architecture, base.inputs, base.loss.label_weight * 2.0**40)
    batches = list(Sampler(problem, 6).draw("all", 0, np.random.default_rng(1)))
    assert len(batches) == -(-np.count_nonzero(problem.loss.label_weight) // 6)


@pytest.mark.parametrize("weights", ["ternary", "continuous", "binary"])
@pytest.mark.parametrize("kind", ["kmeans", "labels"])
def test_splits_refine_and_lower_the_majority_loss(kind, weights):
    problem = clouds(weights=weights)
    partition, rng = Partition(problem), np.random.default_rng(0)

    def loss() -> float:
        label_weight = np.zeros((partition.n_clusters, 2))
        np.add.at(label_weight, partition.cluster, problem.loss.label_weight)
        return float(majority_loss(label_weight).sum())

    before, first = partition.cluster.copy(), loss()
    losses = np.ones(len(problem.inputs))
    for number in range(1, 6):
        assert partition.split_worst(losses, kind, rng) is not None
        assert partition.n_clusters == number + 1
        # Every new cluster is a part of one old cluster.
        assert len(np.unique(np.stack([before, partition.cluster]), axis=1).T) == number + 1
        before = partition.cluster.copy()
    assert loss() < (0.5 if kind == "labels" else 1.0) * first


def test_the_cluster_of_the_largest_loss_is_cut():
    problem = clouds()
    partition, rng = Partition(problem), np.random.default_rng(0)
    partition.split_worst(np.ones(len(problem.inputs)), "kmeans", rng)
    losses = (partition.cluster == 1).astype(float)
    assert partition.split_worst(losses, "kmeans", rng) == 1


def test_a_cluster_of_one_input_cannot_be_cut():
    shape = Architecture.create(1, 2, hidden=(2,))
    problem = weighted(shape, np.array([[1.0]]), np.array([[3.0, 2.0]]))
    partition = Partition(problem)
    assert partition.split_worst(np.ones(1), "kmeans", np.random.default_rng(0)) is None


def test_judging_is_bounded_whatever_the_data():
    problem = clouds(20_000)
    judge = Judge(problem, problem, np.random.default_rng(0))
    assert len(judge.rows) == len(judge.problem.inputs) == len(judge.validation.inputs) == 4000
    judged = judge.judge(Candidate(problem.constant_network()))
    share = problem.loss.label_weight[:, 1].sum() / problem.loss.label_weight.sum()
    assert judged.train_error == pytest.approx(share, abs=0.03)
    assert judged.key == (judged.validation_error, judged.loss)

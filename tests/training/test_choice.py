"""Choice by held-out samples: who competes."""

import time
from dataclasses import replace

import numpy as np
import pytest

from bdnn.architecture import Architecture
from bdnn.problem import TrainingProblem
from bdnn.search import embed, random_start
from bdnn.search.embedding import shallow_problem
from bdnn.search.starts import straight_through
from bdnn.training import Auto, choice, descent
from bdnn.training.base import Recorder
from bdnn.training.budget import Budget


def parts(hidden):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=120) > 0).astype(int)
    shape = Architecture.create(3, 2, hidden=hidden, weights="ternary")
    return [TrainingProblem.from_samples(shape, X[p], y[p]) for p in (slice(80), slice(80, None))]


def test_a_deep_problem_has_a_shallow_one_whose_networks_it_can_copy():
    problem, _ = parts((6, 6, 6))
    shallow = shallow_problem(problem)
    assert shallow.architecture.hidden == (6,)
    network = straight_through(shallow, rng=np.random.default_rng(0), seconds=5, epochs=5)
    assert problem.loss(embed(network, problem.architecture)) == shallow.loss(network)
    for hidden, weights in (((6,), "ternary"), ((6, 6), "binary")):
        other = Architecture.create(3, 2, hidden=hidden, weights=weights)
        assert shallow_problem(replace(problem, architecture=other)) is None


@pytest.mark.parametrize("is_slow", [False, True])
def test_copies_of_a_shallow_network_compete_where_a_deep_one_had_too_little_time(
    is_slow, monkeypatch
):
    trained = []

    def watched(problem, **options):
        trained.append(problem.architecture.hidden)
        return straight_through(problem, **options)

    def start(problem, kind, rng, *, seconds):
        if is_slow:
            time.sleep(seconds)
        return random_start(problem, rng)

    if is_slow:  # as if a pass over the samples took that long
        slow = property(lambda _: 0.04, lambda *_: None)
        monkeypatch.setattr(Recorder, "pass_seconds", slow, raising=False)

    monkeypatch.setattr(choice, "straight_through", watched)
    monkeypatch.setattr(descent, "make_start", start)
    training, validation = parts((8, 8))
    network, result = Auto().train(
        training, validation=validation, budget=Budget(seconds=3, seed=3)
    )
    assert ((8,) in trained) == is_slow
    assert network.architecture.hidden == (8, 8)
    assert result.loss == training.loss(network)

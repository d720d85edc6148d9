"""Simplified models are smaller and answer alike."""

from dataclasses import replace

import numpy as np
import pytest

from bdnn.encoding import Bit, Column, Encoder
from bdnn.export.boundary import compared_inputs
from bdnn.export.inputs import InputFormat
from bdnn.export.simplified import simplify
from bdnn.model import Model
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from tests.export.c.test_columns import make as make_columns
from tests.export.models import any_model, level_model, number_model


def rows(model, count=200):
    inputs = InputFormat("double", (1,) * model.n_features)
    return compared_inputs(model, inputs, count)


@pytest.mark.parametrize("kind", [any_model, level_model, number_model])
def test_answers_are_equal(kind):
    rng = np.random.default_rng(0)
    for _ in range(40):
        model = kind(rng)
        smaller = simplify(model)
        X = rows(model)
        assert np.array_equal(smaller.predict(X), model.predict(X))
        assert smaller.network.weights[0].size <= model.network.weights[0].size


def test_answers_on_columns_are_equal():
    rng = np.random.default_rng(1)
    fewer = 0
    for i in range(60):
        model = make_columns(rng, mixed=i % 3 == 0, hidden=((4,), (6, 3), ())[i % 3])
        smaller = simplify(model)
        X = rows(model)
        assert np.array_equal(smaller.predict(X), model.predict(X))
        before, after = (np.count_nonzero(m.network.weights[0]) for m in (model, smaller))
        assert after <= before
        fewer += after < before
    assert fewer > 10


def network(weights, thresholds, kind="int:9"):
    layers = [np.array(W, dtype=float) for W in weights]
    shape = Architecture.create(
        layers[0].shape[1], len(layers[-1]), hidden=[len(W) for W in layers[:-1]], weights=kind
    )
    return Network(shape, tuple(layers), tuple(np.array(t, dtype=float) for t in thresholds))


AGES = Encoder((Column("age"),), (), tuple(Bit(0, "ge", c) for c in (10.0, 20.0, 30.0)))


def test_what_is_dead_equal_or_implied_goes():
    first = [
        [1, 1, 0],  # age >= 10 and age >= 20: the latter
        [0, 1, 0],  # age >= 20: equal to it
        [1, 0, 0],  # never
        [0, 0, 1],  # nobody listens
        [0, 0, 1],
    ]
    model = Model(
        AGES,
        network(
            [first, [[-1, -1, 5, 0, 0], [1, 1, 2, 0, 1]]],
            [[2, 0.5, 2, 1, 1], [-1.5, 0.5]],
        ),
        ("young", "old"),
    )
    smaller = simplify(model)
    assert smaller.network.architecture.hidden == (2,)
    assert smaller.encoder.input_names == ("age >= 20", "age >= 30")
    assert smaller.network.weights[1].tolist() == [[-2, 0], [2, 1]]
    X = np.arange(40.0)[:, None]
    assert np.array_equal(smaller.predict(X), model.predict(X))


def test_a_constant_network_keeps_a_unit():
    model = Model(AGES, network([[[1, 1, 1]], [[1], [-1]]], [[-1], [0, 0]]), ("a", "b"))
    assert simplify(model).network.architecture.hidden == (1,)
    assert set(simplify(model).predict(np.arange(40.0)[:, None])) == {"a"}


def test_thresholds_that_would_round_stay():
    model = Model(
        AGES, network([[[0, 0, 0], [1, 0, 0]], [[1, 1], [1, -1]]], [[-1, 1], [0.1, 1e-20]]), (0, 1)
    )
    smaller = simplify(replace(model))
    X = np.arange(40.0)[:, None]
    assert np.array_equal(smaller.predict(X), model.predict(X))
    scores = [each.network.scores(each.inputs(X)) for each in (model, smaller)]
    assert np.array_equal(*(np.diff(each) for each in scores))

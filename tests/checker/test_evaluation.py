"""The checker's forward pass and bounds against those of the package, which share no code."""

import struct
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bdnn.bounds import FREE
from bdnn.checker.bounds import Masses, own_bounds
from bdnn.checker.claims import Deadline
from bdnn.checker.enumeration import TooLargeError, smallest_loss
from bdnn.checker.evaluation import Evaluation, evaluate
from bdnn.checker.model import read_model
from bdnn.clock import Slot
from bdnn.model_file import ModelRecord, write_model
from bdnn.network.network import Network
from tests import oracle
from tests.export.models import any_model, make_model
from tests.problems import random_problem


def checked(trained, path):
    write_model(ModelRecord(trained), path)
    return read_model(path)


def test_answers_are_those_of_the_network(tmp_path):
    rng = np.random.default_rng(1)
    for _ in range(30):
        trained = any_model(rng)
        model = checked(trained, tmp_path / "model.json")
        X = np.round(rng.normal(3, 2, (12, model.n_features)), 1)
        found = evaluate(model, map(tuple, X.tolist()))
        values = trained.encoder.transform(X)
        assert found.winners == trained.network.predict(values).tolist()
        outputs = [found.outputs[number] for number in found.numbers]
        assert (np.array(outputs) == trained.network.outputs(values)).all()


def test_rounding_is_counted(tmp_path):
    """0.1 - 2**-60 is below 0.1, and rounds to it in double arithmetic."""
    trained = make_model(
        np.random.default_rng(0), n_features=2, n_outputs=2, hidden=(), scale=None, weights="binary"
    )
    network = Network(
        trained.network.architecture,
        (np.array([[1.0, -1.0], [1.0, 1.0]]),),
        (np.array([0.1, 0.0]),),
    )
    model = checked(replace(trained, network=network), tmp_path / "model.json")
    assert evaluate(model, [(1.0, 2.0)]).rounded == 0
    found = evaluate(model, [(0.1, 2.0**-60)])
    assert found.rounded == 1
    assert found.outputs == [(1, 1)]


def packed(*row):
    return struct.pack(f"<{len(row)}d", *row)


def masses_of(problem):
    """Inputs with the weights of the classes, which are whole numbers."""
    points = [packed(*row) for row in problem.inputs.tolist()]
    return Masses(
        points, [tuple(map(int, mass)) for mass in problem.loss.label_weight.tolist()], Fraction(1)
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("hidden", [(), (1,), (2,), (3, 1)])
@pytest.mark.parametrize("activation", ["step", "ternary"])
def test_bounds_are_those_of_the_search(tmp_path, seed, hidden, activation):
    problem = random_problem(
        seed,
        n_samples=30,
        n_features=2,
        n_classes=3,
        hidden=hidden,
        weighted=True,
        activation=activation if hidden else "step",
    )
    layers = tiny_model(problem, tmp_path / "model.json").layers
    found = (one.bounds(problem, Slot.of(60)) for one in FREE.arguments if one.applies(problem))
    theirs = {bound.origin: bound.value for bounds in found for bound in bounds}
    mine = own_bounds(masses_of(problem), layers, Deadline())
    for name in {"data conflicts", "output patterns", "lines"} & set(theirs):
        assert mine[name] == theirs[name], name


def test_loss_is_that_of_the_problem():
    problem = random_problem(3, n_samples=20, weighted=True)
    rng = np.random.default_rng(0)
    outputs = rng.random(problem.loss.label_weight.shape) < 0.5
    found = masses_of(problem).loss(list(map(tuple, outputs.astype(int).tolist())))
    assert found == Fraction(problem.loss.of_outputs(outputs))


def test_weights_of_equal_inputs_are_added():
    one, other = packed(1, 2), packed(0, 0)
    found = Evaluation([one, other], [0, 1, 0])
    weights = [Fraction(1, 3), Fraction(2), Fraction(1, 2)]
    masses = Masses.of_rows(found, [0, 1, 1], 2, weights)
    assert masses == Masses([one, other], [(2, 3), (0, 12)], Fraction(1, 6))


def tiny_model(problem, path):
    shape = problem.architecture
    trained = make_model(
        np.random.default_rng(0),
        n_features=shape.n_features,
        n_outputs=shape.n_outputs,
        hidden=shape.hidden,
        weights=[kind.name for kind in shape.weights],
        thresholds=shape.thresholds,
        activation=[rule.name for rule in shape.activations],
    )
    return checked(trained, path)


@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("weights", ["ternary", "binary", "int:2"])
@pytest.mark.parametrize("hidden", [(), (1,), (2,)])
def test_enumeration_against_the_oracle(tmp_path, thresholds, weights, hidden):
    problem = random_problem(5, n_samples=6, hidden=hidden, weights=weights, thresholds=thresholds)
    model = tiny_model(problem, tmp_path / "model.json")
    found = smallest_loss(model, masses_of(problem), Deadline())
    assert found == Fraction(oracle.smallest_loss(problem))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"weights": "continuous"}, "continuous"),
        ({"weights": "int:9", "n_features": 9}, "different weights"),
        ({"hidden": (9,), "n_samples": 12}, "ways"),
    ],
)
def test_what_is_too_large_to_enumerate(tmp_path, options, reason):
    problem = random_problem(0, **options)
    assert problem.loss.kind == "output"
    with pytest.raises(TooLargeError, match=reason):
        smallest_loss(tiny_model(problem, tmp_path / "model.json"), masses_of(problem), Deadline())

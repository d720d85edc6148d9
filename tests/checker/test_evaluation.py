"""The checker's forward pass and bounds against those of the package, which share no code."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bdnn.checker.bounds import loss, merged, own_bounds
from bdnn.checker.enumeration import TooLargeError, smallest_loss
from bdnn.checker.evaluation import evaluate, scaled
from bdnn.checker.model import read_model
from bdnn.export import write_model
from bdnn.network import Network
from bdnn.problem import TrainingProblem
from bdnn.search import lower_bounds
from tests import oracle
from tests.export.records import any_record, make_record
from tests.problems import random_problem


def checked(record, path):
    write_model(record, path)
    return read_model(path)


def test_answers_are_those_of_the_network(tmp_path):
    rng = np.random.default_rng(1)
    for _ in range(30):
        record = any_record(rng)
        model = checked(record, tmp_path / "model.json")
        X = np.round(rng.normal(3, 2, (12, model.n_features)), 1)
        found = evaluate(model, [scaled(model, row) for row in X.tolist()])
        values = record.scaler.transform(X)
        assert found.winners == record.network.predict(values).tolist()
        outputs = [found.outputs[point] for point in found.points]
        assert (np.array(outputs) == record.network.outputs(values)).all()


def test_rounding_is_counted(tmp_path):
    """0.1 - 2**-60 is below 0.1, and rounds to it in double arithmetic."""
    record = make_record(
        np.random.default_rng(0), n_features=2, n_outputs=2, hidden=(), scale=None, weights="binary"
    )
    network = Network(
        record.network.architecture,
        (np.array([[1.0, -1.0], [1.0, 1.0]]),),
        (np.array([0.1, 0.0]),),
    )
    model = checked(replace(record, network=network), tmp_path / "model.json")
    assert evaluate(model, [(Fraction(1), Fraction(2))]).rounded == 0
    found = evaluate(model, [(Fraction(0.1), Fraction(2.0**-60))])
    assert found.rounded == 1
    assert found.outputs[found.points[0]] == (1, 1)


def points_of(problem):
    """Inputs as integers with the masses of the classes."""
    rows = [tuple(map(int, row)) for row in problem.inputs.tolist()]
    return {
        row: [Fraction(m) for m in mass]
        for row, mass in zip(rows, problem.mass.tolist(), strict=True)
    }


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("hidden", [(), (1,), (2,), (3, 1)])
def test_bounds_are_those_of_the_search(seed, hidden):
    problem = random_problem(
        seed, n_samples=30, n_features=2, n_classes=3, hidden=hidden, weighted=True
    )
    theirs = {origin: Fraction(value) for value, origin in lower_bounds(problem)}
    mine = own_bounds(points_of(problem), list(hidden))
    for name in {"data conflicts", "output patterns", "lines"} & set(theirs):
        assert mine[name] == theirs[name], name


def test_loss_is_that_of_the_problem():
    problem = random_problem(3, n_samples=20, weighted=True)
    masses = points_of(problem)
    rng = np.random.default_rng(0)
    outputs = rng.random(problem.mass.shape) < 0.5
    given = dict(zip(masses, map(tuple, outputs.astype(int).tolist()), strict=True))
    assert loss(masses, given) == Fraction(problem.loss_of_outputs(outputs))


def test_merged_masses():
    masses = merged([(1, 2), (0, 0), (1, 2)], [0, 1, 1], [Fraction(1, 3), Fraction(2)])
    assert masses == {(1, 2): [Fraction(1, 3), Fraction(2)], (0, 0): [Fraction(0), Fraction(2)]}


def tiny_model(problem, path):
    shape = problem.architecture
    record = make_record(
        np.random.default_rng(0),
        n_features=shape.n_features,
        n_outputs=shape.n_outputs,
        hidden=shape.hidden,
        weights=[kind.name for kind in shape.weights],
        thresholds=shape.thresholds,
    )
    return checked(record, path)


@pytest.mark.parametrize("thresholds", ["neuron", "layer", "zero"])
@pytest.mark.parametrize("weights", ["ternary", "binary", "int:2"])
@pytest.mark.parametrize("hidden", [(), (1,), (2,)])
def test_enumeration_against_the_oracle(tmp_path, thresholds, weights, hidden):
    problem = random_problem(5, n_samples=6, hidden=hidden, weights=weights, thresholds=thresholds)
    model = tiny_model(problem, tmp_path / "model.json")
    found = smallest_loss(model, points_of(problem))
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
    assert isinstance(problem, TrainingProblem)
    with pytest.raises(TooLargeError, match=reason):
        smallest_loss(tiny_model(problem, tmp_path / "model.json"), points_of(problem))

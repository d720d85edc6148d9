"""Accuracy against bytes: budgets hold, accuracies do not fall, rows to test on are measured."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from bdnn import BDNNClassifier, Limits, size_curve
from bdnn.errors import ModelError
from tests.grids import long
from tests.sentences import assert_one_sentence


@pytest.fixture(scope="module")
def curve():
    X, y = load_iris(return_X_y=True)
    rows = np.arange(len(X)) % 3 > 0
    return size_curve(
        X[rows],
        y[rows],
        budgets=(700, 60, 1500),
        limits=Limits(seconds=2.5),
        test=(X[~rows], y[~rows]),
        random_state=0,
    )


def test_budgets_hold_and_accuracies_do_not_fall(curve):
    assert [point.max_bytes for point in curve.points] == [60, 700, 1500]
    expected = [point.accuracy for point in curve.points]
    assert expected == sorted(expected)
    for point in curve.points:
        assert point.bytes <= point.max_bytes
        assert point.classifier.to_c().flash_estimate == point.bytes
        assert point.classifier.result_.held_out.bytes == point.bytes


def test_bytes_are_counted_when_asked_for_in_another_process_too():
    X, y = load_iris(return_X_y=True)
    model = BDNNClassifier(limits=Limits(seconds=1), random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert "bytes" not in vars(copy.result_.held_out)
    assert copy.result_.held_out.bytes == model.to_c().flash_estimate


def test_the_ends_of_a_curve(curve):
    assert curve.points[0].test_accuracy < 0.5  # a constant
    assert curve.points[-1].test_accuracy > 0.8


def test_the_best_within_some_bytes(curve):
    last = curve.points[-1]
    assert curve.within(10**6) is last.classifier
    assert curve.within(curve.points[0].bytes) is curve.points[0].classifier
    with pytest.raises(ModelError) as caught:
        curve.within(1)
    assert_one_sentence(caught.value)
    known = last.to_dict()
    assert known["bytes"] == last.bytes
    assert known["network"] == str(last.classifier.network_.architecture)


@pytest.mark.parametrize("given", [{"budgets": ()}, {"budgets": (0,)}, {"max_bytes": 100}])
def test_bad_budgets_are_refused(given):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ModelError) as caught:
        size_curve(X, y, **given)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("most", [400, *long(1200)])
def test_the_export_of_a_network_fits(most):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)).round(2)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    limits = Limits(seconds=2)
    model = BDNNClassifier(max_bytes=most, limits=limits, random_state=0).fit(X, y)
    assert model.to_c().flash_estimate == model.result_.held_out.bytes <= most


def test_nothing_that_fits_is_said():
    X, y = load_iris(return_X_y=True)
    model = BDNNClassifier(max_bytes=5, limits=Limits(seconds=1), random_state=0)
    with pytest.warns(ConvergenceWarning, match="no network of at most 5 bytes") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.result_.held_out.bytes > 5

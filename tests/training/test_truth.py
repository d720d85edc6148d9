"""What is said at the edges of floats: no claim is false, and every limit holds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bdnn import BDNNClassifier, Inputs, Limits
from bdnn.clock import Slot
from bdnn.model import Model
from bdnn.problem.problem import Problem
from bdnn.search.loading import wait_until_ready
from bdnn.training import Auto
from bdnn.training.run import Run

LINE = [[0.0], [1.0], [2.0], [3.0]]


@pytest.fixture(autouse=True, scope="module")
def moves():
    """What is proven must not hang on how soon compiled code is loaded."""
    wait_until_ready(Slot())


@pytest.mark.parametrize(
    ("class_weight", "sample_weight"),
    [(None, [1e6, 1e6, 0.1, 1e6]), ({0: 1.0, 1: 5e-9}, None)],
)
def test_a_light_sample_is_no_rounding(class_weight, sample_weight):
    model = BDNNClassifier(hidden=(3,), objective="loss", random_state=0, class_weight=class_weight)
    result = model.fit(LINE, [0, 1, 0, 1], sample_weight).result_
    assert (result.status, result.loss, result.bound) == ("optimal", 0.0, 0.0)


@pytest.mark.parametrize("X", [1.7e12 + np.arange(6) * 60000.0, np.arange(6) * 5e-324])
def test_a_margin_that_the_data_do_not_have_is_said(X):
    model = BDNNClassifier(hidden=(1,), method="exact", inputs=Inputs(scale=None), random_state=0)
    result = model.fit(X[:, None], [0, 0, 0, 1, 1, 1]).result_
    # The classes are apart, so that a loss of 0 exists.
    assert result.loss == 0.0 or result.status != "optimal"
    if result.is_proven and result.loss > 0:
        assert result.condition.margin > 0
        assert "among networks that keep a margin of" in result.status


def test_inputs_of_all_magnitudes_end_in_time():
    X = [
        [1e-12, 7e10, 5e88, 4e-106],
        [3e-162, 8e-86, -6e18, 5e-51],
        [2e-61, -1e-94, -1e-55, -5e-25],
    ]
    model = BDNNClassifier(
        hidden=(1,),
        weights="continuous",
        inputs=Inputs(scale=None),
        limits=Limits(seconds=2.0),
        random_state=0,
    )
    assert model.fit(X, [0, 2, 1]).result_.loss <= 4.0


class Once:
    """A function that is interrupted the first time."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __get__(self, one, kind):
        def call(*given, **options):
            self.calls += 1
            if self.calls == 1:
                raise KeyboardInterrupt
            return self.function(one, *given, **options)

        return call


@pytest.mark.parametrize(
    ("kind", "name", "status"),
    [
        (Auto, "phases", "interrupted"),
        (Run, "result", "optimal"),
        (Problem, "finished", "optimal"),
        (Model, "calibrated", "optimal"),
    ],
)
def test_no_moment_after_the_first_network_loses_it(monkeypatch, kind, name, status):
    once = Once(getattr(kind, name))
    monkeypatch.setattr(kind, name, once)
    model = BDNNClassifier(hidden=(1,), objective="loss", random_state=0, limits=Limits(seconds=10))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(LINE, [0, 0, 1, 1])
    assert once.calls > 0
    assert model.result_.status == status
    assert model.predict(LINE).shape == (4,)

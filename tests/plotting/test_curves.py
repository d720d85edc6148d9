"""Curves show the numbers they were given."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from bdnn.errors import DataError, UnsupportedFeatureError
from bdnn.plotting import plot_epochs, plot_progress, plot_robustness, plot_size
from bdnn.problem.bound import Bound
from bdnn.robustness import certify, verify
from bdnn.training import Budget, DataSplitting, Descent
from bdnn.training.result import TrainingResult
from tests.problems import xor
from tests.robustness.cases import random_case


def epochs(losses, accuracies=None):
    accuracies = [None] * len(losses) if accuracies is None else accuracies
    return [
        {"loss": loss, "validation_accuracy": accuracy, "seconds": 0.5}
        for loss, accuracy in zip(losses, accuracies, strict=True)
    ]


def test_loss_and_bound_over_time():
    result = Descent().train(xor(), budget=Budget(seconds=20, seed=0)).result
    ax = plot_progress(result)
    loss, bound = (np.asarray(line.get_ydata()) for line in ax.get_lines())
    assert loss[-1] == result.loss
    assert (bound <= loss).all()


def test_epochs_of_several_runs_are_averaged():
    runs = {"ternary": [epochs([4, 2], [0.5, 0.7]), epochs([2, 0, 0], [0.7, 0.9, 1.0])]}
    figure = plot_epochs(runs, title="iris")[0].figure
    loss, accuracy, seconds = (ax.get_lines()[0].get_ydata() for ax in figure.axes)
    np.testing.assert_allclose(loss, [3, 1, 0])
    np.testing.assert_allclose(accuracy, [0.6, 0.8, 1.0])
    np.testing.assert_allclose(seconds, 0.5)


def test_a_real_run_is_drawn(tmp_path):
    result = DataSplitting(epochs=2, polish=False).train(xor(), budget=Budget(seed=0)).result
    path = tmp_path / "epochs.png"
    plot_epochs({"xor": [result.steps]})[0].figure.savefig(path)
    assert path.stat().st_size > 1000


def test_nothing_to_draw_is_said():
    with pytest.raises(DataError, match="no epoch"):
        plot_epochs({"none": [[]]})
    with pytest.raises(DataError, match="no history"):
        plot_progress(TrainingResult("optimal", 0, Bound(Fraction(0), "zero"), 0, 0, "auto"))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UnsupportedFeatureError, match="matplotlib"):
        plot_epochs({"one": [epochs([1.0])]})


def test_accuracy_against_the_radius():
    around = random_case(4, samples=8)
    around = replace(around, labels=np.where(np.arange(8) == 3, -1, around.classes))
    certified = certify(around)
    verified = verify(around, method="boxes")
    ax = plot_robustness({"bound": certified, "exact": verified}, largest=0.4)
    bound, exact = ax.get_lines()
    assert bound.get_ydata()[0] == 7 / 8
    assert (np.asarray(exact.get_ydata()) >= np.asarray(bound.get_ydata())).all()
    _, share = certified.curve(bound.get_xdata())
    assert (share == bound.get_ydata()).all()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["bound", "exact"]


def test_no_radius_to_draw():
    with pytest.raises(DataError, match="nothing to draw"):
        plot_robustness({})


def test_accuracy_against_bytes():
    points = [
        SimpleNamespace(bytes=size, accuracy=right, error=0.01, test_accuracy=tested)
        for size, right, tested in ((400, 0.8, 0.75), (900, 0.9, 0.85))
    ]
    ax = plot_size(SimpleNamespace(points=points))
    assert ax.lines[0].get_xdata().tolist() == [400, 900]
    assert ax.lines[0].get_ydata().tolist() == [0.8, 0.9]
    assert list(ax.lines[-1].get_ydata()) == [0.75, 0.85]
    with pytest.raises(DataError, match="no point"):
        plot_size(SimpleNamespace(points=()))

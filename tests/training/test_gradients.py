"""Gradients and wide margins, without a search on the loss."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from bdnn.search.objective import output_margins
from bdnn.search.starts import straight_through
from bdnn.training import Budget, Gradients, gradients


def problem(n_classes=2, **options):
    rng = np.random.default_rng(0)
    labels = np.arange(90) % n_classes
    X = rng.normal(scale=0.6, size=(90, 4))
    X[np.arange(90), labels] += 2.0
    shape = Architecture.create(4, n_classes, **{"hidden": (12,), **options})
    return classification(shape, np.round(X, 1), labels)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"weights": "ternary"},
        {"weights": "continuous"},
        {"weights": "ternary", "hidden": (8, 6)},
        {"weights": "ternary", "activation": "ternary"},
        {"weights": "continuous", "thresholds": "layer"},
    ],
)
def test_it_learns_and_tells_the_truth(n_classes, options):
    samples = problem(n_classes, **options)
    network, result = Gradients().train(samples, budget=Budget(seconds=20, seed=1))
    assert result.loss == samples.value(network)
    assert result.bound <= result.loss
    assert result.error == samples.error(network) < 0.25
    assert result.method == "gradients"


def test_margins_are_wider_than_those_of_gradients():
    samples = problem(weights="ternary")
    first = straight_through(samples, rng=np.random.default_rng(1), slot=Slot.of(20))
    network, _ = Gradients().train(samples, budget=Budget(seconds=20, seed=1))

    def lead(found):
        return (samples.loss.label_weight * np.minimum(output_margins(samples, found), 12.0)).sum()

    assert lead(network) > lead(first)


def test_the_same_seed_gives_the_same_network():
    samples = problem(weights="ternary")
    one, two = (Gradients().train(samples, budget=Budget(seconds=60, seed=3)).network for _ in "ab")
    assert all(np.array_equal(a, b) for a, b in zip(one.weights, two.weights, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(one.thresholds, two.thresholds, strict=True))


def test_validation_refuses_margins_that_cost_errors():
    samples = problem(weights="ternary")
    validation = problem(weights="ternary")
    network, _ = Gradients(wanted_margin=1000.0).train(
        samples, validation=validation, budget=Budget(seconds=20, seed=1)
    )
    first = straight_through(samples, rng=np.random.default_rng(1), slot=Slot.of(20))
    assert validation.error(network) <= validation.error(first)


@pytest.mark.parametrize("margin", [0, -1.0, float("nan"), "wide"])
def test_bad_margins_get_one_sentence(margin):
    with pytest.raises(ModelError, match="wanted_margin must be positive"):
        Gradients(wanted_margin=margin).train(problem(), budget=Budget(seconds=5))


def test_it_stops_when_it_is_told_to():
    result = (
        Gradients()
        .train(
            problem(),
            budget=Budget(seconds=60),
            on_progress=lambda moment: moment.phase == "gradients",
        )
        .result
    )
    assert result.status in ("interrupted", "optimal")


def refit(monkeypatch, widen):
    """Train with part of the samples held out; count how often margins are widened."""
    whole, held_out = problem(weights="ternary"), np.arange(90) % 3 == 0
    lines = np.arange(len(whole.inputs))
    part, validation = (whole.subset(lines[keep]) for keep in (~held_out, held_out))
    calls = []

    def counted(samples, network, **options):
        calls.append(samples)
        return widen(samples, network, **options)

    monkeypatch.setattr(gradients, "widen_margin", counted)
    trained = Gradients().train(
        whole, validation=validation, training_part=part, budget=Budget(seconds=20, seed=1)
    )
    assert trained.result.loss == whole.value(trained.network)
    return whole, part, calls


def test_held_out_samples_are_trained_on_once_they_have_chosen(monkeypatch):
    whole, part, calls = refit(monkeypatch, gradients.widen_margin)
    assert [len(samples.inputs) for samples in calls] == [len(part.inputs), len(whole.inputs)]


def test_margins_that_cost_validation_errors_are_not_widened_again(monkeypatch):
    def spoilt(samples, network, **options):
        return samples.constant_network()

    _, part, calls = refit(monkeypatch, spoilt)
    assert [len(samples.inputs) for samples in calls] == [len(part.inputs)]

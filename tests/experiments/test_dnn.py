"""The ReLU networks that binarized ones are compared with."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.experiments import training


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    return rng.normal(size=(80, 3)) + 2.0 * y[:, None], y


def fit(samples, **settings):
    settings = {"epochs": 6, "batch_size": 8, **settings}
    work = {"kind": "dnn", "hidden": "5", "settings": settings, "seed": 0}
    return training.fit(work, *samples, validation=0.25)


def best_epoch(fitted):
    errors = fitted.curves["validation_error"]
    return max(place for place, error in enumerate(errors, 1) if error == min(errors))


def test_the_last_of_the_best_epochs_is_kept(samples):
    fitted = fit(samples)
    assert fitted.model[-1].t_ == 60 * best_epoch(fitted)


def test_a_refit_takes_as_many_epochs_of_all_samples(samples):
    fitted, plain = fit(samples, refit=True), fit(samples)
    assert fitted.curves["validation_error"] == plain.curves["validation_error"]
    assert fitted.model[-1].t_ == 80 * best_epoch(fitted)
    assert fitted.facts["train_accuracy"] == pytest.approx(100 * fitted.model.score(*samples))

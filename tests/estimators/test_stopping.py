"""When training ends: gap, loss, nodes, time; and the history it leaves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import bdnn
from bdnn import Limits
from bdnn.training import Auto, Exact
from tests.estimators.test_incremental import small, tables
from tests.sentences import assert_one_sentence

METHODS = ("exact", "auto", "descent", "local_search", "data_splitting")


def noise(n_samples=20):
    """Samples on which one unit errs, and a constant network more."""
    X, y = tables(n_samples, seed=2)
    best = small().fit(X, y).result_.loss
    constant = 2.0 * min(np.count_nonzero(y == "a"), np.count_nonzero(y == "b"))
    assert 0 < best < constant
    return X, y, best, constant


@pytest.mark.parametrize("method", METHODS)
def test_a_loss_that_is_good_enough_ends_training(method):
    X, y, best, constant = noise()
    # What a heuristic finds in its time may differ; the constant network it always has.
    limit = constant if method in METHODS[3:] else best + 2
    model = small(method=method, limits=Limits(loss=limit)).fit(X, y)
    assert best <= model.result_.loss <= limit
    assert model.result_.status in ("optimal", "loss limit")
    assert model.result_.status == "loss limit" or model.result_.loss == model.result_.bound


@pytest.mark.parametrize("method", METHODS)
def test_a_gap_that_is_good_enough_ends_training(method):
    X, y, best, _ = noise()
    model = small(method=method, limits=Limits(gap=1.0)).fit(X, y)
    assert model.result_.status in ("optimal", "gap limit")
    assert model.result_.gap <= 1.0
    assert model.result_.bound <= best


def test_a_loss_limit_counts_in_the_users_weights():
    X, y, best, _ = noise()
    limit = 0.01 * (best + 4)
    model = small(limits=Limits(loss=limit)).fit(X, y, np.full(20, 0.01))
    assert 0.01 * best - 1e-9 <= model.result_.loss <= limit + 1e-9


@pytest.mark.parametrize("method", [Exact(), Auto(patience=1)], ids=lambda m: m.name)
def test_a_node_limit_ends_training(method):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, (24, 3)).astype(float), np.arange(24) % 3
    model = small(hidden=(2,), method=method, limits=Limits(nodes=1))
    with pytest.warns(ConvergenceWarning, match="node limit"):
        model.fit(X, y)
    assert model.result_.status == "node limit"
    assert np.isfinite(model.result_.loss)


@pytest.mark.parametrize("method", METHODS[2:])
def test_a_node_limit_needs_a_program(method):
    X, y, *_ = noise()
    with pytest.raises(bdnn.BDNNError, match=f"'{method}' does not take limits: nodes") as caught:
        small(method=method, limits=Limits(nodes=5)).fit(X, y)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_the_history_ends_with_the_result(method):
    X, y, *_ = noise()
    model = small(method=method, hidden=(2,)).fit(X, y)
    assert model.history_ == model.result_.history
    assert min(moment.loss for moment in model.history_) == model.result_.loss
    seconds = [moment.seconds for moment in model.history_]
    assert seconds == sorted(seconds)
    assert all(moment.bound <= moment.loss for moment in model.history_)


def test_an_unfitted_model_has_no_history():
    assert not hasattr(small(), "history_")

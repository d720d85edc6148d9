"""The narrowest network that does, against enumeration of all narrower ones."""

from __future__ import annotations

import numpy as np
import pytest

import bdnn
from bdnn import Limits
from bdnn.errors import ModelError, NoSolutionError
from tests.oracle import smallest_loss
from tests.problems import XOR, xor


def test_xor_needs_two_units_and_one_is_proven_insufficient():
    found = bdnn.smallest_network(XOR, [0, 1, 1, 0], limits=Limits(seconds=20), random_state=0)
    assert (found.width, found.insufficient, found.is_proven) == (2, 1, True)
    assert found.classifier.hidden == (2,)
    assert found.classifier.score(XOR, [0, 1, 1, 0]) == 1.0
    assert smallest_loss(xor(hidden=(1,))) > 0


def test_an_allowed_error_makes_the_network_narrower():
    found = bdnn.smallest_network(
        XOR, [0, 1, 1, 0], max_error=0.25, limits=Limits(seconds=20), random_state=0
    )
    assert found.width == 1
    assert found.classifier.result_.loss <= 2


def test_attempts_tell_loss_and_bound_per_width():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)
    found = bdnn.smallest_network(X, y, limits=Limits(seconds=20), random_state=0)
    assert found.attempts[0].width == 1
    assert all(attempt.bound <= attempt.loss for attempt in found.attempts)
    assert found.insufficient < found.width


def test_what_cannot_be_reached_is_said():
    X = np.zeros((4, 2))
    with pytest.raises(NoSolutionError, match=r"raise limits\.seconds .*, max_width or max_error"):
        bdnn.smallest_network(
            X, [0, 1, 0, 1], max_width=2, limits=Limits(seconds=6), random_state=0
        )


@pytest.mark.parametrize(
    "options",
    [{"max_error": -0.1}, {"max_error": 1.0}, {"hidden": (3,)}, {"limits": Limits(loss=2)}],
)
def test_bad_options_are_refused(options):
    with pytest.raises(ModelError):
        bdnn.smallest_network(XOR, [0, 1, 1, 0], **options)

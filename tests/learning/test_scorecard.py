"""Scorecards: few inputs, small points, and regressions of cells that equal those of rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import bdnn
from bdnn.clock import Slot
from bdnn.constraints import Forbid, Sparsity
from bdnn.errors import ModelError
from bdnn.learning.linear import Logistic
from bdnn.learning.scorecard import Scorecard, _newton, _Rows, _slopes_and_shifts
from tests.learning.lessons import make_lesson
from tests.sentences import assert_one_sentence


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("reads", ["bits", "numbers"])
def test_few_inputs_with_small_points(reads: str, n_classes: int) -> None:
    lesson = make_lesson(150, n_classes, noise=0.1)
    for most in (0, 1, 3):
        stack = Scorecard(reads, most).fit(lesson, seed=0, slot=Slot())
        (weights,) = stack.weights
        assert np.count_nonzero(np.abs(weights).sum(axis=0)) <= most
        assert np.abs(weights).max(initial=0.0) <= 5
        assert (weights == np.rint(weights)).all()
    right = (stack.scores(lesson.table).argmax(axis=1) == lesson.labels).mean()
    assert right > 1.2 / n_classes


def test_regression_of_cells_is_that_of_rows() -> None:
    """Against scikit-learn, whose intercept is not punished as ours is: with hardly any penalty."""
    lesson = make_lesson(300, noise=0.3)
    bits, share = _Rows(lesson, "bits").cells([0, 4, 7])
    assert len(bits) <= 8
    found, _ = _newton(_slopes_and_shifts(bits, np.array([1]), share.shape), share, 1e-6)
    peer = LogisticRegression(C=1e6, tol=1e-8).fit(lesson.table.bits[:, [0, 4, 7]], lesson.labels)
    assert np.allclose(found, [*peer.coef_[0], peer.intercept_[0]], atol=1e-3)


def test_two_bits_are_the_best_two() -> None:
    """All pairs, each with its own regression."""
    lesson = make_lesson(120, noise=0.2, seed=3)
    rows = _Rows(lesson, "bits")

    def loss(pair: list[int]) -> float:
        bits, share = rows.cells(pair)
        return _newton(_slopes_and_shifts(bits, np.array([1]), share.shape), share)[1]

    losses = {pair: loss(list(pair)) for pair in combinations(range(lesson.table.bits.shape[1]), 2)}
    chosen = Scorecard("bits", 2)._chosen(rows, Slot())
    assert loss(chosen) <= min(losses.values()) * 1.01


@pytest.mark.parametrize("n_classes", [2, 4])
def test_logistic_regression_is_that_of_scikit_learn(n_classes: int) -> None:
    lesson = make_lesson(300, n_classes, noise=0.2)
    stack = Logistic("numbers").fit(lesson, seed=0, slot=Slot())
    peer = LogisticRegression(max_iter=500).fit(lesson.table.numbers, lesson.labels)
    equal = stack.scores(lesson.table).argmax(axis=1) == peer.predict(lesson.table.numbers)
    assert equal.mean() > 0.98


def test_scorecards_are_asked_for_by_a_constraint() -> None:
    data = bdnn.datasets.load("breast-cancer")
    options = {"objective": "accuracy", "limits": bdnn.Limits(seconds=3), "random_state": 0}
    model = bdnn.BDNNClassifier(constraints=Sparsity(per_unit=3), **options).fit(data.X, data.y)
    (weights,) = model.network_.weights
    assert (weights != 0).sum(axis=1).max() <= 3
    assert model.score(data.X, data.y) > 0.92
    with pytest.raises(ModelError, match="constraints") as caught:
        bdnn.BDNNClassifier(constraints=Forbid(0), **options).fit(data.X, data.y)
    assert_one_sentence(caught.value)


def test_a_shape_that_is_given_is_kept() -> None:
    data = bdnn.datasets.load("iris")
    options = {"limits": bdnn.Limits(seconds=1), "random_state": 0}
    model = bdnn.BDNNClassifier(hidden=(4,), **options).fit(data.X, data.y)
    assert (model.result_.status, model.network_.architecture.hidden) == ("selected", (4,))
    model = bdnn.BDNNClassifier(hidden=(), weights="ternary", **options).fit(data.X, data.y)
    assert model.network_.architecture.hidden == ()
    assert np.abs(model.network_.weights[0]).max() <= 1
    assert model.score(data.X, data.y) > 0.8


def test_a_card_may_have_fewer_inputs_than_allowed() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 2)).astype(float)
    options = {"objective": "accuracy", "limits": bdnn.Limits(seconds=2), "random_state": 0}
    model = bdnn.BDNNClassifier(constraints=Sparsity(per_unit=5), **options).fit(X, X[:, 0])
    assert (model.network_.weights[0] != 0).sum(axis=1).max() <= 2
    assert model.score(X, X[:, 0]) == 1.0

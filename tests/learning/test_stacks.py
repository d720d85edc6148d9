"""Candidates, joined ones among them, and the networks made of them answer alike."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from bdnn.clock import Slot
from bdnn.learning.gradients import Gradients
from bdnn.learning.linear import Logistic, NearestMean, Prior
from bdnn.learning.stack import Stack, Votes
from bdnn.learning.teaching import is_joinable, join, merged, shares
from bdnn.learning.trees import Boosting, Tree, leaves_of
from tests.learning.lessons import inputs_of, make_lesson

CANDIDATES = [
    Prior(),
    NearestMean(),
    Logistic("numbers"),
    Logistic("bits", 0.1),
    Tree(6),
    Boosting(1, 10),
    Boosting(2, 10),
    Boosting(3, 5),
    Gradients("numbers", (6,), updates=60),
    Gradients("bits", (), updates=60),
    Gradients("bits", (6, 4), updates=60),
    Gradients("both", (6,), updates=60),
    Gradients("mix", (5, 4), dropout=0.25, updates=60),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("candidate", CANDIDATES, ids=str)
def test_the_network_answers_as_the_stack(candidate, n_classes: int) -> None:
    lesson = make_lesson(n_classes=n_classes, noise=0.1)
    stack = candidate.fit(lesson, seed=0, slot=Slot())
    network = stack.network(3, 9, step=1 / 16)
    expected = stack.scores(lesson.table)
    assert np.allclose(network.scores(inputs_of(lesson.table)), expected, atol=1e-3)
    assert network.architecture.n_outputs == n_classes
    for W, t in zip(network.weights[:-1], network.thresholds[:-1], strict=True):
        assert np.isin(W, (-1, 0, 1)).all()
        assert (t * 16 == np.rint(t * 16)).all()  # on the grid, so that few digits do


def test_bits_that_nothing_looks_at_are_no_units() -> None:
    lesson = make_lesson(noise=0.1)
    stack = Gradients("mix", (5, 4), updates=60).fit(lesson, seed=0, slot=Slot())
    stack.weights[1][:, 5:] *= np.arange(9) % 4 == 0
    network = stack.network(3, 9, step=1 / 16)
    assert network.architecture.hidden[0] <= 5 + 3
    assert np.allclose(
        network.scores(inputs_of(lesson.table)), stack.scores(lesson.table), atol=1e-3
    )


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("leaves", [2, 5, 20])
def test_a_tree_is_a_network_of_equal_answers(leaves: int, n_classes: int) -> None:
    lesson = make_lesson(n_classes=n_classes, noise=0.2)
    bits = lesson.table.bits
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=5, random_state=3)
    tree.fit(bits, lesson.labels)
    votes = Votes(9, n_classes)
    for literals, share in leaves_of(tree.tree_):
        votes.add(literals, np.eye(n_classes)[share.argmax()])
    network = votes.stack().network(0, 9, step=0.0)
    assert np.array_equal(network.predict(bits.astype(float)), tree.predict(bits))


def test_a_tree_keeps_its_probabilities_up_to_rounding() -> None:
    lesson = make_lesson(n_classes=3, noise=0.2)
    bits = lesson.table.bits
    stack = Tree(6).fit(lesson, seed=5, slot=Slot())
    tree = DecisionTreeClassifier(max_leaf_nodes=6, min_samples_leaf=5, random_state=5)
    tree.fit(bits, lesson.labels, sample_weight=lesson.weight)
    scores = stack.logits(lesson.table)
    # A byte per vote: an error of half a unit for the leaf, and for a bit that takes back what
    # holds where it is off.
    assert np.abs(scores - tree.predict_proba(bits)).max() < 2 * 0.5 * stack.slope + 1e-6


def test_logistic_regression_is_kept_up_to_rounding() -> None:
    lesson = make_lesson(n_classes=3, noise=0.1)
    X = lesson.table.numbers
    stack = Logistic("numbers").fit(lesson, seed=0, slot=Slot())
    model = LogisticRegression(max_iter=200).fit(X, lesson.labels)
    bound = np.abs(X).sum(axis=1, keepdims=True) * 0.5 * stack.slope + 1e-3
    assert (np.abs(stack.logits(lesson.table) - model.decision_function(X)) <= bound).all()


def boosted(lesson, depth: int, rounds: int, rate: float) -> np.ndarray:
    """Logits of boosted trees for two classes, row by row and bit by bit."""
    Z, y = lesson.table.bits, (lesson.labels == 1).astype(float)
    prior = (y.sum() + 1) / (len(y) + 2)
    scores = np.full(len(y), np.log(prior / (1 - prior)))

    def grow(rows: np.ndarray, depth: int, g: np.ndarray, h: np.ndarray, out: np.ndarray) -> None:
        best, found = g[rows].sum() ** 2 / (h[rows].sum() + 1) * (1 + 1e-6) + 1e-9, None
        for bit in range(Z.shape[1] if depth else 0):
            on, off = rows[Z[rows, bit] == 1], rows[Z[rows, bit] == 0]
            if h[on].sum() < 2 or h[off].sum() < 2:
                continue
            gain = sum(g[part].sum() ** 2 / (h[part].sum() + 1) for part in (on, off))
            if gain > best + 1e-7:
                best, found = gain, (on, off)
        if found is None:
            out[rows] = g[rows].sum() / (h[rows].sum() + 1)
            return
        for part in found:
            grow(part, depth - 1, g, h, out)

    for _ in range(rounds):
        p = 1 / (1 + np.exp(-scores))
        out = np.zeros(len(y))
        grow(np.arange(len(y)), depth, y - p, p * (1 - p), out)
        scores += rate * out
    return scores


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_boosting_is_that_of_a_plain_loop(depth: int) -> None:
    lesson = make_lesson(noise=0.1)
    stack = Boosting(depth, 8, rate=0.3).fit(lesson, seed=0, slot=Slot())
    logits = stack.logits(lesson.table)
    expected = boosted(lesson, depth, 8, 0.3)
    n_votes = 8 * 2**depth
    assert np.abs(logits[:, 1] - logits[:, 0] - expected).max() < n_votes * 0.5 * stack.slope + 1e-3


@pytest.mark.parametrize(
    "candidates",
    [
        [Gradients("bits", (5,), updates=40)] * 3,
        [Gradients("mix", (5, 4), updates=40), Gradients("mix", (3, 2), updates=40)],
        [
            Boosting(2, 5),
            Gradients("mix", (5, 4), updates=40),
            Gradients("numbers", (4,), updates=40),
        ],
        [Boosting(1, 5), Gradients("bits", (4,), updates=40)],
        [Tree(4), Boosting(3, 4), Logistic("bits")],
    ],
    ids=str,
)
def test_joined_networks_add_their_scores(candidates) -> None:
    lesson = make_lesson(n_classes=3, noise=0.1)
    stacks = [c.fit(lesson, seed=k, slot=Slot()) for k, c in enumerate(candidates)]
    joined = join(stacks, 9)
    network = joined.network(3, 9, step=1 / 16)
    scores = joined.scores(lesson.table)
    assert np.allclose(network.scores(inputs_of(lesson.table)), scores, atol=1e-2)
    # Integer shares of the logits: all scores are a combination with the factors used.
    expected = sum(
        factor * stack.scores(lesson.table)
        for factor, stack in zip(shares(stacks), stacks, strict=True)
    )
    centred = [s - s.mean(axis=1, keepdims=True) for s in (scores, expected)]
    assert np.allclose(*centred, atol=1e-2)


def test_a_linear_network_on_numbers_stands_alone() -> None:
    lesson = make_lesson()
    assert not is_joinable(Logistic("numbers").fit(lesson, seed=0, slot=Slot()))
    assert is_joinable(Logistic("bits").fit(lesson, seed=0, slot=Slot()))


def test_equal_units_become_one_and_idle_ones_go() -> None:
    first = np.array([[1, 0], [1, 0], [0, 1], [0, -1]], np.float32)
    votes = np.array([[1, 2, 0, 0], [0, -1, 0, 3]], np.float32)
    thresholds = np.array([1, 1, 1, 0], np.float32)
    stack = merged(Stack("bits", (first, votes), (thresholds, np.zeros(2, np.float32))))
    assert sorted(map(tuple, stack.weights[0])) == [(0, -1), (1, 0)]
    assert {tuple(column) for column in stack.weights[1].T} == {(3, -1), (0, 3)}

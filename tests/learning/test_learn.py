"""From codes of a table to a network: truth of what is said, budgets, few rows, tails."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bdnn.clock import Slot, Ticks
from bdnn.encoding import Column, Inputs
from bdnn.learning.comparison import Trial, blend, compare, mistakes, ranked
from bdnn.learning.flash import stack_bytes
from bdnn.learning.gradients import Gradients
from bdnn.learning.learn import learn, tail_cuts
from bdnn.learning.linear import Logistic, Prior
from bdnn.learning.stack import Stack
from bdnn.learning.teaching import opinion, taught, unseen_opinion
from bdnn.learning.trees import Tree
from tests.grids import long
from tests.learning.lessons import make_lesson


def make_table(n_rows: int = 240, seed: int = 0):
    """Two numbers, a text and a gap; the class depends on all of them."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.normal(size=(n_rows, 2)), rng.integers(3, size=n_rows)])
    labels = (codes[:, 0] * codes[:, 1] > 0) ^ (codes[:, 2] == 1)
    codes[rng.random(n_rows) < 0.1, 0] = np.nan
    columns = (Column("a"), Column("b"), Column("c", "category", ("x", "y", "z")))
    return codes, columns, labels.astype(np.intp)


def test_what_is_learnt_holds_for_new_rows() -> None:
    codes, columns, labels = make_table(400)
    learned = learn(codes, columns, labels, 2, slot=Slot.of(5), seed=0)
    fresh, _, wanted = make_table(400, seed=1)
    right = (learned.network.predict(learned.encoder.transform(fresh)) == wanted).mean()
    assert right > 0.85
    known = learned.held_out
    assert abs(known.accuracy - right) < 4 * known.error + 0.04
    assert known.chosen
    assert known.bytes > 0
    assert {figures.name for figures in known.candidates} >= {"prior", "linear", "tree"}
    # Scores are those of the network that is returned.
    scores = learned.network.scores(learned.encoder.transform(codes[known.rows]))
    assert np.allclose(scores, known.scores)
    assert np.allclose(known.share.sum(axis=1), 1.0, atol=1e-4)
    used = np.abs(learned.network.weights[0]).sum(axis=0) > 0
    assert used.all()


def counted() -> Slot:
    """A time that only goes on when it is looked at, the same in every run."""
    return Slot.of(6000.0, clock=Ticks())


def test_seeds_repeat_where_the_clock_does() -> None:
    codes, columns, labels = make_table(120)
    first, again = (learn(codes, columns, labels, 2, slot=counted(), seed=3) for _ in range(2))
    assert first.network == again.network
    assert first.held_out.accuracy == again.held_out.accuracy


def test_two_workers_learn_what_one_does() -> None:
    codes, columns, labels = make_table(40)
    one, two = (
        learn(codes, columns, labels, 2, slot=Slot.of(300), hidden=(), most_inputs=2, workers=n)
        for n in (1, 2)
    )
    assert one.network == two.network


def test_a_given_shape_and_encoding_are_kept() -> None:
    codes, columns, labels = make_table(120)
    given = Inputs("cuts")
    learned = learn(codes, columns, labels, 2, slot=Slot.of(2), hidden=(7,), inputs=given)
    assert learned.network.architecture.hidden == (7,)
    assert learned.encoder.n_numbers == 0


@pytest.mark.parametrize("most", [60, *long(300, 2000)])
def test_a_network_fits_into_its_bytes(most: int) -> None:
    codes, columns, labels = make_table(200)
    learned = learn(codes, columns, labels, 2, slot=Slot.of(2), max_bytes=most)
    assert learned.held_out.bytes <= most


@pytest.mark.parametrize("n_rows", [5, *long(2, 10)])
def test_few_rows_do_not_collapse(n_rows: int) -> None:
    digits = load_digits()
    rows = np.concatenate([np.flatnonzero(digits.target == k)[:n_rows] for k in range(10)])
    columns = tuple(Column(f"x{j}") for j in range(64))
    X, y = digits.data, digits.target
    learned = learn(X[rows], columns, y[rows], 10, slot=Slot.of(3), seed=0)
    right = (learned.network.predict(learned.encoder.transform(X[500:])) == y[500:]).mean()
    means = np.array([X[rows][y[rows] == k].mean(axis=0) for k in range(10)])
    nearest = np.square(X[500:, None] - means).sum(axis=2).argmin(axis=1)
    plain = (nearest == y[500:]).mean()
    assert right > plain - 0.1


@pytest.mark.parametrize("labels", [[0, 0, 0, 0, 0, 1], [0, 1], [0, 0, 1, 2]])
def test_a_class_of_one_row_is_no_reason_to_fail(labels: list[int]) -> None:
    codes = np.arange(len(labels), dtype=float)[:, None]
    y = np.array(labels)
    learned = learn(codes, (Column("a"),), y, int(y.max()) + 1, slot=Slot.of(2))
    assert learned.network.predict(learned.encoder.transform(codes)).shape == y.shape


def test_no_time_still_gives_a_network() -> None:
    codes, columns, labels = make_table(100)
    slot = Slot.of(1.0, clock=Ticks(0.5))
    learned = learn(codes, columns, labels, 2, slot=slot)
    assert learned.network.predict(learned.encoder.transform(codes)).shape == (100,)


def test_weightless_rows_do_not_count() -> None:
    codes, columns, labels = make_table(200)
    weight = (np.arange(200) % 2).astype(float)
    other = np.where(weight > 0, labels, 1 - labels)
    first = learn(codes, columns, labels, 2, weight, slot=counted(), seed=1)
    second = learn(codes, columns, other, 2, weight, slot=counted(), seed=1)
    assert first.network == second.network


def test_only_unseen_rows_are_judged() -> None:
    """A candidate that keeps its rows by heart has no advantage on those that it has not seen."""

    class ByHeart:
        reads = "bits"

        def fit(self, lesson, *, seed, slot):
            self.seen = lesson.table.bits
            return _Memory("bits", (np.zeros((2, 9), np.float32),), (np.zeros(2, np.float32),))

    class _Memory(Stack):
        def scores(self, table):
            return np.tile([0.0, 1.0], (len(table), 1)).astype(np.float32)

    lesson = make_lesson(60)
    folds = np.arange(60) % 3
    trials = [Trial.of("heart", ByHeart(), lesson), Trial.of("tree", Tree(4), lesson)]
    compare(trials, lesson, [folds], seed=0, slot=Slot())
    assert (trials[0].count == 1).all()
    assert len(trials[0].candidate.seen) == 40
    for fold in range(3):
        rows = np.flatnonzero(folds != fold)
        stack = Tree(4).fit(lesson.rows(rows), seed=fold, slot=Slot())
        outside = np.flatnonzero(folds == fold)
        if len(trials[1].stacks) > fold:
            expected = stack.scores(lesson.table.rows(outside)).argmax(axis=1)
            assert np.array_equal(trials[1].share[outside].argmax(axis=1), expected)


def test_candidates_clearly_behind_stop_and_the_order_is_by_mistakes() -> None:
    lesson = make_lesson(300)
    ways = {"prior": Prior(), "linear": Logistic("numbers"), "tree": Tree(16)}
    trials = [Trial.of(name, way, lesson) for name, way in ways.items()]
    compare(trials, lesson, [np.arange(300) % 5], seed=0, slot=Slot())
    done = {trial.name: len(trial.stacks) for trial in trials}
    assert done["prior"] < 5
    whole = [trial for trial in trials if len(trial.stacks) == 5]
    wrong = [
        mistakes(trial, lesson, np.arange(len(lesson))).sum() for trial in ranked(whole, lesson)
    ]
    assert wrong == sorted(wrong)
    both = blend("both", whole[:2]) if len(whole) > 1 else blend("one", whole)
    assert np.allclose(both.share.sum(axis=1), 1.0, atol=1e-5)


def test_teachers_are_asked_about_rows_that_they_have_not_seen() -> None:
    lesson = make_lesson(90)
    part = np.arange(60)
    trial = Trial.of("tree", Tree(6), lesson.rows(part))
    folds = np.arange(60) % 3
    compare([trial], lesson.rows(part), [folds], seed=0, slot=Slot())
    share = unseen_opinion([trial], lesson, part)
    assert np.allclose(share[:60], trial.share)
    assert np.allclose(share[60:], opinion([trial.stacks], lesson.table.rows(np.arange(60, 90))))


def test_new_rows_keep_the_inputs_of_a_column_together() -> None:
    lesson = make_lesson(80)
    trial = Trial.of("tree", Tree(4), lesson)
    compare([trial], lesson, [np.arange(80) % 2], seed=0, slot=Slot())
    column_of = np.array([0, 1, 2, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    share = unseen_opinion([trial], lesson, np.arange(80))
    more = taught(lesson, share, [trial.stacks], column_of, np.random.default_rng(0))
    assert len(more) > 4000
    for j in range(3):
        cuts = [-0.5, 0.0, 0.5]
        bits = more.table.bits[:, 3 * j : 3 * j + 3]
        assert np.array_equal(bits, more.table.numbers[:, [j]] >= np.array(cuts))
    moved = ~(more.table.numbers[80:, None] == lesson.table.numbers[None]).all(axis=2).any(axis=1)
    assert 0.05 < moved.mean() < 0.6


def test_tails_have_the_cuts_that_a_frequent_value_took() -> None:
    rng = np.random.default_rng(0)
    column = np.where(rng.random(1000) < 0.9, 0.0, rng.exponential(size=1000))
    codes = np.column_stack([column, rng.normal(size=1000)])
    found = tail_cuts(codes, 16)
    assert list(found) == [0]
    assert 10 <= len(found[0]) <= 15
    assert (found[0] > 0).all()


def test_bytes_of_a_layer_are_the_less_of_dense_and_lists() -> None:
    dense, sparse = np.ones((4, 40), np.float32), np.zeros((4, 40), np.float32)
    sparse[:, 0] = 1.0
    zeros = np.zeros(4, np.float32)
    both = [stack_bytes(Stack("bits", (W,), (zeros,))) for W in (dense, sparse)]
    assert both == [4 * 40 * 2 // 8 + 4 + 2 * 40, 1 + 4 + 2]
    wide = Gradients("bits", (50,), updates=0).fit(make_lesson(), seed=0, slot=Slot())
    narrow = Gradients("bits", (5,), updates=0).fit(make_lesson(), seed=0, slot=Slot())
    assert stack_bytes(wide) > 2 * stack_bytes(narrow)


class Interrupted:
    """A clock that goes by ticks; Ctrl-C comes when it is read for the nth time."""

    def __init__(self, after: int) -> None:
        self.left, self.ticks = after, Ticks()

    def __call__(self) -> float:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return self.ticks()


@pytest.mark.parametrize("after", [4, 40, 400, 2500])
def test_ctrl_c_keeps_what_has_been_trained(after: int) -> None:
    codes, columns, labels = make_table(120)
    clock = Interrupted(after)
    learned = learn(codes, columns, labels, 2, slot=Slot(6000.0, clock), seed=3)
    assert learned.is_interrupted == (clock.left <= 0)
    right = (learned.network.predict(learned.encoder.transform(codes)) == labels).mean()
    assert right >= 0.5  # many tables of so few rows hold no more


def test_a_request_to_stop_keeps_what_has_been_trained() -> None:
    codes, columns, labels = make_table(120)
    answers = iter([False] * 300)
    slot = Slot(6000.0, Ticks(), is_stopped=lambda: next(answers, True))
    learned = learn(codes, columns, labels, 2, slot=slot, seed=3)
    assert learned.is_interrupted
    right = (learned.network.predict(learned.encoder.transform(codes)) == labels).mean()
    assert right >= np.bincount(labels).max() / len(labels)

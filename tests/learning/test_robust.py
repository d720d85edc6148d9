"""Candidates for the worst case, against enumeration of all that rows may become."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from bdnn.clock import Slot
from bdnn.encoding import Column, Encoder, Inputs
from bdnn.estimators.problems import Surrounded
from bdnn.learning.around import Around, FewBins
from bdnn.learning.comparison import is_certain
from bdnn.learning.robust_linear import RobustLinear, RobustVotes
from bdnn.learning.robust_moves import add_leads, count_right, improved
from bdnn.learning.robust_trees import GuardedTree, RobustTree, box_stack
from bdnn.learning.stack import Lesson, Stack, Table
from bdnn.network.architecture import WeightSet

RADIUS = 0.08


def guarded_lesson(
    n_rows: int = 60, n_classes: int = 2, *, cuts: int = 5, seed: int = 0
) -> tuple[Lesson, Encoder, np.ndarray]:
    """Rows of two numbers and a text, with balls around them; the third column never changes."""
    rng = np.random.default_rng(seed)
    X = np.column_stack((rng.random((n_rows, 2)), rng.integers(0, 3, n_rows).astype(float)))
    X[rng.random(n_rows) < 0.1, 0] = np.nan
    score = np.nan_to_num(X[:, 0]) + 0.7 * X[:, 1] * (X[:, 2] - 1.0) + 0.1 * rng.random(n_rows)
    labels = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    columns = [Column("a"), Column("b"), Column("c", "category", ("u", "v", "w"))]
    rows = np.arange(n_rows)
    balls = Surrounded(X, np.full(n_rows, RADIUS), "linf", "raw")
    encoder = Encoder.learn(
        X,
        columns,
        Inputs("both", cuts=cuts),
        weights=WeightSet.parse("ternary"),
        reach=lambda known: balls.reach(rows, known),
    )
    table = Table.of(encoder, X)
    around = {
        wider: Around.of(balls.regions(rows, encoder, wider), encoder) for wider in (1.0, 1.15)
    }
    weight = np.ones(n_rows, np.float32)
    return Lesson(table, labels.astype(np.intp), weight, n_classes, around=around), encoder, X


def truly_certain(stack: Stack, lesson: Lesson, encoder: Encoder, X: np.ndarray) -> np.ndarray:
    """Whether the label is predicted at every point where a bit of the ball changes."""
    network = stack.network(encoder.n_numbers, encoder.n_bits, encoder.step)
    _, columns, values = encoder.literals["ge"]
    found = np.zeros(len(X), dtype=bool)
    for i, x in enumerate(X):
        sides = []
        for j in range(2):
            cuts = values[columns == j]
            inside = cuts[(cuts > x[j] - RADIUS) & (cuts <= x[j] + RADIUS)]
            ends = [x[j]] if np.isnan(x[j]) else [x[j] - RADIUS, x[j], x[j] + RADIUS]
            sides.append([*ends, *inside, *np.nextafter(inside, -np.inf)])
        points = np.array([(a, b, x[2]) for a, b in product(*sides)])
        found[i] = (network.predict(encoder.transform(points)) == lesson.labels[i]).all()
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_tree_is_a_network_of_equal_answers_and_exact_certificates(
    depth: int, n_classes: int
) -> None:
    lesson, encoder, X = guarded_lesson(n_classes=n_classes, seed=depth)
    around = lesson.around[1.0]
    tree = GuardedTree(lesson, around, depth)
    tree.grow(Slot())
    tree.improve(Slot())
    leaves = list(tree.leaves())
    stack = box_stack(leaves, around, n_classes)
    bits = lesson.table.bits > 0
    for row, predicted in zip(bits, stack.scores(lesson.table).argmax(axis=1), strict=True):
        reached = [own for leaf, own in leaves if all(row[x // 2] == bool(x % 2) for x in leaf)]
        assert reached == [predicted]
    certain = is_certain(stack, lesson, np.arange(len(lesson)))
    assert (certain == truly_certain(stack, lesson, encoder, X)).all()
    assert (tree.right() <= certain).all()  # less only by leaves that nothing reaches


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("is_improved", [False, True])
def test_certificates_of_votes_are_exact(n_classes: int, is_improved: bool) -> None:
    lesson, encoder, X = guarded_lesson(n_classes=n_classes)
    stack = RobustVotes(4, is_improved=is_improved).fit(lesson, seed=0, slot=Slot())
    certain = is_certain(stack, lesson, np.arange(len(lesson)))
    assert (certain == truly_certain(stack, lesson, encoder, X)).all()
    assert certain.mean() > 0.3


def test_linear_certificates_are_true() -> None:
    lesson, encoder, X = guarded_lesson()
    stack = RobustLinear().fit(lesson, seed=0, slot=Slot())
    certain = is_certain(stack, lesson, np.arange(len(lesson)))
    assert (certain <= truly_certain(stack, lesson, encoder, X)).all()


@pytest.mark.parametrize("seed", range(4))
def test_moves_of_a_tree_never_lose_a_row_in_total(seed: int) -> None:
    lesson, _, _ = guarded_lesson(n_classes=2 + seed % 2, seed=seed)
    tree = GuardedTree(lesson, lesson.around[1.0], 3)
    tree.grow(Slot())
    before = tree.right().sum()
    tree.improve(Slot())
    assert tree.right().sum() >= before


@pytest.mark.parametrize("n_classes", [2, 3])
def test_moves_of_votes_keep_the_leads_that_they_count(n_classes: int) -> None:
    lesson, _, _ = guarded_lesson(n_classes=n_classes, seed=1)
    around = lesson.around[1.0]
    few = around.told_apart(np.ones(len(around.scale), dtype=bool))
    rng = np.random.default_rng(0)
    start = rng.standard_normal((n_classes, 1 + few.bits.shape[1]))
    start[0] = 0.0

    def right(values: np.ndarray) -> float:
        votes = np.ascontiguousarray((few.bits @ values[:, 1:].T).T)
        leads = np.zeros((len(lesson), n_classes))
        add_leads(votes, values[:, 0].copy(), few.low, few.high, lesson.labels, leads)
        return count_right(leads, lesson.labels, lesson.weight.astype(float))

    # With no time at all votes are rounded only.
    rounded = improved(start, few, lesson, rng, Slot(-np.inf))
    assert right(improved(start, few, lesson, rng, Slot())) > right(rounded)


@pytest.mark.parametrize("seed", range(4))
def test_votes_of_a_text_that_stands_in_for_gaps_stay(seed: int) -> None:
    """Its bit is on in the first bin and in that of gaps, which no move of neighbours knows."""
    bits = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
    place, nothing = np.arange(40)[:, None] % 4, np.zeros((40, 0), np.float32)
    labels = np.array([1, 0, 1, 1])[place[:, 0]]
    few = FewBins(csr_array(bits), place, place, np.zeros(3, dtype=np.intp))
    lesson = Lesson(Table(nothing, nothing.astype(np.uint8)), labels, np.ones(40, np.float32), 2)
    start = np.array([[0.0, 0, 0, 0], [0, -3, 12, -12]])
    values = improved(start, few, lesson, np.random.default_rng(seed), Slot())
    assert values[1, 1] == -3
    scores = values[:, 0] + bits[place[:, 0]] @ values[:, 1:].T
    assert (scores.argmax(axis=1) == labels).mean() >= 0.5


def test_the_best_cut_is_found_by_a_tree_of_depth_1() -> None:
    lesson, _, _ = guarded_lesson(seed=5)
    stack = RobustTree(1).fit(lesson, seed=0, slot=Slot())
    around, labels = lesson.around[1.0], lesson.labels
    most = max(np.bincount(labels))
    for least, reached in zip(around.least.T > 0, around.most.T > 0, strict=True):
        for on in (0, 1):
            sure = (least & (labels == on)) | (~reached & (labels != on))
            most = max(most, sure.sum())
    assert is_certain(stack, lesson, np.arange(len(lesson))).sum() == most

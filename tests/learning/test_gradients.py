"""Training by gradients: compiled passes against numpy, and what it learns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bdnn.clock import Slot, Ticks
from bdnn.learning import kernels
from bdnn.learning.gradients import Gradients
from tests.learning import reference
from tests.learning.lessons import make_lesson


def arrays(*shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def both(name: str, given: list, changed: list[int], **more: object) -> None:
    """Run a pass compiled and in numpy, and compare the arrays that it changes."""
    results = []
    for module in (kernels, reference):
        copies = [tuple(a.copy() for a in g) if isinstance(g, tuple) else np.copy(g) for g in given]
        getattr(module, name)(*copies, **more)
        results.append([copies[k] for k in changed])
    for compiled, plain in zip(*results, strict=True):
        pairs = list(zip(compiled, plain, strict=True)) if isinstance(plain, tuple) else None
        for a, b in pairs or [(compiled, plain)]:
            assert np.allclose(a, b, atol=1e-5, rtol=1e-4)


def test_normalised_steps_is_that_of_numpy() -> None:
    sums, gain, shift, scale, normal, values, out = arrays(
        (20, 5), (5,), (5,), (5,), (20, 5), (20, 5), (20, 5)
    )
    both("normalised_steps", [sums, gain, shift, scale, normal, values, out], [3, 4, 5, 6])


def test_through_steps_is_that_of_numpy() -> None:
    slope, normal, values, gain, scale, a, b = arrays(
        (20, 5), (20, 5), (20, 5), (5,), (5,), (5,), (5,)
    )
    both("through_steps", [slope, normal, values, gain, scale, (a, b)], [0, 5])


def test_output_slopes_is_that_of_numpy() -> None:
    sums, gain, shift, slope, a, b = arrays((20, 3), (1,), (3,), (20, 3), (1,), (3,))
    rng = np.random.default_rng(1)
    wanted = rng.dirichlet(np.ones(3), 20).astype(np.float32)
    weight = rng.random(20, dtype=np.float32)
    both("output_slopes", [sums, gain, shift, wanted, weight, slope, (a, b)], [0, 5, 6])


def test_output_slopes_are_derivatives() -> None:
    """Differences of the cross entropy itself, by every sum."""
    sums, shift = arrays((6, 3), (3,))
    rng = np.random.default_rng(1)
    wanted, weight = rng.dirichlet(np.ones(3), 6), rng.random(6)

    def loss(s: np.ndarray) -> float:
        centred = s - s.mean(axis=0)
        logits = 1.5 * centred / np.sqrt(np.square(centred).mean() + 1e-5) + shift
        logits = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return float(-(weight[:, None] * wanted * logits).sum() / len(s))

    slope = np.empty_like(sums)
    by = (np.empty(1, np.float32), np.empty(3, np.float32))
    gain = np.array([1.5], np.float32)
    given = sums.copy(), gain, shift, wanted.astype(np.float32), weight.astype(np.float32)
    kernels.output_slopes(*given, slope, by)
    exact = sums.astype(float)
    for i, j in np.ndindex(*sums.shape):
        up, down = exact.copy(), exact.copy()
        up[i, j] += 1e-5
        down[i, j] -= 1e-5
        assert slope[i, j] == pytest.approx((loss(up) - loss(down)) / 2e-5, abs=1e-4)


def test_adam_and_ternary_are_those_of_numpy() -> None:
    values, slope, mean, square = arrays((4, 7), (4, 7), (4, 7), (4, 7))
    both("adam", [values, slope, (mean, np.abs(square))], [0, 2], rate=0.01, steps=3, decay=0.1)
    both("ternary", [values], [], share=0.7, out=values.copy())
    out = np.empty_like(values)
    kernels.ternary(values, 0.7, out)
    limit = 0.7 * np.abs(values).mean(axis=1, keepdims=True)
    assert np.array_equal(out, np.sign(values) * (np.abs(values) > limit))


@pytest.mark.parametrize("reads", ["numbers", "bits", "mix"])
def test_it_learns_a_curved_rule(reads) -> None:
    lesson = make_lesson(400, 2)
    hidden = (30, 15) if reads == "mix" else (30,)
    stack = Gradients(reads, hidden, updates=600).fit(lesson, seed=0, slot=Slot())
    fresh = make_lesson(400, 2, seed=1)
    right = (stack.scores(fresh.table).argmax(axis=1) == fresh.labels).mean()
    linear = Gradients("numbers", (), updates=600).fit(lesson, seed=0, slot=Slot())
    assert right > 0.8
    assert right > (linear.scores(fresh.table).argmax(axis=1) == fresh.labels).mean() + 0.05


def test_seeds_repeat_and_weights_count() -> None:
    lesson = make_lesson(200, 3, noise=0.1)
    way = Gradients("bits", (5,), 0.2, updates=50)
    first, again, other = (way.fit(lesson, seed=s, slot=Slot()) for s in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(first.weights, again.weights, strict=True))
    assert any((a != b).any() for a, b in zip(first.weights, other.weights, strict=True))
    only = replace(lesson, weight=np.where(lesson.labels == 1, 1.0, 1e-6).astype(np.float32))
    stack = replace(way, updates=400).fit(only, seed=0, slot=Slot())
    assert (stack.scores(lesson.table).argmax(axis=1) == 1).mean() > 0.9


def test_the_clock_ends_it() -> None:
    lesson = make_lesson(200)
    clock = Ticks()
    Gradients("bits", (5,), updates=10**9).fit(lesson, seed=0, slot=Slot.of(50, clock=clock))
    assert clock.now < 100


def test_wanted_probabilities_replace_labels() -> None:
    lesson = make_lesson(300)
    wanted = np.eye(2, dtype=np.float32)[1 - lesson.labels]
    stack = Gradients("numbers", (20,), updates=300).fit(
        replace(lesson, wanted=wanted), seed=0, slot=Slot()
    )
    assert (stack.scores(lesson.table).argmax(axis=1) != lesson.labels).mean() > 0.8

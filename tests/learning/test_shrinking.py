"""Shrinking keeps its promises: size, constants that stand in, and losses as they are."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.clock import Slot, Ticks
from bdnn.encoding import Column, Encoder, Inputs
from bdnn.export.c import export_c
from bdnn.learning.flash import FlashSize, least_bytes, seen_network, stack_bytes, with_short_scale
from bdnn.learning.gradients import Gradients, smoothed
from bdnn.learning.linear import Logistic
from bdnn.learning.shrinking import _State, shrunk
from bdnn.learning.stack import Lesson, Table
from bdnn.learning.trees import Boosting
from bdnn.model import Model
from bdnn.network.architecture import WeightSet
from tests.learning.lessons import make_lesson

WAYS = {
    "linear": Logistic("numbers"),
    "linear on cuts": Logistic("bits"),
    "boosted": Boosting(2, 15),
    "numbers": Gradients("numbers", (20,), updates=300),
    "mix": Gradients("mix", (10, 10), updates=300),
    "deep": Gradients("bits", (6, 5, 4), updates=300),
}


def right(stack, lesson) -> float:
    return float((stack.scores(lesson.table).argmax(axis=1) == lesson.labels).mean())


@pytest.mark.parametrize("name", WAYS)
def test_fewer_bytes_keep_most_of_the_accuracy(name: str) -> None:
    lesson, fresh = make_lesson(300, 3), make_lesson(300, 3, seed=1)
    stack = WAYS[name].fit(lesson, seed=0, slot=Slot())
    most = (0.5 if name in ("boosted", "numbers") else 0.7) * stack_bytes(stack)
    small = shrunk(stack, lesson, lambda s: stack_bytes(s) <= most, seed=0, slot=Slot())
    assert small is not None
    assert stack_bytes(small) <= most
    assert right(small, fresh) > right(stack, fresh) - 0.12
    assert small.reads == stack.reads


@pytest.mark.parametrize("name", WAYS)
def test_what_is_lost_is_what_the_network_loses(name: str) -> None:
    """Losses that parts cost are those of networks without them, computed from nothing."""
    lesson = make_lesson(80, 3)
    state = _State(WAYS[name].fit(lesson, seed=0, slot=Slot()), lesson)
    rng = np.random.default_rng(0)

    def loss() -> float:
        logits = state.stack().logits(lesson.table).astype(float)
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        return float(-(smoothed(lesson) * np.log(share)).sum(axis=1).mean())

    parts = list(state.parts())
    for number in rng.permutation(len(parts))[:25].tolist():
        part = parts[number]
        if state.is_gone(part):
            continue
        before, told = loss(), state.lost(part)
        state.leave_out(part)
        assert loss() - before == pytest.approx(told, abs=2e-4)
        assert state.is_gone(part)


def test_nothing_fits_into_nothing_and_no_time_gives_nothing() -> None:
    lesson = make_lesson(60)
    stack = WAYS["numbers"].fit(lesson, seed=0, slot=Slot())
    assert shrunk(stack, lesson, lambda _: False, seed=0, slot=Slot()) is None
    over = Slot.of(1.0, clock=Ticks())
    assert shrunk(stack, lesson, lambda s: stack_bytes(s) < 20, seed=0, slot=over) is None
    assert shrunk(stack, lesson, lambda _: True, seed=0, slot=over) is stack


def make_encoder(rng, scale=1.0):
    codes = np.column_stack([rng.integers(0, 200, 90) * scale, rng.normal(5, 2, 90)])
    columns = Column("a"), Column("b")
    weights = WeightSet.parse("ternary")
    return codes, Encoder.learn(codes, columns, Inputs("both"), weights=weights)


def test_short_scales_are_near_and_small() -> None:
    codes, encoder = make_encoder(np.random.default_rng(0))
    short = with_short_scale(encoder)
    assert np.allclose(short.factor, encoder.factor, rtol=0.005)
    assert np.abs((short.shift - encoder.shift) * encoder.factor).max() < 0.02
    assert (short.shift == short.shift.astype(np.float32)).all()
    near = np.abs(short.transform(codes) - encoder.transform(codes))
    assert near.max() < 0.06
    halves = (codes[:, 0] - short.shift[0]) * short.factor[0] / short.step % 1.0
    assert (halves != 0.5).all()
    assert with_short_scale(Encoder.of_features(2)).step == 0


def test_flash_is_that_of_the_export() -> None:
    rng = np.random.default_rng(3)
    codes, encoder = make_encoder(rng)
    data = {"low": [0.0, 0.0], "high": [199.0, 9.0], "per_unit": [1, None]}
    size = FlashSize(encoder, data)
    for reads in ("numbers", "bits", "mix"):
        n_inputs = encoder.n_bits if reads == "bits" else encoder.n_numbers
        table = Table.of(encoder, codes)
        lesson = Lesson(table, rng.integers(0, 2, 90), np.ones(90, np.float32), 2)
        hidden = (4, 3) if reads == "mix" else (4,)
        stack = Gradients(reads, hidden, updates=5).fit(lesson, seed=0, slot=Slot())
        assert stack.weights[0].shape[1] == n_inputs
        model = Model(*seen_network(stack, encoder), (0, 1))
        assert size(stack) == export_c(model, data=data).flash_estimate == size(stack)
        assert least_bytes(stack) <= size(stack)
        found = model.network.predict(model.encoder.transform(codes))
        assert np.array_equal(found, stack.scores(table).argmax(axis=1))

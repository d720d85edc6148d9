"""Tasks in the order of the tasks, and ahead of the questions."""

from __future__ import annotations

import threading

import pytest

from bdnn.clock import Slot
from bdnn.parallel import Ahead


@pytest.mark.parametrize("threads", [1, 3])
def test_results_are_those_of_the_first_task(threads):
    with Ahead(lambda task, _slot: 10 * task, slot=Slot(), threads=threads) as ahead:
        assert [ahead.first({k: k, k + 1: k + 1}) for k in range(5)] == [0, 10, 20, 30, 40]


def test_what_comes_next_is_done_once_beside_the_first():
    beside, done = threading.Barrier(2, timeout=60), []

    def meet(task, _slot):
        done.append(task)
        beside.wait()
        return task

    with Ahead(meet, slot=Slot(), threads=2) as ahead:
        assert ahead.first({7: "a", 8: "b"}) == "a"
        assert ahead.first({8: "b"}) == "b"
    assert sorted(done) == ["a", "b"]


def test_threads_end_with_the_slot_and_with_the_search():
    is_stopped = threading.Event()

    def until_over(task, slot):
        if task == "first":
            is_stopped.set()
        while not slot.is_over():
            pass
        return task

    slot = Slot(is_stopped=is_stopped.is_set)
    with Ahead(until_over, slot=slot, threads=2) as ahead:
        assert ahead.first({0: "first", 1: "second"}) == "first"

import math

from bdnn.clock import Slot, Ticks


def test_a_slot_ends_after_as_many_looks_as_it_has_ticks():
    slot = Slot.of(5, clock=Ticks())
    looks = 0
    while not slot.is_over():
        looks += 1
    assert looks == 4
    assert slot.remaining == 0


def test_a_slot_ends_when_it_is_told_to_stop():
    answers = iter([False, False, True])
    slot = Slot(is_stopped=lambda: next(answers))
    assert [slot.is_over() for _ in range(3)] == [False, False, True]


def test_a_part_ends_no_later_than_the_whole_and_stops_with_it():
    stopped = False
    slot = Slot.of(100, clock=Ticks(), is_stopped=lambda: stopped)
    assert slot.part(0.5).remaining < 50
    assert slot.part(most=10).remaining < 10
    assert slot.part(7.0).deadline == slot.deadline
    assert slot.part(0.0).is_over()
    part = slot.part()
    stopped = True
    assert part.is_over()


def test_a_part_of_endless_time_is_endless_unless_it_is_limited():
    slot = Slot()
    assert slot.remaining == math.inf
    assert slot.part(0.25).remaining == math.inf
    assert slot.part(0.25, most=60).remaining <= 60
    assert slot.part(0.0).is_over()

"""Arguments put together: one after the other, or the first that proves anything."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from bdnn.bounds import AllOf, Bound, FirstOf
from bdnn.clock import Slot, Ticks
from tests.bounds.cases import CROSS, make

PROBLEM = make(CROSS, [0, 1, 0, 1], (2,))


@dataclass
class Says:
    values: tuple[int, ...]
    fits: bool = True
    seconds: float = 0.0

    def applies(self, problem):
        return self.fits

    def bounds(self, problem, slot, upper=float("inf")):
        self.seconds = slot.remaining
        for value in self.values:
            yield Bound(Fraction(value), str(self.values))


def values(argument, **options):
    return [int(b.value) for b in argument.bounds(PROBLEM, Slot.of(12.0), **options)]


def test_only_better_bounds_are_told():
    assert values(AllOf((Says((0, 2)), Says((1, 2, 3)), Says((9,), fits=False)))) == [0, 2, 3]


def test_nothing_is_asked_beyond_what_is_known():
    assert values(AllOf((Says((1,)), Says((4,)), Says((9,)))), upper=4) == [1, 4]


def test_the_first_that_proves_anything_is_enough():
    assert values(FirstOf((Says((9,), fits=False), Says(()), Says((1, 2)), Says((5,))))) == [1, 2]
    assert not FirstOf((Says((9,), fits=False),)).applies(PROBLEM)


def test_every_argument_has_its_part_of_the_time():
    arguments = [Says((1,)), Says((2,)), Says((3,))]
    list(AllOf(arguments).bounds(PROBLEM, Slot.of(12.0, clock=Ticks(0.0))))
    assert [argument.seconds for argument in arguments] == [4.0, 6.0, 12.0]


@dataclass
class Goes:
    """Proves something at once, or never, and goes on for as long as it may."""

    proves: bool
    looks: int = 0

    def applies(self, problem):
        return True

    def bounds(self, problem, slot, upper=float("inf")):
        if self.proves:
            yield Bound(Fraction(1), "goes")
        while not slot.is_over():
            self.looks += 1


def test_what_proves_something_has_the_time_of_the_others_too():
    idle, proving, never = Goes(proves=False), Goes(proves=True), Goes(proves=True)
    clock = Ticks(1.0)
    list(FirstOf((idle, proving, never)).bounds(PROBLEM, Slot.of(300.0, clock=clock)))
    assert clock.now >= 300
    assert proving.looks > idle.looks > 0 == never.looks

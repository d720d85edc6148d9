"""A slice of every other kind of fuzzing, and the loop around them; ``make fuzz`` tries more."""

import shutil
from pathlib import Path
from typing import ClassVar

import pytest

from bdnn.clock import Ticks
from tests.fuzz.c_code import CompiledCode
from tests.fuzz.driver import attempt, fuzz, read_state, summary
from tests.fuzz.kills import Kills
from tests.fuzz.radii import Radii
from tests.fuzz.time_limits import TimeLimits
from tests.fuzz.trained import Trained


def try_some(kind, numbers, folder):
    kind.prepare(folder)
    claims = 0
    for number in numbers:
        found, wrong = attempt(kind, number)
        assert not wrong, f"{kind.name} {number}"
        claims += found
    return claims


def test_trained(tmp_path):
    assert try_some(Trained(), (0, 1, 2, 4, 5, 6, 8, 9), tmp_path) > 200


def test_radii(tmp_path):
    assert try_some(Radii(), range(12), tmp_path) == 96


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_c_code(tmp_path):
    assert try_some(CompiledCode(), range(2), tmp_path) > 400


def test_time_limits(tmp_path):
    assert try_some(TimeLimits(), range(3), tmp_path) > 0


def test_kills(tmp_path):
    assert try_some(Kills(), [6], tmp_path) == 1


class Odd:
    """Every third case is broken, every fifth one an error."""

    name: ClassVar[str] = "odd"
    share: ClassVar[float] = 1.0

    def prepare(self, folder: Path) -> None:
        assert folder.is_dir()

    def attempt(self, number: int) -> tuple[int, list[str]]:
        if number % 5 == 4:
            raise ZeroDivisionError("five")
        return 2, ["three"] * (number % 3 == 2)


def test_the_loop_goes_on_where_it_ended(tmp_path):
    state, told = tmp_path / "state.json", []
    first = fuzz([Odd()], 30, state, told.append, Ticks())["odd"]
    second = fuzz([Odd()], 30, state, told.append, Ticks())["odd"]
    assert (first.cases, second.cases) == (10, 20)
    assert second.broken[: len(first.broken)] == first.broken
    assert second.broken[0] == "2: three"
    assert second.broken[1].startswith("4: ZeroDivisionError at test_fuzz.py")
    assert len(told) == len(second.broken)
    assert read_state(state) == {"odd": second}
    assert f"{second.claims} claims, {len(second.broken)} broken" in summary({"odd": second})

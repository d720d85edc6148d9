"""One loop for all kinds of fuzzing: cases by their numbers, for some time, from where it ended.

A kind makes its case from a number alone, tells how many claims it has looked at and which of them
are broken. The state file holds the next number of every kind and all that was counted.
"""

from __future__ import annotations

import json
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol


class Kind(Protocol):
    """One kind of claims.

    Attributes
    ----------
    name : str
    share : float
        Of the time, relative to other kinds.
    """

    name: ClassVar[str]
    share: ClassVar[float]

    def prepare(self, folder: Path) -> None:
        """Make what all cases need, in a folder of its own."""
        ...

    def attempt(self, number: int) -> tuple[int, list[str]]:
        """Try a case: how many claims it makes, and what is wrong with them."""
        ...


@dataclass
class Tally:
    """What was tried of a kind, over all runs."""

    cases: int = 0
    claims: int = 0
    seconds: float = 0.0
    broken: list[str] = field(default_factory=list)


def read_state(path: Path) -> dict[str, Tally]:
    """Read what earlier runs have counted."""
    if not path.exists():
        return {}
    return {name: Tally(**tally) for name, tally in json.loads(path.read_text()).items()}


def fuzz(
    kinds: Sequence[Kind],
    seconds: float,
    state: Path,
    tell: Callable[[str], object] = print,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Tally]:
    """Try cases for some time; the kind that has had least of its share is next."""
    tallies = read_state(state)
    end = clock() + seconds
    spent = {kind.name: 0.0 for kind in kinds}
    with tempfile.TemporaryDirectory() as name:
        ready: set[str] = set()
        while clock() < end:
            kind = min(kinds, key=lambda kind: spent[kind.name] / kind.share)
            tally = tallies.setdefault(kind.name, Tally())
            folder = Path(name) / kind.name.replace(" ", "-")
            began = clock()
            if kind.name not in ready:
                folder.mkdir()
                kind.prepare(folder)
                ready.add(kind.name)
            claims, wrong = attempt(kind, tally.cases)
            took = clock() - began
            spent[kind.name] += took
            for complaint in wrong:
                tell(f"{kind.name} {tally.cases}: {complaint}")
                tally.broken.append(f"{tally.cases}: {complaint}")
            tally.cases, tally.claims = tally.cases + 1, tally.claims + claims
            tally.seconds += took
            state.write_text(json.dumps({n: asdict(t) for n, t in tallies.items()}, indent=1))
    return tallies


def attempt(kind: Kind, number: int) -> tuple[int, list[str]]:
    """Try a case; an error that nobody foresaw breaks it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return kind.attempt(number)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            return 1, [f"{type(error).__name__} at {where}: {error}"]


def summary(tallies: dict[str, Tally]) -> str:
    """What was counted, as a table."""
    head = f"{'kind':<16}{'cases':>9}{'claims':>10}{'broken':>8}{'seconds':>9}"
    lines = [
        f"{name:<16}{t.cases:>9}{t.claims:>10}{len(t.broken):>8}{t.seconds:>9.0f}"
        for name, t in tallies.items()
    ]
    claims = sum(t.claims for t in tallies.values())
    broken = sum(len(t.broken) for t in tallies.values())
    return "\n".join([head, *lines, f"{claims} claims, {broken} broken"])

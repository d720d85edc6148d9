"""Sums for speed of units that look at bits: rows of tables, added for all units at once.

Keys say which rows. Every row holds what the bits of a key add to the units, less the least of it:
sums only grow from where they start, and a type that holds the last ones holds all. Nothing
branches on the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bdnn.export.c.keys import VECTOR, Keys, keys_of_signs, keys_of_tests
from bdnn.export.c.sums import AbstractSum
from bdnn.export.c.text import Code, integer, size_of, table
from bdnn.export.inputs import Integers
from bdnn.export.plan.plan import LargestScore, Plan, Units

# So many units fill vectors; and rows that a statement adds.
_MANY, _TERMS = 8, 16
_TYPES = ((2**7, "int8_t"), (2**15, "int16_t"), (2**31, "int32_t"))


def with_lookups(plan: Plan, place: int) -> Units | None:
    """Units of a stage as lookups sum them; None if it has none, or sums take over 32 bits.

    The largest of scores also says which one it is: they are spread out, and the first of equal
    ones is lifted most.
    """
    if place >= len(plan.stages) or plan.stages[place].is_real:
        return None
    units = plan.stages[place]
    spread, lift = 1, np.zeros(len(units.thresholds), dtype=np.int64)
    if isinstance(plan.decision, LargestScore) and place == len(plan.layers):
        lift = np.arange(len(lift))[::-1]
        spread = 1 << (len(lift) - 1).bit_length()
    largest = max(map(abs, units.thresholds))
    W = np.abs(units.weights.astype(np.int64)).sum(axis=1)
    if (int(W.max(initial=0)) * units.factor + largest + 1) * 2 * spread >= 2**31:
        return None
    return Units(
        units.weights.astype(np.int64) * units.factor * spread,
        tuple(int(t) * spread - up for t, up in zip(units.thresholds, lift.tolist(), strict=True)),
    )


@dataclass(frozen=True)
class LookupSum(AbstractSum):
    """Sums less thresholds, which are added up in an array.

    ``keys`` are expressions, ``rows`` what their values add to every unit, and ``entry`` is the
    type of both rows and sums.
    """

    keys: Sequence[str]
    rows: Sequence[Integers]
    entry: str

    @classmethod
    def of(cls, tag: str, units: Units, keys: Keys) -> LookupSum:
        """Sums of units that :func:`with_lookups` gave."""
        W = units.weights.astype(np.int64)
        added = [
            pattern.astype(np.int64) @ W[:, list(places)].T
            for places, pattern in zip(keys.places, keys.patterns, strict=True)
        ]
        low = sum(some.min(axis=0) for some in added) - np.array(units.thresholds, dtype=np.int64)
        rows = [some - some.min(axis=0) for some in added]
        high = int((low + sum(some.max(axis=0) for some in rows)).max())
        high = max(high, *(int(some.max()) for some in rows))
        # What fills the last vector is off, and no larger than anything else.
        least = min(-1, int(low.min()))
        entry = next(kind for size, kind in _TYPES if -size <= least and high < size)
        rows[0] = rows[0] + low
        n_units, per_vector = len(W), VECTOR // size_of(entry)
        length = n_units if n_units < _MANY else -(-n_units // per_vector) * per_vector
        rest = [(0, 0), (0, length - n_units)]
        rows = [
            np.pad(some, rest, constant_values=0 if i else least) for i, some in enumerate(rows)
        ]
        folded = replace(units, thresholds=(0,) * n_units)
        return cls(tag, folded, keys.names, rows, entry)

    @property
    def is_written_out(self) -> bool:
        """Whether every unit gets a statement of its own."""
        return False

    @property
    def array(self) -> str:
        """Where the sums stand."""
        return f"s{self.tag.lower()}"

    @property
    def length(self) -> int:
        """Number of sums, with those that fill the last vector."""
        return int(self.rows[0].shape[1])

    @property
    def reach(self) -> int:
        """Largest absolute value of any partial sum."""
        return sum(int(np.abs(some).max()) for some in self.rows)

    @property
    def before(self) -> tuple[str, ...]:
        """Add up the rows that the keys say."""
        first = np.cumsum([0, *(len(some) for some in self.rows[:-1])]).tolist()
        terms = [
            f"ROW{self.tag}[{f'{place} + ' if place else ''}{key}][i]"
            for place, key in zip(first, self.keys, strict=True)
        ]
        lines = [f"{self.entry} {self.array}[{self.length}];"]
        for start in range(0, len(terms), _TERMS):
            some = [f"{self.array}[i]"] * (start > 0) + terms[start : start + _TERMS]
            lines += [
                f"for (i = 0; i < {self.length}; ++i)",
                f"    {self.array}[i] = ({self.entry})({some[0]}",
                *(f"        + {term}" for term in some[1:]),
            ]
            lines[-1] += ");"
        return tuple(lines)

    def tables(self) -> list[str]:
        """All rows."""
        rows = [[integer(v) for v in row] for some in self.rows for row in some.tolist()]
        return table(f"ROW{self.tag}", self.entry, rows)

    def expression(self, unit: int) -> str:
        """Sum of one unit."""
        return f"{self.array}[{unit}]"

    def loop(self) -> list[str]:
        """Take the sum out of the array."""
        return [f"s = {self.array}[i];"]

    def write_array(self, code: Code) -> None:
        """Write the sums, with nothing done to them."""
        code.tables += self.tables()
        code.counters.add("i")
        code.stack += size_of(self.entry) * self.length
        code.add(*self.before)

    def write_keys(self, code: Code, name: str) -> Keys:
        """Write keys of the units that are on."""
        n_units = len(self.units.thresholds)
        self.write_array(code)
        if self.length < _MANY:
            tests = [f"{self.array}[{i}] >= 0" for i in range(n_units)]
            return keys_of_tests(code, tests, name)
        return keys_of_signs(code, (self.array, self.entry, self.length), n_units, name)

    def write_class(self, code: Code) -> None:
        """Write the class of the largest score, which its last digits say."""
        n_classes = len(self.units.thresholds)
        last = (1 << (n_classes - 1).bit_length()) - 1
        self.write_array(code)
        code.add(
            f"{self.entry} best = {self.array}[0];",
            f"for (i = 0; i < {self.length}; ++i)",
            f"    best = {self.array}[i] > best ? {self.array}[i] : best;",
            f"return {n_classes - 1} - (best & {last});",
        )

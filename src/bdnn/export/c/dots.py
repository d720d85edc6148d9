"""Sums for speed: rows of weights times inputs, which compilers turn into products of vectors.

Both have 16 bits, or 32 where inputs need them. Rows are as long as a whole number of vectors, the
rest being zeros: a loop of known length without a remainder is one that compilers vectorise without
being asked. Nothing branches on the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.export.c.sums import AbstractSum, BitSum, FeatureSum
from bdnn.export.c.text import Code, integer, size_of, table
from bdnn.export.plan.plan import Units

_LANES = 8
# Rough instructions of a vector of products, and of adding up its lanes and comparing.
_VECTOR, _UNIT = 2, 8


@dataclass(frozen=True)
class DotSum(AbstractSum):
    """Weights times the numbers of an ``array``, none above ``largest``."""

    array: str
    largest: int

    @property
    def entry(self) -> str:
        """Type of weights and inputs."""
        most = max(self.largest, int(np.abs(self.units.weights).max(initial=0)))
        return "int16_t" if most < 2**15 else "int32_t"

    @property
    def length(self) -> int:
        """Entries of a row, a whole number of vectors."""
        return -(-int(self.units.weights.shape[1]) // _LANES) * _LANES

    @property
    def is_exact(self) -> bool:
        """Whether weights, inputs and sums have room in their types."""
        return not self.units.is_real and self.reach < 2**31

    @property
    def n_instructions(self) -> int:
        """Rough instructions of all sums."""
        return len(self.units.weights) * (_VECTOR * self.length // _LANES + _UNIT)

    @property
    def is_written_out(self) -> bool:
        """Whether every unit gets a statement of its own."""
        return False

    @property
    def reach(self) -> int:
        """Largest absolute value of any partial sum of integers."""
        return int(np.abs(self.units.weights).sum(axis=1).max(initial=0)) * self.largest

    def declare(self, code: Code) -> None:
        """Write the array, all zeros."""
        code.add(f"{self.entry} {self.array}[{self.length}] = {{0}};")
        code.stack += size_of(self.entry) * self.length

    def expression(self, unit: int) -> str:
        """Sum of one unit."""
        names = [f"{self.array}[{j}]" for j in range(self.units.weights.shape[1])]
        largest = [self.largest] * len(names)
        return FeatureSum(self.tag, self.units, names, self.array, largest, True).expression(unit)

    def tables(self) -> list[str]:
        """Weights with zeros up to a whole number of vectors."""
        padded = np.zeros((len(self.units.weights), self.length), dtype=np.int64)
        padded[:, : self.units.weights.shape[1]] = self.units.weights
        rows = [[integer(w) for w in row] for row in padded.tolist()]
        return table(f"WEIGHT{self.tag}", self.entry, rows)

    def loop(self) -> list[str]:
        """Add all products."""
        head = f"for (j = 0; j < {self.length}; ++j)"
        return [head, f"    s += (int32_t)WEIGHT{self.tag}[i][j] * {self.array}[j];"]


def of_bits(tag: str, units: Units, array: str) -> DotSum | None:
    """The sum of 0/1 values in an array of their own; None if that is no integer."""
    found = DotSum(tag, units, array, 1)
    return found if found.is_exact else None


def copied(code: Code, sums: FeatureSum | BitSum) -> AbstractSum:
    """The sum over a copy of the features, or of the bits of words, that is a whole vector long."""
    is_bits = isinstance(sums, BitSum)
    largest = 1 if isinstance(sums, BitSum) else max(sums.largest, default=0)
    found = DotSum(sums.tag, sums.units, f"v{sums.tag.lower()}", largest)
    if (sums.is_written_out and not is_bits) or not found.is_exact:
        return sums
    n_inputs = sums.units.weights.shape[1]
    if isinstance(sums, FeatureSum):
        value = f"{sums.array}[j]"
    else:
        word = f"{sums.bits}[j >> 5] >> (j & 31)" if n_inputs > 32 else f"{sums.bits} >> j"
        value = f"({word} & 1u)"
    found.declare(code)
    code.counters.add("j")
    code.add(f"for (j = 0; j < {n_inputs}; ++j)", f"    {found.array}[j] = ({found.entry}){value};")
    return found

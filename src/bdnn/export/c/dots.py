"""Sums for speed: rows of weights times inputs, which compilers turn into products of vectors.

Both have 16 bits, or 32 where inputs need them. Rows are as long as a whole number of vectors, the
rest being zeros: a loop of known length without a remainder is one that compilers vectorise without
being asked. Nothing branches on the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.export.c.keys import Keys, keys_of_signs
from bdnn.export.c.sums import AbstractSum, FeatureSum
from bdnn.export.c.text import Code, constants, integer, size_of, table

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

    def write_keys(self, code: Code, name: str) -> Keys:
        """Write keys of the units that are on, all compared side by side."""
        limits = self.units.thresholds
        largest = self.reach + int(max(map(abs, limits)))
        kind = "int16_t" if largest < 2**15 else "int32_t" if largest < 2**31 else "int64_t"
        sums, limit = f"s{self.tag.lower()}", f"LIMIT{self.tag}"
        length = -(-len(limits) // _LANES) * _LANES
        code.tables += constants(limit, [*limits, *[0] * (length - len(limits))])
        code.stack += size_of(kind) * length
        code.add(f"{kind} {sums}[{length}];")
        self.write_loop(code, [f"{sums}[i] = ({kind})s;"])
        code.add(
            *(f"{sums}[{i}] = -1;" for i in range(len(limits), length)),
            f"for (i = 0; i < {length}; ++i)",
            f"    {sums}[i] = ({kind})({sums}[i] - {limit}[i]);",
        )
        return keys_of_signs(code, (sums, kind, length), len(limits), name)


def copied(code: Code, sums: FeatureSum) -> AbstractSum:
    """The sum over a copy of the features that is a whole vector long."""
    found = DotSum(sums.tag, sums.units, f"v{sums.tag.lower()}", max(sums.largest, default=0))
    if sums.is_written_out or not found.is_exact:
        return sums
    code.counters.add("j")
    code.stack += size_of(found.entry) * found.length
    code.add(
        f"{found.entry} {found.array}[{found.length}] = {{0}};",
        f"for (j = 0; j < {sums.units.weights.shape[1]}; ++j)",
        f"    {found.array}[j] = ({found.entry}){sums.array}[j];",
    )
    return found

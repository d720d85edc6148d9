"""Sums in C of weights that are few: lists of the places that have one, instead of masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.export.c.sums import AbstractSum, BitSum, FeatureSum
from bdnn.export.c.text import constants, declared_bytes

# An int, which runs through a list, may have 16 bits only.
_LONGEST = 2**15


def smallest(sums: AbstractSum) -> AbstractSum:
    """The sums with their weights in lists if that takes fewer bytes."""
    if sums.is_written_out or not isinstance(sums, BitSum | FeatureSum) or sums.units.is_real:
        return sums
    lists = ListSum(sums.tag, sums.units, sums)
    is_short = 0 < np.count_nonzero(sums.units.weights) < _LONGEST
    less = declared_bytes(lists.tables()) < declared_bytes(sums.tables())
    return lists if is_short and less else sums


@dataclass(frozen=True)
class ListSum(AbstractSum):
    """Places of the weights of all units in turn, and how many every unit has.

    Weights 1 and -1 are the last bit of an entry, others have a list of their own.
    """

    dense: BitSum | FeatureSum

    @property
    def is_written_out(self) -> bool:
        """Whether every unit gets a statement of its own."""
        return False

    @property
    def reach(self) -> int:
        """Largest absolute value of any partial sum of integers."""
        return self.dense.reach

    @property
    def before(self) -> tuple[str, ...]:
        """What comes before the loop over units."""
        return ("k = 0;",)

    @property
    def _is_ternary(self) -> bool:
        return bool(np.abs(self.units.weights).max(initial=0) <= 1)

    def expression(self, unit: int) -> str:
        """Sum of one unit."""
        return self.dense.expression(unit)

    def tables(self) -> list[str]:
        """How many weights units have, where, and which."""
        W = self.units.weights.astype(np.int64)
        rows, places = np.nonzero(W)
        values, tag = W[rows, places], self.tag
        counts = constants(f"COUNT{tag}", np.bincount(rows, minlength=len(W)).tolist())
        if self._is_ternary:
            return [*counts, *constants(f"PLACE{tag}", (2 * places + (values < 0)).tolist())]
        lists = {"PLACE": places.tolist(), "WEIGHT": values.tolist()}
        return [*counts, *(line for n, v in lists.items() for line in constants(f"{n}{tag}", v))]

    def loop(self) -> list[str]:
        """Add the weights of the inputs in the list."""
        kind, dense = self.kind(), self.dense
        head = f"for (j = COUNT{self.tag}[i]; j > 0; --j, ++k) {{"
        at = "p >> 1" if self._is_ternary else "p"
        lines = [f"const unsigned p = PLACE{self.tag}[k];"]
        if isinstance(dense, FeatureSum):
            value = f"({kind}){dense.array}[{at}]"
            added = f"(p & 1u) ? -{value} : {value}"
            lines.append(f"s += {added if self._is_ternary else f'WEIGHT{self.tag}[k] * {value}'};")
        else:
            many = self.units.weights.shape[1] > 32
            word, bit = (f"[({at}) >> 5]", f"({at}) & 31") if many else ("", at)
            added = "(p & 1u) ? -1 : 1" if self._is_ternary else f"WEIGHT{self.tag}[k]"
            lines.append(f"if ({dense.bits}{word} >> ({bit}) & 1u) s += {added};")
        return [head, *(f"    {line}" for line in lines), "}"]

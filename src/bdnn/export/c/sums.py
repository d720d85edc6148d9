"""Weighted sums in C: of features or of bits; in a loop over units or written out.

A sum knows the tables it needs, how to write the sum of one unit as an expression, and the lines
that compute it into ``s`` for the unit ``i`` of a loop. Products and sums of real numbers go
through volatile variables, so that no compiler option may fuse, reorder or widen them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from bdnn.export.c.text import Code, constants, integer, mask_bytes, table, word
from bdnn.export.plan.plan import Units
from bdnn.network.activation import BoolArray

_INT32 = 2**31
_MOST_PLANES = 3


@dataclass(frozen=True)
class AbstractSum(ABC):
    """Sums of the units of one layer; ``tag`` makes the names of its tables unique."""

    tag: str
    units: Units

    @property
    @abstractmethod
    def is_written_out(self) -> bool:
        """Whether every unit gets a statement of its own."""

    @property
    @abstractmethod
    def reach(self) -> int:
        """Largest absolute value of any partial sum of integers."""

    @property
    def before(self) -> tuple[str, ...]:
        """What comes before the loop over units."""
        return ()

    @abstractmethod
    def expression(self, unit: int) -> str:
        """Sum of one unit."""

    @abstractmethod
    def loop(self) -> list[str]:
        """Lines that add to ``s``, inside a loop over ``i``."""

    def kind(self, factor: int = 1, offset: int = 0) -> str:
        """Type that holds every partial sum, and ``factor * sum - offset`` in the end."""
        if self.units.is_real:
            return "volatile double"
        return "int32_t" if factor * self.reach + abs(offset) < _INT32 else "int64_t"

    def tables(self) -> list[str]:
        """Constant arrays for the loop: the weights."""
        return constants(f"WEIGHT{self.tag}", self.units.weights.tolist())

    def write_loop(self, code: Code, then: list[str], kind: str | None = None) -> None:
        """Write a loop over the units that does something with every sum ``s``."""
        code.tables += self.tables()
        lines = self.loop()
        code.needs_real |= self.units.is_real
        text = " ".join(["i = ", *self.before, *lines])
        code.counters |= {name for name in "ijkw" if re.search(rf"\b{name} = ", text)}
        code.add(
            *self.before,
            f"for (i = 0; i < {len(self.units.thresholds)}; ++i) {{",
            f"    {kind or self.kind()} s = 0;",
            *(f"    {line}" for line in [*lines, *then]),
            "}",
        )


@dataclass(frozen=True)
class FeatureSum(AbstractSum):
    """Weights times numbers that have names, such as ``q[3]`` or ``x[3]``.

    ``names`` are expressions, ``array`` holds all of them for a loop, ``largest`` are the largest
    absolute values of integer inputs.
    """

    names: list[str]
    array: str
    largest: list[int]
    is_loop: bool

    @property
    def is_written_out(self) -> bool:
        """Whether every unit gets a statement of its own."""
        return not self.is_loop

    @property
    def reach(self) -> int:
        """Largest absolute value of any partial sum of integers."""
        rows = np.abs(self.units.weights).tolist()
        sums = (sum(w * m for w, m in zip(row, self.largest, strict=True)) for row in rows)
        return max(sums, default=0)

    @property
    def _is_ternary(self) -> bool:
        return not self.units.is_real and bool(np.abs(self.units.weights).max(initial=0) <= 1)

    def expression(self, unit: int) -> str:
        """Sum of one unit."""
        text = ""
        for w, name in zip(self.units.weights[unit].tolist(), self.names, strict=True):
            if w:
                factor = "" if abs(w) == 1 else f"{integer(abs(w))} * "
                text += f" {'-' if w < 0 else '+'} {factor}{name}"
        return _joined(text)

    def tables(self) -> list[str]:
        """Masks of the weights 1 and -1, or the weights themselves."""
        W = self.units.weights
        if not self._is_ternary:
            return super().tables()
        return [*_masks(f"PLUS{self.tag}", W > 0), *_masks(f"MINUS{self.tag}", W < 0)]

    def loop(self) -> list[str]:
        """Add or subtract every input that has a weight."""
        n_inputs, kind = self.units.weights.shape[1], self.kind()
        head = f"for (j = 0; j < {n_inputs}; ++j) {{"
        weight = f"WEIGHT{self.tag}[i][j]"
        if self.units.is_real:
            product = f"    volatile double product = {weight} * {self.array}[j];"
            return [head, product, "    s = s + product;", "}"]
        if not self._is_ternary:
            return [head, f"    s += ({kind}){weight} * {self.array}[j];", "}"]
        many = n_inputs > 32
        at, start = ("[i][w]", "32 * w") if many else ("[i]", "0")
        # Masks instead of branches, whose outcome no processor could foresee; the loop ends with
        # the last weight.
        lines = [
            f"uint32_t plus = PLUS{self.tag}{at}, minus = MINUS{self.tag}{at};",
            f"for (j = {start}; plus | minus; ++j, plus >>= 1, minus >>= 1) {{",
            f"    const {kind} value = ({kind}){self.array}[j];",
            f"    s += value & -({kind})(plus & 1u);",
            f"    s -= value & -({kind})(minus & 1u);",
            "}",
        ]
        return _over_words(lines, n_inputs)


@dataclass(frozen=True)
class BitSum(AbstractSum):
    """Weights times the bits of the layer before, small integers counted through masks.

    ``bits`` is a variable or an array of 32-bit words, ``ones`` the function that counts bits.
    """

    bits: str
    ones: str

    @property
    def reach(self) -> int:
        """Largest absolute value of any partial sum of integers."""
        return int(np.abs(self.units.weights).sum(axis=1).max(initial=0))

    @property
    def _planes(self) -> list[tuple[str, BoolArray, BoolArray]]:
        """Factor, positive and negative weights of every binary place; none if there are many."""
        W = self.units.weights
        n_planes = int(np.abs(W).max(initial=1)).bit_length()
        if self.units.is_real or n_planes > _MOST_PLANES:
            return []
        places = [
            (np.abs(W).astype(np.int64) >> plane & 1).astype(bool) for plane in range(n_planes)
        ]
        factors = ["", *(f"{1 << plane} * " for plane in range(1, n_planes))]
        return [
            (factor, place & (W > 0), place & (W < 0))
            for factor, place in zip(factors, places, strict=True)
        ]

    @property
    def _is_binary(self) -> bool:
        return bool((np.abs(self.units.weights) == 1).all())

    @property
    def is_written_out(self) -> bool:
        """Whether a few statements are less than tables and a loop over them."""
        n_units, n_inputs = self.units.weights.shape
        if n_inputs > 32 or not self._planes:
            return False
        masks = 2 * len(self._planes) * n_units
        return bool(12 * masks <= 70 + masks * mask_bytes(n_inputs))

    def expression(self, unit: int) -> str:
        """Sum of one unit."""
        if self._is_binary:
            count = self._count(_number(self.units.weights[unit] > 0))
            return f"2 * (int32_t){count} - (int32_t){self.ones}({self.bits})"
        text = ""
        for factor, plus, minus in self._planes:
            for sign, mask in (("+", _number(plus[unit])), ("-", _number(minus[unit]))):
                if mask:
                    text += f" {sign} {factor}(int32_t){self._count(mask)}"
        return _joined(text)

    def _count(self, mask: int) -> str:
        if mask == 0:
            return "0"
        if mask & (mask - 1) == 0:
            return f"({self.bits} >> {mask.bit_length() - 1} & 1u)"
        return f"{self.ones}({self.bits} & {word(mask)})"

    def tables(self) -> list[str]:
        """Masks of every binary place of the weights, or the weights themselves."""
        lines = []
        for plane, (_, plus, minus) in enumerate(self._planes):
            lines += _masks(f"PLUS{self.tag}_{plane}", plus)
            if not self._is_binary:
                lines += _masks(f"MINUS{self.tag}_{plane}", minus)
        return lines or super().tables()

    def loop(self) -> list[str]:
        """Count bits under masks, or add the weights of the bits that are on, in their order."""
        n_inputs = self.units.weights.shape[1]
        many = n_inputs > 32
        if not self._planes:
            bit = f"{self.bits}[j >> 5] >> (j & 31)" if many else f"{self.bits} >> j"
            add = "s = s +" if self.units.is_real else "s +="
            return [
                f"for (j = 0; j < {n_inputs}; ++j)",
                f"    if ({bit} & 1u) {add} WEIGHT{self.tag}[i][j];",
            ]
        at, bits = ("[w]", f"{self.bits}[w]") if many else ("", self.bits)
        lines = []
        for plane, (factor, _, _) in enumerate(self._planes):
            plus, minus = (
                f"(int32_t){self.ones}({bits} & {name}{self.tag}_{plane}[i]{at})"
                for name in ("PLUS", "MINUS")
            )
            if self._is_binary:
                lines.append(f"s += 2 * {plus} - (int32_t){self.ones}({bits});")
            else:
                lines.append(f"s += {factor}({plus} - {minus});")
        return _over_words(lines, n_inputs)


def _over_words(lines: list[str], n_inputs: int) -> list[str]:
    """Lines about a word of bits, for each of them if there are many."""
    if n_inputs <= 32:
        return lines
    head = f"for (w = 0; w < {-(-n_inputs // 32)}; ++w) {{"
    return [head, *(f"    {line}" for line in lines), "}"]


def _joined(terms: str) -> str:
    """Terms, each after its sign, as an expression."""
    return "0" if not terms else terms[3:] if terms[1] == "+" else f"-{terms[3:]}"


def _number(bits: BoolArray) -> int:
    return sum(1 << i for i in np.flatnonzero(bits).tolist())


def _masks(name: str, rows: BoolArray) -> list[str]:
    """One mask per line, in 32-bit words if it is wider than that."""
    width = rows.shape[1]
    if width <= 32:
        c_type = f"uint{8 * mask_bytes(width)}_t"
        return table(name, c_type, [word(_number(row)) for row in rows])
    parts = range(0, width, 32)
    words = [[word(_number(row[first : first + 32])) for first in parts] for row in rows]
    return table(name, "uint32_t", words)

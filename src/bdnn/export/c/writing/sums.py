"""Weighted sums in C: of levels, of bits, of real numbers; in a loop over units or written out.

A sum knows the tables it needs, how to write the sum of one unit as an expression, and the lines
that compute it into ``s`` for the unit ``i`` of a loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bdnn.export.c.text import integer, integer_type, mask_bytes, real, table, word
from bdnn.export.inputs import Integers
from bdnn.network.activation import FloatArray

_INT32 = 2**31
_MOST_PLANES = 3


class AbstractSum(ABC):
    """Sums of the units of one layer; ``tag`` makes the names of its tables unique."""

    tag: str
    is_real: ClassVar[bool] = False

    @property
    @abstractmethod
    def is_written_out(self) -> bool:
        """Whether every unit gets a statement of its own."""

    @abstractmethod
    def kind(self, factor: int = 1, offset: int = 0) -> str:
        """Type that holds every partial sum, and ``factor * sum - offset`` in the end."""

    @abstractmethod
    def expression(self, unit: int) -> str:
        """Sum of one unit."""

    @abstractmethod
    def tables(self) -> list[str]:
        """Constant arrays for the loop."""

    @abstractmethod
    def loop(self) -> list[str]:
        """Lines that add to ``s``, inside a loop over ``i``."""


@dataclass(frozen=True)
class LevelSum(AbstractSum):
    """Integer weights times integers that have names, such as ``q[3]`` or ``x[3]``.

    Parameters
    ----------
    names : list of str
        One expression per input.
    array : str
        Array of all inputs, for the loop.
    largest : list of int
        Largest absolute value of every input.
    is_loop : bool
    """

    tag: str
    weights: Integers
    names: list[str]
    array: str
    largest: list[int]
    is_loop: bool

    @property
    def is_written_out(self) -> bool:
        """Whether every unit gets a statement of its own."""
        return not self.is_loop

    def kind(self, factor: int = 1, offset: int = 0) -> str:
        """Type that holds every partial sum, and ``factor * sum - offset`` in the end."""
        reach = max(
            (
                sum(abs(int(w)) * m for w, m in zip(row, self.largest, strict=True))
                for row in self.weights
            ),
            default=0,
        )
        return _type_up_to(factor * reach + abs(offset))

    @property
    def _is_ternary(self) -> bool:
        return bool(np.abs(self.weights).max(initial=0) <= 1)

    def expression(self, unit: int) -> str:
        """Sum of one unit."""
        text = ""
        for w, name in zip(self.weights[unit].tolist(), self.names, strict=True):
            if w:
                factor = "" if abs(w) == 1 else f"{integer(abs(w))} * "
                sign = "-" if w < 0 else "+"
                text += f" {sign} {factor}{name}"
        return _joined(text)

    def tables(self) -> list[str]:
        """Masks of the weights 1 and -1, or the weights themselves."""
        if self._is_ternary:
            return [
                *_masks(f"PLUS{self.tag}", self.weights > 0),
                *_masks(f"MINUS{self.tag}", self.weights < 0),
            ]
        c_type = integer_type(self.weights.reshape(-1).tolist())
        rows = [[integer(w) for w in row] for row in self.weights.tolist()]
        return table(f"WEIGHT{self.tag}", c_type, rows)

    def loop(self) -> list[str]:
        """Add or subtract every input that has a weight."""
        n_inputs = self.weights.shape[1]
        head = f"for (j = 0; j < {n_inputs}; ++j) {{"
        if not self._is_ternary:
            term = f"({self.kind()})WEIGHT{self.tag}[i][j] * {self.array}[j]"
            return [head, f"    s += {term};", "}"]
        kind, many = self.kind(), n_inputs > 32
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
        if not many:
            return lines
        head = f"for (w = 0; w < {-(-n_inputs // 32)}; ++w) {{"
        return [head, *(f"    {line}" for line in lines), "}"]


@dataclass(frozen=True)
class BitSum(AbstractSum):
    """Integer weights times the bits of the layer before, counted through masks.

    Parameters
    ----------
    bits : str
        Variable, or array of 32-bit words, that holds the bits.
    ones : str
        Name of the function that counts bits.
    """

    tag: str
    weights: Integers
    bits: str
    ones: str

    def kind(self, factor: int = 1, offset: int = 0) -> str:
        """Type that holds every partial sum, and ``factor * sum - offset`` in the end."""
        reach = int(np.abs(self.weights).sum(axis=1).max(initial=0))
        return _type_up_to(factor * reach + abs(offset))

    @property
    def uses_masks(self) -> bool:
        """Whether weights are few enough bits wide to be masks."""
        return len(self._planes) <= _MOST_PLANES

    @property
    def _planes(self) -> list[int]:
        return list(range(int(np.abs(self.weights).max(initial=1)).bit_length()))

    @property
    def _words(self) -> int:
        return -(-int(self.weights.shape[1]) // 32)

    @property
    def _is_binary(self) -> bool:
        return bool((np.abs(self.weights) == 1).all())

    @property
    def is_written_out(self) -> bool:
        """Whether a few statements are less than tables and a loop over them."""
        if self._words > 1 or not self.uses_masks:
            return False
        masks = 2 * len(self._planes) * len(self.weights)
        return 12 * masks <= 70 + masks * mask_bytes(self.weights.shape[1])

    def expression(self, unit: int) -> str:
        """Sum of one unit."""
        row = self.weights[unit]
        if self._is_binary:
            plus = _number(row > 0)
            return f"2 * (int32_t){self._count(plus)} - (int32_t){self.ones}({self.bits})"
        text = ""
        for plane in self._planes:
            has_bit = (np.abs(row) >> plane & 1).astype(bool)
            factor = "" if plane == 0 else f"{1 << plane} * "
            for sign, mask in (
                ("+", _number(has_bit & (row > 0))),
                ("-", _number(has_bit & (row < 0))),
            ):
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
        if not self.uses_masks:
            c_type = integer_type(self.weights.reshape(-1).tolist())
            rows = [[integer(w) for w in row] for row in self.weights.tolist()]
            return table(f"WEIGHT{self.tag}", c_type, rows)
        lines = []
        for plane in self._planes:
            has_bit = (np.abs(self.weights) >> plane & 1).astype(bool)
            lines += _masks(f"PLUS{self.tag}_{plane}", has_bit & (self.weights > 0))
            if not self._is_binary:
                lines += _masks(f"MINUS{self.tag}_{plane}", has_bit & (self.weights < 0))
        return lines

    def loop(self) -> list[str]:
        """Count bits under masks, or add the weights of the bits that are on."""
        n_inputs = self.weights.shape[1]
        if not self.uses_masks:
            where, bit = _bit_of(n_inputs, "j")
            return [
                f"for (j = 0; j < {n_inputs}; ++j)",
                f"    if ({self.bits}{where} >> {bit} & 1u) s += WEIGHT{self.tag}[i][j];",
            ]
        many = self._words > 1
        at, bits = ("[w]", f"{self.bits}[w]") if many else ("", self.bits)
        lines = []
        for plane in self._planes:
            factor = "" if plane == 0 else f"{1 << plane} * "
            plus = f"(int32_t){self.ones}({bits} & PLUS{self.tag}_{plane}[i]{at})"
            if self._is_binary:
                lines.append(f"s += 2 * {plus} - (int32_t){self.ones}({bits});")
            else:
                minus = f"(int32_t){self.ones}({bits} & MINUS{self.tag}_{plane}[i]{at})"
                lines.append(f"s += {factor}({plus} - {minus});")
        if not many:
            return lines
        return [f"for (w = 0; w < {self._words}; ++w) {{", *(f"    {line}" for line in lines), "}"]


@dataclass(frozen=True)
class RealSum(AbstractSum):
    """Real weights times real numbers or bits, added in input order.

    Products and sums go through volatile variables, so that no compiler option may fuse, reorder
    or keep them in wider registers.
    """

    tag: str
    weights: FloatArray
    array: str
    is_bits: bool
    is_real: ClassVar[bool] = True

    def kind(self, factor: int = 1, offset: int = 0) -> str:
        """Type of the sum."""
        return "volatile double"

    @property
    def is_written_out(self) -> bool:
        """Never: the loop keeps the order of the sums."""
        return False

    def expression(self, unit: int) -> str:
        """Not available."""
        raise NotImplementedError("sums of real numbers are always loops")

    def tables(self) -> list[str]:
        """The weights."""
        rows = [[real(w) for w in row] for row in self.weights.tolist()]
        return table(f"WEIGHT{self.tag}", "double", rows)

    def loop(self) -> list[str]:
        """Add in input order."""
        n_inputs = self.weights.shape[1]
        if self.is_bits:
            where, bit = _bit_of(n_inputs, "j")
            return [
                f"for (j = 0; j < {n_inputs}; ++j)",
                f"    if ({self.array}{where} >> {bit} & 1u) s = s + WEIGHT{self.tag}[i][j];",
            ]
        return [
            f"for (j = 0; j < {n_inputs}; ++j) {{",
            f"    volatile double product = WEIGHT{self.tag}[i][j] * {self.array}[j];",
            "    s = s + product;",
            "}",
        ]


def _type_up_to(reach: int) -> str:
    return "int32_t" if reach < _INT32 else "int64_t"


def _joined(terms: str) -> str:
    """Terms, each after its sign, as an expression."""
    return "0" if not terms else terms[3:] if terms[1] == "+" else f"-{terms[3:]}"


def _number(bits: np.ndarray) -> int:
    return sum(1 << i for i in np.flatnonzero(bits).tolist())


def _masks(name: str, rows: np.ndarray) -> list[str]:
    """One mask per line, in 32-bit words if it is wider than that."""
    width = rows.shape[1]
    if width <= 32:
        c_type = f"uint{8 * mask_bytes(width)}_t"
        return table(name, c_type, [word(_number(row)) for row in rows])
    parts = range(0, width, 32)
    words = [[word(_number(row[first : first + 32])) for first in parts] for row in rows]
    return table(name, "uint32_t", words)


def _bit_of(width: int, index: str) -> tuple[str, str]:
    """Which word and which bit of it belong to an index."""
    return ("", index) if width <= 32 else (f"[{index} >> 5]", f"({index} & 31)")

"""Pieces of C: names, numbers, tables, comments, and the lines of a function in the making.

Nothing a model file says can become code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bdnn.errors import ModelError

_KEYWORD = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|"
    "inline|int|long|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|"
    "union|unsigned|void|volatile|while|asm|main|and|or|not|xor|bool|true|false|class|new|delete|"
    "this|template|typename|namespace|using|private|public|protected|virtual|friend|operator|try|"
    "catch|throw"
)
_WIDTHS = ((8, 2**8), (16, 2**16), (32, 2**32), (64, 2**64))


def check_name(name: str) -> str:
    """Return a name that can stand before every name of a header, or refuse it."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name) or _KEYWORD.fullmatch(name):
        raise ModelError(
            f"the name must be a C identifier of at most 41 letters, digits and '_' that starts "
            f"with a letter and is no keyword, got {name!r}: give for example 'model'."
        )
    return name


def make_name(text: str) -> str:
    """Make a name of any text, such as that of a file."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:32].lower()
    if not name or not name[0].isalpha() or _KEYWORD.fullmatch(name):
        name = f"model_{name}".rstrip("_")
    return name


def comment(text: str, width: int = 160) -> str:
    """Make any text safe inside a comment: printable ASCII without what ends or continues one."""
    plain = "".join(c if " " <= c <= "~" and c not in "\\*/?" else "." for c in text)
    return plain if len(plain) <= width else plain[: width - 3] + "..."


def string(text: str) -> str:
    """Write a string literal; every byte that is no letter, digit or blank is an octal escape."""
    data = text.encode("utf-8", errors="backslashreplace")
    return '"' + "".join(_character(byte) for byte in data) + '"'


def _character(byte: int) -> str:
    letter = chr(byte)
    return (
        letter if letter.isascii() and (letter.isalnum() or letter in " _-.,") else f"\\{byte:03o}"
    )


def real(value: float) -> str:
    """Write a double so that it reads back to the same bits."""
    return value.hex()


def integer(value: int) -> str:
    """Write an integer constant of the type it needs."""
    if -(2**31) < value < 2**31:
        # On 8-bit targets an int has 16 bits; the L keeps larger constants portable.
        return f"{value}" if abs(value) < 2**15 else f"{value}L"
    return f"{value}LL"


def word(value: int) -> str:
    """Write a mask of up to 32 bits."""
    return f"0x{value:X}u" if value < 2**16 else f"0x{value:X}UL"


def integer_type(values: Iterable[int]) -> str:
    """Smallest type of ``<stdint.h>`` that holds all values."""
    numbers = list(values)
    low, high = min(numbers, default=0), max(numbers, default=0)
    for bits, size in _WIDTHS:
        # Larger unsigned numbers would make what they are compared with unsigned.
        if low >= 0 and high < size and bits <= 16:
            return f"uint{bits}_t"
        if low >= -(size // 2) and high < size // 2:
            return f"int{bits}_t"
    raise OverflowError("an integer of more than 64 bits")


def size_of(c_type: str) -> int:
    """Bytes of one entry of a type."""
    if c_type in ("double", "float"):
        return 8 if c_type == "double" else 4
    return int("".join(filter(str.isdigit, c_type))) // 8


def mask_bytes(width: int) -> int:
    """Bytes of a mask: one, two, or words of four."""
    return next((bits // 8 for bits in (8, 16) if width <= bits), 4 * -(-width // 32))


def table(name: str, c_type: str, rows: Sequence[Sequence[str]] | Sequence[str]) -> list[str]:
    """Write a constant array of one or two dimensions, four blanks in."""
    if rows and not isinstance(rows[0], str):
        head = f"    static const {c_type} {name}[{len(rows)}][{len(rows[0])}] = {{"
        lines = [f"        {{{', '.join(row)}}}," for row in rows]
        return [head, *lines, "    };"]
    head = f"    static const {c_type} {name}[{len(rows)}] = {{"
    entries = [str(entry) for entry in rows]
    lines = ["        " + ", ".join(entries[i : i + 12]) + "," for i in range(0, len(entries), 12)]
    return [head, *lines, "    };"]


def constants(name: str, values: Sequence[Any]) -> list[str]:
    """Write numbers as an array of the smallest type that holds them as they are."""
    rows = values if values and isinstance(values[0], list) else [values]
    flat = [value for row in rows for value in row]
    is_real = any(isinstance(value, float) for value in flat)
    texts = [[real(v) if is_real else integer(v) for v in row] for row in rows]
    c_type = _real_type(flat) if is_real else integer_type(flat)
    return table(name, c_type, texts if rows is values else texts[0])


def _real_type(values: Iterable[float]) -> str:
    """Float if it holds all values, and none so small that some processors take it for 0."""
    numbers = np.array(list(values), dtype=float)
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32)
    sizes = np.abs(numbers[numbers != 0])
    is_usual = bool((sizes >= np.finfo(np.float32).tiny).all())
    return "float" if is_usual and (single == numbers).all() else "double"


def decimals(values: Sequence[float]) -> tuple[list[int], float] | None:
    """Whole numbers and a power of ten that they are divided by, where these fit 16 bits."""
    for power in (1.0, 10.0, 100.0, 1000.0, 10000.0):
        if max(map(abs, values), default=0.0) * power >= 2**15:
            return None
        whole = [round(value * power) for value in values]
        if all(n / power == value for n, value in zip(whole, values, strict=True)):
            return whole, power
    return None


def declared_bytes(lines: Iterable[str]) -> int:
    """Bytes of constant arrays."""
    total = 0
    for line in lines:
        declared = re.match(r"\s*static const (\w+) \w+\[(\d+)\](?:\[(\d+)\])?", line)
        if declared:
            total += size_of(declared[1]) * int(declared[2]) * int(declared[3] or 1)
    return total


@dataclass
class Code:
    """Lines of a header in the making.

    Helpers are functions that come first, tables the constant arrays, counters the loop variables
    in use, and the stack is counted in bytes of arrays.
    """

    prefix: str
    helpers: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    counters: set[str] = field(default_factory=set)
    needs_real: bool = False
    stack: int = 0

    @property
    def has_products(self) -> bool:
        """Whether anything is multiplied by a number that is no power of two."""
        factors = re.findall(r"(\S+) \* \(*(\w+)", "\n".join([*self.helpers, *self.body]))
        return not all(any(map(_is_power_of_two, pair)) for pair in factors)

    def silence(self, name: str) -> None:
        """Keep compilers from complaining of a variable that is never read."""
        declared = None
        for place, line in enumerate(self.body):
            if re.match(rf"\s*uint32_t {name}\b", line):
                declared = place + 1
            elif re.search(rf"\b{name}\b(?!(\[[^]]*\])? \|=)", line):
                return
        if declared is not None:
            self.body.insert(declared, f"    (void){name};")

    def add(self, *lines: str) -> None:
        """Append statements, four blanks in."""
        self.body += [f"    {line}" for line in lines]


def _is_power_of_two(term: str) -> bool:
    digits = re.sub(r"^[-(]+|[L)]+$", "", term)
    return digits.isdigit() and int(digits).bit_count() == 1

"""Bytes of flash that a function takes on a 32-bit ARM, from its operations and tables.

The table holds bytes of Thumb code per operation, as ``arm-none-eabi-gcc -Os`` for a Cortex-M0
makes of the functions written here, rounded to whole bytes. Nine of ten functions are within a
fifth of what that compiler makes. Routines that it adds for doubles, which a program has once, are
not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bdnn.export.c.text import declared_bytes

_OPERATOR = r" (?:\+|-|\||&|>>|<<|\*|/)=? "
_COMPARISON = r" (?:>=|<=|<|>|==|!=) "
#: Bytes of every match in the code of a function, comments and tables left out.
BYTES = {
    r"static inline": 16,  # entry and exit of a function
    r"\bfor \(": 17,
    r"\bif \(|\?|&&|\|\|": 2,
    r"_(?:ones|level|is_missing)\((?!\w+ )": 8,  # a call
    r"\w\[": 2,  # an entry of an array
    _OPERATOR: 2,
    _COMPARISON: 2,
    r"\b(?:0x[0-9A-F]{3,}u?L*|\d{4,}L*)\b": 8,  # a constant that no instruction holds
    r"0x[01]\.": 16,  # one of eight bytes
}
#: Beside these, bytes of every operation on 64-bit integers and on doubles.
_WIDE, _DOUBLE = 4, 7


@dataclass(frozen=True)
class Flash:
    """Bytes of a function.

    Attributes
    ----------
    tables : int
        Weights, thresholds, cuts and scales.
    code : int
        What computes with them, about.
    """

    tables: int
    code: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.tables + self.code


def estimate_flash(function: str) -> Flash:
    """Estimate the bytes of what a header declares."""
    text = re.sub(r"/\*.*?\*/|enum \{.*?\};|^#.*?$", "", function, flags=re.DOTALL | re.MULTILINE)
    tables = declared_bytes(text.splitlines())
    text = re.sub(r"static const [^;]*;", "", text)
    code = sum(size * len(re.findall(pattern, text)) for pattern, size in BYTES.items())
    return Flash(tables, code + sum(_beside(text)))


def _beside(text: str) -> Iterator[int]:
    """Bytes of wide and real operations, by the types of what a statement names."""
    wide, real = _naming("u?int64_t", text), _naming("double|float", text)
    for statement in re.findall(r"[^;{}]+[;{]", text):
        operations = len(re.findall(f"{_OPERATOR}|{_COMPARISON}", statement))
        if wide.search(statement):
            yield _WIDE * operations
        if real.search(statement) or "0x1." in statement:
            yield _DOUBLE * max(1, operations)


def _naming(kind: str, text: str) -> re.Pattern[str]:
    """What finds a type, or a variable of that type."""
    names = {"_", *re.findall(rf"(?:{kind}) (\w+)", text)}
    return re.compile(rf"{kind}|\b(?:{'|'.join(sorted(names))})\b")

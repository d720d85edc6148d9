"""Lines of a C function in the making."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bdnn.export.c.text import size_of


@dataclass
class Code:
    """Lines of a header in the making.

    Attributes
    ----------
    helpers : list of str
        Functions that come first.
    tables, body : list of str
        Constant arrays and statements of the function.
    counters : set of str
        Loop variables in use.
    needs_real : bool
        Whether double arithmetic is used.
    stack : int
        Bytes of arrays on the stack.
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

    @property
    def flash_estimate(self) -> int:
        """Rough bytes on a 32-bit ARM: constants as they are, some instructions per operation."""
        data = 0
        for line in self.tables:
            declared = re.match(r"\s*static const (\w+) \w+\[(\d+)\](?:\[(\d+)\])?", line)
            if declared:
                data += size_of(declared[1]) * int(declared[2]) * int(declared[3] or 1)
        text = " ".join([*self.helpers, *self.body])
        return data + 16 + 3 * len(re.findall(r"[-+*/<>=&|]+ ", text))

    def silence(self, name: str) -> None:
        """Keep compilers from complaining of a variable that is never read."""
        declared = 0
        for place, line in enumerate(self.body):
            if re.match(rf"\s*uint32_t {name}\b", line):
                declared = place + 1
            elif re.search(rf"\b{name}\b(?!(\[[^]]*\])? \|=)", line):
                return
        self.body.insert(declared, f"    (void){name};")

    def add(self, *lines: str) -> None:
        """Append statements, four blanks in."""
        self.body += [f"    {line}" for line in lines]


def _is_power_of_two(term: str) -> bool:
    digits = re.sub(r"^[-(]+|[L)]+$", "", term)
    return digits.isdigit() and int(digits).bit_count() == 1

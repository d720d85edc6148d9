"""Weights of classes in C, in proportion to their probabilities: Python's integers.

All scores are kept. The class found has the first entry of its table, every other class one that
is further on the more its score is behind.
"""

from __future__ import annotations

import math

from bdnn.export.c.sums import AbstractSum
from bdnn.export.c.text import Code, constants, integer, real, size_of
from bdnn.export.plan.plan import Entries

_INT32 = 2**31


def write_entries(code: Code, sums: AbstractSum, decision: Entries) -> None:
    """Write all scores, the class of the largest one, and the weights of all classes."""
    units, n_classes = sums.units, len(decision.tables)
    offsets = list(units.thresholds)
    kind, final = _score(sums, decision)
    code.add(f"{kind} score[{n_classes}];", "int found = 0;")
    code.stack += size_of(kind.removeprefix("volatile ")) * n_classes
    if sums.is_written_out:
        for i, offset in enumerate(offsets):
            value = final.replace("LIMIT_OUT[i]", integer(int(offset)))
            code.add(f"score[{i}] = {value.replace('(s)', f'({sums.expression(i)})')};")
    else:
        code.tables += constants("LIMIT_OUT", offsets)
        inner = "volatile double" if units.is_real else sums.kind()
        sums.write_loop(code, [f"score[i] = {final.replace('(s)', 's')};"], inner)
    common = len(set(decision.tables)) == 1
    rows = list(decision.tables[0]) if common else [list(row) for row in decision.tables]
    code.tables += constants("ENTRY", rows)
    code.counters.add("i")
    at = "" if common else "[found]"
    last = len(decision.tables[0]) - 1
    others = f"lead < {last - 1} ? lead + 1 : {last}" if last > 1 else str(last)
    code.add(
        f"for (i = 1; i < {n_classes}; ++i) if (score[i] > score[found]) found = i;",
        f"for (i = 0; i < {n_classes}; ++i) {{",
        *(f"    {line}" for line in (_lead(kind, decision) if last > 1 else ())),
        f"    weight[i] = ENTRY{at}[i == found ? 0 : {others}];",
        "}",
        "return found;",
    )


def _score(sums: AbstractSum, decision: Entries) -> tuple[str, str]:
    """Type of a score, and a score of the sum ``(s)``."""
    units = sums.units
    if decision.by_outputs:
        return "int32_t" if decision.unit >= 1 else "volatile double", "(s) >= LIMIT_OUT[i]"
    if units.is_real:
        return "volatile double", "(s) - LIMIT_OUT[i]"
    kind = sums.kind(units.factor, int(max(map(abs, units.thresholds))))
    if decision.unit >= _INT32:
        kind = "int64_t"
    factor = "" if units.factor == 1 else f"{units.factor} * "
    return kind, f"{factor}({kind})(s) - LIMIT_OUT[i]"


def _lead(kind: str, decision: Entries) -> list[str]:
    """Lines that count how far a class is behind, at most as many units as the table knows."""
    last = len(decision.tables[0]) - 1
    if kind == "volatile double":
        return [
            "volatile double behind = score[found] - score[i];",
            f"int lead = {last};",
            f"behind = behind * {real(1.0 / decision.unit)};",
            f"if (behind < {last}.0) lead = (int)behind;",
        ]
    # A difference may need one bit more than scores, which unsigned numbers have.
    unsigned = f"u{kind}"
    shift = round(math.log2(decision.unit))
    down = f" >> {shift}" if shift else ""
    return [
        f"const {unsigned} lead = (({unsigned})score[found] - ({unsigned})score[i]){down};",
    ]

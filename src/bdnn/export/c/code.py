"""The C function of a plan: how its first layer is laid out, and its statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.export.c.dots import DotSum, copied
from bdnn.export.c.entries import write_entries
from bdnn.export.c.features import FeatureWriter
from bdnn.export.c.keys import Keys, keys_of_tests, keys_of_words
from bdnn.export.c.lists import smallest
from bdnn.export.c.lookups import LookupSum, with_lookups
from bdnn.export.c.sums import AbstractSum, BitSum, FeatureSum
from bdnn.export.c.text import (
    Code,
    constants,
    integer,
    integer_type,
    mask_bytes,
    real,
    size_of,
    table,
    word,
)
from bdnn.export.inputs import InputFormat, Integers
from bdnn.export.plan.levels import Cut, find_cut
from bdnn.export.plan.plan import (
    Constant,
    Entries,
    LargestScore,
    Numbers,
    Plan,
    Table,
    Units,
    reach,
)

# Rough bytes of code or tables for the level of one feature.
_LEVEL_WRITTEN_OUT, _LEVEL_IN_LOOP = 12, 7
_LEVEL_LOOP = 40
_CUT = 8

# Sum of the units of a first layer, with the tag of its tables.
FirstSum = Callable[[Units, str], AbstractSum]


def lay_out(plan: Plan, scaler: Encoder, inputs: InputFormat, *, is_fast: bool = False) -> Plan:
    """Choose between a loop and statements, and put the offsets of levels into the thresholds."""
    if not plan.stages or plan.stages[0].is_real:
        return plan
    units = plan.stages[0]
    weights = units.weights.astype(np.int64)
    by_score = isinstance(plan.decision, LargestScore | Entries) and not plan.layers
    cuts = {} if by_score else _cuts(plan, units, weights, scaler, inputs)
    cost_written = _cost_written(_summed(weights, cuts)) + _CUT * len(cuts)
    cost_looped = _cost_looped(weights)
    if not inputs.is_integer or not all(level.is_count for level in plan.levels.values()):
        n_used = int(np.count_nonzero(_summed(weights, cuts).any(axis=0)))
        cost_written += _LEVEL_WRITTEN_OUT * n_used
        cost_looped += _LEVEL_LOOP + _LEVEL_IN_LOOP * weights.shape[1]
    is_written_out = cost_written <= cost_looped
    if is_fast:
        n_terms = np.count_nonzero(weights) + len(weights)
        is_written_out = bool(n_terms <= DotSum("", units, "", 0).n_instructions)
    if not is_written_out:
        cuts = {}
    used = np.flatnonzero(_summed(weights, cuts).any(axis=0)).tolist()
    levels = {j: level for j, level in plan.levels.items() if j in used}
    # The lowest level of every feature is taken out of the sums, which then start at 0.
    lowest = np.zeros(weights.shape[1], dtype=np.int64)
    lowest[list(levels)] = [level.lowest for level in levels.values()]
    offsets = weights @ lowest
    offsets[list(cuts)] = 0
    plan = replace(plan, levels=levels, is_written_out=is_written_out)
    return plan.with_stage(0, replace(units.moved(offsets), cuts=cuts))


def _summed(weights: Integers, cuts: dict[int, Cut | Constant]) -> Integers:
    """Weights of the units that need a sum."""
    return np.delete(weights, list(cuts), axis=0)


def _cost_written(weights: Integers) -> int:
    """Rough bytes of a statement per unit: an instruction per term, more with a product."""
    size = np.abs(weights)
    return int(3 * (np.count_nonzero(size) + np.count_nonzero(size > 1)) + 8 * len(weights))


def _cost_looped(weights: Integers) -> int:
    """Rough bytes of masks or weights, and of the loop over them."""
    if np.abs(weights).max(initial=0) <= 1:
        return 90 + 2 * len(weights) * mask_bytes(int(weights.shape[1]))
    return 60 + int(weights.size) * size_of(integer_type(weights.reshape(-1).tolist()))


def _cuts(
    plan: Plan, units: Units, weights: Integers, scaler: Encoder, inputs: InputFormat
) -> dict[int, Cut | Constant]:
    """Units that need no sum; without levels only those that are constant."""
    low, high = reach(weights, plan.ranges)
    cuts: dict[int, Cut | Constant] = {}
    for i, (row, limit) in enumerate(zip(weights, units.thresholds, strict=True)):
        if not low[i] < limit <= high[i]:
            cuts[i] = Constant(bool(low[i] >= limit))
        elif plan.unit is not None and np.count_nonzero(row) == 1:
            cuts[i] = find_cut(row, int(limit), scaler, inputs, plan.unit)
    return cuts


def write_code(
    plan: Plan,
    scaler: Encoder,
    inputs: InputFormat,
    prefix: str,
    given: tuple[Code, FirstSum | Keys] | None = None,
    *,
    is_fast: bool = False,
) -> Code:
    """Write the function of a plan, or go on with code that wrote what the first units look at."""
    code, first = given or (Code(prefix), None)
    decision = plan.decision
    if isinstance(decision, Table) and plan.is_constant:
        code.add(f"return {decision.classes[0]};")
        return code
    first = first or FeatureWriter(plan, scaler, inputs, code).write
    keys = first if isinstance(first, Keys) else None
    bits = ""
    for place, units in enumerate(plan.stages, start=1):
        is_hidden = place <= len(plan.layers)
        tag = str(place) if is_hidden else "_OUT"
        sums: AbstractSum
        summed = with_lookups(plan, place - 1)
        if keys is not None and summed is not None:
            sums = LookupSum.of(tag, summed, keys)
        elif bits or isinstance(first, Keys):
            sums = BitSum(tag, units, bits, f"{prefix}_ones")
        else:
            sums = first(units, tag)
        if not is_fast:
            sums = smallest(sums)
        elif isinstance(sums, FeatureSum):
            sums = copied(code, sums)
        keys = None
        if is_hidden and is_fast and with_lookups(plan, place) is not None:
            keys = _write_keys(code, sums, tag)
        elif is_hidden:
            bits = f"h{place}"
            declare_bits(code, bits, len(units.thresholds))
            write_units(code, sums, bits, len(units.thresholds))
        elif isinstance(decision, LargestScore):
            if isinstance(sums, LookupSum):
                sums.write_class(code)
            else:
                _write_largest(code, sums)
        elif isinstance(decision, Numbers):
            _write_numbers(code, sums, decision)
        elif isinstance(decision, Entries):
            write_entries(code, sums, decision)
        else:
            _write_first(code, sums)
    if isinstance(decision, Table):
        _write_table(code, decision.classes, bits)
    for name in ("x", *(f"h{place}" for place in range(1, len(plan.layers) + 1))):
        code.silence(name)
    if any(f"{prefix}_ones(" in line for line in code.body):
        code.helpers += [
            "/* Number of bits that are on. */",
            f"static inline uint32_t {prefix}_ones(uint32_t bits)",
            "{",
            "    uint32_t count = 0;",
            "    for (; bits; bits &= bits - 1) ++count;",
            "    return count;",
            "}",
            "",
        ]
    return code


def declare_bits(code: Code, bits: str, width: int) -> None:
    """Write a variable, or an array of words, of bits that are off."""
    words = -(-width // 32)
    if words == 1:
        code.add(f"uint32_t {bits} = 0;")
    else:
        code.add(f"uint32_t {bits}[{words}] = {{0}};")
        code.stack += 4 * words


def write_units(code: Code, sums: AbstractSum, bits: str, width: int) -> None:
    """Turn on the bits of units that are on, which are the first of so many."""
    words = -(-width // 32)
    if sums.is_written_out:
        for i in range(len(sums.units.thresholds)):
            at = "" if words == 1 else f"[{i // 32}]"
            code.add(f"if ({_test(sums, i)}) {bits}{at} |= {word(1 << i % 32)};")
        return
    where, bit = ("", "i") if words == 1 else ("[i >> 5]", "(i & 31)")
    _write_tests(code, sums, f"{bits}{where} |= (uint32_t)1 << {bit};")


def _write_keys(code: Code, sums: AbstractSum, tag: str) -> Keys:
    """Write what units say as keys."""
    n_units = len(sums.units.thresholds)
    if sums.is_written_out:
        return keys_of_tests(code, [_test(sums, i) for i in range(n_units)], f"k{tag}")
    if isinstance(sums, LookupSum | DotSum):
        return sums.write_keys(code, f"k{tag}")
    declare_bits(code, f"h{tag}", n_units)
    write_units(code, sums, f"h{tag}", n_units)
    return keys_of_words(code, f"h{tag}", n_units)


def _test(sums: AbstractSum, unit: int) -> str:
    """Whether a unit is on, as an expression."""
    cut = sums.units.cuts.get(unit)
    if cut is None:
        return f"{sums.expression(unit)} >= {integer(int(sums.units.thresholds[unit]))}"
    if isinstance(cut, Constant):
        return str(int(cut.is_on))
    value = real(cut.value) if isinstance(cut.value, float) else integer(cut.value)
    return f"x[{cut.feature}] {'>=' if cut.is_at_least else '<'} {value}"


def _write_tests(code: Code, sums: AbstractSum, then: str) -> None:
    """Write a loop that does something for every unit that is on."""
    name = f"LIMIT{sums.tag}"
    code.tables += constants(name, list(sums.units.thresholds))
    sums.write_loop(code, [f"if (s >= {name}[i]) {then}"])


def _write_table(code: Code, classes: tuple[int, ...], bits: str) -> None:
    if classes == (0, 1):
        code.add(f"return (int){bits};")
        return
    needed = max(1, max(classes).bit_length())
    size = next(n for n in (1, 2, 4, 8, 16, 32) if n >= needed)
    packed = sum(c << (size * i) for i, c in enumerate(classes))
    total = size * len(classes)
    mask = word((1 << size) - 1)
    if total <= 32:
        shift = bits if size == 1 else f"({bits} * {size})"
        code.add(f"return (int)((uint32_t){word(packed)} >> {shift} & {mask});")
        return
    if size >= 8:
        code.tables += table("CLASS", f"uint{size}_t", [str(c) for c in classes])
        code.add(f"return (int)CLASS[{bits}];")
        return
    data = packed.to_bytes(-(-total // 8), "little")
    per_byte = 8 // size
    code.tables += table("CLASS", "uint8_t", [word(byte) for byte in data])
    place = f"({bits} & {per_byte - 1}u)" + (f" * {size}" if size > 1 else "")
    code.add(f"return CLASS[{bits} / {per_byte}] >> ({place}) & {mask};")


def _write_largest(code: Code, sums: AbstractSum) -> None:
    units, offsets = sums.units, list(sums.units.thresholds)
    factor = "" if units.factor == 1 else f"{units.factor} * "
    kind = sums.kind(units.factor, int(max(map(abs, offsets))))
    if sums.is_written_out:
        # The sum itself may fit a narrower type than its multiple.
        widened = "" if kind == sums.kind() else f"({kind})"
        for i, offset in enumerate(offsets):
            total = f"{factor}{widened}({sums.expression(i)}) - ({integer(int(offset))})"
            if i == 0:
                code.add(f"{kind} best = {total}, s;", "int found = 0;")
            else:
                code.add(f"s = {total};", f"if (s > best) {{ best = s; found = {i}; }}")
    else:
        name = "LIMIT_OUT" if units.is_real else "OFFSET"
        code.tables += constants(name, offsets)
        code.add(f"{kind.removeprefix('volatile ')} best = 0;", "int found = 0;")
        choose = "if (i == 0 || s > best) { best = s; found = i; }"
        sums.write_loop(code, [f"s = {factor}s - {name}[i];", choose], kind)
    code.add("return found;")


def _write_first(code: Code, sums: AbstractSum) -> None:
    if sums.is_written_out:
        for i in range(len(sums.units.thresholds)):
            code.add(f"if ({_test(sums, i)}) return {i};")
    else:
        _write_tests(code, sums, "return i;")
    code.add("return 0;")


def _write_numbers(code: Code, sums: AbstractSum, decision: Numbers) -> None:
    code.tables += constants("LIMIT_OUT", list(decision.units.thresholds))
    code.tables += constants("FACTOR_OUT", list(decision.factor))
    code.tables += constants("SHIFT_OUT", list(decision.shift))
    scaled = ["s = s - LIMIT_OUT[i];", "s = FACTOR_OUT[i] * s;", "y[i] = SHIFT_OUT[i] + s;"]
    sums.write_loop(code, scaled)

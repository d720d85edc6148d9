"""The C function of a plan."""

from __future__ import annotations

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.export.c.planning.plan import (
    Constant,
    Cut,
    FirstOn,
    IntegerUnits,
    LargestScore,
    Layer,
    Plan,
    RealDecision,
    Table,
)
from bdnn.export.c.text import integer, integer_type, real, table, word
from bdnn.export.c.writing.features import write_levels, write_values
from bdnn.export.c.writing.lines import Code
from bdnn.export.c.writing.sums import AbstractSum, BitSum, RealSum
from bdnn.export.inputs import InputFormat


def write_code(plan: Plan, scaler: Encoder, inputs: InputFormat, prefix: str) -> Code:
    """Write the function of a plan."""
    code = Code(prefix)
    if isinstance(plan.decision, Table) and len(set(plan.decision.classes)) == 1:
        code.add(f"return {plan.decision.classes[0]};")
        code.silence("x")
        return code
    bits, width = "", 0
    for place, layer in enumerate(plan.layers, start=1):
        sums = _sums(plan, scaler, inputs, code, layer, place, bits, width)
        bits, width = f"h{place}", len(layer.thresholds)
        _write_units(code, sums, layer, bits)
    match plan.decision:
        case Table(classes):
            _write_table(code, classes, bits)
        case LargestScore() as decision:
            units = IntegerUnits(decision.weights, (0,) * len(decision.offsets))
            sums = _sums(plan, scaler, inputs, code, units, 0, bits, width)
            _write_largest(code, sums, decision)
        case FirstOn(units):
            sums = _sums(plan, scaler, inputs, code, units, 0, bits, width)
            _write_first(code, sums, units)
        case RealDecision(units, ties):
            sums = _sums(plan, scaler, inputs, code, units, 0, bits, width)
            limits = [real(t) for t in units.thresholds.tolist()]
            _write_real(code, sums, limits, ties)
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


def _sums(
    plan: Plan,
    scaler: Encoder,
    inputs: InputFormat,
    code: Code,
    units: Layer,
    place: int,
    bits: str,
    width: int,
) -> AbstractSum:
    """Sums of a layer, with whatever its inputs need written before."""
    tag = str(place) if place else "_OUT"
    if bits:
        if isinstance(units, IntegerUnits):
            return BitSum(tag, units.weights, bits, f"{code.prefix}_ones")
        return RealSum(tag, units.weights, bits, True)
    if isinstance(units, IntegerUnits):
        return write_levels(plan, scaler, inputs, code, units, tag)
    write_values(code, scaler, inputs)
    return RealSum(tag, units.weights, "v", False)


def _write_units(code: Code, sums: AbstractSum, layer: Layer, bits: str) -> None:
    """Write the units of a layer into bits."""
    width = len(layer.thresholds)
    words = -(-width // 32)
    if words == 1:
        code.add(f"uint32_t {bits} = 0;")
    else:
        code.add(f"uint32_t {bits}[{words}] = {{0}};")
        code.stack += 4 * words
    if sums.is_written_out:
        for i, limit in enumerate(layer.thresholds):
            cut = layer.cuts.get(i) if isinstance(layer, IntegerUnits) else None
            test = f"{sums.expression(i)} >= {integer(int(limit))}" if cut is None else _cut(cut)
            at = "" if words == 1 else f"[{i // 32}]"
            code.add(f"if ({test}) {bits}{at} |= {word(1 << i % 32)};")
        return
    where, bit = ("", "i") if words == 1 else ("[i >> 5]", "(i & 31)")
    limits = _limits(code, sums, layer)
    _write_loop(
        code, sums, width, [f"if (s >= {limits}[i]) {bits}{where} |= (uint32_t)1 << {bit};"]
    )


def _limits(code: Code, sums: AbstractSum, layer: Layer) -> str:
    name = f"LIMIT{sums.tag}"
    if sums.is_real:
        code.tables += table(
            name, "double", [real(t) for t in np.asarray(layer.thresholds).tolist()]
        )
    else:
        limits = [int(t) for t in layer.thresholds]
        code.tables += table(name, integer_type(limits), [integer(t) for t in limits])
    return name


def _write_loop(
    code: Code, sums: AbstractSum, width: int, then: list[str], kind: str | None = None
) -> None:
    code.tables += sums.tables()
    lines = sums.loop()
    code.needs_real |= sums.is_real
    code.counters |= {"i"} | {name for name in "jw" if f"({name} = " in " ".join(lines)}
    code.add(
        f"for (i = 0; i < {width}; ++i) {{",
        f"    {kind or sums.kind()} s = 0;",
        *(f"    {line}" for line in [*lines, *then]),
        "}",
    )


def _cut(cut: Cut | Constant) -> str:
    if isinstance(cut, Constant):
        return str(int(cut.is_on))
    value = real(cut.value) if isinstance(cut.value, float) else integer(cut.value)
    return f"x[{cut.feature}] {'>=' if cut.is_at_least else '<'} {value}"


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


def _write_largest(code: Code, sums: AbstractSum, decision: LargestScore) -> None:
    factor = "" if decision.factor == 1 else f"{decision.factor} * "
    kind = sums.kind(decision.factor, max(map(abs, decision.offsets)))
    if sums.is_written_out:
        # The sum itself may fit a narrower type than its multiple.
        widened = "" if kind == sums.kind() else f"({kind})"
        for i, offset in enumerate(decision.offsets):
            total = f"{factor}{widened}({sums.expression(i)}) - ({integer(offset)})"
            if i == 0:
                code.add(f"{kind} best = {total}, s;", "int found = 0;")
            else:
                code.add(f"s = {total};", f"if (s > best) {{ best = s; found = {i}; }}")
        code.add("return found;")
        return
    offsets = list(decision.offsets)
    code.tables += table("OFFSET", integer_type(offsets), [integer(v) for v in offsets])
    code.add(f"{kind} best = 0;", "int found = 0;")
    _write_loop(
        code,
        sums,
        len(offsets),
        [
            f"s = {factor}s - OFFSET[i];",
            "if (i == 0 || s > best) { best = s; found = i; }",
        ],
        kind,
    )
    code.add("return found;")


def _write_first(code: Code, sums: AbstractSum, units: IntegerUnits) -> None:
    if sums.is_written_out:
        for i, limit in enumerate(units.thresholds):
            cut = units.cuts.get(i)
            test = f"{sums.expression(i)} >= {integer(limit)}" if cut is None else _cut(cut)
            code.add(f"if ({test}) return {i};")
    else:
        limits = _limits(code, sums, units)
        _write_loop(code, sums, len(units.thresholds), [f"if (s >= {limits}[i]) return i;"])
    code.add("return 0;")


def _write_real(code: Code, sums: AbstractSum, limits: list[str], ties: str) -> None:
    code.tables += table("LIMIT_OUT", "double", limits)
    if ties == "first":
        _write_loop(code, sums, len(limits), ["if (s >= LIMIT_OUT[i]) return i;"])
        code.add("return 0;")
        return
    code.add("double best = 0;", "int found = 0;")
    _write_loop(
        code,
        sums,
        len(limits),
        ["s = s - LIMIT_OUT[i];", "if (i == 0 || s > best) { best = s; found = i; }"],
    )
    code.add("return found;")

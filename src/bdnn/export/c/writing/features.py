"""The features inside the C function: their levels as integers, or their values as doubles."""

from __future__ import annotations

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.export.c.planning.levels import Level, most_levels
from bdnn.export.c.planning.plan import IntegerUnits, Plan
from bdnn.export.c.text import integer, integer_type, real, size_of, table
from bdnn.export.c.writing.lines import Code
from bdnn.export.c.writing.sums import LevelSum
from bdnn.export.inputs import INTEGER_TYPES, InputFormat


def write_levels(
    plan: Plan, scaler: Encoder, inputs: InputFormat, code: Code, units: IntegerUnits, tag: str
) -> LevelSum:
    """Levels of the features, as variables or as an array."""
    n_features = units.weights.shape[1]
    is_loop = not plan.is_written_out
    if inputs.is_integer and all(level.is_count for level in plan.levels.values()):
        largest = [max(map(abs, ends)) for ends in inputs.ranges]
        # An int may have 16 bits only.
        names = [f"(int32_t)x[{j}]" for j in range(n_features)]
        return LevelSum(tag, units.weights, names, "x", largest, is_loop)
    largest = [max(map(abs, ends)) for ends in plan.ranges]
    if not inputs.is_integer:
        largest = [most_levels(scaler)] * n_features
    for j, level in plan.levels.items():
        reach = max(map(abs, inputs.ranges[j]))
        largest[j] = reach if level.is_count else level.highest - level.lowest
    names = [f"q{j}" for j in range(n_features)]
    sums = LevelSum(tag, units.weights, names, "q", largest, is_loop)
    summed = [i for i in range(len(units.weights)) if i not in units.cuts]
    used = np.flatnonzero(units.weights[summed].any(axis=0)).tolist()
    if used and not inputs.is_integer:
        _write_level_helper(code, scaler)
    if not is_loop:
        for j in used:
            value = _level(plan, scaler, inputs, code, j)
            code.add(f"const {sums.kind()} q{j} = {value};")
    else:
        _write_level_array(plan, scaler, inputs, code, largest)
    return sums


def _level(plan: Plan, scaler: Encoder, inputs: InputFormat, code: Code, j: int) -> str:
    """Level of a feature as an expression."""
    if not inputs.is_integer:
        shift, factor = real(float(scaler.shift[j])), real(float(scaler.factor[j]))
        return f"{code.prefix}_level(x[{j}], {shift}, {factor})"
    level = plan.levels[j]
    if level.is_count:
        return f"x[{j}]"
    if level.table:
        return _write_level_table(code, inputs, j, level)
    signed, unsigned = ("int64_t", "uint64_t") if level.is_wide else ("int32_t", "uint32_t")
    sum_ = f"({signed})x[{j}] * {integer(level.slope)} + {integer(level.intercept)}"
    return (
        f"(int32_t)(({unsigned})({sum_}) >> {level.shift})" if level.shift else f"(int32_t)({sum_})"
    )


def _write_level_array(
    plan: Plan, scaler: Encoder, inputs: InputFormat, code: Code, largest: list[int]
) -> None:
    n_features = len(largest)
    code.counters.add("j")
    if not inputs.is_integer:
        code.tables += table("SHIFT", "double", [real(v) for v in scaler.shift.tolist()])
        code.tables += table("FACTOR", "double", [real(v) for v in scaler.factor.tolist()])
        code.stack += 8 * n_features
        code.add(
            f"int64_t q[{n_features}];",
            f"for (j = 0; j < {n_features}; ++j)",
            f"    q[j] = {code.prefix}_level(x[j], SHIFT[j], FACTOR[j]);",
        )
        return
    levels = [plan.levels.get(j) for j in range(n_features)]
    slopes = [level.slope if level else 0 for level in levels]
    starts = [level.intercept if level else 0 for level in levels]
    shifts = [level.shift if level else 0 for level in levels]
    wide = any(level.is_wide for level in levels if level)
    signed, unsigned = ("int64_t", "uint64_t") if wide else ("int32_t", "uint32_t")
    code.tables += table("SLOPE", integer_type(slopes), [integer(v) for v in slopes])
    code.tables += table("START", integer_type(starts), [integer(v) for v in starts])
    common = {level.shift for level in levels if level}
    shift = str(common.pop()) if len(common) == 1 else "SHIFT[j]"
    if shift == "SHIFT[j]":
        code.tables += table("SHIFT", "uint8_t", [str(v) for v in shifts])
    low = min(
        (inputs.ranges[j][0] for j, level in enumerate(levels) if level and level.is_count),
        default=0,
    )
    kind = integer_type([min(low, 0), max(largest)])
    code.stack += size_of(kind) * n_features
    moved = f"({signed})x[j] * SLOPE[j] + START[j]"
    if low < 0:
        # Counts that are levels as they are may be negative, and are not shifted.
        value = (
            f"({kind})({moved})"
            if shift == "0"
            else (f"({kind})(SHIFT[j] ? ({signed})(({unsigned})({moved}) >> SHIFT[j]) : {moved})")
        )
    else:
        value = f"({kind})(({unsigned})({moved}) >> {shift})"
    code.add(
        f"{kind} q[{n_features}];",
        f"for (j = 0; j < {n_features}; ++j)",
        f"    q[j] = {value};",
    )
    for j, level in plan.levels.items():
        if level.table:
            code.add(f"q[{j}] = ({kind}){_write_level_table(code, inputs, j, level)};")


def _write_level_table(code: Code, inputs: InputFormat, j: int, level: Level) -> str:
    """Write the table of a feature's levels, and return the entry of its input."""
    low, high = inputs.ranges[j]
    levels = list(level.table)
    code.tables += table(f"LEVEL{j}", integer_type(levels), [integer(v) for v in levels])
    place = f"(int32_t)x[{j}]" + (f" - ({integer(low)})" if low else "")
    if (low, high) == INTEGER_TYPES.get(inputs.kind):
        return f"LEVEL{j}[{place}]"
    # An input outside the stated range must not lead outside the table.
    inside = f"x[{j}] >= {integer(low)} && x[{j}] <= {integer(high)}"
    if low == 0 and inputs.kind.startswith("u"):
        inside = f"x[{j}] <= {integer(high)}"
    return f"LEVEL{j}[{inside} ? {place} : 0]"


def _write_level_helper(code: Code, scaler: Encoder) -> None:
    """Write the scaler in double arithmetic, every rounding where Python has it."""
    code.needs_real = True
    limit = real(LARGEST_SCALED)
    code.helpers += [
        "/* Multiple of the scaler's step nearest to (x - shift) * factor, ties to even. Volatile:",
        "   every operation rounds to double, whatever the compiler is told. */",
        f"static inline int64_t {code.prefix}_level(double x, double shift, double factor)",
        "{",
        "    volatile double difference = x - shift;",
        "    volatile double scaled = difference * factor;",
        "    volatile double rest;",
        "    int64_t whole;",
        f"    if (!(scaled > -{limit})) scaled = -{limit};",
        f"    if (scaled > {limit}) scaled = {limit};",
        f"    scaled = scaled / {real(scaler.step)};",
        "    whole = (int64_t)scaled;",
        "    rest = scaled - (double)whole;",
        "    if (rest > 0.5 || (rest == 0.5 && (whole & 1))) ++whole;",
        "    else if (rest < -0.5 || (rest == -0.5 && (whole & 1))) --whole;",
        "    return whole;",
        "}",
        "",
    ]


def write_values(code: Code, scaler: Encoder, inputs: InputFormat) -> None:
    """Scaled features as doubles, into the array ``v``."""
    code.needs_real = True
    code.counters.add("j")
    n_features = len(scaler.shift)
    code.stack += 8 * n_features
    raw = "(double)x[j]"
    if inputs.kind == "scaled":
        value = f"{raw} * {real(scaler.step or 1.0)}"
    else:
        if set(inputs.per_unit) != {1}:
            code.tables += table("PER_UNIT", "double", [real(float(v)) for v in inputs.per_unit])
            raw += " / per_unit"
        value = raw
    lines = [f"v[j] = {value};"]
    if "per_unit" in value:
        # Through a variable no compiler knows, lest it multiply by the inverse.
        lines.insert(0, "volatile double per_unit = PER_UNIT[j];")
    if inputs.kind != "scaled" and scaler.step:
        code.tables += table("SHIFT", "double", [real(v) for v in scaler.shift.tolist()])
        code.tables += table("FACTOR", "double", [real(v) for v in scaler.factor.tolist()])
        _write_level_helper(code, scaler)
        level = f"(double){code.prefix}_level(v[j], SHIFT[j], FACTOR[j])"
        lines.append(f"v[j] = {level} * {real(scaler.step)};")
    code.add(
        f"volatile double v[{n_features}];",
        f"for (j = 0; j < {n_features}; ++j) {{",
        *(f"    {line}" for line in lines),
        "}",
    )

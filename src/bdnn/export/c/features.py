"""The features inside the C function: their levels as integers, or their values as doubles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.encoding.encoder import Encoder
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.export.c.sums import FeatureSum
from bdnn.export.c.text import Code, constants, integer, integer_type, real, size_of, table
from bdnn.export.inputs import INTEGER_TYPES, InputFormat
from bdnn.export.plan.levels import Level, most_levels
from bdnn.export.plan.plan import Plan, Units


@dataclass(frozen=True)
class FeatureWriter:
    """Writes what the first units of a plan look at."""

    plan: Plan
    scaler: Encoder
    inputs: InputFormat
    code: Code

    def write(self, units: Units, tag: str) -> FeatureSum:
        """Write levels of the features for integer units, values for others."""
        return self._values(units, tag) if units.is_real else self._levels(units, tag)

    def _levels(self, units: Units, tag: str) -> FeatureSum:
        """Levels of the features, as variables or as an array."""
        inputs, levels = self.inputs, self.plan.levels
        n_features = units.weights.shape[1]
        is_loop = not self.plan.is_written_out
        if inputs.is_integer and all(level.is_count for level in levels.values()):
            largest = [max(map(abs, ends)) for ends in inputs.ranges]
            # An int may have 16 bits only.
            names = [f"(int32_t)x[{j}]" for j in range(n_features)]
            return FeatureSum(tag, units, names, "x", largest, is_loop)
        largest = [max(map(abs, ends)) for ends in self.plan.ranges]
        if not inputs.is_integer:
            largest = [most_levels(self.scaler)] * n_features
        for j, level in levels.items():
            reach = max(map(abs, inputs.ranges[j]))
            largest[j] = reach if level.is_count else level.highest - level.lowest
        names = [f"q{j}" for j in range(n_features)]
        sums = FeatureSum(tag, units, names, "q", largest, is_loop)
        summed = np.delete(units.weights, list(units.cuts), axis=0)
        used = np.flatnonzero(summed.any(axis=0)).tolist()
        if used and not inputs.is_integer:
            write_level_helper(self.code, self.scaler.step)
        if is_loop and inputs.is_integer:
            self._write_level_array(largest)
        elif is_loop:
            self._write_real_levels()
        for j in () if is_loop else used:
            self.code.add(f"const {sums.kind()} q{j} = {self._level(j)};")
        return sums

    def _level(self, j: int) -> str:
        """Level of a feature as an expression."""
        if not self.inputs.is_integer:
            shift, factor = (real(float(v[j])) for v in (self.scaler.shift, self.scaler.factor))
            return f"{self.code.prefix}_level(x[{j}], {shift}, {factor})"
        level = self.plan.levels[j]
        if level.is_count:
            return f"x[{j}]"
        if level.table:
            return self._write_level_table(j, level)
        signed, unsigned = _integers(level.is_wide)
        sum_ = f"({signed})x[{j}] * {integer(level.slope)} + {integer(level.intercept)}"
        kind = "int32_t" if level.highest - level.lowest < 2**31 else "int64_t"
        if not level.shift:
            return f"({kind})({sum_})"
        return f"({kind})(({unsigned})({sum_}) >> {level.shift})"

    def _write_scaler(self) -> None:
        self.code.tables += constants("SHIFT", self.scaler.shift.tolist())
        self.code.tables += constants("FACTOR", self.scaler.factor.tolist())

    def _write_array(self, name: str, kind: str, lines: list[str]) -> None:
        """Fill an array by statements about the feature ``j``."""
        n_features, code = len(self.scaler.shift), self.code
        code.counters.add("j")
        code.stack += size_of(kind.removeprefix("volatile ")) * n_features
        loop = f"for (j = 0; j < {n_features}; ++j)"
        code.add(f"{kind} {name}[{n_features}];")
        if len(lines) == 1 and name == "q":
            code.add(loop, f"    {lines[0]}")
        else:
            code.add(f"{loop} {{", *(f"    {line}" for line in lines), "}")

    def _write_real_levels(self) -> None:
        self._write_scaler()
        level = f"{self.code.prefix}_level(x[j], SHIFT[j], FACTOR[j])"
        self._write_array("q", "int64_t", [f"q[j] = {level};"])

    def _write_level_array(self, largest: list[int]) -> None:
        code, n_features = self.code, len(largest)
        levels = self.plan.levels
        none = Level(0, 0, 0, 0, 0, False)
        every = [levels.get(j, none) for j in range(n_features)]
        signed, unsigned = _integers(any(level.is_wide for level in every))
        code.tables += constants("SLOPE", [level.slope for level in every])
        code.tables += constants("START", [level.intercept for level in every])
        common = {level.shift for level in levels.values()}
        shift = str(common.pop()) if len(common) == 1 else "SHIFT[j]"
        if shift == "SHIFT[j]":
            code.tables += table("SHIFT", "uint8_t", [str(level.shift) for level in every])
        low = min(
            (self.inputs.ranges[j][0] for j, level in levels.items() if level.is_count), default=0
        )
        kind = integer_type([min(low, 0), max(largest)])
        moved = f"({signed})x[j] * SLOPE[j] + START[j]"
        if low >= 0:
            value = f"({unsigned})({moved}) >> {shift}"
        elif shift == "0":
            value = moved
        else:
            # Counts that are levels as they are may be negative, and are not shifted.
            value = f"SHIFT[j] ? ({signed})(({unsigned})({moved}) >> SHIFT[j]) : {moved}"
        self._write_array("q", kind, [f"q[j] = ({kind})({value});"])
        for j, level in levels.items():
            if level.table:
                code.add(f"q[{j}] = ({kind}){self._write_level_table(j, level)};")

    def _write_level_table(self, j: int, level: Level) -> str:
        """Write the table of a feature's levels, and return the entry of its input."""
        low, high = self.inputs.ranges[j]
        self.code.tables += constants(f"LEVEL{j}", list(level.table))
        place = f"(int32_t)x[{j}]" + (f" - ({integer(low)})" if low else "")
        if (low, high) == INTEGER_TYPES.get(self.inputs.kind):
            return f"LEVEL{j}[{place}]"
        # An input outside the stated range must not lead outside the table.
        inside = f"x[{j}] >= {integer(low)} && x[{j}] <= {integer(high)}"
        if low == 0 and self.inputs.kind.startswith("u"):
            inside = f"x[{j}] <= {integer(high)}"
        return f"LEVEL{j}[{inside} ? {place} : 0]"

    def _values(self, units: Units, tag: str) -> FeatureSum:
        """Scaled features as doubles, into the array ``v``."""
        code, scaler, inputs = self.code, self.scaler, self.inputs
        code.needs_real = True
        lines = ["v[j] = (double)x[j];"]
        if inputs.kind == "scaled":
            lines = [f"v[j] = (double)x[j] * {real(scaler.step or 1.0)};"]
        elif set(inputs.per_unit) != {1}:
            code.tables += constants("PER_UNIT", [float(v) for v in inputs.per_unit])
            # Through a variable no compiler knows, lest it multiply by the inverse.
            lines = ["volatile double per_unit = PER_UNIT[j];", "v[j] = (double)x[j] / per_unit;"]
        if inputs.kind != "scaled" and scaler.step:
            self._write_scaler()
            write_level_helper(self.code, self.scaler.step)
            level = f"(double){code.prefix}_level(v[j], SHIFT[j], FACTOR[j])"
            lines.append(f"v[j] = {level} * {real(scaler.step)};")
        self._write_array("v", "volatile double", lines)
        return FeatureSum(tag, units, [], "v", [], is_loop=True)


def _integers(is_wide: bool) -> tuple[str, str]:
    """Signed and unsigned type of a product."""
    return ("int64_t", "uint64_t") if is_wide else ("int32_t", "uint32_t")


def write_level_helper(code: Code, step: float) -> None:
    """Write the scaler in double arithmetic, every rounding where Python has it."""
    code.needs_real = True
    limit, prefix = real(LARGEST_SCALED), code.prefix
    code.helpers += [
        "/* Multiple of the scaler's step nearest to (x - shift) * factor, ties to even. Volatile:",
        "   every operation rounds to double, whatever the compiler is told. */",
        f"static inline int64_t {prefix}_level(double x, double shift, double factor)",
        "{",
        "    volatile double difference = x - shift;",
        "    volatile double scaled = difference * factor;",
        "    volatile double rest;",
        "    int64_t whole;",
        f"    if (!(scaled > -{limit})) scaled = -{limit};",
        f"    if (scaled > {limit}) scaled = {limit};",
        f"    scaled = scaled / {real(step)};",
        "    whole = (int64_t)scaled;",
        "    rest = scaled - (double)whole;",
        "    if (rest > 0.5 || (rest == 0.5 && (whole & 1))) ++whole;",
        "    else if (rest < -0.5 || (rest == -0.5 && (whole & 1))) --whole;",
        "    return whole;",
        "}",
        "",
    ]

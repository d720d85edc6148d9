"""C for networks in halves: loops over tables write words of bits, and the rest counts these.

Raw values are compared as they are, a missing one being replaced before. Numbers become levels,
integers that are summed under masks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bdnn.encoding import Bit, Encoder
from bdnn.export.c.code import declare_bits, write_code, write_units
from bdnn.export.c.columns import least_count
from bdnn.export.c.features import write_level_helper
from bdnn.export.c.halves import Halves
from bdnn.export.c.keys import Keys, keys_of_columns, keys_of_words
from bdnn.export.c.lists import smallest
from bdnn.export.c.lookups import with_lookups
from bdnn.export.c.sums import BitSum, FeatureSum
from bdnn.export.c.text import Code, constants, decimals, integer, integer_type, real, table
from bdnn.export.inputs import InputFormat
from bdnn.export.plan import Plan, make_plan
from bdnn.export.plan.levels import most_levels
from bdnn.export.plan.plan import BIT, Units
from bdnn.model import Model

_WORDS = "h0"


def write_halves(
    model: Model, halves: Halves, inputs: InputFormat, name: str, *, is_fast: bool = False
) -> tuple[Plan, Code] | None:
    """Write the function of a network in halves; None if its inputs or sums are not exact."""
    width, encoder = halves.tail.architecture.n_features, model.encoder
    plain, given = Encoder.of_features(width), InputFormat("uint8", (1,) * width, BIT * width)
    if halves.has_outputs_on_numbers:
        shift, factor = ([getattr(n, part) for n in halves.numbers] for part in ("shift", "factor"))
        plain, given = (
            plain.scaled_by(shift, factor, encoder.step),
            InputFormat("double", (1,) * width),
        )
    plan = make_plan(halves.tail, plain, given, model.targets, model.calibration)
    if plan.is_constant:
        return plan, write_code(plan, plain, given, name)
    writer = WordWriter(encoder, halves, inputs, Code(name))
    if halves.has_outputs_on_numbers:
        if plan.stages[0].is_real:
            return None
        writer.write_levels()
        first = writer.code, writer.sum_of_levels
        return plan, write_code(plan, plain, given, name, first, is_fast=is_fast)
    is_lookup = is_fast and with_lookups(plan, 0) is not None
    if not (is_lookup and writer.compares_columns) and not writer.write():
        return None
    asked = writer.keys() if is_lookup else writer.sum_of_bits
    code = write_code(plan, plain, given, name, (writer.code, asked), is_fast=is_fast)
    code.silence(_WORDS)
    return plan, code


@dataclass(frozen=True)
class WordWriter:
    """Writes what units on numbers say, and then the bits, into words."""

    encoder: Encoder
    halves: Halves
    inputs: InputFormat
    code: Code
    cuts: dict[Bit, float] = field(default_factory=dict)

    def write(self) -> bool:
        """Write the words; False, and nothing, if a fill has no like in the inputs' type."""
        bits, code, limits = self.halves.bits, self.code, self.halves.limits
        self.cuts.update({bit: self._cut(bit) for bit in bits if bit.kind == "ge"})
        fills = [self._fill(j) for j in self._columns] if self.inputs.may_be_missing else []
        if None in fills or not all(self._none < cut < np.inf for cut in self.cuts.values()):
            return False
        width = len(limits) + len(bits)
        declare_bits(code, _WORDS, width)
        if limits:
            self.write_levels()
            units = Units(self.halves.weights, limits)
            write_units(code, smallest(self.sum_of_levels(units, "0")), _WORDS, width)
        elif any(bit.kind != "missing" for bit in bits):
            self._write_values()
        self._write_gaps()
        place = len(limits)
        for kind, values, test in (
            ("ge", "CUT", "v[CUT_OF[i]] >= "),
            ("is", "TEXT", "v[TEXT_OF[i]] == TEXT[i]"),
            ("missing", "GAP", self._is_missing("GAP_OF[i]")),
        ):
            chosen = [bit for bit in bits if bit.kind == kind]
            if not chosen:
                continue
            known = range(self.encoder.n_columns) if kind == "missing" else self._columns
            code.tables += constants(f"{values}_OF", [known.index(bit.column) for bit in chosen])
            if kind == "ge":
                test += self._raw(values, [self.cuts[bit] for bit in chosen])
            elif kind == "is":
                texts = [(self.encoder.columns[bit.column], bit.value) for bit in chosen]
                codes = [column.values.index(str(text)) for column, text in texts]
                code.tables += constants(values, codes)
            self._write_loop(len(chosen), f"if ({test}) {self._set(place, width)}")
            place += len(chosen)
        return True

    @cached_property
    def _columns(self) -> list[int]:
        """Columns that a number or a bit is made of, in their order."""
        seen = {number.column for number in self.halves.numbers}
        return sorted(seen | {bit.column for bit in self.halves.bits if bit.kind != "missing"})

    @property
    def _none(self) -> float:
        """What is below every cut and no code of a text."""
        if self.inputs.is_integer:
            return self.inputs.ranges[0][0] - 1
        return -float(self.inputs.reals.max)

    @property
    def _type(self) -> str:
        """Type of values, with room for one that no input has."""
        if not self.inputs.is_integer:
            return self.inputs.kind
        return "int64_t" if self.inputs.kind == "int32" else "int32_t"

    def _cut(self, bit: Bit) -> float:
        """Least input that reaches a cut."""
        cut, inputs = float(bit.value or 0.0), self.inputs
        if inputs.kind == "double":
            return cut
        if inputs.kind == "float":
            with np.errstate(over="ignore"):
                least = np.float32(cut)
            if float(least) < cut:
                least = np.nextafter(least, np.float32(np.inf))
            return float(least)
        low, high = inputs.ranges[bit.column]
        return least_count(cut, inputs.per_unit[bit.column], low, high)

    def _fill(self, j: int) -> float | None:
        """An input with the bits of a column's fill, None if there is none."""
        column, fill = self.encoder.columns[j], self.encoder.columns[j].filling
        if np.isnan(fill):
            return self._none
        if self.inputs.kind == "double" or column.kind == "category":
            return fill
        cuts = [(float(b.value or 0.0), cut) for b, cut in self.cuts.items() if b.column == j]
        found = max((least for cut, least in cuts if fill >= cut), default=self._none)
        return None if any(found >= least for cut, least in cuts if fill < cut) else found

    def _is_missing(self, place: str) -> str:
        if self.inputs.is_integer:
            return f"x[{place}] == {self.code.prefix.upper()}_MISSING"
        return f"{self.code.prefix}_is_missing(x[{place}])"

    def _raw(self, name: str, values: list[float]) -> str:
        """Write a table of inputs, and return the entry ``i`` as an expression."""
        code, entry = self.code, f"{name}[i]"
        if self.inputs.is_integer:
            whole = [int(v) for v in values]
            kind = integer_type([*self.inputs.ranges[0], *whole])
            code.tables += table(name, kind, [integer(v) for v in whole])
            return entry
        found = decimals(values)
        if found is None or (found[1] != 1.0 and self.inputs.kind == "float"):
            code.tables += constants(name, values)
            return entry
        whole, power = found
        code.tables += constants(name, whole)
        if power == 1.0:
            return entry
        # A divisor that no compiler knows, lest it multiply by the inverse.
        code.add(f"volatile double {name.lower()}_unit = {power};")
        return f"(double){entry} / {name.lower()}_unit"

    def _write_values(self) -> None:
        """Write the raw values into ``v``, filled where they are missing."""
        code, columns, place = self.code, self._columns, "i"
        n_columns, fills = len(columns), [self._fill(j) for j in columns]
        if n_columns < self.encoder.n_columns:
            code.tables += constants("COLUMN", columns)
            place = "COLUMN[i]"
        code.stack += n_columns * (4 if self._type in ("float", "int32_t") else 8)
        code.add(f"{self._type} v[{n_columns}];")
        value = f"x[{place}]"
        if self.inputs.may_be_missing:
            fill = self._raw("FILL", [self._none if v is None else v for v in fills])
            value = f"{self._is_missing(place)} ? {fill} : {value}"
        self._write_loop(n_columns, f"v[i] = {value};")

    def _write_gaps(self) -> None:
        """Take missing values for none where a bit tells them; numbers have read the fill."""
        apart = {bit.column for bit in self.halves.bits if bit.kind != "missing"}
        apart &= set(np.flatnonzero(self.encoder.apart).tolist())
        if not apart or not self.inputs.may_be_missing:
            return
        none = self._none
        text = integer(int(none)) if self.inputs.is_integer else real(none)
        text += "F" if self.inputs.kind == "float" else ""
        columns = self._columns
        self.code.tables += constants("APART", [columns.index(j) for j in sorted(apart)])
        is_all = len(columns) == self.encoder.n_columns
        test = self._is_missing("APART[i]" if is_all else "COLUMN[APART[i]]")
        self._write_loop(len(apart), f"if ({test}) v[APART[i]] = {text};")

    def write_levels(self) -> None:
        """Write the levels of numbers into ``q``."""
        code, encoder, numbers = self.code, self.encoder, self.halves.numbers
        self._write_values()
        code.stack += 8 * len(numbers)
        code.add(f"int64_t q[{len(numbers)}];")
        scaled = [number for number in numbers if number.value is None]
        if scaled:
            write_level_helper(code, encoder.step)
            places = [self._columns.index(number.column) for number in scaled]
            code.tables += constants("NUMBER_OF", places)
            code.tables += constants("SHIFT", [number.shift for number in scaled])
            code.tables += constants("FACTOR", [number.factor for number in scaled])
            level = f"{code.prefix}_level(v[NUMBER_OF[i]], SHIFT[i], FACTOR[i])"
            self._write_loop(len(scaled), f"q[i] = {level};")
        rest = numbers[len(scaled) :]
        if rest:
            ends = np.array([0.0, 1.0])
            pairs = [encoder.transform_feature(encoder.numbers.index(n), ends) for n in rest]
            levels = np.rint(np.array(pairs) / encoder.step).astype(np.int64)
            codes = [encoder.columns[n.column].values.index(str(n.value)) for n in rest]
            known = [self._columns.index(number.column) for number in rest]
            code.tables += constants("KNOWN_OF", known)
            code.tables += constants("KNOWN", codes)
            code.tables += constants("LEVEL", levels.tolist())
            place = f"i + {len(scaled)}" if scaled else "i"
            self._write_loop(len(rest), f"q[{place}] = LEVEL[i][v[KNOWN_OF[i]] == KNOWN[i]];")

    @property
    def compares_columns(self) -> bool:
        """Whether columns can be compared as they are, without words of what they say."""
        return self.inputs.is_integer and not self.halves.limits

    def keys(self) -> Keys:
        """Write keys of columns, or of the words."""
        bits, width = self.halves.bits, self.halves.tail.architecture.n_features
        if not self.compares_columns:
            return keys_of_words(self.code, _WORDS, width)
        cuts = {bit: self._cut(bit) for bit in bits if bit.kind == "ge"}
        return keys_of_columns(self.code, self.encoder, bits, self.inputs, cuts)

    def sum_of_levels(self, units: Units, tag: str) -> FeatureSum:
        """Sums of what is in ``q``."""
        largest = [most_levels(self.encoder)] * len(self.halves.numbers)
        return FeatureSum(tag, units, [], "q", largest, is_loop=True)

    def sum_of_bits(self, units: Units, tag: str) -> BitSum:
        """Sums of bits of the words."""
        return BitSum(tag, units, _WORDS, f"{self.code.prefix}_ones")

    def _set(self, place: int, width: int) -> str:
        """Turn on the bit ``i`` after a place."""
        at = f"i + {place}" if place else "i"
        if width <= 32:
            return f"{_WORDS} |= (uint32_t)1 << ({at});"
        return f"{_WORDS}[({at}) >> 5] |= (uint32_t)1 << (({at}) & 31);"

    def _write_loop(self, count: int, line: str) -> None:
        self.code.counters.add("i")
        self.code.add(f"for (i = 0; i < {count}; ++i)", f"    {line}")

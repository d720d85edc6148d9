"""C for models whose columns have bits, texts or gaps.

The function compares raw values and hands the bits to that of the network, which is a model of its
own on these. Nothing is multiplied or scaled for a bit: a cut is a constant of the input's type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bdnn.encoding import Bit, Encoder, Number
from bdnn.errors import UnsupportedFeatureError
from bdnn.export.c.text import comment, integer, real
from bdnn.export.inputs import INTEGER_TYPES, InputFormat
from bdnn.model import Model
from bdnn.network.network import Network

_MOST_TEXTS = 256


def inner_model(model: Model) -> tuple[Model, str, tuple[int, int] | None]:
    """The network as a model of its inputs, with the type of these and their range."""
    plain = Encoder.of_features(model.encoder.n_inputs)
    inner = replace(model, encoder=plain)
    return (inner, "double", None) if model.encoder.numbers else (inner, "uint8", (0, 1))


def with_used_inputs(model: Model) -> Model:
    """The model without inputs that no unit looks at; all columns stay."""
    network = model.network
    used = np.asarray(network.weights[0].any(axis=0))
    used[0] |= not used.any()
    shape = replace(network.architecture, n_features=int(used.sum()))
    weights = (network.weights[0][:, used], *network.weights[1:])
    smaller = Network(shape, weights, network.thresholds)
    return replace(model, encoder=model.encoder.subset(used), network=smaller)


def with_all_columns(model: Model) -> Model:
    """The model with a number for every column, if its inputs are numbers of some columns."""
    encoder, network = model.encoder, model.network
    if encoder.bits or any(number.value is not None for number in encoder.numbers):
        return model
    places = [number.column for number in encoder.numbers]
    numbers = [Number(j) for j in range(encoder.n_columns)]
    W = np.zeros((len(network.weights[0]), encoder.n_columns))
    W[:, places] = network.weights[0]
    for number in encoder.numbers:
        numbers[number.column] = number
    first = replace(network.architecture.weights[0], zero=True)
    shape = network.architecture
    shape = replace(shape, n_features=encoder.n_columns, weights=(first, *shape.weights[1:]))
    whole = Network(shape, (W, *network.weights[1:]), network.thresholds)
    return replace(model, encoder=replace(encoder, numbers=tuple(numbers)), network=whole)


def column_format(model: Model, kind: str, per_unit: int | str | None) -> InputFormat:
    """What the function takes: raw values, places of texts, and a value that stands for none.

    An integer stands for a gap if there were some in training; else all are values.
    """
    encoder = model.encoder
    kind = "double" if kind == "auto" else kind
    if kind == "scaled" or (encoder.numbers and kind != "double"):
        raise UnsupportedFeatureError(
            f"inputs of type {kind!r} are for models on scaled numbers or on bits alone, got one "
            "with texts or bits beside numbers: export with input 'double'."
        )
    if per_unit is not None and (type(per_unit) is not int or per_unit < 1):
        raise UnsupportedFeatureError(
            f"per_unit must be a whole number for a model with texts or bits, got {per_unit!r}: "
            "give for example 10."
        )
    units = tuple(
        int(per_unit or 1) if column.kind == "number" and kind in INTEGER_TYPES else 1
        for column in encoder.columns
    )
    if kind not in INTEGER_TYPES:
        return InputFormat(kind, units)
    low, high = INTEGER_TYPES[kind]
    has_gaps = any(column.missing in ("bit", "fill") for column in encoder.columns)
    has_gaps |= any(bit.kind == "missing" for bit in encoder.bits)
    missing = (low if low < 0 else high) if has_gaps else None
    for j in np.unique(encoder.column_of[model.network.weights[0].any(axis=0)]).tolist():
        column = encoder.columns[j]
        # A text that is not listed has a code, too: -1, or what follows those that are.
        last = len(column.values) - (low < 0)
        if last > high - (missing == high):
            raise UnsupportedFeatureError(
                f"inputs of type {kind!r} have no room for the {len(column.values)} texts of "
                f"column {column.name!r}, others and gaps: export with input 'int32'."
            )
    return InputFormat(kind, units, ((low, high),) * encoder.n_columns, missing)


@dataclass(frozen=True)
class ColumnCode:
    """Lines of the function that turns raw values into inputs."""

    encoder: Encoder
    inputs: InputFormat
    name: str

    def constants(self) -> list[str]:
        """Codes of texts and of what is missing."""
        upper = self.name.upper()
        lines = []
        if self.inputs.missing is not None:
            lines += [
                "/* An input that has no value. */",
                f"#define {upper}_MISSING ({integer(self.inputs.missing)})",
                "",
            ]
        for j, column in enumerate(self.encoder.columns):
            if column.kind != "category":
                continue
            lines.append(
                f"/* x[{j}], {comment(column.name, 60)}; any other number: no known text. */"
            )
            lines.append("enum {")
            lines += [
                f"    {upper}_X{j}_{k} = {k}, /* {comment(text, 60)} */"
                for k, text in enumerate(column.values[:_MOST_TEXTS])
            ]
            lines += ["};", ""]
        return lines

    def helpers(self) -> list[str]:
        """A test for NaN that no compiler flag takes away."""
        if self.inputs.is_integer:
            return []
        kind = self.inputs.kind
        bits, exponent = (
            ("uint64_t", "0x7FF0000000000000ULL")
            if kind == "double"
            else ("uint32_t", "0x7F800000UL")
        )
        return [
            f"static inline int {self.name}_is_missing({kind} value)",
            "{",
            f"    {bits} bits;",
            "    memcpy(&bits, &value, sizeof bits);",
            f"    return (bits << 1) > ({exponent} << 1);",
            "}",
            "",
        ]

    def body(self) -> list[str]:
        """Statements that fill ``q``."""
        encoder = self.encoder
        used = sorted(set(encoder.column_of.tolist())) if self.inputs.may_be_missing else []
        lines = [f"    const int m{j} = {self._missing(j)};" for j in used]
        for place, number in enumerate(encoder.numbers):
            column = encoder.columns[number.column]
            if number.value is not None:
                on, off = encoder.transform_feature(place, np.array([1.0, 0.0])).tolist()
                own, filled = column.values.index(number.value), column.filling
                value = f"x[{number.column}] == {own}"
                known = f"{real(on)} : {real(off)}"
                gap = real(on if filled == own else off)
                lines.append(f"    q[{place}] = m{number.column} ? {gap} : {value} ? {known};")
            else:
                lines += self._scaled(place, column.filling)
        for place, bit in enumerate(encoder.bits, start=encoder.n_numbers):
            lines.append(f"    q[{place}] = {self._bit(bit)};")
        return lines

    def _missing(self, j: int) -> str:
        if self.inputs.is_integer:
            return f"x[{j}] == {self.name.upper()}_MISSING"
        return f"{self.name}_is_missing(x[{j}])"

    def _scaled(self, place: int, fill: float) -> list[str]:
        """Scale a number as Python does; every step is stored, so that none is joined."""
        encoder, number = self.encoder, self.encoder.numbers[place]
        taken = f"m{number.column} ? {real(fill)} : x[{number.column}]"
        if not encoder.step:
            return [f"    q[{place}] = {taken};"]
        largest = real(2.0**30)
        return [
            f"    v = {taken};",
            f"    v = v - {real(number.shift)};",
            f"    v = v * {real(number.factor)};",
            f"    v = v > {largest} ? {largest} : v < -{largest} ? -{largest} : v;",
            f"    v = v * {real(1.0 / encoder.step)};",
            f"    v = v + {real(_ROUNDING)};",
            f"    v = v - {real(_ROUNDING)};",
            f"    q[{place}] = v * {real(encoder.step)};",
        ]

    def _bit(self, bit: Bit) -> str:
        j, column = bit.column, self.encoder.columns[bit.column]
        if bit.kind == "missing":
            return f"m{j}"
        if isinstance(bit.value, str):
            own = column.values.index(bit.value)
            gap, test = column.filling == own, f"x[{j}] == {own}"
        else:
            cut = float(bit.value or 0.0)
            gap, test = column.filling >= cut, self._compared(j, cut)
        if not self.inputs.may_be_missing:
            return test
        gap = gap and column.missing != "bit"
        return f"m{j} ? {int(gap)} : {test}"

    def _compared(self, j: int, cut: float) -> str:
        inputs = self.inputs
        if inputs.kind == "double":
            return f"x[{j}] >= {real(cut)}"
        if inputs.kind == "float":
            least = np.float32(min(max(cut, -inputs.largest), inputs.largest))
            if float(least) < cut:
                least = np.nextafter(least, np.float32(np.inf))
            return f"x[{j}] >= {real(float(least))}F"
        low, high = inputs.ranges[j]
        first = least_count(cut, inputs.per_unit[j], low, high)
        if first > high:
            return "0"
        return "1" if first <= low else f"x[{j}] >= {integer(first)}"


# Doubles of this size have no fraction, so that adding it rounds to even whole numbers.
_ROUNDING = 1.5 * 2.0**52


def least_count(cut: float, unit: int, low: int, high: int) -> int:
    """Least count whose number, divided in doubles, reaches a cut; one more than all if none."""
    while low <= high:
        middle = (low + high) // 2
        if middle / unit >= cut:
            high = middle - 1
        else:
            low = middle + 1
    return low

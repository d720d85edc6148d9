"""From raw cells to the inputs of a network, as a model file says it.

A cell becomes a code: the number itself, 0 or 1 of a truth value, the place of a text in the list
of its column (-1 for one that is not listed), NaN for a missing cell. Inputs are numbers first and
then bits, each of one column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from bdnn import limits
from bdnn.checker.claims import shown
from bdnn.errors import DataError

Row = tuple[float, ...]

#: Cells that say that there is no value.
MISSING = ("", "na", "nan", "?")
_LIMIT = 2.0**30
_TRUTH = {"true": 1.0, "false": 0.0}
_KINDS = ("ge", "is", "missing")


@dataclass(frozen=True)
class Column:
    """A raw column: what its cells are, and what a missing one means."""

    name: str
    kind: str = "number"
    values: tuple[str, ...] = ()
    fill: float = math.nan
    missing: str = "error"
    factor: float = 1.0

    @cached_property
    def _places(self) -> dict[str, int]:
        return {value: k for k, value in enumerate(self.values)}

    def code(self, cell: str, where: str, *, unknown: str) -> float:
        """Code of a cell."""
        text = cell.strip()
        if text.lower() in MISSING:
            if self.missing == "error":
                raise DataError(f"{where} holds nothing where the model needs a value: check it.")
            return math.nan
        if self.kind == "category":
            return self._place(text, where, unknown)
        number = read_number(text)
        if self.kind == "boolean":
            number = _TRUTH.get(text.lower(), number)
            number = number if number in (0.0, 1.0) else None
        if number is None or abs(number) > limits.LARGEST_INPUT:
            raise DataError(f"{where} holds {shown(text)} where a number should be: check it.")
        return number

    def _place(self, text: str, where: str, unknown: str) -> float:
        place = self._places.get(text)
        if place is None:  # another way to write a number is the same text
            number = read_number(text)
            place = None if number is None else self._places.get(number_name(number))
        if place is None and unknown == "error":
            raise DataError(f"{where} holds the unknown text {shown(text)}: check it.")
        return float(-1 if place is None else place)


@dataclass(frozen=True)
class Number:
    """A scaled input: of the code itself, or of whether the code is that of a text."""

    column: int
    text: int | None
    shift: float
    factor: float


@dataclass(frozen=True)
class Bit:
    """An input that is 1 if the code is at least, or is, a value, or if there is none."""

    column: int
    kind: str
    value: float = math.nan


@dataclass(frozen=True)
class Encoder:
    """From codes to inputs."""

    columns: list[Column]
    numbers: list[Number]
    bits: list[Bit]
    step: float  # grid of the numbers, a power of two; 0 for numbers that are taken as they are
    header: bool = False  # whether the columns have names of their own
    unknown: str = "error"
    # Whether the file, an earlier one, describes its data by one column per text.
    of_features: bool = False

    @property
    def n_inputs(self) -> int:
        """Number of inputs of the network."""
        return len(self.numbers) + len(self.bits)

    @property
    def parts(self) -> list[Number | Bit]:
        """What makes the inputs, in their order."""
        return [*self.numbers, *self.bits]

    @property
    def is_plain(self) -> bool:
        """Whether every column is one number."""
        return not self.bits and [(n.column, n.text) for n in self.numbers] == [
            (j, None) for j in range(len(self.columns))
        ]

    @cached_property
    def factor(self) -> list[float]:
        """How far a move of 1 of every column is in scaled units."""
        found = [column.factor for column in self.columns]
        for number in self.numbers:
            if number.text is None:
                found[number.column] = number.factor
        return found

    def names(self, columns: Sequence[str]) -> list[str]:
        """Names of what the file describes, given those of the columns."""
        if not self.of_features:
            return list(columns)
        return [
            columns[n.column]
            if n.text is None
            else f"{columns[n.column]}={self.columns[n.column].values[n.text]}"
            for n in self.numbers
        ]

    def inputs_of(self, place: int) -> list[int]:
        """Places of the inputs of something that the file describes."""
        if self.of_features:
            return [place]
        return [j for j, part in enumerate(self.parts) if part.column == place]

    def is_ascending(self, place: int) -> bool:
        """Whether an input is one that grows with the value of its column."""
        if place < len(self.numbers):
            return self.of_features or self.numbers[place].text is None
        return self.bits[place - len(self.numbers)].kind == "ge"

    def encode(self, row: Sequence[float]) -> Row:
        """Inputs of a row of codes, in double arithmetic as the format defines it."""
        filled = [
            column.fill if math.isnan(code) else code
            for column, code in zip(self.columns, row, strict=True)
        ]
        numbers = [self.scaled(n, feature_of(n, filled[n.column])) for n in self.numbers]
        bits = [self._bit(bit, row[bit.column], filled[bit.column]) for bit in self.bits]
        return (*numbers, *bits)

    def scaled(self, number: Number, value: float) -> float:
        """What the network sees of what a number scales."""
        if not self.step:
            return value
        scaled = min(max((value - number.shift) * number.factor, -_LIMIT), _LIMIT)
        # The step is a power of two, so that nothing but `round` rounds.
        return round(scaled / self.step) * self.step

    def _bit(self, bit: Bit, code: float, filled: float) -> float:
        if bit.kind == "missing":
            return float(math.isnan(code))
        seen = code if self.columns[bit.column].missing == "bit" else filled
        return float(seen >= bit.value if bit.kind == "ge" else seen == bit.value)

    def described(self, row: Sequence[float]) -> Row:
        """What the file's hash and ranges are about: codes, or a column per text."""
        if not self.of_features:
            return tuple(row)
        return tuple(
            feature_of(n, self.columns[n.column].fill if math.isnan(code) else code)
            for n in self.numbers
            for code in (row[n.column],)
        )


def feature_of(number: Number, code: float) -> float:
    """What a number scales: the code, or whether it is that of a text."""
    return code if number.text is None else float(code == number.text)


def read_number(text: str) -> float | None:
    """Read a finite number."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def number_name(number: float) -> str:
    """The shortest text of a number, without a point for a whole one."""
    is_whole = abs(number) < 2.0**53 and number == int(number)
    return str(int(number)) if is_whole else repr(number)


def parse_encoder(content: dict[str, Any]) -> Encoder:
    """Read the part of a model file, raising ValueError for what makes no sense."""
    _require(type(content["header"]) is bool, "the header is neither there nor not")
    unknown = content.get("unknown", "error")
    _require(unknown in ("none", "error"), "unknown texts are treated in no known way")
    for name, most in (("columns", limits.COLUMNS), ("numbers", limits.WIDTH)):
        is_list = isinstance(content[name], list) and len(content[name]) <= most
        _require(is_list, f"the {name} are no list, or too many")
    of_features = "bits" not in content
    stated_bits = content.get("bits", [])
    is_list = isinstance(stated_bits, list) and len(stated_bits) <= limits.BITS
    _require(is_list, "the bits are no list, or too many")
    columns = [_column(**column) for column in content["columns"]]
    numbers = [_number(columns, **number) for number in content["numbers"]]
    bits = [_bit(columns, **bit) for bit in stated_bits]
    _require(bool(columns) and bool(numbers or bits), "there are no inputs")
    keys: list[list[tuple[float, ...]]] = [
        [(n.column, -1 if n.text is None else n.text) for n in numbers],
        [(b.column, _KINDS.index(b.kind), 0.0 if b.kind == "missing" else b.value) for b in bits],
    ]
    is_ordered = all(a < b for part in keys for a, b in pairwise(part))
    _require(is_ordered, "the encoder's inputs are in another order")
    step = _float(content["step"])
    if step == 0:
        is_plain = all(n.shift == 0 and n.factor == 1 for n in numbers)
        _require(content["scale"] is None and is_plain, "inputs as they are have a scale")
    else:
        is_known = bool(numbers) and content["scale"] in ("standard", "common", "minmax")
        _require(is_known, "unknown scale")
        is_power = 2.0**-60 <= step <= 1.0 and math.frexp(step)[0] == 0.5
        _require(is_power, "the encoder's step is no power of two")
        _require(all(n.factor > 0 for n in numbers), "the encoder turns a feature round")
    return Encoder(columns, numbers, bits, step, content["header"], unknown, of_features)


def _column(
    name: Any, kind: Any, values: Any, fill: Any, missing: Any = None, factor: Any = 1.0
) -> Column:
    missing = ("error" if fill is None else "fill") if missing is None else missing
    _require(type(name) is str, "a column has no name")
    _require(
        isinstance(values, list | tuple)
        and all(type(value) is str for value in values)
        and len(set(values)) == len(values) <= limits.CATEGORIES
        and kind in ("number", "boolean", "category")
        and (kind == "category") == bool(values)
        and missing in ("bit", "fill", "none", "error"),
        "a column is of no known kind",
    )
    code = math.nan
    if fill is None:
        _require(missing in ("error", "none"), "a column is filled in no known way")
        missing = "error"
    elif values:
        _require(fill in values, "a column is filled in no known way")
        code = float(values.index(fill))
    else:
        code = _float(fill)
        _require(abs(code) <= limits.LARGEST_INPUT, "a column is filled in no known way")
    _require(_float(factor) > 0, "a column has no unit")
    return Column(name, kind, tuple(values), code, missing, _float(factor))


def _number(columns: list[Column], column: Any, value: Any, shift: Any, factor: Any) -> Number:
    _require(type(column) is int and 0 <= column < len(columns), "a number is of no column")
    values = columns[column].values
    fits = type(value) is str and value in values if values else value is None
    _require(fits, "the encoder's numbers do not fit its columns")
    text = values.index(value) if values else None
    return Number(column, text, _float(shift), _float(factor))


def _bit(columns: list[Column], column: Any, kind: Any, value: Any) -> Bit:
    _require(type(column) is int and 0 <= column < len(columns), "a bit is of no column")
    own = columns[column]
    if kind == "ge":
        cut = _float(value)
        _require(not own.values and abs(cut) <= limits.LARGEST_INPUT, "a cut is no number")
        return Bit(column, kind, cut)
    if kind == "is":
        _require(type(value) is str and value in own.values, "a bit is about an unknown text")
        return Bit(column, kind, float(own.values.index(value)))
    is_missing = kind == "missing" and value is None and own.missing == "bit"
    _require(is_missing, "a bit is of no known kind")
    return Bit(column, kind)


def _float(value: Any) -> float:
    _require(type(value) in (int, float), "an array holds something else than numbers")
    return float(value)


def _require(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(complaint)

"""Inputs of a network in words of the raw columns, and sums of them in raw units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from bdnn.encoding.columns import number_text
from bdnn.encoding.encoder import Encoder
from bdnn.export.boundary import bisected, feature_ends, numbers
from bdnn.export.inputs import InputFormat
from bdnn.network.activation import BoolArray, FloatArray


@dataclass(frozen=True)
class Term:
    """What a sum adds: a condition that is 1 or 0, or a raw number.

    An input is ``offset + factor * term``.
    """

    text: str
    opposite: str = ""  # the condition that is 1 where this one is 0; empty for a number
    offset: float = 0.0
    factor: float = 1.0

    @property
    def is_condition(self) -> bool:
        """Whether it is 1 or 0."""
        return bool(self.opposite)


def input_terms(encoder: Encoder) -> list[Term]:
    """Terms of all inputs."""
    return [
        *(_number_term(encoder, i) for i in range(encoder.n_numbers)),
        *(_bit_term(encoder, i) for i in range(encoder.n_bits)),
    ]


def _number_term(encoder: Encoder, place: int) -> Term:
    number = encoder.numbers[place]
    column = encoder.columns[number.column]
    if number.value is None and column.kind == "number":
        factor = number.factor if encoder.step else 1.0
        return Term(column.name, "", -number.shift * factor, factor)
    off, on = encoder.transform_feature(place, np.array([0.0, 1.0])).tolist()
    if number.value is None:
        return Term(column.name, f"not {column.name}", off, on - off)
    names = f"{column.name} = {number.value}", f"{column.name} is not {number.value}"
    return Term(*names, off, on - off)


def _bit_term(encoder: Encoder, place: int) -> Term:
    bit = encoder.bits[place]
    column = encoder.columns[bit.column]
    text = encoder.input_names[encoder.n_numbers + place]
    if bit.kind == "missing":
        return Term(text, f"{column.name} is known")
    if isinstance(bit.value, str):
        return Term(text, f"{column.name} is not {bit.value}")
    # A missing value reaches no cut where missing ones have a bit of their own.
    missing = " or missing" if column.missing == "bit" else ""
    if column.kind == "boolean":
        return Term(text, f"not {column.name}")
    return Term(text, f"{column.name} < {number_text(float(bit.value or 0.0))}{missing}")


def cut_term(encoder: Encoder, place: int, weight: float, limit: float) -> Term | None:
    """The condition of a unit that looks at one number alone; None if it never changes.

    The cut is exact: it is found by halving the doubles.
    """
    own = input_terms(encoder)[place]
    if own.is_condition:
        is_on = weight * (own.offset + own.factor * np.array([0.0, 1.0])) >= limit
        if is_on[0] == is_on[1]:
            return None
        return Term(own.text, own.opposite) if is_on[1] else Term(own.opposite, own.text)
    inputs = InputFormat("double", (1,) * encoder.n_columns)
    column = encoder.numbers[place].column

    def is_reached(places: np.ndarray[tuple[int], np.dtype[np.int64]]) -> BoolArray:
        values = encoder.transform_feature(place, numbers(places, inputs))
        return np.asarray(weight * values >= limit)

    low, high = (np.array([end]) for end in feature_ends(inputs, column))
    if is_reached(low)[0] == is_reached(high)[0]:
        return None
    _, at = bisected(low, high, is_reached)
    name, cut = encoder.columns[column].name, number_text(float(numbers(at, inputs)[0]))
    above, below = f"{name} >= {cut}", f"{name} < {cut}"
    return Term(above, below) if is_reached(high)[0] else Term(below, above)


def weighed(row: FloatArray, terms: Sequence[Term]) -> tuple[str, float]:
    """A sum in raw units, and what has to be added to it."""
    text, offset = "", 0.0
    for weight, term in zip(row.tolist(), terms, strict=True):
        if not weight:
            continue
        offset += weight * term.offset
        factor = weight * term.factor
        sign, size = "-" if factor < 0 else "+", abs(factor)
        shown = "" if size == 1 else f"{size:.6g} "
        name = f"[{term.text}]" if " " in term.text and term.is_condition else term.text
        text += f" {sign} {shown}{name}"
    return text.removeprefix(" + ").strip() or "0", offset


def reached(row: FloatArray, terms: Sequence[Term], limit: float) -> str:
    """What it takes for a sum to reach a limit: a condition, several, some of them, or a sum."""
    used = [(w, term) for w, term in zip(row.tolist(), terms, strict=True) if w]
    sizes = {abs(weight * term.factor) for weight, term in used}
    if not used:
        return "always" if limit <= 0 else "never"
    if len(sizes) != 1 or not all(term.is_condition for _, term in used):
        text, offset = weighed(row, terms)
        return f"{text} >= {limit - offset:.10g}"
    (size,) = sizes
    signs = [weight * term.factor > 0 for weight, term in used]
    fixed = sum((Fraction(weight) * Fraction(term.offset) for weight, term in used), Fraction(0))
    needed = math.ceil((Fraction(limit) - fixed) / Fraction(size) + signs.count(False))
    pairs = zip(signs, used, strict=True)
    named = [term.text if is_for else term.opposite for is_for, (_, term) in pairs]
    if needed <= 0 or needed > len(named):
        return "always" if needed <= 0 else "never"
    if needed == len(named):
        return " and ".join(_part(name) for name in named)
    if needed == 1:
        return " or ".join(named)
    return f"at least {needed} of: {', '.join(named)}"


def _part(name: str) -> str:
    """A condition among others that all have to hold."""
    return f"({name})" if " or " in name else name

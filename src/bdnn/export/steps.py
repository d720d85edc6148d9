"""A model as steps of formulas, from raw columns to the answer, in whatever language.

One walk over the model serves all languages; each says how it writes a comparison, a choice, a
missing value. Every operation and its order are those of Python, so that answers are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bdnn.encoding.columns import Bit, Column
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.errors import UnsupportedFeatureError
from bdnn.export.simplified import simplify
from bdnn.model import Model
from bdnn.network.activation import Activation, FloatArray

# Terms of a sum that stand in one pair of brackets; parsers nest them.
_TERMS = 64


class Language(Protocol):
    """How a language writes parts of a formula; a condition is not a number."""

    def raw(self, column: int) -> str:
        """The value of a raw column."""

    def is_missing(self, column: int) -> str:
        """Condition: the raw column has no value."""

    def is_text(self, column: int, text: str) -> str:
        """Condition: the raw column holds this text; false where it has no value."""

    def name(self, step: str) -> str:
        """The value of an earlier step."""

    def number(self, value: float) -> str:
        """A number, never changed by rounding."""

    def label(self, value: object) -> str:
        """A class label."""

    def choose(self, condition: str, yes: str, no: str) -> str:
        """One value or the other."""

    def every(self, conditions: Sequence[str]) -> str:
        """Condition: all of them hold."""

    def rounded(self, value: str) -> str:
        """The nearest whole number, the even one of two."""


@dataclass(frozen=True)
class Step:
    """A name and its formula."""

    name: str
    formula: str


def make_steps(model: Model, language: Language) -> list[list[Step]]:
    """Layers of steps, each of which looks at the layers before; the last has the answer alone."""
    model = simplify(model)
    network, shape = model.network, model.network.architecture
    names = [f"x{i + 1}" for i in range(model.encoder.n_inputs)]
    inputs = [_input(model, i, language) for i in range(len(names))]
    layers = _scaled(model, inputs, language)
    layers.append([Step(*pair) for pair in zip(names, inputs, strict=True)])
    for k, (W, t) in enumerate(zip(network.weights, network.thresholds, strict=True)):
        sums = [_sum(row, names, language) for row in W]
        if k + 1 == shape.n_layers:
            break
        names = [f"h{k + 1}_{i + 1}" for i in range(len(W))]
        units = [
            _unit(total, limits, shape.activation_of(k), language)
            for total, limits in zip(sums, t, strict=True)
        ]
        layers.append([Step(*pair) for pair in zip(names, units, strict=True)])
    limits = [language.number(value) for value in network.output_thresholds.tolist()]
    if model.targets is not None:
        return [*layers, _numbers(model, sums, limits, language)]
    scores = [f"s{i + 1}" for i in range(len(sums))]
    if shape.ties == "score":
        parts = [f"({total}) - {limit}" for total, limit in zip(sums, limits, strict=True)]
    else:
        one, nothing = language.number(1.0), language.number(0.0)
        parts = [
            language.choose(f"({total}) >= {limit}", one, nothing)
            for total, limit in zip(sums, limits, strict=True)
        ]
    layers.append([Step(*pair) for pair in zip(scores, parts, strict=True)])
    return [*layers, [Step("prediction", _first_best(scores, model.classes, language))]]


def _numbers(
    model: Model, sums: Sequence[str], limits: Sequence[str], language: Language
) -> list[Step]:
    assert model.targets is not None
    shifts, factors = model.targets.shift.tolist(), model.targets.factor.tolist()
    names = [f"prediction_{i + 1}" if len(sums) > 1 else "prediction" for i in range(len(sums))]
    return [
        Step(name, f"{language.number(shift)} + {language.number(factor)} * (({total}) - {limit})")
        for name, total, limit, shift, factor in zip(
            names, sums, limits, shifts, factors, strict=True
        )
    ]


def _first_best(scores: Sequence[str], classes: Sequence[object], language: Language) -> str:
    """The class of the largest score, the first of equal ones."""
    answer = language.label(classes[-1])
    names = [language.name(score) for score in scores]
    for i in reversed(range(len(names) - 1)):
        later = [f"{names[i]} >= {name}" for name in names[i + 1 :]]
        earlier = [f"{names[i]} > {name}" for name in names[:i]]
        answer = language.choose(
            language.every(earlier + later), language.label(classes[i]), answer
        )
    return answer


def _input(model: Model, place: int, language: Language) -> str:
    """An input of the network from its raw column."""
    encoder = model.encoder
    one, nothing = language.number(1.0), language.number(0.0)
    if place >= encoder.n_numbers:
        bit = encoder.bits[place - encoder.n_numbers]
        condition = _bit(encoder.columns[bit.column], bit, language)
        return language.choose(condition, one, nothing)
    number = encoder.numbers[place]
    column = encoder.columns[number.column]
    if number.value is not None:
        value = language.choose(
            language.is_text(number.column, number.value),
            one,
            _filled(column, number.column, nothing, number.value, language),
        )
    else:
        value = language.raw(number.column)
        if column.fill is not None:
            fill = language.number(column.filling)
            value = language.choose(language.is_missing(number.column), fill, value)
    return value


def _scaled(model: Model, inputs: list[str], language: Language) -> list[list[Step]]:
    """Steps that put numbers on the grid, whose last ones take their place among the inputs."""
    encoder = model.encoder
    if not encoder.step:
        return []
    high, low = (language.number(sign * LARGEST_SCALED) for sign in (1.0, -1.0))
    # The step is a power of two, and so is its inverse.
    step, inverse = language.number(encoder.step), language.number(1.0 / encoder.step)
    scaled, clipped = [], []
    for i, number in enumerate(encoder.numbers):
        shift, factor = language.number(number.shift), language.number(number.factor)
        scaled.append(Step(f"a{i + 1}", f"({inputs[i]} - {shift}) * {factor}"))
        own = language.name(f"a{i + 1}")
        inner = language.choose(f"{own} <= {low}", low, own)
        limited = language.choose(f"{own} >= {high}", high, inner)
        clipped.append(Step(f"b{i + 1}", f"{limited} * {inverse}"))
        inputs[i] = f"({language.rounded(language.name(f'b{i + 1}'))}) * {step}"
    return [scaled, clipped]


def _filled(column: Column, place: int, nothing: str, text: str, language: Language) -> str:
    """0, or 1 where the value is missing and the text stands in for it."""
    if column.fill != text:
        return nothing
    return language.choose(language.is_missing(place), language.number(1.0), nothing)


def _bit(column: Column, bit: Bit, language: Language) -> str:
    """The condition of a bit."""
    missing = language.is_missing(bit.column)
    if bit.kind == "missing":
        return missing
    is_apart = column.missing == "bit" or column.fill is None
    one, nothing = language.number(1.0), language.number(0.0)
    if isinstance(bit.value, str):
        own = language.is_text(bit.column, bit.value)
        if is_apart or column.fill != bit.value:
            return own
        return f"{language.choose(missing, one, language.choose(own, one, nothing))} >= {one}"
    cut = float(bit.value or 0.0)
    # What is missing is below the cut, unless something stands in for it.
    other = float(np.nextafter(cut, -np.inf)) if is_apart else column.filling
    value = language.choose(missing, language.number(other), language.raw(bit.column))
    return f"{value} >= {language.number(cut)}"


def _sum(row: FloatArray, names: Sequence[str], language: Language) -> str:
    """A weighted sum in the order of the inputs; whole ones in groups, since none rounds."""
    used = [(weight, name) for weight, name in zip(row.tolist(), names, strict=True) if weight]
    if not used:
        return language.number(0.0)
    terms = [
        language.name(name) if weight == 1 else f"{language.number(weight)} * {language.name(name)}"
        for weight, name in used
    ]
    if len(terms) <= _TERMS:
        return " + ".join(terms)
    if not all(float(weight).is_integer() for weight, _ in used):
        raise UnsupportedFeatureError(
            f"a unit adds {len(terms)} numbers in order, more than a formula should: use C or "
            "ONNX, or a network with fewer weights."
        )
    groups = [" + ".join(terms[i : i + _TERMS]) for i in range(0, len(terms), _TERMS)]
    return " + ".join(f"({group})" for group in groups)


def _unit(total: str, limits: FloatArray, rule: Activation, language: Language) -> str:
    """The value of a unit: the one whose thresholds are reached."""
    value = language.number(float(rule.values[0]))
    for level, limit in zip(rule.values[1:], limits.tolist(), strict=True):
        reached = f"({total}) >= {language.number(limit)}"
        value = language.choose(reached, language.number(float(level)), value)
    return value

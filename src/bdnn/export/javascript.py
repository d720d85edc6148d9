"""Models as JavaScript: one function of an object of raw columns, for browsers and Node."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from bdnn.export.c.text import make_name
from bdnn.export.steps import make_steps
from bdnn.model import Model

_ROUNDER = 1.5 * 2.0**52


@dataclass(frozen=True)
class _JavaScript:
    columns: tuple[str, ...]

    def raw(self, column: int) -> str:
        return f"Number(r{column})"

    def is_missing(self, column: int) -> str:
        return f"m{column}"

    def is_text(self, column: int, text: str) -> str:
        return f"!m{column} && String(r{column}) === {json.dumps(text)}"

    def name(self, step: str) -> str:
        return step

    def number(self, value: float) -> str:
        # Of -0.0 too, and never "- -1".
        return f"({value!r})" if value < 0 else repr(float(value))

    def label(self, value: object) -> str:
        return json.dumps(value)

    def choose(self, condition: str, yes: str, no: str) -> str:
        return f"({condition} ? {yes} : {no})"

    def every(self, conditions: Sequence[str]) -> str:
        return " && ".join(conditions)

    def rounded(self, value: str) -> str:
        return f"({value} + {_ROUNDER!r}) - {_ROUNDER!r}"


def to_javascript(model: Model, name: str = "predict") -> str:
    """Write a model as a function.

    ``null``, ``undefined``, ``NaN`` and an empty text are missing values. A regressor of several
    numbers returns them as an array.

    Parameters
    ----------
    model : Model
    name : str
        Of the function.
    """
    name = make_name(name)
    *layers, last = make_steps(model, _JavaScript(model.feature_names))
    used = sorted(set(model.encoder.column_of.tolist()))
    columns = model.feature_names
    lines = [f"  const r{j} = row[{json.dumps(columns[j])}], m{j} = missing(r{j});" for j in used]
    lines += [f"  const {step.name} = {step.formula};" for layer in layers for step in layer]
    answers = ", ".join(step.formula for step in last)
    shown = ", ".join(json.dumps(columns[j]) for j in used)
    return "\n".join(
        [
            f"// Predicts by an object with the columns {shown}.",
            f"function {name}(row) {{",
            '  const missing = (v) => v === null || v === undefined || v === "" || v !== v;',
            *lines,
            f"  return {answers if len(last) == 1 else f'[{answers}]'};",
            "}",
            'if (typeof module !== "undefined") {',
            f"  module.exports = {{ {name} }};",
            "}",
            "",
        ]
    )

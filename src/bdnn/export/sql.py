"""Models as SQL: one SELECT after others, a layer each, by CASE and sums.

Missing values are NULL, truth values 0 and 1, texts are texts. Rounding uses that a double of
2^52 has no digits behind the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bdnn.errors import ModelError
from bdnn.export.steps import make_steps
from bdnn.model import Model

_ROUNDER = 1.5 * 2.0**52


@dataclass(frozen=True)
class _Sql:
    columns: tuple[str, ...]

    def raw(self, column: int) -> str:
        return quoted(self.columns[column])

    def is_missing(self, column: int) -> str:
        return f"{self.raw(column)} IS NULL"

    def is_text(self, column: int, text: str) -> str:
        return f"{self.raw(column)} = {_text(text)}"

    def name(self, step: str) -> str:
        return f"bdnn_{step}"

    def number(self, value: float) -> str:
        return repr(float(value))

    def label(self, value: object) -> str:
        if isinstance(value, bool):
            return str(int(value))
        return _text(value) if isinstance(value, str) else repr(value)

    def choose(self, condition: str, yes: str, no: str) -> str:
        return f"CASE WHEN {condition} THEN {yes} ELSE {no} END"

    def every(self, conditions: Sequence[str]) -> str:
        return " AND ".join(conditions)

    def rounded(self, value: str) -> str:
        return f"({value} + {_ROUNDER!r}) - {_ROUNDER!r}"


def quoted(name: str) -> str:
    """The name of a column or table."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def to_sql(model: Model, table: str = "data", *, materialized: bool = True) -> str:
    """Write a model as a query that adds the column ``prediction`` to a table.

    Parameters
    ----------
    model : Model
        Its raw columns are columns of the table, with these names.
    table : str
    materialized : bool
        Whether layers are ``AS MATERIALIZED``, as SQLite, PostgreSQL and DuckDB know it. Without
        the word a database may compute every layer again for each look at it.
    """
    if not table or "\0" in table:
        raise ModelError(
            f"table must be the name of a table, got {table!r}: give for example data."
        )
    *layers, last = make_steps(model, _Sql(model.feature_names))
    source, parts = quoted(table), []
    how = "AS MATERIALIZED" if materialized else "AS"
    for depth, layer in enumerate(layers, start=1):
        lines = ",\n  ".join(f"{step.formula} AS bdnn_{step.name}" for step in layer)
        parts.append(
            f"bdnn_{depth} {how} (\n  SELECT bdnn.*,\n  {lines}\n  FROM {source} AS bdnn\n)"
        )
        source = f"bdnn_{depth}"
    answers = ",\n  ".join(f"{step.formula} AS {quoted(step.name)}" for step in last)
    own = ", ".join(map(quoted, model.feature_names))
    return f"WITH {', '.join(parts)}\nSELECT {own},\n  {answers}\nFROM {source};\n"

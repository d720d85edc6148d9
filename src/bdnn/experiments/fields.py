"""Reading of an experiment file: the types of records say what is valid, the rest is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from bdnn.errors import DataError

Record = TypeVar("Record")
#: A part of a whole that leaves something; other numbers are positive.
Share = Annotated[float, "share"]


class Fields:
    """The entries of one table of a file, taken one after the other."""

    def __init__(self, source: str | Path, place: str, values: Any) -> None:
        self.source = source
        self.place = place
        if not isinstance(values, Mapping):
            raise self.error(f"must be a table, got {values!r}", "write key = value lines")
        self._left = dict(values)

    def error(self, problem: str, remedy: str) -> DataError:
        """Make an error that names the place."""
        where = f" {self.place}" if self.place else ""
        return DataError(f"{self.source}:{where} {problem}: {remedy}.")

    def take(self, name: str, kind: Any, default: Any = MISSING) -> Any:
        """Take an entry of a type, or the default where there is none."""
        value = self._left.pop(name, default)
        if value is MISSING:
            raise self.error(f"{name} is missing", f"add {name} = ...")
        if value is default:
            return default
        wanted, is_valid, made = _rule(kind)
        if not is_valid(value):
            raise self.error(f"{name} must be {wanted}, got {value!r}", "mend it")
        return made(value)

    def record(self, kind: type[Record]) -> Record:
        """Take all entries as fields of a dataclass."""
        hints, found = get_type_hints(kind, include_extras=True), {}
        for entry in fields(kind):  # type: ignore[arg-type]
            default = entry.default
            if entry.default_factory is not MISSING:
                default = entry.default_factory()
            found[entry.name] = self.take(entry.name, hints[entry.name], default)
        self.close()
        return kind(**found)

    def table(self, name: str) -> Fields:
        """Take a table, empty where there is none."""
        return Fields(self.source, f"[{name}]", self.take(name, Mapping, {}))

    def tables(self, name: str) -> list[Fields]:
        """Take a list of tables, empty where there is none."""
        value = self._left.pop(name, [])
        if not isinstance(value, list):
            raise self.error(f"{name} must be a list of tables", f"write [[{name}]]")
        return [
            Fields(self.source, f"[[{name}]] number {place}", entry)
            for place, entry in enumerate(value, start=1)
        ]

    def rest(self) -> dict[str, Any]:
        """Take all that is left."""
        left, self._left = self._left, {}
        return left

    def close(self) -> None:
        """Refuse what nobody has asked for: it would be ignored."""
        if self._left:
            names = ", ".join(map(repr, self._left))
            raise self.error(f"has unknown entries {names}", "remove them or check their spelling")


def _rule(kind: Any) -> tuple[str, Any, Any]:
    """What a type is called, how a value is told to be one, and how it is made one."""
    parts = [part for part in get_args(kind) if part is not NoneType]
    if get_origin(kind) is Literal:
        return f"one of {', '.join(parts)}", lambda value: value in parts, str
    if get_origin(kind) is tuple:
        item = (int, float) if parts[0] is float else parts[0]
        return (
            "a list of different values",
            lambda value: (
                isinstance(value, list)
                and all(isinstance(x, item) and not isinstance(x, bool) for x in value)
                and len(set(value)) == len(value)
            ),
            lambda value: tuple(map(parts[0], value)),
        )
    if kind is Share:
        return "from 0 to below 1", lambda value: _is_number(value) and 0 <= value < 1, float
    if kind is Mapping or get_origin(kind) is Mapping:
        return "a table", lambda value: isinstance(value, Mapping), dict
    plain = parts[0] if parts else kind
    if plain in (int, float):
        return "a positive number", lambda value: _is_number(value) and value > 0, plain
    name = {str: "a text", bool: "true or false"}[plain]
    return name, lambda value: isinstance(value, plain), plain


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

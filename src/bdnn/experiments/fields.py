"""Reading of the entries of an experiment file: each has a type, and what is unknown is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bdnn.errors import DataError


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

    def text(self, name: str, default: str | None = None) -> str:
        """Take a text."""
        return str(self._take(name, str, "a text", default))

    def flag(self, name: str, default: bool) -> bool:
        """Take true or false."""
        return bool(self._take(name, bool, "true or false", default))

    def number(self, name: str) -> float | None:
        """Take a positive number, or None where there is none."""
        value = self._left.pop(name, None)
        if value is not None and not (_is_number(value) and value > 0):
            raise self.error(f"{name} must be a positive number, got {value!r}", "give one")
        return None if value is None else float(value)

    def share(self, name: str, default: float) -> float:
        """Take a number from 0 to below 1."""
        value = self._left.pop(name, default)
        if not (_is_number(value) and 0 <= value < 1):
            raise self.error(f"{name} must be from 0 to below 1, got {value!r}", "give a share")
        return float(value)

    def entries(self, name: str) -> dict[str, Any]:
        """Take a table of free form, empty where there is none."""
        value = self._left.pop(name, {})
        if not isinstance(value, dict):
            raise self.error(f"{name} must be a table, got {value!r}", f"write [{name}]")
        return value

    def table(self, name: str) -> Fields:
        """Take a table, empty where there is none."""
        return Fields(self.source, f"[{name}]", self.entries(name))

    def tables(self, name: str) -> list[Fields]:
        """Take a list of tables, empty where there is none."""
        value = self._left.pop(name, [])
        if not isinstance(value, list):
            raise self.error(f"{name} must be a list of tables", f"write [[{name}]]")
        return [
            Fields(self.source, f"[[{name}]] number {place}", entry)
            for place, entry in enumerate(value, start=1)
        ]

    def items(self, name: str, kind: type | tuple[type, ...], default: Any = None) -> list[Any]:
        """Take a list whose items have a type and differ."""
        value = self._left.pop(name, default)
        if value is None:
            raise self.error(f"{name} is missing", f"add {name} = [...]")
        wrong = not isinstance(value, list) or any(
            isinstance(item, bool) or not isinstance(item, kind) for item in value
        )
        if wrong or len(set(value)) < len(value):
            raise self.error(f"{name} must be a list of different values, got {value!r}", "mend it")
        return list(value)

    def choice(self, name: str, known: tuple[str, ...], default: str | None = None) -> str:
        """Take one of several texts."""
        value = self.text(name, default)
        if value not in known:
            raise self.error(
                f"{name} must be one of {', '.join(known)}, got {value!r}", "choose one of these"
            )
        return value

    def rest(self) -> dict[str, Any]:
        """Take all that is left."""
        left, self._left = self._left, {}
        return left

    def close(self) -> None:
        """Refuse what nobody has asked for: it would be ignored."""
        if self._left:
            names = ", ".join(map(repr, self._left))
            raise self.error(f"has unknown entries {names}", "remove them or check their spelling")

    def _take(self, name: str, kind: type, what: str, default: Any) -> Any:
        value = self._left.pop(name, default)
        if value is None:
            raise self.error(f"{name} is missing", f"add {name} = ...")
        if not isinstance(value, kind):
            raise self.error(f"{name} must be {what}, got {value!r}", "give one")
        return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import typer

# Wide enough for any table of ours; a pipe has no width of its own.
_PIPE_WIDTH = 200


def error(message: str) -> None:
    """Tell in one line what is wrong."""
    _tell("error", message)


def note(message: str) -> None:
    """Tell in one line what a user should know."""
    _tell("note", message)


def _tell(kind: str, message: str) -> None:
    # Of a terminal that was closed, what is told there is lost and nothing else.
    with suppress(OSError):
        typer.echo(f"{kind}: {' '.join(message.split())}", err=True)


def print_json(values: Mapping[str, Any]) -> None:
    """Print one JSON object, with null for numbers that are not finite."""
    typer.echo(json.dumps(plain(values), allow_nan=False, ensure_ascii=False))


def plain(value: Any) -> Any:
    """Turn what a command found into what JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns; further lines of a value stand below its first."""
    rows = list(pairs)
    width = max(len(name) for name, _ in rows) + 2
    for name, value in rows:
        first, *more = value.splitlines() or [""]
        typer.echo(f"{name:<{width}}{first}".rstrip())
        for line in more:
            typer.echo(" " * width + line)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print a table; columns of numbers are aligned to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    cells = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for j, heading in enumerate(headings):
        numeric = all(row[j].replace(".", "").replace("%", "").strip().isdigit() for row in cells)
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, markup=False).print(table)


def number(value: float | None) -> str:
    """Write a number in four digits."""
    return "unknown" if value is None else f"{value:.4g}"


def percent(share: float | None) -> str:
    """Write a share as per cent."""
    if share is None or not math.isfinite(share):
        return "unknown"
    return f"{100 * share:.2f} %".replace(".00 %", " %")

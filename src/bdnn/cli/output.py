"""What commands print and write: results on standard output, everything else on standard error."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from bdnn.cli.options import option
from bdnn.errors import DataError
from bdnn.files import check_writable, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PICTURES = (".png", ".pdf", ".svg")
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


def _plain(value: Any) -> Any:
    """Turn what a command found into what JSON can hold, with null for infinity and NaN."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def print_pairs(pairs: Iterable[tuple[str, str | None]]) -> None:
    """Print names and values in two columns, those that there are.

    Further lines of a value stand below its first.
    """
    rows = [(name, value) for name, value in pairs if value is not None]
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


def number(value: float | None, digits: int = 4) -> str:
    """Write a number in so many digits."""
    return "unknown" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def decimals(value: float | None) -> str:
    """Write a number of the size of 1, such as an area or R2, so that its spread fits below it."""
    return "unknown" if value is None or not math.isfinite(value) else f"{value:.4f}"


def percent(share: float | None) -> str:
    """Write a share as per cent."""
    if share is None or not math.isfinite(share):
        return "unknown"
    return f"{100 * share:.2f} %".replace(".00 %", " %")


def status_text(status: str) -> str:
    """Write how a training ended; what is proven needs a word."""
    return {
        "selected": "selected by held-out rows, nothing is proven",
        "feasible": "feasible: nothing more to try, and no proof",
        "optimal": "optimal: no network of this shape has a smaller loss on the training rows",
    }.get(status, status)


def gap_text(gap: float, bound: float) -> str:
    """Write a gap; one of 100 % needs a word."""
    explained = " (the bound is 0, so nothing is ruled out yet)" if gap == 1 and not bound else ""
    return percent(gap) + explained


@dataclass(frozen=True)
class Answer:
    """What goes to standard output, and what to standard error."""

    panel: ClassVar[str] = "Output"

    as_json: bool = option("Print one JSON object on standard output.", False, "--json")
    quiet: bool = option("No progress, no notes.", False, "--quiet", "-q")

    def tell(self, notes: Iterable[str]) -> None:
        """Tell what a user should know."""
        for text in () if self.quiet else notes:
            note(text)

    def show(self, values: Mapping[str, Any], for_people: Callable[[], None]) -> None:
        """Print what was found, as one JSON object or for people."""
        if self.as_json:
            typer.echo(json.dumps(_plain(values), allow_nan=False, ensure_ascii=False))
        else:
            for_people()


@dataclass(frozen=True)
class Output(Answer):
    """The same, and a file."""

    out: Path | None = option("File to write.", metavar="FILE", shown=False)

    def __post_init__(self) -> None:
        if self.out is not None:
            check_writable(self.out)

    @property
    def place(self) -> str | None:
        """Name of the file."""
        return None if self.out is None else str(self.out)


@dataclass(frozen=True)
class ModelOutput(Output):
    """The same, and what the file is to hold."""

    no_proof: bool = option("Leave the proof of the bound out of the file.", False)


def check_picture(path: Path, option: str) -> None:
    """Raise an error unless a picture can be written at a path, in the format of its ending."""
    if path.suffix.lower() not in _PICTURES:
        raise DataError(f"{option} must end in {', '.join(_PICTURES)}, got {path}: choose one.")
    check_writable(path)


def write_picture(path: Path, figure: Figure) -> None:
    """Write a picture in the format of its path's ending."""
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix[1:].lower(), dpi=150)
    write_whole(path, content.getvalue())


def as_csv(names: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Write a table with its header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


def expectation(known: Mapping[str, Any] | None, class_weight: object) -> list[tuple[str, str]]:
    """What cross-validation says of rows that networks had not seen, if it was asked."""
    if known is None:
        return []
    told = f"{percent(known['accuracy'])} +- {percent(known['error'])}"
    rows = "new rows in their whole balls" if known.get("is_worst_case") else "new rows"
    if class_weight is not None:  # a share of their weights then
        rows += ", weighted by class"
    return [
        ("expected accuracy", f"{told} on {rows}, by cross-validation"),
        ("chosen", known["chosen"]),
        ("C export", f"about {known['bytes']} bytes of flash, tables and code"),
    ]

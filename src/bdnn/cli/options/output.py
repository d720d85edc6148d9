"""What a command prints and where it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from typer import Option

from bdnn.cli.console import note, print_json


@dataclass(frozen=True)
class Answer:
    """What goes to standard output, and what to standard error."""

    panel: ClassVar[str] = "Output"

    as_json: Annotated[bool, Option("--json", help="Print one JSON object on standard output.")] = (
        False
    )
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress, no notes.")] = False

    def tell(self, notes: Iterable[str]) -> None:
        """Tell what a user should know."""
        for text in () if self.quiet else notes:
            note(text)

    def show(self, values: Mapping[str, Any], for_people: Callable[[], None]) -> None:
        """Print what was found, as one JSON object or for people."""
        if self.as_json:
            print_json(values)
        else:
            for_people()


@dataclass(frozen=True)
class Output(Answer):
    """The same, and a file."""

    out: Annotated[
        Path | None, Option(metavar="FILE", help="File to write.", show_default=False)
    ] = None

    def __post_init__(self) -> None:
        if self.out is not None:
            from bdnn.files import check_writable

            check_writable(self.out)

    @property
    def place(self) -> str | None:
        """Name of the file."""
        return None if self.out is None else str(self.out)

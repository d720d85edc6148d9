"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV file (also .gz), or the name of a built-in data set (see 'bdnn datasets').",
        show_default=False,
    ),
]
ModelArgument = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A file written by 'bdnn train'.", show_default=False),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COL",
        help="Target column: its name, or its place from 1 (-1 is the last).",
        show_default="the model's, or the last",
    ),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row of DATA holds names.",
        show_default="found out",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output.")
]

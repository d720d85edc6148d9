"""Pictures and tables that commands write."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdnn.errors import DataError
from bdnn.files import check_writable, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PICTURES = (".png", ".pdf", ".svg")


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

"""Files that commands write: refused before the work if impossible, and never half written."""

from __future__ import annotations

import os
from pathlib import Path

from bdnn.errors import DataError

_PICTURES = (".png", ".pdf", ".svg")


def check_picture(path: Path, option: str) -> None:
    """Raise an error unless a picture can be written at a path, in the format of its ending."""
    if path.suffix.lower() not in _PICTURES:
        raise DataError(f"{option} must end in {', '.join(_PICTURES)}, got {path}: choose one.")
    check_writable(path)


def check_writable(path: Path) -> None:
    """Raise an error unless a file can be written at a path, without touching it."""
    folder = path.parent
    if not folder.is_dir():
        raise DataError(f"cannot write {path}: there is no folder {folder}: create it first.")
    # Renaming onto a folder fails, and onto a device it would replace the device.
    if path.exists() and not path.is_file():
        raise DataError(f"cannot write {path}: it is no ordinary file: give the name of a file.")
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise DataError(f"cannot write {path}: permission denied: choose another place.")


def write_text(path: Path, text: str) -> None:
    """Write a file under another name and rename it, so that it is never seen half written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

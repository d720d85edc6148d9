"""The file of results: one line per finished cell, on disk before the next one starts.

A process that is killed while it writes leaves half a line at the end, which is cut off when the
file is opened again; the cell is then run once more. Of several lines of a cell the last counts.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

from bdnn.errors import DataError

if sys.platform != "win32":  # where two runs in one folder are the user's care
    import fcntl

FILENAME = "results.jsonl"
_PACKAGES = ("bdnn", "numpy", "scipy", "scikit-learn", "numba", "highspy", "ortools")


def read_results(folder: Path) -> dict[str, dict[str, Any]]:
    """The last line of every cell by key; a torn last line is left out."""
    path = folder / FILENAME
    return _parse(path.read_bytes(), path)[0] if path.exists() else {}


def _parse(content: bytes, path: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """Rows, and the length of the part that is whole."""
    whole = content.rfind(b"\n") + 1
    rows: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            row = json.loads(line)
            rows[row["key"]] = row
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path}, line {number} is no result ({error}): remove that line, its cell is "
                "then run again."
            ) from error
    return rows, whole


class ResultFile:
    """Results that are added to, by one process at a time.

    Parameters
    ----------
    folder : path
        Created if need be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILENAME
        self.rows: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self._file.seek(0)
            self.rows, whole = _parse(self._file.read(), self.path)
            self._file.truncate(whole)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row and wait until it is on disk."""
        text = json.dumps(row, allow_nan=False)
        self._file.write(text.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows[row["key"]] = dict(row)

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise DataError(
                    f"another run is writing to {self.folder}: wait for it, or choose another "
                    "folder."
                ) from error


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on, as far as installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def machine() -> dict[str, str | int | None]:
    """Processor, number of cores and operating system; no names of machines or users."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()

"""Files written whole or not at all, and refused before the work where that can be seen."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

from bdnn.errors import DataError

# What must fit before the work begins; most of what is written is smaller.
_ROOM = 1 << 16


def check_writable(path: Path) -> None:
    """Raise an error unless a file can be written at a path, without touching what is there."""
    try:
        # A folder cannot be written, and a device or pipe would not be there afterwards.
        if path.exists() and not path.is_file():
            raise DataError(
                f"cannot write {path}: it is no ordinary file: give the name of a file."
            )
        target = _behind_links(path)
        if not target.parent.is_dir():
            raise DataError(
                f"cannot write {path}: there is no folder {target.parent}: create it first."
            )
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        trial = _beside(target)
        try:
            _write_new(trial, bytes(_ROOM))
        finally:
            trial.unlink(missing_ok=True)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        raise DataError(f"cannot write {path}: {reason}: choose another place.") from problem


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file; an old one stays until the new one is complete, and so do its permissions.

    A link stays one, and what it points to is written, also where there was nothing.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        # A device or a pipe is written to; a new file in its place would take it from all others.
        path.write_bytes(data)
        return
    target = _behind_links(path)
    temporary = _beside(target)
    try:
        _write_new(temporary, data)
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _behind_links(path: Path) -> Path:
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return target


def _beside(target: Path) -> Path:
    """Another name in the same folder, so that renaming is possible; short, as names are limited.

    Not by `tempfile`: its files are closed to other users, ours are as open as any other.
    """
    return target.with_name(f".bdnn-{secrets.token_hex(6)}")


def _write_new(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())  # some file systems notice only here that they are full

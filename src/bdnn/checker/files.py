"""Bytes from files that nobody vouches for: regular files only, bounded, JSON without surprises.

All readers of the package use this, so that no path and no file can make one of them wait for ever
or fill the memory. What is too much raises an ``OSError`` or a ``ValueError`` whose text completes
"cannot be read (...)".
"""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import math
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO

from bdnn import limits

# Lines of a file that are taken for comments.
_MOST_COMMENTS = 100
# Integers of so few digits are finite doubles.
_SHORT = 300
# A number with a decimal comma, blanks around it or not.
_DECIMAL_COMMA = re.compile(r"(\s*[+-]?\d*),(\d+\s*)", re.ASCII)
_GZIP = b"\x1f\x8b"
# What a character stands for takes at most so many bytes once it is parsed: a number with its place
# in a list, an empty list, an object of one key, half a text, a key with its place.
_PARSED_BYTES = {b",": 32, b"[": 88, b"{": 240, b'"': 32, b":": 100}


def open_regular(path: str | os.PathLike[str], most: int) -> BinaryIO:
    """Open a regular file of at most so many bytes; a pipe or device is refused at once."""
    # Without O_NONBLOCK, opening a pipe waits for somebody to write to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if status.st_size > most:
            raise _too_large(f"it has {status.st_size} bytes, more than the {most} allowed")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """Read a regular file whole."""
    with open_regular(path, most) as stream:
        data = stream.read(most + 1)  # its size may have been a lie
    if len(data) > most:
        raise _too_large(f"it has more than the {most} bytes allowed")
    return data


def open_table(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a table, unpacking it while it is read if it is packed by gzip."""
    stream = open_regular(path, limits.TABLE_BYTES)
    start = stream.read(len(_GZIP))
    stream.seek(0)
    if start != _GZIP:
        return stream
    size = os.fstat(stream.fileno()).st_size
    most = min(limits.TABLE_BYTES, max(limits.UNPACKED_TIMES * size, limits.UNPACKED_FREE))
    return io.BufferedReader(_Unpacked(stream, most), 1 << 16)


class _Unpacked(io.RawIOBase):
    """The content of a packed stream, with an end to it."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        super().__init__()
        self._packed = stream
        self._content = gzip.GzipFile(fileobj=stream)
        self._most = self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._content.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise _too_large(f"it unpacks to more than {self._most} bytes")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._content.close()
        self._packed.close()
        super().close()


def read_rows(stream: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of lines read so far and the cells of every row that is not blank.

    First lines that begin with ``#`` are comments, unless they have as many cells as the row after
    them: names of columns and colours begin so too. Where commas do not separate, a number may have
    a decimal comma and gets its point. A ``csv.Error`` ends it where a row or a cell is too long,
    before memory is filled with it.
    """
    length, has_commas = 0, False

    def lines() -> Iterator[str]:
        nonlocal length, has_commas
        while line := stream.readline(limits.ROW_CHARACTERS + 1):
            length += len(line)
            has_commas = has_commas or (delimiter != "," and "," in line)
            if length > limits.ROW_CHARACTERS:
                raise csv.Error(f"a row of more than {limits.ROW_CHARACTERS} characters")
            yield line

    reader = csv.reader(lines(), delimiter=delimiter)
    comments: list[tuple[int, list[str]]] | None = []
    for row in reader:
        if has_commas:
            row = list(map(with_point, row))
        length, has_commas = 0, False
        if len(row) > 1 or (row and row[0].strip()):
            is_comment = row[0].lstrip().startswith("#")
            if comments is not None and is_comment and len(comments) < _MOST_COMMENTS:
                comments.append((reader.line_num, row))
                continue
            yield from (each for each in comments or () if len(each[1]) == len(row))
            comments = None
            yield reader.line_num, row
    yield from comments or ()


def with_point(cell: str) -> str:
    """A number with its decimal comma as a point; any other text as it is."""
    found = _DECIMAL_COMMA.fullmatch(cell)
    return f"{found[1]}.{found[2]}" if found else cell


def parse_json(data: bytes) -> Any:
    """Parse JSON whose numbers are finite doubles and whose keys are distinct.

    Raises ValueError also for what is nested too deep, too long or would take too much memory.
    """
    text = data.decode()
    check_size(text, len(data))
    try:
        content = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse,
            parse_int=_integer,
            parse_float=_float,
        )
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    check_content(content)
    return content


def check_size(text: str, n_bytes: int) -> None:
    """Refuse a text that would take too much memory once it is parsed, or written again."""
    # What is not ASCII is written as \uXXXX for the checksum.
    needed = sys.getsizeof(text) + 6 * (n_bytes - len(text))
    needed += sum(size * text.count(char.decode()) for char, size in _PARSED_BYTES.items())
    if n_bytes > limits.MODEL_BYTES or needed > limits.JSON_BYTES:
        raise ValueError("it holds more than a model file may hold")


def check_content(content: Any) -> None:
    """Refuse what is nested too deep and texts that are too long."""
    stack = [(content, 1)]
    while stack:
        value, depth = stack.pop()
        if depth > limits.JSON_DEPTH:
            raise ValueError("it is nested too deep")
        parts: Any = value if isinstance(value, list) else [value]
        if isinstance(value, dict):
            parts = [*value, *value.values()]
        for part in parts:
            if isinstance(part, str):
                if len(part) > limits.TEXT_CHARACTERS:
                    raise ValueError(f"it holds a text of {len(part)} characters")
            elif isinstance(part, list | dict) and part is not value:
                stack.append((part, depth + 1))


def _integer(text: str) -> int:
    if len(text) > _SHORT:
        _float(text)
    return int(text)


def _float(text: str) -> float:
    if len(text) > limits.NUMBER_CHARACTERS:
        raise ValueError(f"it holds a number of {len(text)} digits")
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("it holds a number that is not finite")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return content


def _refuse(name: str) -> float:
    raise ValueError(f"it holds {name}, which is no number")


def _too_large(what: str) -> OSError:
    return OSError(errno.EFBIG, what)

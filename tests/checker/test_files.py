"""Files that nobody vouches for: nothing waits for ever, nothing fills the memory."""

import csv
import gzip
import io
import os

import pytest

from bdnn import limits
from bdnn.checker.files import open_regular, open_table, parse_json, read_bytes, read_rows


def test_regular_files_are_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"content")
    assert read_bytes(path, 7) == b"content"
    with pytest.raises(OSError, match="7 bytes, more than the 6"):
        read_bytes(path, 6)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe of this system")
def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path / "link"):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(path, 10)
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path, 10)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="a file of this system")
def test_a_file_that_hides_its_size_is_bounded():
    with pytest.raises(OSError, match="more than the 10 bytes"):
        read_bytes("/proc/self/status", 10)


def test_tables_are_unpacked_up_to_a_limit(tmp_path, monkeypatch):
    path = tmp_path / "table.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 10_000))
    with open_table(path) as stream:
        assert stream.read() == b"1,2\n" * 10_000
    monkeypatch.setattr(limits, "UNPACKED_FREE", 1000)
    with open_table(path) as stream, pytest.raises(OSError, match="unpacks to more than"):
        stream.read()
    monkeypatch.setattr(limits, "UNPACKED_TIMES", 10**6)
    monkeypatch.setattr(limits, "TABLE_BYTES", 39_999)
    with open_table(path) as stream, pytest.raises(OSError, match="more than 39999 bytes"):
        stream.read()


@pytest.mark.parametrize(
    "text", ["x" * 2000, ",".join("x" * 1000), '"a\n",' * 500, '"' + "x\n" * 999]
)
def test_rows_without_end_are_refused(monkeypatch, text):
    monkeypatch.setattr(limits, "ROW_CHARACTERS", 1000)
    with pytest.raises(csv.Error, match="a row of more than 1000 characters"):
        list(read_rows(io.StringIO("a,b\n" + text, newline=""), ","))


def test_long_tables_of_short_rows_are_read(monkeypatch):
    monkeypatch.setattr(limits, "ROW_CHARACTERS", 10)
    rows = list(read_rows(io.StringIO("1,2\n\n3,4\r5,6\r\n" * 50, newline=""), ","))
    assert len(rows) == 150
    assert rows[:3] == [(1, ["1", "2"]), (3, ["3", "4"]), (4, ["5", "6"])]


def test_json():
    assert parse_json(b'{"a": [1, -2.5, "x", null, true]}') == {"a": [1, -2.5, "x", None, True]}
    assert parse_json(b"[" * 64 + b"]" * 64)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 65 + "]" * 65,
        "[" * 100_000,
        '{"a": ' * 65 + "1" + "}" * 65,
        "1" * 310,
        "1" * 401,
        "0." + "1" * 400,
        "1e400",
        "-1e99999999",
        "NaN",
        "Infinity",
        '{"a": 1, "a": 1}',
        '"' + "x" * (limits.TEXT_CHARACTERS + 1) + '"',
        '{"' + "x" * (limits.TEXT_CHARACTERS + 1) + '": 1}',
        "[" + "[]," * 4_000_000 + "[]]",
        "[" + '"ab",' * 5_000_000 + "0]",
        "\ufeff[]",
        "[",
        "",
    ],
    ids=range(18),
)
def test_what_is_no_json_or_too_much(text):
    with pytest.raises(ValueError, match=r".+"):
        parse_json(text.encode())

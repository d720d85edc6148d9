import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bdnn.errors import DataError
from bdnn.files import check_writable, write_whole


def refused(path):
    with pytest.raises(DataError) as caught:
        check_writable(path)
    told = str(caught.value)
    assert told.startswith(f"cannot write {path}: ")
    return told


def test_old_content_is_replaced_and_permissions_stay(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    check_writable(path)
    assert path.read_text() == "old"
    write_whole(path, "néw\n")
    assert path.read_bytes() == "néw\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_as_open_as_any_other_file(tmp_path):
    write_whole(tmp_path / "ours", b"")
    (tmp_path / "other").touch()
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("exists", [True, False])
def test_links_are_written_through(tmp_path, exists):
    folder = tmp_path / "folder"
    folder.mkdir()
    target, link = folder / "target", tmp_path / "link"
    if exists:
        target.write_text("old")
    link.symlink_to(os.path.join("folder", "target"))
    check_writable(link)
    assert target.exists() == exists
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert list(folder.iterdir()) == [target]


def test_links_to_nowhere_are_refused(tmp_path):
    loop, lost = tmp_path / "loop", tmp_path / "lost"
    loop.symlink_to(loop)
    lost.symlink_to(tmp_path / "no" / "file")
    assert "levels of symbolic links" in refused(loop)
    assert "there is no folder" in refused(lost)
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(loop, "new")
    assert loop.is_symlink()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("x" * 256, "file name too long"),
        ("no/file", "there is no folder"),
        ("file/below", "there is no folder"),
        ("folder", "no ordinary file"),
        ("pipe", "no ordinary file"),
    ],
)
def test_refused_before_the_work(tmp_path, name, reason):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.rglob("*"))
    assert reason in refused(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before


def test_names_as_long_as_they_may_be(tmp_path):
    path = tmp_path / ("x" * 255)
    check_writable(path)
    write_whole(path, "new")
    assert path.read_text() == "new"


def test_no_room(tmp_path):
    """A limit on the size of files stands for a disk that is full."""
    code = (
        "import sys; from pathlib import Path; from bdnn.files import check_writable, write_whole\n"
        "path = Path(sys.argv[1])\n"
        "try: check_writable(path)\n"
        "except ValueError as error: print(error)\n"
        "try: write_whole(path, 'new' * 1000)\n"
        "except OSError as error: print(error.strerror)\n"
    )
    path = tmp_path / "file"
    path.write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
        capture_output=True,
        text=True,
        check=True,
    )
    refusal, failure = done.stdout.splitlines()
    assert refusal == f"cannot write {path}: file too large: choose another place."
    assert failure == "File too large"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(tmp_path):
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o400)
    assert "permission denied" in refused(path)
    path.unlink()
    tmp_path.chmod(0o500)
    assert "permission denied" in refused(path)


def test_devices_are_written_to():
    write_whole(Path(os.devnull), "text")
    assert not Path(os.devnull).is_file()

"""The cache of compiled code on disk, in processes that share it and find it broken or absent."""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bdnn
from bdnn.compiled import compiled, part
from tests.cli.runner import SMALL, command, write
from tests.grids import long

CALLED = """
from bdnn.compiled import compiled

@compiled
def grown(x):
    return x + 1
"""
CALLING = """
from bdnn.compiled import compiled
from called import grown

FACTOR = 10

@compiled
def twice(x):
    return FACTOR * grown(x)

print(twice(3), sum(twice.stats.cache_hits.values()), twice.stats.cache_path)
"""


@pytest.fixture
def home(tmp_path):
    """A place for sources, for the cache, and for temporary files."""
    write(tmp_path / "called.py", CALLED)
    write(tmp_path / "calling.py", CALLING)
    (tmp_path / "temporary").mkdir()
    return tmp_path


def run(home, environment=None, **options):
    """Run the sources; return what they computed, hits of the cache, and where it is."""
    done = subprocess.run(
        [sys.executable, "calling.py"],
        cwd=home,
        env=os.environ | {"TMPDIR": str(home / "temporary")} | (environment or {}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    value, hits, place = done.stdout.split()
    return int(value), int(hits), place


def without_places(home):
    """Block the folders that numba knows, for root too: files stand in their place."""
    shutil.rmtree(home / "__pycache__", ignore_errors=True)
    write(home / "__pycache__", "")
    blocked = str(write(home / "blocked", ""))
    return {"HOME": blocked, "XDG_CACHE_HOME": blocked, "NUMBA_CACHE_DIR": ""}


def test_kept_and_loaded(home):
    assert run(home)[:2] == (40, 0)
    assert run(home)[:2] == (40, 1)


HALF = object()


@pytest.mark.parametrize(
    "damages",
    [
        [("nbi", HALF), ("nbc", b"garbage")],
        *long([("nbi", b""), ("nbi", pickle.dumps(7)), ("nbc", HALF)]),
    ],
    ids=["quick", "long"],
)
def test_broken_files_are_compiled_anew(home, damages):
    run(home)
    for ending, content in damages:
        files = list((home / "__pycache__").glob(f"*.{ending}"))
        assert files
        for file in files:
            whole = file.read_bytes()
            file.write_bytes(whole[: len(whole) // 2] if content is HALF else content)
        assert run(home)[:2] == (40, 0), (ending, content)
    assert run(home)[:2] == (40, 1)


def test_a_part_is_compiled_once_and_refused_to_python():
    @part
    def added(x, y):
        return x + y

    @compiled
    def sums(x):
        return added(x, 1) + added(x, 2) + added(x, x)

    assert sums(3) == 15
    assert len(added.signatures) == 1
    with pytest.raises(TypeError, match="added can be called by compiled functions alone"):
        added(1, 2)


def test_a_part_that_was_kept_serves_other_callers(home):
    write(
        home / "called.py",
        CALLED.replace("import compiled", "import part").replace("@compiled", "@part"),
    )
    assert run(home)[:2] == (40, 0)
    # A part that is loaded stays one: it is not made machine code, which its callers would inherit.
    told = "print(*(type(each.library).__name__ for each in grown.overloads.values()))"
    write(home / "calling.py", f"{CALLING}print(sum(grown.stats.cache_hits.values()))\n{told}")
    (kept,) = (home / "__pycache__").glob("calling.twice*.nbi")
    kept.unlink()
    done = subprocess.run(
        [sys.executable, "calling.py"], cwd=home, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == "40"
    assert done.stdout.split()[-2:] == ["1", "_PartLibrary"]


def test_a_full_disk_keeps_nothing(home):
    nothing = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))}
    assert run(home, **nothing)[:2] == (40, 0)
    assert run(home)[:2] == (40, 0)


def test_a_change_of_what_is_called_counts(home):
    run(home)
    write(home / "called.py", CALLED.replace("x + 1", "x + 2"))
    assert run(home)[:2] == (50, 0)


def test_nowhere_to_write_but_temporary_files(home):
    blocked = without_places(home)
    value, hits, place = run(home, blocked)
    assert (value, hits) == (40, 0)
    folder = Path(place).parent
    assert folder.parent == home / "temporary"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert run(home, blocked)[:2] == (40, 1)


def test_a_folder_that_others_can_write_is_not_used(home):
    blocked = without_places(home)
    folder = home / "temporary" / f"bdnn-compiled-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    assert run(home, blocked) == (40, 0, "None")
    assert list(folder.iterdir()) == []
    folder.rmdir()
    elsewhere = home / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)
    assert run(home, blocked) == (40, 0, "None")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.long
def test_train_where_the_installation_cannot_be_written(tmp_path):
    """A copy of the package without a place for caches still trains."""
    package = Path(bdnn.__file__).parent
    copy = tmp_path / "copy" / "bdnn"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        write(folder / "__pycache__", "")
    blocked = str(write(tmp_path / "blocked", ""))
    data = write(tmp_path / "small.csv", SMALL)
    out = tmp_path / "model.json"
    done = subprocess.run(
        command("train", data, "--hidden", 1, "--seconds", 2, "--out", out, "--quiet"),
        env=os.environ
        | {"PYTHONPATH": str(copy.parent), "HOME": blocked, "XDG_CACHE_HOME": blocked}
        | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert bdnn.load(out).result_.loss >= 0

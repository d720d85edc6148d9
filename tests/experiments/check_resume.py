"""Ten kills of a quick run at random moments, then the same tables: ``make check-resume``.

``bdnn reproduce all --quick`` runs undisturbed in one folder; in another it is killed (SIGKILL,
with its workers) ten times and resumed each time. In the end both have the same cells with the same
numbers, times aside, and no cell was finished twice. Takes some minutes.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bdnn.experiments import read_results
from tests.experiments.test_runner import measured

KILLS = 10


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start or resume a quick run."""
    command = [sys.executable, "-m", "bdnn", "reproduce", "all", "--quick", "--quiet"]
    return subprocess.Popen(
        [*command, "--out", str(folder)], start_new_session=True, stdout=subprocess.DEVNULL
    )


def main() -> None:
    """Run, kill, compare."""
    base = Path(tempfile.mkdtemp(prefix="bdnn-resume-"))
    began = time.monotonic()
    assert start(base / "undisturbed").wait() == 0
    seconds = time.monotonic() - began
    sys.stdout.write(f"undisturbed: {seconds:.0f} s\n")
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    folder = base / "killed"
    for number in range(KILLS):
        process = start(folder)
        time.sleep(rng.uniform(0.05, 0.25) * seconds)
        assert process.poll() is None, "the run ended before it was killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        sys.stdout.write(f"kill {number + 1}: {len(read_results(folder))} cells are there\n")
        sys.stdout.flush()
    assert start(folder).wait() == 0
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    keys = [json.loads(line)["key"] for line in lines]
    assert len(keys) == len(set(keys)), "a cell was run twice"
    one, other = measured(base / "undisturbed"), measured(folder)
    differing = [key for key in one if one[key] != other.get(key)]
    for key in differing:
        sys.stdout.write(f"differs: {read_results(folder)[key]['work']}\n")
    assert set(one) == set(other)
    assert not differing, f"{len(differing)} of {len(one)} cells differ"
    sys.stdout.write(f"all {len(one)} cells are equal after {KILLS} kills\n")


if __name__ == "__main__":
    main()

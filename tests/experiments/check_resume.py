"""Ten kills of a quick run at random moments, then the same tables: ``make check-resume``.

``bdnn reproduce all --quick`` runs undisturbed in one folder; in another it is killed (SIGKILL,
with its workers) ten times and resumed each time. The moments are spread over the cells and not
over the seconds, so that a busy machine is not killed ten times while it starts. In the end both
have the same cells with the same numbers, times aside, and no cell was finished twice. Takes some
minutes.
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
    total = len(read_results(base / "undisturbed"))
    sys.stdout.write(f"undisturbed: {total} cells, {seconds:.0f} s\n")
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    folder = base / "killed"
    # The last cells are left out: they might be done before the signal comes.
    for number, enough in enumerate(sorted(rng.sample(range(total - KILLS), KILLS))):
        process = start(folder)
        while len(read_results(folder)) < enough and process.poll() is None:
            time.sleep(0.1)
        time.sleep(rng.uniform(0.0, 2.0) * seconds / total)
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

"""Runs: nothing is done twice, nothing is lost, failures are results."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from bdnn.errors import DataError
from bdnn.experiments import ResultFile, plan, read_results, run_cells
from bdnn.experiments.results import FILENAME
from tests.experiments.tiny import FACTS, TINY, tiny
from tests.grids import long


def measured(folder):
    """What must not differ between two runs: everything but times."""
    return {
        key: {name: value for name, value in row["measures"].items() if name != "seconds"}
        for key, row in read_results(folder).items()
    }


def run(folder, cells=None, **options):
    with ResultFile(folder) as file:
        return run_cells(plan([tiny()]) if cells is None else cells, file, **options)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    progress = run(folder)
    assert (progress.done, progress.failed, progress.handed_over) == (18, 0, {})
    return folder


def test_rows_hold_what_they_depend_on(undisturbed):
    for key, row in read_results(undisturbed).items():
        assert row["key"] == key
        assert row["status"] == "done"
        assert {"bdnn", "numpy", "python"} <= set(row["versions"])
        assert row["machine"]["cores"] >= 1
        assert row["work"]["seed"] in (0, 1, 2)
        assert "seconds" in row["work"]
        assert 0 <= row["measures"]["accuracy"] <= 100
        assert "attack 0.5" in row["measures"]


def test_processes_give_the_same_results(undisturbed, tmp_path):
    cells = plan([tiny(seeds=[0])])
    run(tmp_path, cells, jobs=2)
    expected = measured(undisturbed)
    assert measured(tmp_path) == {key: expected[key] for key in cells}


def test_nothing_is_repeated(undisturbed):
    before = (undisturbed / FILENAME).read_bytes()
    assert run(undisturbed).done == 18
    assert (undisturbed / FILENAME).read_bytes() == before


def test_a_torn_line_is_run_again(undisturbed, tmp_path):
    content = (undisturbed / FILENAME).read_bytes()
    (tmp_path / FILENAME).write_bytes(content[:-40])
    assert len(read_results(tmp_path)) == 17
    run(tmp_path)
    assert measured(tmp_path) == measured(undisturbed)
    for line in (tmp_path / FILENAME).read_text().splitlines():
        json.loads(line)


def test_a_damaged_line_is_named(undisturbed, tmp_path):
    lines = (undisturbed / FILENAME).read_text().splitlines(keepends=True)
    lines[3] = "nonsense\n"
    (tmp_path / FILENAME).write_text("".join(lines))
    with pytest.raises(DataError, match="line 4 is no result"):
        read_results(tmp_path)


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    with (
        ResultFile(tmp_path),
        pytest.raises(DataError, match="another run"),
        ResultFile(tmp_path),
    ):
        pass


def test_a_failed_cell_is_recorded_and_retried_on_request(tmp_path):
    data = tmp_path / "my.csv"
    data.write_text("a,b,kind\n" + "1,2,x\n3,4,y\n" * 20)
    text = TINY.replace('["iris"]', f'["{data}", "iris"]').replace('["hidden"', '["data", "hidden"')
    cells = {k: c for k, c in plan([tiny(text)]).items() if c.work["kind"] != "bdnn"}
    data.rename(tmp_path / "away.csv")
    progress = run(tmp_path, cells)
    assert (progress.done, progress.failed, progress.total) == (24, 12, 24)
    failed = [row for row in read_results(tmp_path).values() if row["status"] == "failed"]
    assert all(str(data) in row["error"] and "\n" not in row["error"] for row in failed)
    assert run(tmp_path, cells).failed == 12
    (tmp_path / "away.csv").rename(data)
    progress = run(tmp_path, cells, retry=True)
    assert (progress.done, progress.failed) == (24, 0)


def test_progress_counts_down(tmp_path):
    seen = []
    cells = dict(list(plan([tiny()]).items())[:3])
    run(tmp_path, cells, on_progress=lambda p: seen.append((p.done, p.running)))
    first, second, third = (cell.label for cell in cells.values())
    assert seen == [(0, []), (0, [first]), (1, []), (1, [second]), (2, []), (2, [third]), (3, [])]


def test_no_more_cells_run_than_there_are_workers(tmp_path):
    seen = []
    cells = plan([tiny(FACTS)])
    run(tmp_path, cells, jobs=2, on_progress=lambda p: seen.append(len(p.running)))
    assert max(seen) == 2


def test_the_time_left_is_estimated_from_the_pace(tmp_path):
    seen = []
    cells = dict(list(plan([tiny()]).items())[:3])
    progress = run(tmp_path, cells, on_progress=lambda p: seen.append(p.seconds_left))
    assert seen[0] != seen[0]
    assert seen[2] > 0
    assert progress.seconds_left == 0


SCRIPT = """
import sys
from pathlib import Path
from bdnn.experiments import ResultFile, plan, run_cells
from tests.experiments.tiny import FACTS, tiny
with ResultFile(Path(sys.argv[1])) as file:
    run_cells(plan([tiny(FACTS)]), file, jobs=int(sys.argv[2]))
"""


def wait_for_rows(folder, count, process):
    """Wait until a run has written so many rows, or is over."""
    path = folder / FILENAME
    while process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.001)


@pytest.mark.parametrize("kills", [[(2, 7)], *long([(1, 2), (2, 7), (1, 13)])], ids=len)
def test_a_run_that_is_killed_goes_on(tmp_path, kills):
    rng = random.Random(0)
    # Runs of one process or two are killed behind so many rows; the last one ends by itself.
    for jobs, count in (*kills, (len(kills), None)):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path / "killed"), str(jobs)],
            start_new_session=True,
        )
        if count is None:
            assert process.wait(timeout=120) == 0
            break
        wait_for_rows(tmp_path / "killed", count, process)
        time.sleep(0.01 * rng.random())
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    run(tmp_path / "undisturbed", plan([tiny(FACTS)]))
    assert measured(tmp_path / "killed") == measured(tmp_path / "undisturbed")
    assert len((tmp_path / "killed" / FILENAME).read_text().splitlines()) == 20


def test_a_cell_whose_process_dies_fails_and_the_rest_goes_on(tmp_path, monkeypatch):
    # A load that kills its process stands for a crash of a library or the lack of memory.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "from dataclasses import replace\n"
        "from bdnn.datasets.registry import DATASETS\n"
        "deadly = replace(DATASETS['boston-housing'], load=lambda: os.kill(os.getpid(), 9))\n"
        "DATASETS['boston-housing'] = deadly\n"
    )
    script = SCRIPT.replace("tiny(FACTS)", "tiny(FACTS, seeds=[0])")
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path), "2"], timeout=120)
    assert done.returncode == 0
    rows = {row["work"]["data"]: row for row in read_results(tmp_path).values()}
    assert rows["uniform"]["status"] == "done"
    assert rows["boston-housing"]["status"] == "failed"
    assert "the process died" in rows["boston-housing"]["error"]

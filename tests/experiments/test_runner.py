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
from tests.experiments.tiny import TINY, tiny


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
    assert (progress.done, progress.failed, progress.running) == (18, 0, {})
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
    run(tmp_path, jobs=2)
    assert measured(tmp_path) == measured(undisturbed)


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
    run(tmp_path, cells, on_progress=lambda p: seen.append((p.done, list(p.running.values()))))
    first, second, third = (cell.label for cell in cells.values())
    assert seen == [(0, []), (0, [first]), (1, []), (1, [second]), (2, []), (2, [third]), (3, [])]


def test_the_time_left_is_estimated_from_the_pace(tmp_path):
    seen = []
    cells = dict(list(plan([tiny()]).items())[:3])
    progress = run(tmp_path, cells, on_progress=lambda p: seen.append(p.seconds_left))
    assert seen[0] != seen[0]
    assert seen[2] > 0
    assert progress.seconds_left == 0
    assert progress.newest["label"] == list(cells.values())[-1].label


# Without binarized networks, whose compiled code every process would have to load first.
SCRIPT = """
import sys
from pathlib import Path
from bdnn.experiments import ResultFile, plan, run_cells
from tests.experiments.tiny import tiny
cells = {key: cell for key, cell in plan([tiny()]).items() if cell.work["kind"] != "bdnn"}
with ResultFile(Path(sys.argv[1])) as file:
    run_cells(cells, file, jobs=int(sys.argv[2]))
"""


def wait_for_rows(folder, count, process):
    """Wait until a run has written so many rows, or is over."""
    path = folder / FILENAME
    while process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.01)


@pytest.mark.parametrize(("jobs", "moments"), [(1, (2, 8)), (2, (4,))])
def test_a_run_that_is_killed_goes_on(jobs, moments, undisturbed, tmp_path):
    rng = random.Random(jobs)
    for count in (*moments, None):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path), str(jobs)], start_new_session=True
        )
        if count is None:
            assert process.wait(timeout=120) == 0
            break
        wait_for_rows(tmp_path, count, process)
        time.sleep(0.05 * rng.random())
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    expected = measured(undisturbed)
    found = measured(tmp_path)
    assert found == {key: expected[key] for key in found}
    lines = (tmp_path / FILENAME).read_text().splitlines()
    assert len(lines) == len(found) == 12


def test_a_cell_whose_process_dies_fails_and_the_rest_goes_on(tmp_path, monkeypatch):
    # A fit that kills its process stands for a crash of a library or the lack of memory.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "from sklearn.tree import DecisionTreeClassifier\n"
        "fit = DecisionTreeClassifier.fit\n"
        "def crash(self, X, y):\n"
        "    return os.kill(os.getpid(), 9) if self.random_state == 1 else fit(self, X, y)\n"
        "DecisionTreeClassifier.fit = crash\n"
    )
    script = SCRIPT.replace("tiny()", "tiny(quick=True, seeds=[0, 1])")
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path), "2"], timeout=120)
    assert done.returncode == 0
    rows = list(read_results(tmp_path).values())
    assert len(rows) == 4
    for row in rows:
        crashed = row["work"]["kind"] == "peer" and row["work"]["seed"] == 1
        assert (row["status"] == "failed") == crashed
        assert not crashed or "the process died" in row["error"]

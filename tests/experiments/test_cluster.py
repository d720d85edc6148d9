"""The same cells on a real Dask cluster of worker processes."""

import os
import signal
import sys

import joblib
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from bdnn import BDNNClassifier, Limits
from bdnn.errors import DataError, UnsupportedFeatureError
from bdnn.experiments import ResultFile, plan, run_cells
from bdnn.experiments.runner import dask_cluster, stream_on_cluster
from bdnn.training import Descent
from tests.experiments.test_runner import measured
from tests.experiments.tiny import tiny

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    # A second death of a task's worker makes the scheduler give it up; by default it is the fourth.
    # Any free port serves its pages: another cluster of this machine may have the usual one.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as found,
    ):
        yield found


def run(folder, **options):
    with ResultFile(folder) as file:
        return run_cells(plan([tiny(seeds=[0, 1])]), file, **options)


def test_a_cluster_gives_the_same_results_although_a_worker_dies(cluster, tmp_path):
    killed = []

    def kill_one(progress):
        if progress.done == 3 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    progress = run(tmp_path / "cluster", scheduler=cluster.scheduler_address, on_progress=kill_one)
    assert killed
    assert (progress.done, progress.failed) == (12, 0)
    run(tmp_path / "here")
    assert measured(tmp_path / "cluster") == measured(tmp_path / "here")


def test_cross_validation_and_restarts_of_a_fit(cluster):
    X, y = load_iris(return_X_y=True)
    model = BDNNClassifier(
        hidden=(2,),
        method=Descent(patience=1e-9),
        limits=Limits(seconds=300),
        n_jobs=2,
        random_state=0,
    )
    here = cross_val_score(model, X, y, cv=2)
    with dask_cluster(cluster.scheduler_address):
        there = cross_val_score(model, X, y, cv=2)
        restarts = model.fit(X, y).network_
    assert there.tolist() == here.tolist()
    assert restarts == model.fit(X, y).network_


@pytest.mark.long
def test_one_fit_and_its_verification_although_workers_die(cluster):
    X, y = load_iris(return_X_y=True)
    X, y = X[40:100:2], y[40:100:2]
    killed = []

    def kill_one(*_):
        if len(killed) < 2 and cluster.workers:
            pid = next(iter(cluster.workers.values())).pid
            if pid not in killed:
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    model = BDNNClassifier(hidden=(2,), limits=Limits(seconds=300), n_jobs=2, random_state=0)
    model.fit(X, y)
    here, network = model.verify(X, radius=0.2, norm="linf", n_jobs=2), model.network_
    with dask_cluster(cluster.scheduler_address):
        model.set_params(callback=kill_one).fit(X, y)
        there = model.verify(X, radius=0.2, norm="linf", n_jobs=2, on_progress=kill_one)
    assert killed
    assert model.network_ == network
    assert there.answers == here.answers


def test_no_scheduler_is_one_sentence(monkeypatch):
    monkeypatch.setattr("bdnn.experiments.runner._CONNECT_SECONDS", 0.5)
    with (
        pytest.raises(DataError, match="no Dask scheduler answers"),
        dask_cluster("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_missing_package_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(UnsupportedFeatureError, match=r"pip install 'bdnn\[dask\]'"),
        dask_cluster("tcp://127.0.0.1:9"),
    ):
        pass


def test_the_back_end_is_given_back(cluster):
    with dask_cluster(cluster.scheduler_address):
        pass
    assert "dask" not in type(joblib.parallel.get_active_backend()[0]).__name__.lower()


@pytest.mark.long
def test_a_task_that_kills_its_workers_is_given_up(cluster):
    def dies_at_two(number):
        return os.kill(os.getpid(), signal.SIGKILL) if number == 2 else number

    with dask_cluster(cluster.scheduler_address) as client:
        found = stream_on_cluster(client, dies_at_two, range(4), lambda task: -task)
        assert sorted(found) == [-2, 0, 1, 3]

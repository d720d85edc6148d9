"""A cell at work (split the data, train, measure), and the file of results.

There is one line per finished cell, on disk before the next one starts.

A process that is killed while it writes leaves half a line at the end, which is cut off when the
file is opened again; the cell is then run once more. Of several lines of a cell the last counts.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

import numpy as np

from bdnn import datasets
from bdnn.clock import Slot
from bdnn.errors import DataError
from bdnn.experiments.numbers import attack_measure
from bdnn.experiments.training import Labels, fit
from bdnn.network.activation import FloatArray

if sys.platform != "win32":  # where two runs in one folder are the user's care
    import fcntl

FILENAME = "results.jsonl"
_PACKAGES = ("bdnn", "numpy", "scipy", "scikit-learn", "numba", "highspy", "ortools")


def read_results(folder: Path) -> dict[str, dict[str, Any]]:
    """The last line of every cell by key; a torn last line is left out."""
    path = folder / FILENAME
    return _parse(path.read_bytes(), path)[0] if path.exists() else {}


def _parse(content: bytes, path: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """Rows, and the length of the part that is whole."""
    whole = content.rfind(b"\n") + 1
    rows: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            row = json.loads(line)
            rows[row["key"]] = row
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path}, line {number} is no result ({error}): remove that line, its cell is "
                "then run again."
            ) from error
    return rows, whole


class ResultFile:
    """Results that are added to, by one process at a time.

    Parameters
    ----------
    folder : path
        Created if need be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / FILENAME
        self.rows: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self._file.seek(0)
            self.rows, whole = _parse(self._file.read(), self.path)
            self._file.truncate(whole)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row and wait until it is on disk."""
        text = json.dumps(row, allow_nan=False)
        self._file.write(text.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows[row["key"]] = dict(row)

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise DataError(
                    f"another run is writing to {self.folder}: wait for it, or choose another "
                    "folder."
                ) from error


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on, as far as installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def machine() -> dict[str, str | int | None]:
    """Processor, number of cores and operating system; no names of machines or users."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def run_cell(work: Mapping[str, Any]) -> dict[str, Any]:
    """Do the work of a cell and return what was measured, as plain data.

    Every fit has one thread, so that cells side by side do not disturb each other.
    """
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        # That a time limit ended a fit is in the cell's notes.
        warnings.simplefilter("ignore")
        X, y = _samples(work)
        if work["kind"] == "facts":
            return {"measures": _facts(X, y), "notes": {}, "curves": {}}
        return _trained(work, X, y)


def _samples(work: Mapping[str, Any]) -> tuple[FloatArray, Labels]:
    """All samples; random data are drawn with the seed of the cell."""
    name = work["data"]
    if name in datasets.names():
        options = {"random_state": work["seed"]} if name == "uniform" else {}
        data = datasets.load(name, **options)
        X, labels = data.X, data.y
    else:
        from bdnn.datasets.samples import Samples
        from bdnn.datasets.tables import read_table

        samples = Samples.from_table(read_table(name), None)
        X, labels = samples.X, samples.y
    if work["split"]["scale"] == "minmax":
        from sklearn.preprocessing import MinMaxScaler

        X = MinMaxScaler().fit_transform(X)
    return X, np.unique(labels, return_inverse=True)[1]


def _trained(work: Mapping[str, Any], X: FloatArray, y: Labels) -> dict[str, Any]:
    from sklearn.model_selection import train_test_split

    split, seed = work["split"], work["seed"]
    test = split["test"] if split["test"] < 1 else int(split["test"])
    kept = 1 - (test if test < 1 else test / len(X))
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=test, train_size=work["samples"], random_state=seed
    )
    X, y = X[: split["rows"]], y[: split["rows"]]
    share = split["validation"] / kept
    _wait_for_compiled_code(work)
    began = time.perf_counter()
    fitted = fit(work, X, y, share)
    seconds = time.perf_counter() - began
    measures = {**fitted.facts, "seconds": seconds, **_scores(fitted.model, X_test, y_test)}
    rng = np.random.default_rng(seed)
    for level in work["attacks"]:
        moved = X_test + level * rng.choice([-1.0, 1.0], X_test.shape)
        hits = fitted.model.predict(moved) == y_test
        measures[attack_measure(level)] = 100 * float(np.mean(hits))
    return {
        "measures": {name: value for name, value in measures.items() if np.isfinite(value)},
        "notes": dict(fitted.notes),
        "curves": dict(fitted.curves),
    }


def _wait_for_compiled_code(work: Mapping[str, Any]) -> None:
    """Load the search before the clock starts: once per process, and no part of a method's time."""
    if work["kind"] == "bdnn":
        from bdnn.search.loading import wait_for_worst_case, wait_until_ready

        wait_until_ready(Slot())
        if work["radius"] and work["settings"].get("robust_loss", "certified") == "certified":
            wait_for_worst_case(Slot())


def _scores(model: Any, X: FloatArray, y: Labels) -> dict[str, float]:
    """Test scores in per cent; those of classes are weighted by their size, as in the paper."""
    from sklearn.metrics import precision_recall_fscore_support

    predicted = model.predict(X)
    precision, recall, f1, _ = precision_recall_fscore_support(
        y, predicted, average="weighted", zero_division=0.0
    )
    return {
        "accuracy": 100 * float(np.mean(predicted == y)),
        "precision": 100 * float(precision),
        "recall": 100 * float(recall),
        "f1": 100 * float(f1),
    }


def _facts(X: FloatArray, y: Labels) -> dict[str, float]:
    counts = np.bincount(y)
    return {
        "instances": float(len(X)),
        "attributes": float(X.shape[1]),
        "classes": float(len(counts)),
        "largest_class": 100 * float(counts.max()) / len(y),
        "smallest_class": 100 * float(counts.min()) / len(y),
    }

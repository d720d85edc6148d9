"""A cell at work: split the data, train, measure."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from bdnn import datasets
from bdnn.clock import Slot
from bdnn.experiments.numbers import attack_measure
from bdnn.experiments.training import Labels, fit
from bdnn.network.activation import FloatArray


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

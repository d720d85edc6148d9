"""Prediction in Python beside scikit-learn's."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import bdnn

LAYOUT = "{:15} {:12} {:>8} {:>10} {:>11} {:>11} {:>10}"
HEAD = ("data", "model", "accuracy", "rows/s", "one row us", "parameters", "pickled")
WIDTHS = (2, 4, 8, 16, 32, 64)
TREES = (1, 2, 5, 10, 20, 50, 100, 200)


def speed(names: Sequence[str], seconds: float) -> None:
    """Print rows per second, latency and bytes of networks, ReLU networks and forests.

    The others are the smallest of their kind that are as accurate on the test rows as ours, or
    the most accurate ones where none is.
    """
    print(LAYOUT.format(*HEAD))
    for name in names:
        data = bdnn.datasets.load(name)
        X, X_test, y, y_test = train_test_split(
            data.X, data.y, test_size=0.3, random_state=0, stratify=data.y
        )
        width = 128 if name == "digits" else 3
        ours = bdnn.BDNNClassifier(
            hidden=(width,),
            objective="loss",
            limits=bdnn.Limits(seconds=6 * seconds),
            random_state=0,
        )
        ours.fit(X, y)
        wanted = ours.score(X_test, y_test)
        nets = (
            (f"MLP {n}", MLPClassifier((n,), max_iter=3000, random_state=0).fit(X, y))
            for n in WIDTHS
        )
        forests = (
            (f"forest {n}", RandomForestClassifier(n, random_state=0).fit(X, y)) for n in TREES
        )
        many = np.tile(X_test, (100_000 // len(X_test) + 1, 1))[:100_000]
        peers = (_as_accurate(kind, wanted, X_test, y_test) for kind in (nets, forests))
        for label, model in ((f"bdnn {width}", ours), *peers):
            batch = _best(model.predict, many, 15)
            single = _best(model.predict, X_test[:1], 100)
            accuracy = f"{model.score(X_test, y_test):.1%}"
            speeds = f"{len(many) / batch:.3g}", f"{1e6 * single:.0f}"
            sizes = _parameter_bytes(model), len(pickle.dumps(model))
            print(LAYOUT.format(name, label, accuracy, *speeds, *sizes), flush=True)
    print("bytes of parameters: packed weights and thresholds; doubles; nodes of trees")


def _as_accurate(
    models: Iterable[tuple[str, ClassifierMixin]], wanted: float, X: np.ndarray, y: np.ndarray
) -> tuple[str, ClassifierMixin]:
    """Take the first model of an accuracy, or the most accurate one."""
    seen: list[tuple[float, tuple[str, ClassifierMixin]]] = []
    for named in models:
        seen.append((named[1].score(X, y), named))
        if seen[-1][0] >= wanted:
            return named
    return max(seen, key=lambda entry: entry[0])[1]


def _parameter_bytes(model: ClassifierMixin) -> int:
    if isinstance(model, bdnn.BDNNClassifier):
        return -(-model.network_.size_bits // 8)
    if isinstance(model, MLPClassifier):
        return sum(array.nbytes for array in [*model.coefs_, *model.intercepts_])
    states = [tree.tree_.__getstate__() for tree in model.estimators_]
    return sum(state["nodes"].nbytes + state["values"].nbytes for state in states)


def _best(call: Callable[[np.ndarray], object], rows: np.ndarray, repeats: int) -> float:
    call(rows)
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call(rows)
        times.append(time.perf_counter() - started)
    return min(times)

"""Prediction in Python beside scikit-learn's."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import bdnn

LAYOUT = "{:15} {:12} {:>8} {:>10} {:>11} {:>11} {:>10}"
HEAD = ("data", "model", "accuracy", "rows/s", "one row us", "parameters", "pickled")


def speed(names: Sequence[str], seconds: float) -> None:
    """Print rows per second, latency and bytes of networks, ReLU networks and forests."""
    print(LAYOUT.format(*HEAD))
    for name in names:
        data = bdnn.datasets.load(name)
        X, X_test, y, y_test = train_test_split(
            data.X, data.y, test_size=0.3, random_state=0, stratify=data.y
        )
        width = 50 if name == "digits" else 8
        models = {
            f"bdnn {width}": bdnn.BDNNClassifier(
                hidden=(width,), time_limit=4 * seconds, random_state=0
            ),
            f"MLP {width}": MLPClassifier((width,), max_iter=3000, random_state=0),
            "forest 100": RandomForestClassifier(random_state=0),
        }
        many = np.tile(X_test, (100_000 // len(X_test) + 1, 1))[:100_000]
        for label, model in models.items():
            model.fit(X, y)
            batch = _best(model.predict, many, 5)
            single = _best(model.predict, X_test[:1], 100)
            accuracy = f"{model.score(X_test, y_test):.1%}"
            speeds = f"{len(many) / batch:.3g}", f"{1e6 * single:.0f}"
            sizes = _parameter_bytes(model), len(pickle.dumps(model))
            print(LAYOUT.format(name, label, accuracy, *speeds, *sizes), flush=True)
    print("bytes of parameters: packed weights and thresholds; doubles; nodes of trees")


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

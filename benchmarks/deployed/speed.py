"""Prediction in Python beside scikit-learn's."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import bdnn
from bdnn.clock import Slot
from bdnn.datasets import read_table
from bdnn.datasets.samples import Samples
from bdnn.model.model import LOADING

SUITE = Path(__file__).parents[1] / "data" / "suite"
#: Tables, and the width of all networks on them.
TABLES = {"breast-cancer": 3, "digits": 128, "phoneme": 25, "satimage": 50}
ROWS = 100_000
LAYOUT = "{:14} {:12} {:>8} {:>9} {:>6} {:>6} {:>8} {:>6} {:>9} {:>10} {:>8}"
HEAD = ("data", "model", "accuracy", "rows/s", "x MLP", "x tree", "row us", "x tree")


def speed(seconds: float) -> None:
    """Print rows per second, latency of one row and bytes of networks, ReLU networks and trees.

    Networks on a table are of one width but for those that are learnt by default, and all run on
    one core. Ratios of rows per second are ours to theirs, and so is that of one row, which should
    be small.
    """
    print(LAYOUT.format(*HEAD, "bare us", "parameters", "pickled"))
    for name, width in TABLES.items():
        X, X_test, y, y_test = _table(name)
        peers = {
            f"MLP {width}": MLPClassifier((width,), max_iter=300, random_state=0),
            "tree": DecisionTreeClassifier(random_state=0),
        }
        ours = {
            f"{inputs} {width}": bdnn.BDNNClassifier(
                hidden=(width,),
                inputs=inputs,
                objective="loss",
                limits=bdnn.Limits(seconds=seconds),
                random_state=0,
            )
            for inputs in ("scaled", "cuts")
        }
        limits = bdnn.Limits(seconds=4 * seconds)
        ours["learnt"] = bdnn.BDNNClassifier(limits=limits, random_state=0)
        many = np.tile(X_test, (ROWS // len(X_test) + 1, 1))[:ROWS]
        for model in (*ours.values(), *peers.values()):
            model.fit(X, y)
        LOADING.wait(Slot())
        batch, single = {}, {}
        with threadpool_limits(1):
            for _ in range(5):  # in turns, so that a busy moment meets all of them
                for label, model in (ours | peers).items():
                    call = model.predict
                    batch[label] = min(batch.get(label, np.inf), _best(call, many, 3))
                    single[label] = min(single.get(label, np.inf), _best(call, many[:1], 100))
        net, tree = peers
        for label, model in (ours | peers).items():
            ratios, bare = ("", "", ""), ""
            if label in ours:
                pairs = (batch[net], batch[label]), (batch[tree], batch[label])
                ratios = *(f"{a / b:.2f}" for a, b in pairs), f"{single[label] / single[tree]:.2f}"
                predictor = model.predictor()
                bare = f"{1e6 * _best(predictor, many[0].copy(), 2000):.2f}"
            print(
                LAYOUT.format(
                    name,
                    label,
                    f"{model.score(X_test, y_test):.1%}",
                    f"{ROWS / batch[label]:.3g}",
                    *ratios[:2],
                    f"{1e6 * single[label]:.0f}",
                    ratios[2],
                    bare,
                    _parameter_bytes(model),
                    len(pickle.dumps(model)),
                ),
                flush=True,
            )
    print("bytes of parameters: packed weights and thresholds; doubles; nodes of trees")


def _table(name: str) -> list[np.ndarray]:
    if (SUITE / f"{name}.csv.gz").exists():
        samples = Samples.from_table(read_table(SUITE / f"{name}.csv.gz"))
        X, y = samples.X, samples.y
    else:
        data = bdnn.datasets.load(name)
        X, y = data.X, data.y
    return train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)


def _parameter_bytes(model: ClassifierMixin) -> int:
    if isinstance(model, bdnn.BDNNClassifier):
        return -(-model.network_.size_bits // 8)
    if isinstance(model, MLPClassifier):
        return sum(array.nbytes for array in [*model.coefs_, *model.intercepts_])
    state = model.tree_.__getstate__()
    return state["nodes"].nbytes + state["values"].nbytes


def _best(call: Callable[[np.ndarray], object], rows: np.ndarray, repeats: int) -> float:
    call(rows)
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call(rows)
        times.append(time.perf_counter() - started)
    return min(times)

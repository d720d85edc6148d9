"""A million rows of twenty columns with noisy labels: time, accuracy, memory, growth of a sweep.

The default fit stands beside logistic regression and histogram boosting on the same rows. Memory is
the peak of the process above what it had with the table, in sizes of the table. A sweep improves
every unit of a network of ten once; its cost is fitted by a power of the number of rows.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import bdnn
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from bdnn.search.state import SearchState

SWEPT = (20_000, 80_000, 320_000)


def table(n_rows: int, seed: int, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Sums, a product, a bend and columns that mean nothing; some labels are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 20))
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 0.8 + 0.5 * X[:, 4]
    return X, (score > 0) ^ (rng.random(n_rows) < noise)


def peak() -> float:
    """Largest memory of the process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def sweep_seconds(n_rows: int) -> float:
    """CPU seconds of a second sweep; the first one finds a usual network."""
    X, y = table(n_rows, 2)
    shape = Architecture.create(20, 2, hidden=(10,))
    problem = classification(shape, np.round(X * 8) / 8, y.astype(np.intp))
    rng = np.random.default_rng(0)
    state = SearchState(problem, problem.constant_network())
    units = np.arange(state.arrays.unit_at[-1])
    state.improve(units, rng, 1, 0)
    started = time.process_time()
    state.improve(units, rng, 1, 0)
    return time.process_time() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    (X, y), (fresh, wanted) = table(options.rows, 0), table(200_000, 1)
    size = X.nbytes / 2**20
    # Code is loaded before, so that memory is that of the rows.
    bdnn.BDNNClassifier(limits=bdnn.Limits(seconds=2), random_state=0).fit(X[:500], y[:500])
    before = peak()
    limits = bdnn.Limits(seconds=options.seconds)
    models = {
        "bdnn": bdnn.BDNNClassifier(limits=limits, random_state=0),
        "logistic": LogisticRegression(),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    }
    print(f"{options.rows} rows, a table of {size:.0f} MB")
    print(f"{'':10}{'accuracy':>10}{'seconds':>10}{'CPU':>10}{'memory':>10}")
    for name, model in models.items():
        began, worked = time.perf_counter(), time.process_time()
        model.fit(X, y)
        seconds, work = time.perf_counter() - began, time.process_time() - worked
        right = float((model.predict(fresh) == wanted).mean())
        memory = f"{(peak() - before) / size:9.1f}x" if name == "bdnn" else ""
        print(f"{name:10}{right:10.4f}{seconds:10.1f}{work:10.1f}{memory}", flush=True)
    costs = [sweep_seconds(n_rows) for n_rows in SWEPT]
    power = np.polyfit(np.log(SWEPT), np.log(costs), 1)[0]
    for n_rows, cost in zip(SWEPT, costs, strict=True):
        print(f"a sweep over {n_rows:7d} rows: {cost:.2f} s")
    print(f"grows with rows to the power of {power:.2f}")


if __name__ == "__main__":
    main()

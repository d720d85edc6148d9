"""Time of one sweep and peak memory against the number of rows, for the search alone.

Data are generated: two overlapping classes of real features. A sweep improves every unit once.
Run ``python benchmarks/scaling.py`` (about a minute; ``--rows 1000 10000`` for a part of it).
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import OutputLoss, classification
from bdnn.problem.problem import Problem
from bdnn.search.loading import load_moves
from bdnn.search.starts import random_start
from bdnn.search.state import SearchState
from bdnn.search.walk import Walk


def generated(n_rows: int, n_features: int, *, hidden: int, weights: str) -> Problem[OutputLoss]:
    """Two classes that a quadratic surface separates up to noise."""
    rng = np.random.default_rng(0)
    X = np.rint(rng.standard_normal((n_rows, n_features)) * 2**20) / 2**20
    score = X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 1.0 + 0.3 * rng.standard_normal(n_rows)
    shape = Architecture.create(n_features, 2, hidden=hidden, weights=weights)
    return classification(shape, X, (score > 0).astype(int))


def time_per_sweep(problem: Problem[OutputLoss], *, sweeps: int) -> tuple[float, float]:
    """Mean seconds of a sweep and the share of loss that is left after it."""
    rng = np.random.default_rng(0)
    state = SearchState(problem, random_start(problem, rng))
    walk = Walk(state, rng, Slot())
    started = time.perf_counter()
    for _ in range(sweeps):
        walk.step()
    return (time.perf_counter() - started) / sweeps, walk.best_cost / (
        2 * problem.loss.label_weight.sum()
    )


def main() -> None:
    """Print one line per size and the exponent of growth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--hidden", type=int, default=10)
    parser.add_argument("--weights", nargs="+", default=["continuous", "ternary"])
    options = parser.parse_args()
    load_moves(Architecture.create(1, 1))
    for weights in options.weights:
        seconds = []
        print(f"{weights}, {options.features} features, {options.hidden} hidden units")
        print(f"{'rows':>9} {'s / sweep':>10} {'us / row':>9} {'error':>7} {'peak MB':>8}")
        for rows in options.rows:
            problem = generated(rows, options.features, hidden=options.hidden, weights=weights)
            sweeps = int(np.clip(100_000 // rows, 2, 20))
            pace, error = time_per_sweep(problem, sweeps=sweeps)
            seconds.append(pace)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{rows:9d} {pace:10.4f} {1e6 * pace / rows:9.2f} {error:7.3f} {peak:8.0f}")
        if len(seconds) > 1:
            exponent = np.polyfit(np.log(options.rows), np.log(seconds), 1)[0]
            print(f"time per sweep grows with the power {exponent:.2f} of the rows\n")


if __name__ == "__main__":
    main()

"""Time of one sweep and peak memory against the number of rows, for the search alone.

Data are generated: two overlapping classes of real features. A sweep improves every unit once.
Run ``python benchmarks/scaling.py`` (about a minute; ``--rows 1000 10000`` for a part of it).
With ``--bits`` the table is one of cuts, 200 by default, which the search has packed and counts
over: a sweep of it and of the same inputs as numbers, in one run, with what either takes of memory.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.network.packed import PackedRows, pack
from bdnn.problem.losses.output import OutputLoss, classification
from bdnn.problem.problem import Problem
from bdnn.search.loading import load_moves
from bdnn.search.starts import random_start
from bdnn.search.state import SearchState
from bdnn.search.walk import Walk

# Rows of a table of cuts that are numbers at the same time.
_BLOCK = 50_000


def generated(n_rows: int, n_features: int, *, hidden: int, weights: str) -> Problem[OutputLoss]:
    """Two classes that a quadratic surface separates up to noise."""
    rng = np.random.default_rng(0)
    X = np.rint(rng.standard_normal((n_rows, n_features)) * 2**20) / 2**20
    score = X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 1.0 + 0.3 * rng.standard_normal(n_rows)
    shape = Architecture.create(n_features, 2, hidden=hidden, weights=weights)
    return classification(shape, X, (score > 0).astype(int))


def cuts(
    n_rows: int, n_cuts: int, *, hidden: tuple[int, ...], per_column: int = 10
) -> Problem[OutputLoss]:
    """The same classes, of columns that are cut where values have equal shares."""
    columns = max(3, n_cuts // per_column)
    levels = NormalDist().quantiles(per_column + 1)
    packed, labels = [], []
    for first in range(0, n_rows, _BLOCK):
        rng = np.random.default_rng(first)
        X = rng.standard_normal((min(_BLOCK, n_rows - first), columns))
        score = X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 1.0 + 0.3 * rng.standard_normal(len(X))
        is_above = (X[:, :, None] >= levels).reshape(len(X), -1)
        packed.append(pack(is_above).view(np.uint8))
        labels.append(score > 0)
    rows = PackedRows(np.concatenate(packed), columns * per_column)
    shape = Architecture.create(rows.n_columns, 2, hidden=hidden, weights="ternary")
    return classification(shape, rows, np.concatenate(labels).astype(int))


def as_numbers(problem: Problem[OutputLoss]) -> Problem[OutputLoss]:
    """The same problem, its inputs not packed."""
    return replace(problem, samples=replace(problem.samples, lines=problem.lines[:]))


def peak_mb() -> float:
    """Largest memory of the process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare_bits(rows: list[int], n_cuts: int, hidden: tuple[int, ...]) -> None:
    """Print sweeps over bits beside those over the same numbers."""
    empty = peak_mb()
    print(f"ternary, {n_cuts} cuts, hidden units {hidden}; memory beyond {empty:.0f} MB")
    print(
        f"{'rows':>9} {'bits s':>9} {'numbers s':>10} {'ratio':>6} {'error':>7} {'MB':>6} {'MB':>7}"
    )
    for count in rows:
        sweeps = int(np.clip(20_000 // count, 1, 20))
        problem = cuts(count, n_cuts, hidden=hidden)
        pace, error = time_per_sweep(problem, sweeps=sweeps)
        packed = peak_mb() - empty
        plain, same = time_per_sweep(as_numbers(problem), sweeps=sweeps)
        unequal = "" if same == error else f"  but {same:.3f} as numbers"
        print(
            f"{count:9d} {pace:9.4f} {plain:10.4f} {plain / pace:6.1f} {error:7.3f} "
            f"{packed:6.0f} {peak_mb() - empty:7.0f}{unequal}",
            flush=True,
        )


def time_per_sweep(problem: Problem[OutputLoss], *, sweeps: int) -> tuple[float, float]:
    """Mean CPU seconds of a sweep and the share of loss that is left after it."""
    rng = np.random.default_rng(0)
    state = SearchState(problem, random_start(problem, rng))
    walk = Walk(state, rng, Slot())
    started = time.process_time()
    for _ in range(sweeps):
        walk.step()
    return (time.process_time() - started) / sweeps, walk.best_cost / (
        2 * problem.loss.label_weight.sum()
    )


def main() -> None:
    """Print one line per size and the exponent of growth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--hidden", type=int, default=10)
    parser.add_argument("--weights", nargs="+", default=["continuous", "ternary"])
    parser.add_argument("--bits", type=int, nargs="?", const=200, help="number of cuts")
    options = parser.parse_args()
    load_moves(Architecture.create(1, 1))
    if options.bits:
        for hidden in ((25,), (25, 25)):
            compare_bits(options.rows, options.bits, hidden)
        return
    for weights in options.weights:
        seconds = []
        print(f"{weights}, {options.features} features, {options.hidden} hidden units")
        print(f"{'rows':>9} {'s / sweep':>10} {'us / row':>9} {'error':>7} {'peak MB':>8}")
        for rows in options.rows:
            problem = generated(rows, options.features, hidden=options.hidden, weights=weights)
            sweeps = int(np.clip(100_000 // rows, 2, 20))
            pace, error = time_per_sweep(problem, sweeps=sweeps)
            seconds.append(pace)
            line = f"{rows:9d} {pace:10.4f} {1e6 * pace / rows:9.2f}"
            print(f"{line} {error:7.3f} {peak_mb():8.0f}")
        if len(seconds) > 1:
            exponent = np.polyfit(np.log(options.rows), np.log(seconds), 1)[0]
            print(f"time per sweep grows with the power {exponent:.2f} of the rows\n")


if __name__ == "__main__":
    main()

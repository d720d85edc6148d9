"""Narrow networks on the breast-cancer training rows: loss and bound after equal time.

`auto` (search, certified conflicts, solver) beside the solver alone on the reduced exact model:
CP-SAT for ternary weights, HiGHS for continuous ones. Loss counts both outputs, so it is twice the
number of training errors. The split is the paper's: 80 % of a shuffle with seed 42.
"""

from __future__ import annotations

import argparse
import time
import warnings

from sklearn.model_selection import train_test_split

import bdnn
from bdnn.training import Auto, Exact


def fit(X, y, width: int, weights: str, method, options) -> tuple[object, float]:
    """Result of one fit, and seconds until its loss was reached."""
    model = bdnn.BDNNClassifier(
        hidden=(width,),
        weights=weights,
        inputs=bdnn.Inputs(scale=options.scale),
        method=method,
        limits=bdnn.Limits(seconds=options.seconds),
        random_state=options.seed,
        n_jobs=options.n_jobs,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = model.fit(X, y).result_
    reached = min(moment.seconds for moment in result.history if moment.loss <= result.loss)
    return result, reached


def main() -> None:
    """Print one line per weight set and width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="per fit")
    parser.add_argument("--hidden", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6, 8, 10])
    parser.add_argument("--weights", nargs="+", default=["continuous", "ternary"])
    parser.add_argument("--scale", default="common", help="grades from 1 to 10 have one unit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    data = bdnn.datasets.load("breast-cancer")
    X, _, y, _ = train_test_split(data.X, data.y, test_size=0.2, random_state=42)
    patient = Auto(objectives=("loss",), patience=options.seconds)
    fit(X[:50], y[:50], 2, "ternary", Auto(), options)  # compiled code is loaded before
    print(
        f"{'weights':>11} {'units':>5} | {'loss':>5} {'bound':>5} {'reached':>9} {'total':>8}"
        f" | {'solver':>7} {'loss':>5} {'bound':>5} {'total':>8} | bound from"
    )
    for weights in options.weights:
        for width in options.hidden:
            started = time.perf_counter()
            ours, reached = fit(X, y, width, weights, patient, options)
            middle = time.perf_counter()
            alone, _ = fit(X, y, width, weights, Exact(), options)
            end = time.perf_counter()
            print(
                f"{weights:>11} {width:5d} | {ours.loss:5.0f} {ours.bound:5.0f} {reached:7.1f} s "
                f"{middle - started:6.1f} s | {alone.solver.split()[0]:>7} {alone.loss:5.0f} "
                f"{alone.bound:5.0f} {end - middle:6.1f} s | {ours.bound_origin}",
                flush=True,
            )


if __name__ == "__main__":
    main()

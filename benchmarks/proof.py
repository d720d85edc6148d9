"""The paper's exact experiments: time to a proven optimum, beside solvers on the raw model.

Instances: breast-cancer with the paper's split (80 % of a shuffle with seed 42) and 25 or 50 hidden
units, and ten uniform sets of which the first m samples are used. Every fit must end ``optimal``.
Two fits of ours: by default, which widens margins after the proof, and for the loss alone, which
ends with the proof as a solver does. HiGHS and SCIP get the model as the paper states it (no
reductions, no start) and a time limit; ratios are to the fit for the loss alone, and lower limits
where the solver does not finish.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split

import bdnn
from bdnn.mip import Reductions
from bdnn.solvers import Scip
from bdnn.training import Auto, Exact


@dataclass(frozen=True)
class Instance:
    """One training problem of the paper."""

    name: str
    X: np.ndarray
    y: np.ndarray
    hidden: int
    weights: str
    thresholds: str


def breast_cancer(widths: list[int], sets: list[str]) -> list[Instance]:
    """Table 2 of the paper, with biases as well."""
    data = bdnn.datasets.load("breast-cancer")
    X, _, y, _ = train_test_split(data.X, data.y, test_size=0.2, random_state=42)
    return [
        Instance(f"breast-cancer d1={width}", X, y, width, weights, thresholds)
        for width in widths
        for weights in sets
        for thresholds in ("layer", "zero", "neuron")
    ]


def uniform(seeds: range, sizes: list[int], widths: list[int]) -> list[Instance]:
    """Figures 1 and 2 of the paper, by size, so that the middle one is of middle size."""
    sets = [bdnn.datasets.load("uniform", random_state=seed) for seed in seeds]
    name = f"m={sizes[0]}-{sizes[-1]}"
    return [
        Instance(f"{name} d1={width}", data.X[:m], data.y[:m], width, "continuous", "layer")
        for m in sizes
        for data in sets
        for width in widths
    ]


def fit(instance: Instance, method: object, solver: str, limit: float) -> tuple[float, str, float]:
    """Seconds, status and loss of one fit."""
    model = bdnn.BDNNClassifier(
        hidden=(instance.hidden,),
        weights=instance.weights,
        thresholds=instance.thresholds,
        objective="loss",
        method=method,
        solver=solver,
        limits=bdnn.Limits(seconds=limit),
        random_state=0,
    )
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(instance.X, instance.y)
    return time.perf_counter() - started, model.result_.status, model.result_.loss


def spread(size: int, count: int) -> list[int]:
    """Evenly spread places in a list, its middle if only one is wanted."""
    return [int(size * (k + 0.5) / count) for k in range(min(count, size))]


def compare(group: list[Instance], limit: float, n_raw: int) -> None:
    """Fit all instances of a group, some of them with the raw model too, and print a line."""
    whole = [fit(instance, "auto", "auto", 60.0) for instance in group]
    ours = [fit(instance, Auto(objectives=("loss",)), "auto", 60.0) for instance in group]
    seconds, proofs = ([run[0] for run in runs] for runs in (whole, ours))
    proven = sum(a[1] == b[1] == "optimal" for a, b in zip(whole, ours, strict=True))
    first = group[0]
    line = (
        f"{first.name:20} {first.weights:11} {first.thresholds:7} {proven:4}/{len(ours):<4}"
        f" {statistics.median(seconds):8.2f} {max(seconds):8.2f}"
        f" {statistics.median(proofs):9.3f} {max(proofs):8.2f}"
    )
    solvers = ["highs", *(["scip"] if Scip.is_available() else [])]
    for solver in solvers:
        ratios, unsolved = [], 0
        for number in spread(len(group), n_raw):
            instance, mine = group[number], ours[number]
            raw = fit(instance, Exact(reductions=Reductions.none()), solver, limit)
            unsolved += raw[1] != "optimal"
            ratios.append(raw[0] / mine[0])
        text = f"{statistics.median(ratios):.0f}x" if ratios else "not run"
        if unsolved:
            text = f">{text}, {unsolved}/{len(ratios)} not solved"
        line += f"  {text:>24}"
    print(line, flush=True)


def main() -> None:
    """Parse options, run, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for HiGHS and SCIP")
    parser.add_argument("--raw", type=int, default=1, help="instances per line for the raw model")
    parser.add_argument("--seeds", type=int, default=10, help="number of uniform sets")
    options = parser.parse_args()
    warm_up = breast_cancer([3], ["ternary"])[-1]
    fit(warm_up, "auto", "auto", 2.0)  # compiled code is loaded before anything is timed
    print(
        f"{'instances':20} {'weights':11} {'lambda':7} {'optimal':9} {'median s':>8} {'worst s':>8}"
        f" {'loss only':>9} {'worst s':>8}  {'raw HiGHS':>24}  {'raw SCIP':>24}"
    )
    for instance in breast_cancer([25, 50], ["continuous", "ternary"]):
        compare([instance], options.limit, options.raw)
    for width in (20, 50, 100):
        for first, last in ((10, 50), (60, 110), (120, 160)):
            group = uniform(range(options.seeds), list(range(first, last + 1, 10)), [width])
            compare(group, options.limit, options.raw)


if __name__ == "__main__":
    main()

"""Epochs of data splitting beside plain solvers, and how they grow with the data.

By default the problems of single epochs are solved twice: as the method does, and by the solver
alone without bound, start and construction. `--scaling` measures epochs on growing parts of
credit-default. The paper's Tables 4 and 5 and its figures 3 and 4 are made by `bdnn reproduce`.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
import warnings

import numpy as np
from sklearn.model_selection import train_test_split

import bdnn
from bdnn.clock import Slot
from bdnn.encoding import Encoder
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from bdnn.training import Budget, DataSplitting
from bdnn.training.paper.clusters import Partition, Sampler
from bdnn.training.paper.construction import construct
from bdnn.training.paper.epoch import Candidate, EpochProblem, EpochSolver

SMALL_BATCHES = ("breast-cancer", "iris")
DATA = ["breast-cancer", "credit-default", "iris", "boston-housing", "digits"]


def training_problem(name: str, weights: str, shape: str, rows: int | None = None):
    """Scaled samples of a data set as a training problem."""
    data = bdnn.datasets.load(name)
    labels = np.unique(data.y, return_inverse=True)[1]
    X, _, y, _ = train_test_split(data.X, labels, test_size=0.5, random_state=0)
    X, y = X[:rows], y[:rows]
    hidden = tuple(map(int, shape.split("x")))
    architecture = Architecture.create(X.shape[1], labels.max() + 1, hidden=hidden, weights=weights)
    scaler = Encoder.fit(X, "standard", weights=architecture.weights[0])
    return classification(architecture, scaler.transform(X), y)


def ratios(options) -> None:
    """Time of an epoch's problem beside that of the solver alone, on the same problem."""
    print(f"\nsingle epochs, the solver alone stopped after {options.limit:g} s")
    print(f"{'data':15} {'weights':11} {'shape':8} {'clusters':>8} {'loss':>5} {'by':>13} {'s':>7}"
          f" {'solver':>7} {'loss':>5} {'bound':>6} {'s':>7} {'ratio':>8}")  # fmt: skip
    for name in options.data:
        for weights in options.weights:
            for shape in ("50", "50x50"):
                problem = training_problem(name, weights, shape)
                for clusters in (4, 12, 20):
                    compare(name, weights, shape, clusters, problem, options)


def compare(name: str, weights: str, shape: str, clusters: int, problem, options) -> None:
    """Solve one epoch's problem twice and print a line."""
    rng = np.random.default_rng(clusters)
    partition = Partition(problem)
    losses = np.ones(len(problem.inputs))
    while partition.n_clusters < clusters:
        partition.split_worst(losses, "kmeans", rng)
    batch_size = 32 if name in SMALL_BATCHES else 64
    rows, batch = next(Sampler(problem, batch_size).draw("random", 0, rng))
    epoch = EpochProblem.create(batch, partition.cluster[rows])
    previous = Candidate(problem.constant_network())
    lines = []
    for way in (construct, None):
        solver = EpochSolver(seed=0, construct=way)
        started = time.perf_counter()
        solved = solver.solve(
            epoch, previous, rng=rng, slot=Slot.of(options.limit)
        )  # fmt: skip
        lines.append((solved, time.perf_counter() - started, solver.used.split(" ")[0]))
    (ours, fast, _), (plain, slow, engine) = lines
    sign = ">" if plain.status != "optimal" else ""
    print(f"{name:15} {weights:11} {shape:8} {clusters:8} {ours.loss:5g} {ours.solved_by:>13}"
          f" {fast:7.3f} {engine:>7} {plain.loss:5g} {plain.bound:6g} {slow:7.2f}"
          f" {sign + format(slow / fast, '.0f'):>8}", flush=True)  # fmt: skip


def scaling() -> None:
    """Seconds and peak memory of epochs on growing parts of credit-default."""
    print("\ncredit-default, 9-epoch runs without polish: time and memory beside the rows")
    print(f"{'rows':>7} {'ms per epoch':>13} {'peak MB':>8}")
    for rows in (1000, 3000, 10_000, 15_000):
        problem = training_problem("credit-default", "ternary", "50", rows)
        method = DataSplitting(epochs=9, polish=False)
        steps = method.train(problem, budget=Budget(seconds=60, seed=0)).result.steps
        tracemalloc.start()
        method.train(problem, budget=Budget(seconds=60, seed=0))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        pace = statistics.median(step["seconds"] for step in steps)
        print(f"{rows:7} {1000 * pace:13.1f} {peak / 2**20:8.1f}", flush=True)


def main() -> None:
    """Parse options and do what they say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--weights", nargs="+", default=["ternary", "continuous"])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of the solver alone")
    parser.add_argument("--scaling", action="store_true", help="growing data instead of ratios")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    small = bdnn.datasets.load("iris")
    bdnn.BDNNClassifier(method="data_splitting", limits=bdnn.Limits(seconds=120)).fit(
        small.X, small.y
    )
    if options.scaling:
        scaling()
    else:
        ratios(options)


if __name__ == "__main__":
    main()

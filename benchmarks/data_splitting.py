"""Data splitting beside the paper's Tables 4 and 5, its figures 3 and 4, and plain solvers.

Ten random splits into 50 % training, 25 % validation and 25 % test samples, 20 epochs, batches of
32 (breast-cancer, iris) or 64 samples. Every fit gets well below a fiftieth of the paper's seconds.
A finished cell is appended to a file at once, so that a run can be stopped and continued; the
compiled search is loaded before the first fit.

`--ratios` takes the problems of single epochs and solves each twice: as the method does, and by the
solver alone without bound, start and construction. `--scaling` measures epochs on growing parts of
credit-default. `--plot FOLDER` draws the epochs of what is in the file.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import bdnn
from bdnn.architecture import Architecture
from bdnn.problem import TrainingProblem
from bdnn.scaling import Scaler
from bdnn.training import Budget, DataSplitting
from bdnn.training.splitting.batches import Sampler
from bdnn.training.splitting.epoch import EpochProblem
from bdnn.training.splitting.judging import Candidate
from bdnn.training.splitting.partition import Partition
from bdnn.training.splitting.solution import EpochSolver

SHAPES = ["50", "100", "50x50", "100x100", "50x50x50", "100x100x100"]
SMALL_BATCHES = ("breast-cancer", "iris")
# Accuracy and seconds of the paper's Tables 4 and 5, shape by shape.
PAPER = {
    ("breast-cancer", "ternary"): [
        (96.9, 272.8), (95.5, 394.9), (96.3, 1224.1),
        (95.2, 1459.4), (95.5, 3497.7), (93.0, 3513.7),
    ],
    ("breast-cancer", "continuous"): [
        (95.7, 160.5), (97.1, 287.4), (83.4, 462.9), (84.8, 762.8), (73.2, 602.4), (75.8, 1031.2),
    ],
    ("credit-default", "ternary"): [
        (78.1, 171.5), (78.0, 331.5), (78.1, 186.6), (77.7, 382.4), (77.8, 203.0), (77.9, 437.7),
    ],
    ("credit-default", "continuous"): [
        (77.9, 172.4), (77.9, 329.9), (78.1, 187.7), (77.7, 384.3), (77.9, 203.4), (77.9, 436.2),
    ],
    ("iris", "ternary"): [
        (87.8, 2748.3), (92.1, 2483.7), (68.1, 2101.2),
        (53.1, 3862.7), (45.3, 6460.7), (73.8, 4779.1),
    ],
    ("boston-housing", "ternary"): [
        (73.9, 774.7), (73.1, 1174.3), (60.4, 858.6),
        (61.7, 1606.9), (55.1, 1150.7), (57.2, 2240.1),
    ],
    ("digits", "ternary"): [
        (72.0, 3268.6), (76.6, 4433.5), (60.6, 20259.3), (63.8, 28238.2), (31.8, 31548.6),
        (18.3, 33321.3),
    ],
}  # fmt: skip
DATA = list(dict.fromkeys(name for name, _ in PAPER))


def paper_cell(name: str, weights: str, shape: str) -> tuple[float, float]:
    """Accuracy and seconds of the paper, for what it did not run those seconds it has."""
    place = SHAPES.index(shape)
    if (name, weights) in PAPER:
        return PAPER[name, weights][place]
    return math.nan, PAPER[name, "ternary"][place][1]


def method_for(name: str, options) -> DataSplitting:
    """The method in the setting of the tables."""
    batch = 32 if name in SMALL_BATCHES else 64
    return DataSplitting(epochs=20, batch_size=batch, paper=options.paper)


def run_cell(data, name: str, split: int, weights: str, shape: str, options) -> dict:
    """Test accuracy, seconds and epochs of one fit."""
    labels = np.unique(data.y, return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(data.X, labels, test_size=0.25, random_state=split)
    seconds = min(options.seconds, 0.6 * paper_cell(name, weights, shape)[1] / 50)
    model = bdnn.BDNNClassifier(
        hidden=tuple(map(int, shape.split("x"))), weights=weights, validation_fraction=1 / 3,
        time_limit=seconds, random_state=split, method=method_for(name, options),
    )  # fmt: skip
    started = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    steps = [dict(step) for step in model.result_.steps]
    return {"accuracy": float(model.score(X_test, y_test)), "seconds": seconds, "steps": steps}


def forest(data, splits: int) -> float:
    """Accuracy of a random forest on the same samples, to know what is possible."""
    labels = np.unique(data.y, return_inverse=True)[1]
    scores = []
    for split in range(splits):
        X, X_test, y, y_test = train_test_split(data.X, labels, test_size=0.25, random_state=split)
        X, _, y, _ = train_test_split(X, y, test_size=1 / 3, random_state=split)
        scores.append(RandomForestClassifier(100, random_state=0).fit(X, y).score(X_test, y_test))
    return 100 * statistics.mean(scores)


def tables(options) -> None:
    """Run what is missing and print a table per data set."""
    done = read(options.results)
    for name in options.data:
        data = bdnn.datasets.load(name)
        for split in range(options.splits):
            for weights in options.weights:
                for shape in options.shapes:
                    key = (name, split, weights, shape, options.paper)
                    if key not in done:
                        done[key] = run_cell(data, name, split, weights, shape, options)
                        with options.results.open("a") as file:
                            file.write(json.dumps({"cell": key, **done[key]}) + "\n")
        report(name, data, done, options)


def read(path: Path) -> dict[tuple, dict]:
    """Cells that are done."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(record["cell"]): record for record in map(json.loads, lines)}


def report(name: str, data, done: dict, options) -> None:
    """Print accuracies and seconds beside the paper's."""
    print(f"\n{name}, {options.splits} splits; random forest {forest(data, options.splits):.1f}")
    print(f"{'weights':11} {'shape':12} {'paper':>6} {'ours':>6} {'+-':>4} {'':7}"
          f"{'paper s':>9} {'ours s':>7} {'ratio':>7} {'optimal epochs':>15}")  # fmt: skip
    for weights in options.weights:
        for shape in options.shapes:
            cells = [done[name, split, weights, shape, options.paper]
                     for split in range(options.splits)]  # fmt: skip
            scores = [100 * cell["accuracy"] for cell in cells]
            spread = statistics.stdev(scores) / math.sqrt(len(scores)) if len(scores) > 1 else 0.0
            seconds = statistics.mean(cell["seconds"] for cell in cells)
            wanted, paper_seconds = paper_cell(name, weights, shape)
            mean = statistics.mean(scores)
            verdict = "" if math.isnan(wanted) else ("above" if mean >= wanted else "BELOW")
            steps = [step for cell in cells for step in cell["steps"]]
            optimal = sum(step["status"] == "optimal" for step in steps) / max(1, len(steps))
            print(f"{weights:11} {shape:12} {wanted:6.1f} {mean:6.1f} {spread:4.1f} {verdict:7}"
                  f"{paper_seconds:9.1f} {seconds:7.2f} {paper_seconds / seconds:7.0f}"
                  f" {optimal:15.0%}", flush=True)  # fmt: skip


def training_problem(name: str, weights: str, shape: str, rows: int | None = None):
    """Scaled samples of a data set as a training problem."""
    data = bdnn.datasets.load(name)
    labels = np.unique(data.y, return_inverse=True)[1]
    X, _, y, _ = train_test_split(data.X, labels, test_size=0.5, random_state=0)
    X, y = X[:rows], y[:rows]
    hidden = tuple(map(int, shape.split("x")))
    architecture = Architecture.create(X.shape[1], labels.max() + 1, hidden=hidden, weights=weights)
    scaler = Scaler.fit(X, "standard", weights=architecture.weights[0])
    return TrainingProblem.from_samples(architecture, scaler.transform(X), y)


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
    for construct in (True, False):
        solver = EpochSolver(seed=0, construct=construct)
        started = time.perf_counter()
        solved = solver.solve(
            epoch, previous, rng=rng, seconds=options.limit, stops=lambda: False
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


def plot(options) -> None:
    """One picture per data set of what the file holds."""
    from bdnn.plotting import plot_epochs

    options.plot.mkdir(parents=True, exist_ok=True)
    done = read(options.results)
    for name in options.data:
        runs: dict[str, list] = {}
        for key, record in done.items():
            if key[0] == name and key[2] in options.weights and key[3] in options.shapes:
                runs.setdefault(f"{key[2]} {key[3]}", []).append(record["steps"])
        if runs:
            path = options.plot / f"{name}.png"
            plot_epochs(runs, title=name).savefig(path, dpi=120)
            print(f"drew {path}")


def main() -> None:
    """Parse options and do what they say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--shapes", nargs="+", default=SHAPES)
    parser.add_argument("--weights", nargs="+", default=["ternary", "continuous"])
    parser.add_argument("--seconds", type=float, default=4.0, help="at most, per fit")
    parser.add_argument("--paper", action="store_true", help="the paper's setting, no polish")
    parser.add_argument("--results", type=Path, default=Path("results/data_splitting.jsonl"))
    parser.add_argument("--ratios", action="store_true")
    parser.add_argument("--limit", type=float, default=10.0, help="of the solver alone")
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--plot", type=Path, default=None, metavar="FOLDER")
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    small = bdnn.datasets.load("iris")
    bdnn.BDNNClassifier(method="data_splitting", time_limit=120).fit(small.X, small.y)
    if options.plot is not None:
        plot(options)
    elif options.ratios or options.scaling:
        if options.ratios:
            ratios(options)
        if options.scaling:
            scaling()
    else:
        tables(options)


if __name__ == "__main__":
    main()

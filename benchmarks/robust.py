"""Robustness: soundness of every answer, and what an exact one costs beside the plain program.

``soundness``     random small models: sound bound <= exact radius <= attack radius, the exact one
                  equal to enumeration over all grid points, every certificate checked again in
                  fractions; prints how often each was violated (wanted: never)
``verification``  trained networks with one hidden layer, inputs scaled to [0, 1]: smallest l_inf
                  (or other) perturbation of test samples; median seconds per sample of the sequence
                  bound, attacks, boxes, programs, and the ratio to one program that minimises,
                  with the number of its bounds that a counter-example refutes
``revisions``     the same networks and samples, verified by this source tree and by an old one
                  (`git worktree add ../old REVISION`, ``--old ../old``) in turns, sample by sample:
                  median seconds of the processor, and their ratio
``rows``          a thousand rows of a network with real weights on ten columns: seconds until all
                  are settled within a radius
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

import bdnn
from bdnn.encoding import Encoder
from bdnn.model import Model
from bdnn.robustness import Domain, PerturbationSet, Verification, attack, certify, verify
from bdnn.robustness.adversary import Adversary
from bdnn.solvers import Highs, Limits, Termination

NORMS = ("linf", "l1", "l2")
STEP = 0.125


def small_model(rng: np.random.Generator) -> tuple[bdnn.Network, Encoder]:
    """Make a random network of any kind on up to three inputs, and a scaler."""
    n_features = int(rng.integers(1, 4))
    shape = bdnn.Architecture.create(
        n_features,
        int(rng.integers(2, 4)),
        hidden=tuple(rng.integers(1, 7, rng.integers(0, 3))),
        weights=str(rng.choice(["ternary", "binary", "int:3", "continuous"])),
        thresholds=str(rng.choice(["neuron", "layer", "zero"])),
        ties=str(rng.choice(["score", "first"])),
    )
    weights, thresholds = [], []
    for k, kind in enumerate(shape.weights):
        size = (shape.widths[k + 1], shape.widths[k])
        W = rng.choice(kind.values, size) if kind.integer else rng.uniform(-1, 1, size)
        t = W @ (rng.random(size[1]) if k == 0 else rng.integers(0, 2, size[1]))
        t = {"neuron": t, "layer": np.full(size[0], t[0]), "zero": 0 * t}[shape.thresholds]
        weights.append(W)
        thresholds.append(t)
    scaler = Encoder.of_features(n_features).scaled_by(
        rng.normal(size=n_features), rng.uniform(0.3, 3, n_features), STEP, "minmax"
    )
    return bdnn.Network(shape, tuple(weights), tuple(thresholds)), scaler


def enumerated(around: PerturbationSet) -> np.ndarray:
    """Distance of the nearest counter-example of every sample among all grid points of [0, 1]."""
    n_features = around.X.shape[1]
    grid = np.array(list(itertools.product(np.arange(0, 1 + STEP, STEP), repeat=n_features)))
    said = around.network.predict(grid)
    scaled = (around.X - around.scaler.shift) * around.scaler.factor
    order = {"linf": np.inf, "l1": 1, "l2": 2}[around.norm]
    distances = []
    for s, label in zip(scaled, around.classes, strict=True):
        moves = np.maximum(0.0, np.abs(grid[said != label] - s) - STEP / 2)
        lengths = np.linalg.norm(moves, ord=order, axis=1)
        distances.append(lengths.min(initial=np.inf))
    return np.array(distances)


def soundness(n_models: int) -> None:
    """Compare bound, exact answer, attack and enumeration on random models."""
    counts = dict.fromkeys(
        ("samples", "bound tight", "open", "bound > exact", "wrong", "attack < exact", "refused"), 0
    )
    for seed in range(n_models):
        rng = np.random.default_rng(seed)
        network, scaler = small_model(rng)
        n_features = network.architecture.n_features
        X = scaler.shift + rng.random((1, n_features)) / scaler.factor
        ends = {"lower": scaler.shift, "upper": scaler.shift + 1 / scaler.factor}
        around = PerturbationSet.create(
            Model(scaler, network),
            X,
            norm=NORMS[seed % 3],
            domain=Domain.create(n_features, **ends),
        )
        exact = enumerated(around)
        bound = certify(around)
        found = verify(around)
        quick = attack(around, 0.5, method="greedy")
        counts["samples"] += len(X)
        counts["bound tight"] += int((bound.radii >= exact - 1e-6).sum())
        counts["bound > exact"] += int((bound.radii > exact + 1e-12).sum())
        known = np.isfinite(exact)
        counts["open"] += int((known & (found.status != "exact")).sum())
        wrong = (found.lower > exact + 1e-12) | (found.upper < exact - 1e-12)
        counts["wrong"] += int(wrong.sum())
        counts["attack < exact"] += int((quick.lengths < exact - 1e-12).sum())
        for certificate in (bound.certificate(0), *found.certificates(0)):
            counts["refused"] += not certificate.check(around.model)
    print("soundness, random models")
    print("  ".join(f"{name} {count}" for name, count in counts.items()), flush=True)


def trained(name: str, weights: str, width: int, seconds: float) -> tuple[object, np.ndarray]:
    """Train a network on inputs scaled to [0, 1]; return it with test samples."""
    data = bdnn.datasets.load(name)
    X, X_test, y, _ = train_test_split(data.X, data.y, test_size=0.2, random_state=0)
    model = bdnn.BDNNClassifier(
        hidden=(width,),
        weights=weights,
        inputs=bdnn.Inputs(scale="minmax"),
        method="descent",
        limits=bdnn.Limits(seconds=seconds),
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model, X_test


def staged(around: PerturbationSet, limit: float) -> tuple[list[float], Verification]:
    """Seconds of every sample, what is done for all at once shared out, and the answers."""
    ends = [time.perf_counter()]

    def tick(done: int, total: int) -> None:
        ends.append(time.perf_counter())

    found = verify(around, time_limit=limit * len(around.X), on_progress=tick)
    total = time.perf_counter() - ends[0]
    own = [b - a for a, b in itertools.pairwise(ends)]
    if own:
        own[0] = min(own)  # it began with the common part
    shared = (total - sum(own)) / len(around.X)
    return [shared + s for s in own] + [shared] * (len(around.X) - len(own)), found


def plain(around: PerturbationSet, limit: float) -> tuple[list[float], list[float], int]:
    """Seconds and claimed bounds of one minimising program per sample, and how many are open."""
    seconds, bounds, unsolved = [], [], 0
    for i in range(len(around.X)):
        started = time.perf_counter()
        model = Adversary.build(around.rows(np.array([i])), 1.0, minimise=True)
        outcome = Highs().solve(model.program, limits=Limits(seconds=limit))
        seconds.append(time.perf_counter() - started)
        bounds.append(model.free_input.length_of(outcome.bound))
        unsolved += outcome.termination is not Termination.OPTIMAL
    return seconds, bounds, unsolved


def verification(options: argparse.Namespace) -> None:
    """Print what exact answers cost beside the program alone, and bounds of it that are refuted."""
    print(
        f"{'data':16}{'weights':12}{'norm':6}{'samples':>8}{'median s':>10}{'worst s':>9}"
        f"{'open':>6}{'plain median s':>16}{'open':>6}{'refuted':>9}{'ratio':>8}"
    )
    for name, weights in itertools.product(options.data, ("ternary", "continuous")):
        model, X = trained(name, weights, options.width, options.train_seconds)
        for norm in options.norms:
            around = PerturbationSet.create(model.model_, X[: options.samples], norm=norm)
            ours, found = staged(around, options.limit)
            theirs, bounds, unsolved = plain(around, options.limit)
            refuted = int((np.array(bounds) > found.upper + 1e-5).sum())
            print(
                f"{name:16}{weights:12}{norm:6}{len(around.X):8}{statistics.median(ours):10.3f}"
                f"{max(ours):9.2f}{int((found.status != 'exact').sum()):6}"
                f"{statistics.median(theirs):16.3f}{unsolved:6}{refuted:9}"
                f"{statistics.median(theirs) / statistics.median(ours):8.1f}",
                flush=True,
            )


def work() -> None:
    """Answer every line of standard input: a model file, norm, row and limit of seconds."""
    for line in sys.stdin:
        path, norm, x, limit = json.loads(line)
        model = bdnn.load(path)
        model = getattr(model, "model_", model)
        around = PerturbationSet.create(model, np.array([x]), norm=norm)
        began = time.process_time()
        found = verify(around, time_limit=limit)
        seconds = time.process_time() - began
        print(json.dumps([seconds, str(found.status[0]), float(found.upper[0])]), flush=True)


def revisions(options: argparse.Namespace) -> None:
    """Print what exact answers cost in two source trees."""
    trees = (options.old, Path(__file__).parents[1])
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--work"],
            env={**os.environ, "PYTHONPATH": str(tree.resolve() / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for tree in trees
    ]
    print(
        f"{'data':16}{'weights':12}{'norm':6}{'samples':>8}{'old median s':>14}{'open':>6}"
        f"{'new median s':>14}{'open':>6}{'apart':>7}{'ratio':>8}"
    )
    for name, weights in itertools.product(options.data, ("ternary", "continuous")):
        model, X = trained(name, weights, options.width, options.train_seconds)
        for norm in options.norms:
            with tempfile.TemporaryDirectory() as folder:
                path = str(Path(folder) / "model.json")
                model.save(path)
                rows = []
                # The first one is for loading and compiling.
                for x in [X[0], *X[: options.samples]]:
                    asked = json.dumps([path, norm, x.tolist(), options.limit])
                    answers = []
                    for worker in workers:
                        worker.stdin.write(asked + "\n")
                        worker.stdin.flush()
                        answers.append(json.loads(worker.stdout.readline()))
                    rows.append(answers)
            old, new = (statistics.median(row[k][0] for row in rows[1:]) for k in (0, 1))
            opened = [sum(row[k][1] != "exact" for row in rows[1:]) for k in (0, 1)]
            settled = [row for row in rows[1:] if row[0][1] == row[1][1] == "exact"]
            apart = sum(abs(a[2] - b[2]) > 4e-5 for a, b in settled)
            print(
                f"{name:16}{weights:12}{norm:6}{len(rows) - 1:8}{old:14.3f}{opened[0]:6}"
                f"{new:14.3f}{opened[1]:6}{apart:7}{old / new:8.1f}",
                flush=True,
            )
    for worker in workers:
        worker.stdin.close()
        worker.wait()


def rows(options: argparse.Namespace) -> None:
    """Print how long it takes to settle a thousand rows."""
    X, y = make_classification(
        3000, 10, n_informative=8, n_redundant=0, class_sep=1.5, random_state=0
    )
    model = bdnn.BDNNClassifier(
        hidden=(options.width,),
        weights="continuous",
        inputs=bdnn.Inputs(scale="minmax"),
        method="descent",
        limits=bdnn.Limits(seconds=options.train_seconds),
        random_state=0,
    ).fit(X[:2000], y[:2000])
    for radius in (0.02, 0.05, 0.1):
        around = PerturbationSet.create(model.model_, X[2000:], y[2000:])
        began, wall = time.process_time(), time.perf_counter()
        found = verify(around, radius, smallest=False, n_jobs=-1, time_limit=1800)
        seconds = time.process_time() - began
        counts = {str(name): int((found.status == name).sum()) for name in np.unique(found.status)}
        print(
            f"{len(around.X)} rows, {options.width} units, radius {radius}: {counts}, "
            f"{seconds:.0f} s of the processor, {time.perf_counter() - wall:.0f} s",
            flush=True,
        )


def main() -> None:
    """Parse options, run, print tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("soundness", "verification", "revisions", "rows")
    parser.add_argument("--parts", nargs="*", default=list(parts), choices=parts)
    parser.add_argument("--old", type=Path, help="another source tree, for revisions")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--models", type=int, default=2100, help="random models for soundness")
    parser.add_argument("--data", nargs="*", default=["breast-cancer", "iris", "boston-housing"])
    parser.add_argument("--width", type=int, default=100, help="of the hidden layer")
    parser.add_argument("--samples", type=int, default=20, help="to verify of each data set")
    parser.add_argument("--norms", nargs="*", default=["linf"], choices=NORMS)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds per sample")
    parser.add_argument("--train-seconds", type=float, default=10.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.work:
        return work()
    if "soundness" in options.parts:
        soundness(options.models)
    if "verification" in options.parts:
        verification(options)
    if "revisions" in options.parts and options.old:
        revisions(options)
    if "rows" in options.parts:
        rows(options)
    return None


if __name__ == "__main__":
    main()

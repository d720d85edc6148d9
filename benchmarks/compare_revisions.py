"""Two revisions side by side: fit times, losses, bounds, statuses, and the time of a cold start.

    git worktree add ../old REVISION
    python benchmarks/compare_revisions.py ../old . --data FOLDER

Each revision works in a process of its own with its own compiled code. The two take turns fit by
fit, and the one that begins alternates, so that a busy machine troubles both alike. Plain fits on
breast-cancer and on every CSV file of a folder, whose last column is the class. Finished fits are
kept, so that a run can go on; a revision is known by its commit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import warnings
from inspect import signature
from pathlib import Path

import numpy as np
from scipy.stats import binomtest


def work() -> None:
    """Answer every line of standard input, a fit as JSON, with what it found."""
    from bdnn import BDNNClassifier

    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        asked = json.loads(line)
        known = signature(BDNNClassifier).parameters
        given = {"time_limit": asked["seconds"]}
        if "limits" in known:
            from bdnn import Limits

            given = {"limits": Limits(seconds=asked["seconds"])}
        if "objective" in known:
            given["objective"] = "loss"
        model = BDNNClassifier(random_state=asked["seed"], **asked["shape"], **given)
        with np.load(asked["samples"]) as samples:
            X, y = samples["X"], samples["y"]
        began = time.perf_counter()
        result = model.fit(X, y).result_
        found = {"seconds": time.perf_counter() - began, "status": result.status}
        found |= {"loss": float(result.loss), "bound": float(result.bound)}
        print(json.dumps(found), file=answers, flush=True)


class Revision:
    """A source tree, its cache of compiled code, and the process that fits with it."""

    def __init__(self, tree: Path, folder: Path) -> None:
        describe = ["git", "-C", str(tree), "describe", "--always", "--dirty", "--exclude=*"]
        self.commit = subprocess.run(describe, capture_output=True, text=True).stdout.strip()
        if not self.commit or not (tree / "src" / "bdnn").is_dir():
            raise SystemExit(f"{tree} is no source tree of bdnn under git: give another folder.")
        self.cache = folder / f"compiled-{self.commit}"
        paths = {"PYTHONPATH": str((tree / "src").resolve()), "NUMBA_CACHE_DIR": str(self.cache)}
        self.environment = {**os.environ, **paths}
        self.start()

    def start(self) -> None:
        """Begin a process; one that waits for nothing more ends with its input."""
        self.process = subprocess.Popen(
            [sys.executable, __file__, "work"],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def fit(self, file, key: str, asked: dict) -> dict:
        """Do a fit, unless its result is there."""
        key = f"{self.commit} {key}"
        if key not in file.rows:
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
            file.append({"key": key, **json.loads(self.process.stdout.readline())})
        return file.rows[key]


def cases(folder: Path, data: Path | None, most_rows: int) -> dict[str, dict]:
    """What is to be fitted, by name, with the samples as arrays in a file."""
    from bdnn import Inputs, datasets
    from bdnn.datasets import Samples, read_table
    from bdnn.encoding import Encoder
    from bdnn.network.architecture import WeightSet

    cancer = datasets.load("breast-cancer")
    tables = {"breast-cancer": (cancer.X, cancer.y)}
    plain, weights = Inputs("scaled", scale=None, missing="median"), WeightSet.parse("ternary")
    for path in sorted(data.glob("*.csv*")) if data else ():
        table = Samples.from_table(read_table(path))
        if len(table.y) <= most_rows:
            encoder = Encoder.learn(table.X, table.encoder.columns, plain, weights=weights)
            tables[path.name.split(".")[0]] = encoder.transform(table.X), table.y
    found = {}
    for name, (X, y) in tables.items():
        file = folder / f"{name}.npz"
        np.savez(file, X=X, y=np.unique(y, return_inverse=True)[1])
        for weights in ("ternary", "continuous") if name == "breast-cancer" else ("ternary",):
            for width in (2, 5, 25) if name == "breast-cancer" else (25,):
                shape = {"hidden": (width,), "weights": weights}
                found[f"{name} {weights} {width}"] = {"samples": str(file), "shape": shape}
    return found


def report(rows: dict[str, list[tuple[dict, dict]]]) -> None:
    """Print a line per case, and what all say together."""
    print(f"{'case':28}{'old s':>8}{'new s':>8}{'ratio':>7}  loss, bound, status: old | new")
    ratios = []
    for case, pairs in rows.items():
        ratios.append(statistics.median(new["seconds"] / old["seconds"] for old, new in pairs))
        old_s, new_s = (statistics.median(pair[k]["seconds"] for pair in pairs) for k in (0, 1))
        sides = [
            ", ".join(f"{row['loss']:g} {row['bound']:g} {row['status']}" for row in side)
            for side in zip(*pairs, strict=True)
        ]
        print(f"{case:28}{old_s:8.2f}{new_s:8.2f}{ratios[-1]:7.2f}  {' | '.join(sides)}")
    print(f"median ratio of fit times, new to old: {statistics.median(ratios):.3f}")
    everything = [pair for pairs in rows.values() for pair in pairs]
    for name, sign in (("loss", 1), ("bound", -1)):
        gains = [sign * (old[name] - new[name]) for old, new in everything]
        better, worse = sum(gain > 1e-9 for gain in gains), sum(gain < -1e-9 for gain in gains)
        chance = binomtest(worse, better + worse).pvalue if better + worse else 1.0
        print(f"{name}: {better} better, {worse} worse of {len(gains)}, sign test p = {chance:.2f}")
    changed = sum(old["status"] != new["status"] for old, new in everything)
    print(f"status: {changed} of {len(everything)} differ", flush=True)


def main() -> None:
    """Parse options, run what is missing, print the tables."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("old", type=Path, help="source tree of a revision")
    parser.add_argument("new", type=Path, help="source tree of another")
    parser.add_argument("--data", type=Path, help="folder of CSV files")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of a fit")
    parser.add_argument("--quick", action="store_true", help="one seed, 5 s, tables of 1000 rows")
    parser.add_argument("--out", type=Path, default=Path("results/revisions"))
    options = parser.parse_args()
    from bdnn.experiments.results import ResultFile

    seeds, seconds = (1, 5.0) if options.quick else (options.seeds, options.seconds)
    folder = options.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    revisions = [Revision(tree, folder) for tree in (options.old, options.new)]
    wanted = cases(folder, options.data, 1000 if options.quick else 10**9)
    rows: dict[str, list] = {name: [] for name in wanted}
    with ResultFile(folder) as file:
        # The limit leaves time to compile; a new process with the same cache shows the rest.
        first = {**wanted["breast-cancer ternary 25"], "seconds": 600.0, "seed": 0}
        for revision in revisions:
            if f"{revision.commit} first fit, cold" not in file.rows:
                shutil.rmtree(revision.cache, ignore_errors=True)
            cold = revision.fit(file, "first fit, cold", first)["seconds"]
            revision.start()
            warm = revision.fit(file, "first fit, warm", first)["seconds"]
            print(f"{revision.commit}: first fit {cold:.1f} s cold, {warm:.1f} s warm", flush=True)
            # Compiled code is loaded before anything is timed, also where a run goes on.
            revision.fit(file, f"loaded by process {revision.process.pid}", first)
        for seed in range(seeds):
            for place, (name, case) in enumerate(wanted.items()):
                key, asked = f"{name}, {seed = }, {seconds:g} s", {**case, "seconds": seconds}
                order = revisions[:: 1 if (seed + place) % 2 else -1]
                found = {each: each.fit(file, key, {**asked, "seed": seed}) for each in order}
                rows[name].append(tuple(found[each] for each in revisions))
                print(f"{key}: done", file=sys.stderr, flush=True)
    report(rows)


if __name__ == "__main__":
    work() if sys.argv[1:] == ["work"] else main()

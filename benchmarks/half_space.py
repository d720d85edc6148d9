"""One half-space, exactly: rows, dimensions, seconds, errors and what is proven of them.

Every `*.csv` or `*.csv.gz` of a folder is a table without header with two classes in its last
column. A network without a hidden layer and with continuous weights is trained on all of its rows.
With `--random` the tables are points of a normal distribution instead, whose labels are those of a
plane with one in five turned round.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import bdnn

_FOLDER = Path(__file__).parent / "data" / "proofs"


def tables(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, features and labels of every table of a folder."""
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")]):
        table = np.loadtxt(path, delimiter=",", ndmin=2)
        yield path.name.split(".")[0], table[:, :-1], table[:, -1]


def random_tables(sizes: list[str]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Tables of given rows and dimensions."""
    for size in sizes:
        rows, dimensions = map(int, size.split("x"))
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, dimensions))
        y = (X.sum(axis=1) > 0.0) ^ (rng.random(rows) < 0.2)
        yield f"random {size}", X, y


def main() -> None:
    """Print one line per table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=_FOLDER)
    parser.add_argument("--seconds", type=float, default=60.0, help="per table")
    parser.add_argument("--random", nargs="+", metavar="ROWSxDIMENSIONS", help="such as 500x3")
    options = parser.parse_args()
    print(
        f"{'table':>16} {'rows':>5} {'distinct':>8} {'dimensions':>10} | {'errors':>6} "
        f"{'bound':>6} {'seconds':>8} | status, bound from"
    )
    for name, X, y in random_tables(options.random) if options.random else tables(options.folder):
        model = bdnn.BDNNClassifier(
            hidden=(),
            weights="continuous",
            limits=bdnn.Limits(seconds=options.seconds),
            random_state=0,
        )
        distinct = np.unique(X, axis=0)
        dimensions = np.linalg.matrix_rank(distinct - distinct.mean(axis=0))
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = model.fit(X, y).result_
        seconds = time.perf_counter() - started
        # The loss counts both outputs.
        print(
            f"{name:>16} {len(X):>5} {len(distinct):>8} {dimensions:>10} | {result.loss / 2:>6g} "
            f"{result.bound / 2:>6g} {seconds:>8.1f} | {result.status}, {result.proof.origin}",
            flush=True,
        )


if __name__ == "__main__":
    main()

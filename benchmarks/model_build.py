"""Build time of the exact model, in bulk and with Python loops, side by side.

Both ways write down the same program: same variables, same rows in the same order, same numbers,
which is checked before anything is printed. Time runs from the samples to the sparse matrix and the
other arrays a solver is handed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import train_test_split

from bdnn import datasets
from bdnn.encoding import Encoder
from bdnn.mip import NetworkModel, Reductions
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification

EPS = 1e-4
TOLERANCE = 1e-6
# name, training rows used, hidden layers, seconds wanted by the issue
CASES = (("559 x 9, d1=25", 559, (25,), 0.5), ("64 x 9, 2x50", 64, (50, 50), 2.0))


def build_in_bulk(
    shape: Architecture, X: np.ndarray, y: np.ndarray, *, reduce: bool
) -> dict[str, Any]:
    """Build the package's own model."""
    problem = classification(shape, X, y, merge=reduce)
    reductions = Reductions() if reduce else Reductions.none()
    program = NetworkModel.build(problem, reductions=reductions, eps=EPS).program
    return {
        "matrix": program.matrix,
        "lower": program.lower,
        "upper": program.upper,
        "integer": program.integer,
        "cost": program.linear,
        "offset": program.offset,
        "row_lower": program.row_lower,
        "row_upper": program.row_upper,
    }


class Loops:
    """A program filled number by number."""

    def __init__(self) -> None:
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.integer: list[bool] = []
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.values: list[float] = []
        self.row_lower: list[float] = []
        self.row_upper: list[float] = []

    def variable(self, lower: float, upper: float, *, integer: bool = False) -> int:
        """Add a variable and return its column."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.integer.append(integer)
        return len(self.lower) - 1

    def row(
        self, terms: list[tuple[int, float]], lower: float = -np.inf, upper: float = np.inf
    ) -> None:
        """Add a row."""
        number = len(self.row_lower)
        for column, value in terms:
            if value != 0.0:
                self.rows.append(number)
                self.columns.append(column)
                self.values.append(value)
        self.row_lower.append(lower)
        self.row_upper.append(upper)


def build_with_loops(
    shape: Architecture, X: np.ndarray, y: np.ndarray, *, reduce: bool
) -> dict[str, Any]:
    """Build the model of continuous weights and biases as one would write it down."""
    inputs, mass = _merge(shape, X, y) if reduce else _one_by_one(shape, X, y)
    program = Loops()
    m = len(inputs)
    total = [sum(weights) for weights in mass]
    outputs = range(shape.n_outputs)
    on = [[total[i] - mass[i][c] for c in outputs] for i in range(m)]
    off = mass
    widths = list(shape.widths)
    if reduce:  # one output, counted twice
        on, off = [[2 * row[1]] for row in on], [[2 * row[1]] for row in off]
        widths[-1] = 1
    below: list[list[int]] = []
    unit = max(abs(value) for row in inputs for value in row)
    for k in range(1, len(widths)):
        d, n, is_output = widths[k], widths[k - 1], k == len(widths) - 1
        low = 0.0 if is_output and reduce else -1.0
        if k == 1:
            scaled = [[value / unit for value in row] for row in inputs]
            highest = [sum(abs(value) for value in row) for row in scaled]
            lowest = [-value for value in highest]
        else:
            lowest, highest = [n * low] * m, [float(n)] * m
        reach = max(max(map(abs, lowest)), max(map(abs, highest)))
        margin = max(EPS, 4 * TOLERANCE * (2 * reach + 1))
        t_low, t_high = min(0.0, *lowest), max(0.0, *highest) + margin

        W = [[program.variable(low, 1.0) for _ in range(n)] for _ in range(d)]
        t = [program.variable(t_low, t_high) for _ in range(d)]
        u = [[program.variable(0.0, 1.0, integer=True) for _ in range(d)] for _ in range(m)]
        pairs = [(i, c) for i in range(m) for c in range(d)]
        one_sided = is_output and reduce
        active = [(i, c) for i, c in pairs if not one_sided or on[i][c] < off[i][c]]
        inactive = [(i, c) for i, c in pairs if not one_sided or on[i][c] > off[i][c]]
        if k > 1:
            s = [[[program.variable(low, 1.0) for _ in range(n)] for _ in W] for _ in below]
            for i, c in active:
                for j in range(n):
                    program.row([(s[i][c][j], 1.0), (below[i][j], -1.0)], upper=0.0)
            for i, c in active:
                for j in range(n):
                    terms = [(s[i][c][j], 1.0), (W[c][j], -1.0), (below[i][j], -low)]
                    program.row(terms, upper=-low)
            for i, c in inactive if low != 0.0 else []:
                for j in range(n):
                    program.row([(s[i][c][j], 1.0), (below[i][j], -low)], lower=0.0)
            for i, c in inactive:
                for j in range(n):
                    terms = [(s[i][c][j], 1.0), (W[c][j], -1.0), (below[i][j], -1.0)]
                    program.row(terms, lower=-1.0)
        for i, c in active:
            M = t_high - lowest[i]
            if k == 1:
                terms = [(W[c][j], scaled[i][j]) for j in range(n)]
            else:
                terms = [(s[i][c][j], 1.0) for j in range(n)]
            program.row([*terms, (u[i][c], -M), (t[c], -1.0)], lower=-M)
        for i, c in inactive:
            M = highest[i] - t_low + margin
            if k == 1:
                terms = [(W[c][j], scaled[i][j]) for j in range(n)]
            else:
                terms = [(s[i][c][j], 1.0) for j in range(n)]
            program.row([*terms, (u[i][c], -M), (t[c], -1.0)], upper=-margin)
        below = u
    cost = [0.0] * len(program.lower)
    for i in range(m):
        for c in range(widths[-1]):
            cost[below[i][c]] += on[i][c] - off[i][c]
    size = (len(program.row_lower), len(program.lower))
    return {
        "matrix": csr_array((program.values, (program.rows, program.columns)), shape=size),
        "lower": np.array(program.lower),
        "upper": np.array(program.upper),
        "integer": np.array(program.integer),
        "cost": np.array(cost),
        "offset": float(sum(map(sum, off))),
        "row_lower": np.array(program.row_lower),
        "row_upper": np.array(program.row_upper),
    }


def _one_by_one(
    shape: Architecture, X: np.ndarray, y: np.ndarray
) -> tuple[list[list[float]], list[list[float]]]:
    mass = [[float(label == c) for c in range(shape.n_outputs)] for label in y.tolist()]
    return X.tolist(), mass


def _merge(
    shape: Architecture, X: np.ndarray, y: np.ndarray
) -> tuple[list[list[float]], list[list[float]]]:
    """Merge equal rows; only their order is taken from the package, so that it can be compared."""
    groups: dict[tuple[float, ...], list[float]] = {}
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        groups.setdefault(tuple(row), [0.0] * shape.n_outputs)[label] += 1.0
    order = classification(shape, X, y).inputs.tolist()
    return order, [groups[tuple(row)] for row in order]


def check_same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Stop unless two programs are the same up to rounding of the big-M values."""
    for part, value in ours.items():
        other = theirs[part]
        if part == "matrix":
            value.sort_indices()
            other.sort_indices()
            assert value.shape == other.shape, (value.shape, other.shape)
            assert np.array_equal(value.indptr, other.indptr)
            assert np.array_equal(value.indices, other.indices)
            value, other = value.data, other.data
        np.testing.assert_allclose(value, other, rtol=1e-12, atol=1e-12, err_msg=part)


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median wall-clock time of some runs."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def main() -> None:
    """Measure all cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5, help="runs of the bulk way")
    parser.add_argument("--loop-repeats", type=int, default=3, help="runs of the loops")
    options = parser.parse_args()

    data = datasets.load("breast-cancer")
    X, _, labels, _ = train_test_split(data.X, data.y, test_size=0.2, random_state=42)
    y = np.unique(labels, return_inverse=True)[1]
    print("exact model of breast-cancer rows, continuous weights, thresholds per neuron")
    print(
        f"{'case':<16}{'reductions':<12}{'variables':>10}{'rows':>9}{'non-zeros':>11}"
        f"{'bulk s':>9}{'wanted s':>10}{'loops s':>9}{'ratio':>8}"
    )
    for name, n_rows, hidden, wanted in CASES:
        shape = Architecture.create(X.shape[1], 2, hidden=hidden, weights="continuous")
        scaler = Encoder.fit(X[:n_rows], "standard", weights=shape.weights[0])
        samples = scaler.transform(X[:n_rows]), y[:n_rows]
        for reduce in (False, True):
            ours = build_in_bulk(shape, *samples, reduce=reduce)
            check_same(ours, build_with_loops(shape, *samples, reduce=reduce))
            matrix = ours["matrix"]
            bulk = median_seconds(
                lambda: build_in_bulk(shape, *samples, reduce=reduce),  # noqa: B023
                options.repeats,
            )
            loops = median_seconds(
                lambda: build_with_loops(shape, *samples, reduce=reduce),  # noqa: B023
                options.loop_repeats,
            )
            print(
                f"{name:<16}{'all' if reduce else 'none':<12}{matrix.shape[1]:>10}"
                f"{matrix.shape[0]:>9}{matrix.nnz:>11}{bulk:>9.3f}"
                f"{wanted:>10}{loops:>9.2f}{loops / bulk:>7.1f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()

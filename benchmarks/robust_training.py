"""The paper's robust table, and the worst case that the paper does not measure.

Random splits into 50 % training, 25 % validation and 25 % test samples, inputs scaled to [0, 1],
one hidden layer. For every defence level `BDNNClassifier` trains with `Robust` (0: without)
a ternary network for the worst perturbation (`certified`) and a continuous one for random ones
(`average`, by gradients and wide margins). First table: test accuracy under the paper's random
attack (every entry moved by plus or minus the level), beside the paper's best cell of the row.
Second table: exact worst-case l_inf accuracy by verification, each at its best defence level,
beside a robust linear classifier trained by LP and a decision tree whose leaves in reach are
checked, both exact. Where verification runs out of time, a second line has the limit from above.
Finished cells are appended to a file, so that a run can go on.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from itertools import permutations, product
from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

import bdnn
from bdnn.experiments import ResultFile, load_experiment

ATTACKS = (0.0, 0.1, 0.2, 0.5, 1.0)
DEFENCES = (0.0, 0.025, 0.05, 0.1, 0.2, 0.3)
LEVELS = (0.0, 0.05, 0.1, 0.2, 0.3)
DATA = ["breast-cancer", "iris", "boston-housing"]


def split_of(name: str, split: int) -> tuple[np.ndarray, ...]:
    """Training with validation samples, and test samples, scaled to [0, 1] by the former."""
    data = bdnn.datasets.load(name)
    labels = np.unique(data.y, return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(data.X, labels, test_size=0.25, random_state=split)
    scaler = MinMaxScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def network_cell(loss: str, settings: dict, name: str, split: int, defence: float, options) -> dict:
    """Accuracies of a network: random attacks; if trained for the worst case, its limits."""
    X, y, X_test, y_test = split_of(name, split)
    model = bdnn.BDNNClassifier(
        hidden=(options.width,),
        inputs=bdnn.Inputs(scale="minmax"),
        validation_fraction=1 / 3,
        robust=bdnn.Robust(defence, loss=loss) if defence else None,
        limits=bdnn.Limits(seconds=options.seconds),
        random_state=split,
        **settings,
    ).fit(X, y)
    rng = np.random.default_rng(split)
    signs = [rng.choice([-1.0, 1.0], X_test.shape) for _ in ATTACKS]
    attacked = [
        float((model.predict(X_test + level * sign) == y_test).mean())
        for level, sign in zip(ATTACKS, signs, strict=True)
    ]
    if loss == "average":
        return {"attacked": attacked}
    limits = [
        model.verify(
            X_test, y_test, radius=level, smallest=False, time_limit=options.verify
        ).worst_case_accuracy(level)
        for level in LEVELS
    ]
    low, high = zip(*limits, strict=True)
    return {"attacked": attacked, "low": low, "high": high}


def linear_cell(name: str, split: int, defence: float, options) -> dict:
    """Exact worst-case accuracy of a robust linear classifier."""
    X, y, X_test, y_test = split_of(name, split)
    W, b = robust_linear(X, y, defence)
    scores = X_test @ W.T + b
    worst = []
    for level in LEVELS:
        lead = np.full(len(y_test), np.inf)
        for other in range(len(W)):
            reach = level * np.abs(W[y_test] - W[other]).sum(axis=1)
            gap = scores[np.arange(len(y_test)), y_test] - scores[:, other] - reach
            lead = np.where(y_test == other, lead, np.minimum(lead, gap))
        worst.append(float((lead > 0).mean()))
    return {"low": worst, "high": worst}


def robust_linear(X: np.ndarray, y: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the hinge of worst leads by LP; variables W, b, sizes |W_c - W_o|, slacks."""
    m, n = X.shape
    classes = int(y.max()) + 1
    pairs = list(permutations(range(classes), 2))
    size_at, slack_at = classes * (n + 1), classes * (n + 1) + len(pairs) * n
    rows, columns, values, limits = [], [], [], []

    def add(entries: list[tuple[int, float]], limit: float) -> None:
        for column, value in entries:
            rows.append(len(limits))
            columns.append(column)
            values.append(value)
        limits.append(limit)

    for p, (c, o) in enumerate(pairs):
        for j in range(n):
            for sign in (1.0, -1.0):
                entries = [(c * n + j, sign), (o * n + j, -sign), (size_at + p * n + j, -1.0)]
                add(entries, 0.0)
        for i in np.flatnonzero(y == c):
            entries = [(c * n + j, -X[i, j]) for j in range(n)]
            entries += [(o * n + j, X[i, j]) for j in range(n)]
            entries += [(classes * n + c, -1.0), (classes * n + o, 1.0), (slack_at + i, -1.0)]
            entries += [(size_at + p * n + j, radius) for j in range(n)]
            add(entries, -1.0)
    cost = np.zeros(slack_at + m)
    cost[slack_at:] = 1.0
    bounds = [(-1e3, 1e3)] * size_at + [(0, None)] * (len(cost) - size_at)
    A = coo_array((values, (rows, columns)), shape=(len(limits), len(cost))).tocsr()
    x = linprog(cost, A_ub=A, b_ub=limits, bounds=bounds).x
    return x[: classes * n].reshape(classes, n), x[classes * n : size_at]


def tree_cell(name: str, split: int, defence: float, options) -> dict:
    """Exact worst-case accuracy of the tree that is best on the validation samples."""
    X, y, X_test, y_test = split_of(name, split)
    X, X_val, y, y_val = train_test_split(X, y, test_size=1 / 3, random_state=split)
    trees = [
        DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, y)
        for leaves in (2, 3, 4, 6, 8, 12, 20)
    ]
    best = max(trees, key=lambda tree: tree_worst_case(tree, X_val, y_val, defence))
    worst = [tree_worst_case(best, X_test, y_test, level) for level in LEVELS]
    return {"low": worst, "high": worst}


def tree_worst_case(tree: DecisionTreeClassifier, X: np.ndarray, y: np.ndarray, r: float) -> float:
    """Share of samples for which every leaf in reach has their class."""
    nodes = tree.tree_

    def holds(x: np.ndarray, label: int, node: int) -> bool:
        if nodes.children_left[node] < 0:
            return int(nodes.value[node].argmax()) == label
        value, cut = x[nodes.feature[node]], nodes.threshold[node]
        left = value - r > cut or holds(x, label, nodes.children_left[node])
        return left and (value + r <= cut or holds(x, label, nodes.children_right[node]))

    return float(np.mean([holds(x, label, 0) for x, label in zip(X, y, strict=True)]))


CELLS = {
    "certified": partial(network_cell, "certified", {"weights": "ternary"}),
    "average": partial(network_cell, "average", {"weights": "continuous", "method": "gradients"}),
    "linear LP": linear_cell,
    "tree": tree_cell,
}


def paper_best(name: str) -> list[float]:
    """Best cell of every row of the paper's robust table, DNN included."""
    numbers = load_experiment("table6").paper
    return [
        max(n.value for n in numbers if n.at["data"] == name and n.measure == f"attack {level:g}")
        for level in ATTACKS
    ]


def report(name: str, done: dict, splits: int) -> None:
    """Print both tables of one data set."""

    def mean(model: str, defence: float, part: str) -> np.ndarray:
        cells = [done[name, split, model, defence][part] for split in range(splits)]
        return 100 * np.mean(cells, axis=0)

    print(f"\n{name}, {splits} splits\nrandom attack  " + "".join(f"{d:>8}" for d in DEFENCES))
    tables = {
        kind: np.array([mean(kind, d, "attacked") for d in DEFENCES]).T
        for kind in ("certified", "average")
    }
    for kind, table in tables.items():
        print(f"{kind}:")
        for level, row in zip(ATTACKS, table, strict=True):
            print(f"{level:13}  " + "".join(f"{value:8.1f}" for value in row))
    ours = np.max([table.max(axis=1) for table in tables.values()], axis=0)
    print("best           " + "".join(f"{value:8.1f}" for value in ours))
    print("paper's best   " + "".join(f"{value:8.1f}" for value in paper_best(name)))
    print("worst case, at its best defence level\n" + " " * 15, end="")
    print("".join(f"{q:>8}" for q in LEVELS))
    for model in ("certified", "linear LP", "tree"):
        low, high = (np.array([mean(model, d, part) for d in DEFENCES]) for part in ("low", "high"))
        lines = {model: low} if np.array_equal(low, high) else {model: low, f"{model} <=": high}
        for label, values in lines.items():
            best = values.max(axis=0)
            print(f"{label:>13}  " + "".join(f"{value:8.1f}" for value in best), flush=True)


def main() -> None:
    """Parse options, run what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=6.0, help="per fit")
    parser.add_argument("--verify", type=float, default=20.0, help="seconds per level")
    parser.add_argument("--results", type=Path, default=Path("results/robust_training"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done: dict[tuple, dict] = {}
    with ResultFile(options.results) as file:
        places = product(range(options.splits), options.data, CELLS, DEFENCES)
        for split, name, model, defence in places:
            key = f"{name}, {split}, {model}, {defence}"
            if key not in file.rows:
                found = CELLS[model](name, split, defence, options)
                file.append({"key": key, "found": found})
            done[name, split, model, defence] = file.rows[key]["found"]
    for name in options.data:
        report(name, done, options.splits)


if __name__ == "__main__":
    main()

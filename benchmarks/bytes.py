"""Accuracy against bytes: published figures, and trees and small forests, beside `max_bytes`.

Stratified splits into 80 % training and 20 % test rows by the number of the split. Of a network
tables (weights, thresholds, encoder) and flash (tables and code) are printed, by our estimate and
by a compiler. Published bytes are those of a model's own memory, so that they are compared with
tables. Trees become C by m2cgen where it is installed, compiled in the same way; else a node counts
8 bytes. Every finished cell is appended to a file at once.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import bdnn
from bdnn.datasets import read_table
from bdnn.datasets.samples import Samples
from bdnn.experiments import ResultFile
from bdnn.export.c.compiler import arm_compiler, compiled_size, measure

FOLDER = Path(__file__).parent / "data" / "suite"
# Accuracy and KiB of BTHOWeN, by its authors.
PUBLISHED = {
    "vehicle": (0.762, 2.25),
    "vowel": (0.900, 3.44),
    "satimage": (0.880, 9.0),
    "iris": (0.980, 0.281),
    "wine": (0.983, 0.422),
}
FRONT = ("breast-cancer", "digits", "vehicle", "segment", "pima", "phoneme")
BUDGETS = (512, 1024, 2048, 4096, 8192)
PEERS: dict[str, Any] = {
    **{f"CART {depth}": DecisionTreeClassifier(max_depth=depth) for depth in (2, 3, 4, 6, 8, 10)},
    **{
        f"forest {trees}x{depth}": RandomForestClassifier(trees, max_depth=depth)
        for trees, depth in ((3, 4), (5, 4), (5, 6), (10, 4), (10, 6))
    },
}
# Code that the smallest loops take beside their tables.
_CODE = 250
_NODE = 8
_LOADED = {
    "iris": load_iris,
    "wine": load_wine,
    "breast-cancer": load_breast_cancer,
    "digits": load_digits,
}


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes of a table of numbers."""
    if name in _LOADED:
        return _LOADED[name](return_X_y=True)
    samples = Samples.from_table(read_table(FOLDER / f"{name}.csv.gz"))
    return samples.X, np.unique(samples.y, return_inverse=True)[1]


def network(parts: list[np.ndarray], split: int, budget: int, seconds: float) -> dict[str, Any]:
    """A network that fits a budget of flash: accuracy and bytes."""
    X, X_test, y, y_test = parts
    model = bdnn.BDNNClassifier(
        max_bytes=budget, limits=bdnn.Limits(seconds=seconds), random_state=split
    ).fit(X, y)
    header = model.to_c()
    size = measure(header)
    return {
        "accuracy": float((model.predict(X_test) == y_test).mean()),
        "tables": header.flash.tables,
        "flash": header.flash.total,
        "compiled": None if size is None else size.flash,
        "chosen": model.result_.held_out.chosen,
    }


def peer(parts: list[np.ndarray], split: int, name: str) -> dict[str, Any]:
    """A tree or a forest: accuracy and bytes."""
    X, X_test, y, y_test = parts
    model = PEERS[name].set_params(random_state=split).fit(X, y)
    right = float((model.predict(X_test) == y_test).mean())
    trees = getattr(model, "estimators_", [model])
    flash = _NODE * sum(tree.tree_.node_count for tree in trees)
    compiler = arm_compiler()
    try:
        import m2cgen
    except ImportError:
        return {"accuracy": right, "flash": flash}
    if compiler is not None:
        flash = compiled_size(m2cgen.export_to_c(model), *compiler).flash
    return {"accuracy": right, "flash": flash}


def mean(rows: list[dict[str, Any]], field: str) -> float:
    """Mean of a figure over splits."""
    return statistics.mean(row[field] or 0.0 for row in rows)


def main() -> None:
    """Parse options, run what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--seconds", type=float, default=20.0, help="of every fit")
    parser.add_argument("--published", nargs="*", default=list(PUBLISHED), help="tables")
    parser.add_argument("--front", nargs="*", default=list(FRONT), help="tables")
    parser.add_argument("--results", type=Path, default=Path("results/bytes"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = [(name, int(1024 * PUBLISHED[name][1]) + _CODE) for name in options.published]
    wanted += list(product(options.front, (*BUDGETS, *PEERS)))
    found: dict[tuple[str, Any], list[dict[str, Any]]] = {}
    with ResultFile(options.results) as file, threadpool_limits(1):
        for (name, what), split in product(wanted, options.splits):
            key = f"{name}, {what}, {split}"
            key += f", {options.seconds:g} s" if isinstance(what, int) else ""
            if key not in file.rows:
                X, y = read(name)
                parts = train_test_split(X, y, test_size=0.2, stratify=y, random_state=split)
                cell = (
                    network(parts, split, what, options.seconds)
                    if isinstance(what, int)
                    else peer(parts, split, what)
                )
                file.append({"key": key, **cell})
            found.setdefault((name, what), []).append(file.rows[key])
    print(
        f"{'':12}{'ours':>9}{'tables':>9}{'flash':>9}{'compiled':>10}{'published':>11}{'bytes':>8}"
    )
    for name, budget in wanted[: len(options.published)]:
        rows, (accuracy, kib) = found[name, budget], PUBLISHED[name]
        most = max(row["tables"] for row in rows)
        is_reached = mean(rows, "accuracy") >= accuracy and most <= 1024 * kib
        print(
            f"{name:12}{mean(rows, 'accuracy'):9.3f}{mean(rows, 'tables'):9.0f}"
            f"{mean(rows, 'flash'):9.0f}{mean(rows, 'compiled'):10.0f}{accuracy:11.3f}"
            f"{1024 * kib:8.0f}  {'reached' if is_reached else 'not reached'}"
        )
    for name in options.front:
        print(f"\n{name}: accuracy (bytes of flash)")
        for what in (*BUDGETS, *PEERS):
            rows = found[name, what]
            size = mean(rows, "compiled" if rows[0].get("compiled") else "flash")
            title = f"bdnn {what}" if isinstance(what, int) else what
            print(f"  {title:14}{mean(rows, 'accuracy'):7.3f}  ({size:,.0f})")


if __name__ == "__main__":
    main()

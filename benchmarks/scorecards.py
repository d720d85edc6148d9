"""Scorecards of five inputs: test accuracy and AUC over five folds, beside published figures.

The figures beside ours are those of FasterRisk 0.1.2 with five coefficients, each from -5 to 5, on
five folds of its own copies of the tables (its rows of mammographic are not the same as here).
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

import bdnn
from bdnn.constraints import Sparsity
from bdnn.datasets import read_table
from bdnn.datasets.samples import Samples
from suite import FOLDER

PUBLISHED = {
    "breast-cancer": (0.961, 0.994),
    "mammographic": (0.797, 0.850),
    "adult": (0.824, 0.861),
}


def load(name: str) -> tuple[Any, Any, Any]:
    """Columns of a table, its labels and what the columns are."""
    path = FOLDER / f"{name}.csv.gz"
    if not path.exists():
        data = bdnn.datasets.load(name)
        return data.X, data.y, None
    samples = Samples.from_table(read_table(path))
    return samples.X, samples.y, samples.encoder


def main() -> None:
    """Print a line per table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", default=list(PUBLISHED))
    parser.add_argument("--inputs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':16}{'accuracy':>18}{'AUC':>18}{'seconds':>9}   published accuracy, AUC")
    for name in options.tables:
        X, y, encoder = load(name)
        labels = np.unique(y, return_inverse=True)[1]
        folds = StratifiedKFold(5, shuffle=True, random_state=options.seed)
        rows = []
        for train, test in folds.split(X, labels):
            begun = time.perf_counter()
            with threadpool_limits(1):
                model = bdnn.BDNNClassifier(
                    constraints=Sparsity(per_unit=options.inputs),
                    objective="accuracy",
                    limits=bdnn.Limits(seconds=options.seconds),
                    random_state=options.seed,
                ).fit(X[train], labels[train], encoder=encoder)
            seconds = time.perf_counter() - begun
            scores = model.network_.scores(model.encoder_.transform(X[test]))
            area = roc_auc_score(labels[test], scores[:, 1] - scores[:, 0])
            rows.append(((scores.argmax(axis=1) == labels[test]).mean(), area, seconds))
        found = np.array(rows)
        mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
        published = ", ".join(f"{value:.3f}" for value in PUBLISHED.get(name, ()))
        print(
            f"{name:16}{mean[0]:9.3f} +- {error[0]:.3f}{mean[1]:9.3f} +- {error[1]:.3f}"
            f"{mean[2]:9.1f}   {published}",
            flush=True,
        )


if __name__ == "__main__":
    main()

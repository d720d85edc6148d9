"""`BDNNClassifier()` on tables of many kinds, beside usual classifiers, all from raw columns.

Stratified splits into 80 % training and 20 % test rows by the number of the split. Peers get
columns standardised, gaps filled by the median, and a 0/1 column per text. Every finished cell is
appended to a file at once, so that a run can be stopped and continued.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import bdnn
from accuracy import step_function
from bdnn.datasets import read_table
from bdnn.datasets.samples import Samples
from bdnn.experiments import ResultFile

FOLDER = Path(__file__).parent / "data" / "suite"
PEERS: dict[str, Any] = {
    "logistic": LogisticRegression(max_iter=2000),
    "CART of depth 4": DecisionTreeClassifier(max_depth=4, random_state=0),
    "RBF SVC": SVC(),
    "ReLU 100": MLPClassifier((100,), max_iter=300, random_state=0),
    "forest 300": RandomForestClassifier(300, random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
OURS, STRAIGHT = "bdnn", "straight-through"
_NUMBER, _NODE = 4, 8  # bytes that a number and a node of a tree take


def prepared(samples: Samples) -> Any:
    """What turns codes of raw columns into numbers for peers."""
    kinds = [column.kind for column in samples.encoder.columns]
    texts = [j for j, kind in enumerate(kinds) if kind == "category"]
    numbers = [j for j, kind in enumerate(kinds) if kind != "category"]
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (
            make_pipeline(
                OneHotEncoder(handle_unknown="ignore", sparse_output=False), StandardScaler()
            ),
            texts,
        ),
    )


def peer_bytes(model: Any) -> int:
    """What a fitted peer holds: its numbers, and the nodes of its trees."""
    if isinstance(model, DecisionTreeClassifier):
        return _NODE * model.tree_.node_count
    if isinstance(model, RandomForestClassifier):
        return sum(_NODE * tree.tree_.node_count for tree in model.estimators_)
    if isinstance(model, HistGradientBoostingClassifier):
        return sum(_NODE * len(tree.nodes) for trees in model._predictors for tree in trees)
    if isinstance(model, SVC):
        return _NUMBER * (model.support_vectors_.size + model.dual_coef_.size)
    arrays = [*model.coefs_, *model.intercepts_] if isinstance(model, MLPClassifier) else None
    return _NUMBER * sum(np.size(a) for a in arrays or (model.coef_, model.intercept_))


def straight_through(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, seed: int) -> np.ndarray:
    """Plain training of 100 ternary step units in torch, nothing tuned; classes of test rows."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)

    class Ternary(torch.autograd.Function):
        @staticmethod
        def forward(context, latent):
            limit = 0.7 * latent.abs().mean(1, keepdim=True)
            return torch.where(latent.abs() > limit, latent.sign(), torch.zeros_like(latent))

        @staticmethod
        def backward(context, gradient):
            return gradient

    step = step_function(lambda sums: 1 / (1 + 2 * sums.abs()) ** 2)
    n_classes = int(y.max()) + 1
    latent = [
        torch.nn.Parameter(torch.randn(b, a) / a**0.5)
        for a, b in ((X.shape[1], 100), (100, n_classes))
    ]
    norms = torch.nn.ModuleList([torch.nn.BatchNorm1d(100), torch.nn.BatchNorm1d(n_classes)])

    def forward(values):
        hidden = step(norms[0](values @ Ternary.apply(latent[0]).T))
        return norms[1](hidden @ Ternary.apply(latent[1]).T)

    inputs, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    epochs = 100 if len(X) < 800 else 60 if len(X) < 3000 else 30
    batch = 64 if len(X) < 3000 else 256
    optimiser = torch.optim.Adam([*latent, *norms.parameters()], lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    for _ in range(epochs):
        for rows in torch.randperm(len(inputs)).split(batch):
            if len(rows) > 1:
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(forward(inputs[rows]), labels[rows]).backward()
                optimiser.step()
        schedule.step()
    norms.eval()
    with torch.no_grad():
        return forward(torch.tensor(X_test, dtype=torch.float32)).argmax(1).numpy()


def run_cell(samples: Samples, split: int, model: str, seconds: float) -> dict[str, Any]:
    """Test accuracy of a model on one split, its bytes and its seconds."""
    labels = np.unique(samples.y, return_inverse=True)[1]
    train, test = train_test_split(
        np.arange(len(labels)), test_size=0.2, stratify=labels, random_state=split
    )
    X, y, X_test, y_test = samples.X[train], labels[train], samples.X[test], labels[test]
    more: dict[str, Any] = {}
    begun = time.perf_counter()
    if model == OURS:
        fitted = bdnn.BDNNClassifier(limits=bdnn.Limits(seconds=seconds), random_state=split)
        fitted.fit(X, y, encoder=samples.encoder)
        predicted, known = fitted.predict(X_test), fitted.result_.held_out
        used = time.perf_counter() - begun
        more = {"expected": known.accuracy, "error": known.error, "chosen": known.chosen}
        more |= {"bytes": fitted.to_c().flash.tables, "flash": known.bytes}
    else:
        features = prepared(samples)
        X, X_test = features.fit_transform(X), features.transform(X_test)
        if model == STRAIGHT:
            predicted = straight_through(X, y, X_test, split)
        else:
            peer = PEERS[model].fit(X, y)
            predicted, more = peer.predict(X_test), {"bytes": peer_bytes(peer)}
        used = time.perf_counter() - begun
    return {"accuracy": float((predicted == y_test).mean()), "seconds": used, **more}


def report(rows: dict[tuple[str, int, str], dict[str, Any]], models: list[str]) -> None:
    """Print the accuracy of every table, then means, ranks, wins and bytes over all tables."""
    names = sorted({name for name, _, _ in rows})
    splits = sorted({split for _, split, _ in rows})
    cells = list(product(names, splits))
    accuracy = {
        model: np.array([100 * rows[name, split, model]["accuracy"] for name, split in cells])
        for model in models
    }
    print(f"{'':14}" + "".join(f"{model:>17}" for model in models))
    by_table = {model: values.reshape(len(names), -1) for model, values in accuracy.items()}
    for number, name in enumerate(names):
        line = "".join(f"{by_table[model][number].mean():17.1f}" for model in models)
        print(f"{name:14}{line}")
    means = {model: values.mean(axis=1) for model, values in by_table.items()}
    ranks = rankdata([-means[model] for model in models], axis=0).mean(axis=1)
    print(f"{'mean':14}" + "".join(f"{means[model].mean():17.2f}" for model in models))
    print(f"{'mean rank':14}" + "".join(f"{rank:17.2f}" for rank in ranks))
    medians = [
        statistics.median(row.get("bytes", math.nan) for key, row in rows.items() if key[2] == m)
        for m in models
    ]
    print(f"{'median bytes':14}" + "".join(f"{value:17,.0f}" for value in medians))
    print(f"\n{OURS} less the peer, tables won and lost, tables 2 standard errors below it")
    for model in models[1:]:
        apart = by_table[OURS] - by_table[model]
        each = apart.mean(axis=1)
        spread = each.std(ddof=1) / math.sqrt(len(each)) if len(each) > 1 else math.nan
        errors = apart.std(axis=1, ddof=1) / math.sqrt(len(splits)) if len(splits) > 1 else np.inf
        below = [name for name, is_below in zip(names, each < -2 * errors, strict=True) if is_below]
        print(
            f"{model:18}{each.mean():+6.2f} +- {spread:.2f}  won {(each > 0).sum():2}  "
            f"lost {(each < 0).sum():2}  below: {', '.join(below) or 'none'}"
        )
    ours = [row for key, row in rows.items() if key[2] == OURS]
    expected = 100 * statistics.mean(row["expected"] for row in ours)
    flash = statistics.median(row["flash"] for row in ours)
    print(
        f"\nexpected by held-out rows {expected:.2f}; C export {flash:,.0f} bytes of flash in the "
        f"median; longest fit {max(row['seconds'] for row in ours):.1f} s"
    )


def main() -> None:
    """Parse options, run what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of gzipped CSV tables")
    parser.add_argument("--tables", nargs="+", help="names, all of the folder by default")
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--results", type=Path, default=Path("results/suite"))
    parser.add_argument("--torch", action="store_true", help="also straight-through in torch")
    options = parser.parse_args()
    names = options.tables or sorted(p.name[:-7] for p in options.folder.glob("*.csv.gz"))
    models = [OURS, *PEERS, *([STRAIGHT] if options.torch else [])]
    warnings.simplefilter("ignore")
    rows: dict[tuple[str, int, str], dict[str, Any]] = {}
    with ResultFile(options.results) as file, threadpool_limits(1):
        for split, name in product(options.splits, names):
            samples = Samples.from_table(read_table(options.folder / f"{name}.csv.gz"))
            for model in models:
                key = f"{name}, {split}, {model}"
                if model == OURS:
                    key += f", {options.seconds:g} s"
                if key not in file.rows:
                    cell = run_cell(samples, split, model, options.seconds)
                    file.append({"key": key, **cell})
                rows[name, split, model] = file.rows[key]
    report(rows, models)


if __name__ == "__main__":
    main()

"""Test accuracy beside straight-through gradients, ReLU networks and usual classifiers.

Ten random splits into 50 % training, 25 % validation and 25 % test samples, as in the paper's
Tables 4 and 5. Binarized networks are trained by `BDNNClassifier` (`validation_fraction`: it shows
how to train, and the network is then trained on both parts) and by a straight-through network of
the same shape in torch (best epoch by validation, the same time, inputs scaled in the same way).
With `--again` there is a second straight-through network that is trained on both parts too, for as
many epochs as were best. Every finished cell is appended to a file at once, so that a run can be
stopped and continued.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bdnn
from bdnn.encoding import Encoder
from bdnn.experiments import ResultFile, load_experiment
from bdnn.network.architecture import WeightSet

SHAPES = [(50,), (100,), (50, 50), (100, 100), (50, 50, 50), (100, 100, 100)]
DATA = ["breast-cancer", "credit-default", "iris", "boston-housing", "digits"]


def step_function(slope):
    """A step in torch whose gradient is multiplied by a slope of its sums."""
    import torch

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(context, sums):
            context.save_for_backward(sums)
            return (sums >= 0).float()

        @staticmethod
        def backward(context, gradient):
            (sums,) = context.saved_tensors
            return gradient * slope(sums)

    return Step.apply


def straight_through(
    X: np.ndarray, y: np.ndarray, Xv: np.ndarray, yv: np.ndarray, shape: tuple[int, ...],
    weights: str, seconds: float, seed: int, epochs: int = 200,
):  # fmt: skip
    """Train a straight-through network in torch; return its predictor of the best epoch, and that.

    Without validation samples the last epoch is the best.
    """
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)

    class Quantise(torch.autograd.Function):
        @staticmethod
        def forward(context, latent):
            return torch.round(latent) if weights == "ternary" else latent

        @staticmethod
        def backward(context, gradient):
            return gradient

    step = step_function(lambda sums: sums.abs() <= 1)
    widths = (X.shape[1], *shape, len(np.unique(y)))
    latent = [torch.nn.Parameter(torch.empty(b, a).uniform_(-1, 1)) for a, b in pairwise(widths)]
    offsets = [torch.nn.Parameter(torch.zeros(b)) for b in widths[1:]]

    def forward(values):
        for k, (W, offset) in enumerate(zip(latent, offsets, strict=True)):
            sums = values @ Quantise.apply(W).T / W.shape[1] ** 0.5 - offset
            values = step(sums) if k < len(latent) - 1 else sums * 2
        return values

    def predict(rows):
        with torch.no_grad():
            return forward(torch.tensor(rows, dtype=torch.float32)).argmax(1).numpy()

    inputs, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    optimiser = torch.optim.Adam([*latent, *offsets], lr=0.01)
    best, kept, started = -1.0, None, time.perf_counter()
    best_epoch = 0
    for epoch in range(1, epochs + 1):
        for rows in torch.randperm(len(inputs)).split(64):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(forward(inputs[rows]), labels[rows])
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                for W in latent:
                    W.clamp_(-1, 1)
        accuracy = float((predict(Xv) == yv).mean()) if len(yv) else float(epoch)
        if accuracy > best:
            best_epoch = epoch
            best, kept = accuracy, [p.detach().clone() for p in (*latent, *offsets)]
        if time.perf_counter() - started > seconds:
            break
    with torch.no_grad():
        for parameter, value in zip((*latent, *offsets), kept, strict=True):
            parameter.copy_(value)
    return predict, best_epoch


def run_cell(data, split: int, model: str, shape: tuple[int, ...], seconds: float) -> float:
    """Test accuracy of one model on one split."""
    labels = np.unique(data.y, return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(data.X, labels, test_size=0.25, random_state=split)
    if model.startswith("bdnn"):
        network = bdnn.BDNNClassifier(
            hidden=shape, weights=model.split()[1], validation_fraction=1 / 3,
            limits=bdnn.Limits(seconds=seconds), random_state=split,
        )  # fmt: skip
        return float(network.fit(X, y).score(X_test, y_test))
    X, Xv, y, yv = train_test_split(X, y, test_size=1 / 3, random_state=split)
    if model.startswith(("straight", "again")):
        kind, weights = model.split()
        scaler = Encoder.fit(X, "auto", weights=WeightSet.parse(weights), labels=y)
        X, Xv, X_test = (scaler.transform(part) for part in (X, Xv, X_test))
        time_each = seconds if kind == "straight" else seconds / 2
        predict, best = straight_through(X, y, Xv, yv, shape, weights, time_each, split)
        if kind == "again":
            X, y = np.vstack([X, Xv]), np.concatenate([y, yv])
            predict, _ = straight_through(
                X, y, Xv[:0], yv[:0], shape, weights, time_each, split, epochs=best
            )
        return float((predict(X_test) == y_test).mean())
    peers = {
        "relu": MLPClassifier(shape, max_iter=200, early_stopping=len(X) > 5000, random_state=0),
        "logistic": LogisticRegression(max_iter=2000),
        "forest": RandomForestClassifier(200, random_state=0),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    }
    return float(make_pipeline(StandardScaler(), peers[model]).fit(X, y).score(X_test, y_test))


def main() -> None:
    """Parse options, run what is missing, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--shapes", nargs="+", default=["x".join(map(str, s)) for s in SHAPES])
    parser.add_argument("--weights", nargs="+", default=["ternary", "continuous"])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--results", type=Path, default=Path("results/accuracy"))
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    done: dict[tuple, float] = {}
    shapes = [tuple(map(int, text.split("x"))) for text in options.shapes]
    kinds = ["bdnn", "straight", "again"][: 3 if options.again else 2]
    models = [f"{kind} {weights}" for weights in options.weights for kind in kinds]
    warnings.simplefilter("ignore")
    others = [(model, ()) for model in ("logistic", "forest", "boosting")]
    cells = [(model, shape) for shape in shapes for model in [*models, "relu"]] + others
    # Splits come first, so that a run that is stopped early has some of every data set.
    with ResultFile(options.results) as file:
        for split, name in product(range(options.splits), options.data):
            data = bdnn.datasets.load(name)
            for model, shape in cells:
                cell = (name, split, model, "x".join(map(str, shape)), options.seconds)
                key = ", ".join(map(str, cell))
                if key not in file.rows:
                    accuracy = run_cell(data, split, model, shape, options.seconds)
                    file.append({"key": key, "accuracy": accuracy})
                done[cell] = file.rows[key]["accuracy"]
    for name in options.data:
        report(name, done, [*models, "relu"], shapes, options)


def paper_best(name: str, kind: str) -> float:
    """Best accuracy of the paper's Tables 4 and 5 over all widths, depths and weights."""
    numbers = [*load_experiment("table4").paper, *load_experiment("table5").paper]
    return max(
        number.value
        for number in numbers
        if number.measure == "accuracy"
        and number.at["data"] == name
        and (number.method == "DNN") == (kind == "DNN")
    )


def report(name: str, done: dict, models: list[str], shapes: list, options) -> None:
    """Print the mean accuracies of one data set, with the paper's best."""

    def mean(model: str, shape: tuple[int, ...]) -> float:
        key = (model, "x".join(map(str, shape)), options.seconds)
        return 100 * statistics.mean(done[name, split, *key] for split in range(options.splits))

    others = {model: mean(model, ()) for model in ("logistic", "forest", "boosting")}
    best = {kind: paper_best(name, kind) for kind in ("BDNN", "DNN")}
    print(f"\n{name}: paper's best BDNN {best['BDNN']}, DNN {best['DNN']}; ", end="")
    print(", ".join(f"{model} {value:.1f}" for model, value in others.items()))
    print(f"{'shape':14}" + "".join(f"{model:>22}" for model in models))
    for shape in shapes:
        line = "".join(f"{mean(model, shape):22.1f}" for model in models)
        print(f"{'x'.join(map(str, shape)):14}{line}", flush=True)


if __name__ == "__main__":
    main()

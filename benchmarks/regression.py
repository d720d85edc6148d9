"""R2 of binarized regressors beside linear regression, a decision tree and a ReLU network.

Random splits into 75 % training and 25 % test samples of boston-housing (price) and of
scikit-learn's diabetes. The tree has the depth, the ReLU network the penalty, that is best in five
folds of the training part; the binarized network is `BDNNRegressor()` as it is, one network with 50
hidden step units of ternary weights.

    python benchmarks/regression.py --splits 3
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import bdnn


def models(hidden: int, seed: int) -> dict[str, object]:
    """The competitors, by the name they are printed under."""
    tree = GridSearchCV(
        DecisionTreeRegressor(random_state=seed), {"max_depth": [2, 3, 4, 5, 6, 8]}, cv=5
    )
    relu = MLPRegressor(hidden_layer_sizes=(hidden,), max_iter=500, random_state=seed)
    relu = GridSearchCV(
        make_pipeline(StandardScaler(), relu), {"mlpregressor__alpha": [0.01, 1.0, 10.0]}, cv=5
    )
    return {
        "linear": LinearRegression(),
        "tree": tree,
        "ReLU": TransformedTargetRegressor(relu, transformer=StandardScaler()),
        "BDNN": bdnn.BDNNRegressor(hidden=(hidden,), random_state=seed),
    }


def datasets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Features and targets by name."""
    boston = bdnn.datasets.load("boston-housing", target="medv")
    return {"boston-housing": (boston.X, boston.y), "diabetes": load_diabetes(return_X_y=True)}


def main() -> None:
    """Run all splits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3, help="random splits per data set")
    parser.add_argument("--hidden", type=int, default=50, help="hidden units of both networks")
    options = parser.parse_args()
    print(f"test R2, mean and spread over {options.splits} splits; mean seconds of one fit")
    for name, (X, y) in datasets().items():
        scores: dict[str, list[float]] = {}
        seconds: dict[str, list[float]] = {}
        for seed in range(options.splits):
            parts = train_test_split(X, y, test_size=0.25, random_state=seed)
            for label, model in models(options.hidden, seed).items():
                started = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(parts[0], parts[2])
                seconds.setdefault(label, []).append(time.perf_counter() - started)
                scores.setdefault(label, []).append(model.score(parts[1], parts[3]))
        print(f"{name} ({len(X)} rows)")
        for label, values in scores.items():
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            mean = statistics.fmean(values)
            took = statistics.fmean(seconds[label])
            print(f"  {label:<8}{mean:7.3f} +- {spread:.3f}{took:9.1f} s", flush=True)


if __name__ == "__main__":
    main()

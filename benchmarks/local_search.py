"""Local search beside the paper's Tables 2 and 3 on breast-cancer.

Table 2 is one shuffle (80 % training, seed 42) with shared thresholds (BDNN) and without any
(BDNN_0), continuous weights, 25 and 50 units. Table 3 is ten shuffles. Thresholds per neuron, which
the paper does not have, are shown beside. A finished fit is appended to a file at once, so that a
run can be stopped and continued. `--paper` runs Algorithm 1 with a solver for every subproblem.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import precision_recall_fscore_support
from sklearn.model_selection import train_test_split

import bdnn
from bdnn.training import LocalSearch

# Accuracy, precision, recall and F1 of "BDNN LS" and "BDNN_0 LS" in the paper's Table 2.
TABLE_2 = {
    ("layer", 25): (95.0, 95.0, 95.0, 95.0),
    ("zero", 25): (30.0, 38.7, 30.0, 17.6),
    ("layer", 50): (89.3, 91.5, 89.3, 89.6),
    ("zero", 50): (71.4, 74.6, 71.4, 72.3),
}
# Mean, largest and smallest accuracy of "BDNN LS" over ten shuffles in the paper's Table 3.
TABLE_3 = {("layer", 25): (93.2, 97.1, 85.0)}
KINDS = ("layer", "zero", "neuron")


def run(thresholds: str, width: int, shuffle: int, options) -> dict:
    """One fit: accuracy, precision, recall, F1, loss, status and seconds."""
    data = bdnn.datasets.load("breast-cancer")
    labels = np.unique(data.y, return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(data.X, labels, test_size=0.2, random_state=shuffle)
    model = bdnn.BDNNClassifier(
        hidden=(width,),
        weights=options.weights,
        thresholds=thresholds,
        method=LocalSearch(paper=options.paper),
        time_limit=options.seconds,
        random_state=shuffle,
    )
    started = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    predicted = model.predict(X_test)
    scores = precision_recall_fscore_support(
        y_test, predicted, average="weighted", zero_division=0.0
    )
    return {
        "scores": [
            float(100 * np.mean(predicted == y_test)),
            *(100 * float(s) for s in scores[:3]),
        ],
        "loss": model.result_.loss,
        "status": model.result_.status,
        "seconds": seconds,
        "subproblems": len(model.result_.steps),
    }


def main() -> None:
    """Parse options, run what is missing, print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shuffles", type=int, default=10)
    parser.add_argument("--widths", type=int, nargs="+", default=[25, 50])
    parser.add_argument("--thresholds", nargs="+", default=list(KINDS))
    parser.add_argument("--weights", default="continuous")
    parser.add_argument("--seconds", type=float, default=20.0, help="per fit")
    parser.add_argument("--paper", action="store_true", help="Algorithm 1 as the paper states it")
    parser.add_argument("--results", type=Path, default=Path("results/local_search.jsonl"))
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    small = bdnn.datasets.load("iris")
    bdnn.BDNNClassifier(method="local_search", time_limit=120).fit(small.X, small.y)
    lines = options.results.read_text().splitlines() if options.results.exists() else []
    done = {tuple(record["fit"]): record for record in map(json.loads, lines)}

    def get(thresholds: str, width: int, shuffle: int) -> dict:
        key = (thresholds, width, shuffle, options.weights, options.seconds, options.paper)
        if key not in done:
            done[key] = run(thresholds, width, shuffle, options)
            with options.results.open("a") as file:
                file.write(json.dumps({"fit": key, **done[key]}) + "\n")
        return done[key]

    print("\nTable 2, seed 42: accuracy, precision, recall, F1")
    for width in options.widths:
        for thresholds in options.thresholds:
            fit = get(thresholds, width, 42)
            paper = TABLE_2.get((thresholds, width))
            print(f"{thresholds:7} {width:3}  ours {_numbers(fit['scores'])}"
                  f"   paper {_numbers(paper) if paper else '  -'}"
                  f"   loss {fit['loss']:g}, {fit['status']}, {fit['seconds']:.1f} s",
                  flush=True)  # fmt: skip
    print(f"\nTable 3, {options.shuffles} shuffles: mean, largest and smallest accuracy")
    for width in options.widths:
        for thresholds in options.thresholds:
            fits = [get(thresholds, width, shuffle) for shuffle in range(options.shuffles)]
            scores = [fit["scores"][0] for fit in fits]
            found = (statistics.mean(scores), max(scores), min(scores))
            paper = TABLE_3.get((thresholds, width))
            slowest = max(fit["seconds"] for fit in fits)
            print(f"{thresholds:7} {width:3}  ours {_numbers(found)}"
                  f"   paper {_numbers(paper) if paper else '  -'}"
                  f"   slowest fit {slowest:.1f} s", flush=True)  # fmt: skip


def _numbers(values) -> str:
    return " ".join(f"{value:5.1f}" for value in values)


if __name__ == "__main__":
    main()

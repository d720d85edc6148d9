"""What a second core is good for: seconds with one and with two workers in turns, and the ratio.

A default fit, cross-validation of the learner, verification of test rows and the proof of a narrow
network. Time limits are far away, so that the work decides; `same` tells whether both gave the
same. Other work on the machine spoils the ratios; so do cores that share their units.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.model_selection import cross_val_score, train_test_split

import bdnn

LIMITS = bdnn.Limits(seconds=600)
DATA = bdnn.datasets.load("breast-cancer")
X, TEST, Y, _ = train_test_split(DATA.X, DATA.y, test_size=0.2, random_state=42)


def default_fit(n_jobs: int) -> object:
    """Network of a default fit."""
    model = bdnn.BDNNClassifier(limits=LIMITS, random_state=0, n_jobs=n_jobs)
    return model.fit(X, Y).network_


def cross_validation(n_jobs: int) -> object:
    """Accuracies of four folds."""
    model = bdnn.BDNNClassifier(limits=LIMITS, random_state=0)
    return cross_val_score(model, X, Y, cv=4, n_jobs=n_jobs).tolist()


def verification() -> Callable[[int], object]:
    """Radii of test rows of a network that is there before."""
    model = bdnn.BDNNClassifier(hidden=(20,), limits=bdnn.Limits(seconds=20), random_state=0)
    model.fit(X, Y)

    def radii(n_jobs: int) -> object:
        found = model.verify(TEST, norm="linf", smallest=True, time_limit=600, n_jobs=n_jobs)
        return [(answer.lower, answer.upper) for answer in found.answers]

    return radii


def narrow_proof(n_jobs: int) -> object:
    """Loss and bound of two ternary units."""
    model = bdnn.BDNNClassifier(
        hidden=(2,),
        weights="ternary",
        objective="loss",
        inputs=bdnn.Inputs(scale="common"),
        limits=LIMITS,
        random_state=0,
        n_jobs=n_jobs,
    )
    result = model.fit(X, Y).result_
    return result.loss, result.bound


CASES: dict[str, Callable[[], Callable[[int], object]]] = {
    "default fit": lambda: default_fit,
    "cross-validation": lambda: cross_validation,
    "verification": verification,
    "narrow proof": lambda: narrow_proof,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':18}{'one':>9}{'two':>9}{'ratio':>9}  same", flush=True)
    for name in options.cases:
        run = CASES[name]()
        run(2)  # loads code in every process
        seconds: dict[int, list[float]] = {1: [], 2: []}
        found = {}
        for _ in range(options.repeats):
            for n_jobs, times in seconds.items():
                began = time.perf_counter()
                found[n_jobs] = run(n_jobs)
                times.append(time.perf_counter() - began)
        one, two = (statistics.median(times) for times in seconds.values())
        is_same = bool(np.all(found[1] == found[2]))
        print(f"{name:18}{one:9.2f}{two:9.2f}{one / two:9.2f}  {is_same}", flush=True)


if __name__ == "__main__":
    main()

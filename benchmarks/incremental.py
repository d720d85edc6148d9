"""Samples that come in later: ``extend`` beside training anew, on the same growing data.

Breast-cancer grows from 100 rows by 100 or 10 at a time. Both sides are trained on the same rows
with the same time limit; compared are seconds, loss and bound after every step. Training anew has a
scaler of all its rows, ``extend`` keeps that of the first 100. Where training anew does not end in
time, the ratio is a lower limit, marked by ``>``. One unit makes errors: where further rows bring
none, the old bound proves the old network optimal; where they do, the solver has to prove a higher
bound, and what was known is of little help.
"""

from __future__ import annotations

import argparse
import time
import warnings

import bdnn
from bdnn.training import Auto, Descent, Exact
from bdnn.training.base import AbstractMethod
from bdnn.training.result import TrainingResult

# Method, units, weights, rows of a step, rows at the end.
CASES: list[tuple[AbstractMethod, int, str, int, int]] = [
    (Auto(), 25, "ternary", 100, 600),
    (Descent(objectives=("loss",)), 25, "continuous", 100, 600),
    (Exact(), 25, "ternary", 100, 600),
    (Exact(), 10, "ternary", 100, 600),
    (Exact(), 1, "ternary", 10, 200),
]


def timed(train: object) -> tuple[float, TrainingResult]:
    """Seconds and result of one training."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train()  # type: ignore[operator]
    return time.perf_counter() - began, model.result_


def describe(result: TrainingResult) -> str:
    """Loss and bound in a few characters."""
    return f"{result.loss:4g} {result.bound:4g} {'*' if result.status == 'optimal' else ' '}"


def grow(
    method: AbstractMethod, units: int, weights: str, step: int, last: int, limit: float
) -> None:
    """Train one case step by step and print its lines."""
    data = bdnn.datasets.load("breast-cancer")
    options = {
        "hidden": (units,),
        "weights": weights,
        "method": method,
        "limits": bdnn.Limits(seconds=limit),
    }

    def anew(rows: slice) -> bdnn.BDNNClassifier:
        model = bdnn.BDNNClassifier(**options, random_state=0)
        return model.fit(data.X[rows], data.y[rows])

    print(f"{method.name}, {units} unit{'s' * (units > 1)}, {weights}")
    grown = anew(slice(0, 100))
    totals = [0.0, 0.0]
    is_limit = False
    for rows in range(100 + step, last + 1, step):
        new = slice(rows - step, rows)
        seconds, fresh = timed(lambda rows=rows: anew(slice(0, rows)))
        extended, result = timed(lambda new=new: grown.extend(data.X[new], data.y[new]))
        totals = [totals[0] + seconds, totals[1] + extended]
        cut = fresh.status == "time limit" and result.status == "optimal"
        is_limit |= cut
        print(
            f"  {rows:4} rows  anew {seconds:7.2f} s {describe(fresh)}  extend {extended:7.2f} s "
            f"{describe(result)}  {'>' if cut else ' '}{seconds / extended:6.1f}x",
            flush=True,
        )
    print(
        f"  all steps: {'>' if is_limit else ''}{totals[0] / totals[1]:.1f}x faster\n", flush=True
    )


def main() -> None:
    """Parse options, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds per training")
    parser.add_argument("--cases", type=int, nargs="*", default=range(len(CASES)))
    options = parser.parse_args()
    bdnn.BDNNClassifier(hidden=(2,), objective="loss").fit(
        [[0.0], [1.0]], [0, 1]
    )  # loads the search
    print("loss and bound after every step; * where they are proven equal")
    for number in options.cases:
        grow(*CASES[number], options.limit)


if __name__ == "__main__":
    main()

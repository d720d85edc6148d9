"""Training under a limit of time: over by no more than a tenth and a second, whatever is asked.

Other programs may have the machine. So a run counts with the smaller of the seconds that went by
and those of the processor, and only what is late three times in a row is broken.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bdnn import BDNNClassifier, BDNNRegressor, Inputs, Limits, Robust
from bdnn.errors import BDNNError

_TRIES = 3


class TimeLimits:
    """One setting per case, and one claim."""

    name: ClassVar[str] = "time limits"
    share: ClassVar[float] = 0.3

    def prepare(self, folder: Path) -> None:
        """Load and compile what a first run would wait for."""
        X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
        BDNNClassifier(limits=Limits(seconds=1), random_state=0).fit(X, y)

    def attempt(self, number: int) -> tuple[int, list[str]]:
        rng = np.random.default_rng(number)
        make, options, X, y, seconds = _draw(rng)
        late = []
        for _ in range(_TRIES):
            began, used = time.perf_counter(), time.process_time()
            try:
                make(**options, limits=Limits(seconds=seconds), random_state=0).fit(X, y)
            except BDNNError:
                return 0, []
            took = min(time.perf_counter() - began, time.process_time() - used)
            if took <= 1.1 * seconds + 1:
                return 1, []
            late.append(took)
        return 1, [f"{min(late):.1f} s for a limit of {seconds} s: {X.shape} {options}"]


def _draw(rng: np.random.Generator) -> tuple[Any, dict[str, Any], Any, Any, float]:
    n_rows = int(rng.choice([10, 100, 1000, 5000, 20000]))
    X = rng.normal(size=(n_rows, int(rng.choice([1, 3, 10, 60]))))
    if rng.random() < 0.3:
        X = np.round(X)
    noise = rng.normal(size=n_rows) * rng.choice([0.0, 0.5, 3.0])
    target = X[:, 0] - X[:, -1] ** 2 + noise
    seconds = float(rng.choice([0.05, 0.3, 1.0, 3.0]))
    hidden = [(), (1,), (2,), (3,), (5,), (25,), (10, 10)][rng.integers(7)]
    options: dict[str, Any] = {
        "hidden": hidden,
        "weights": str(rng.choice(["ternary", "continuous", "int:3", "binary"])),
        "inputs": Inputs(scale=[None, "standard", "minmax", "auto"][rng.integers(4)]),
        "method": str(
            rng.choice(["auto", "auto", "exact", "descent", "local_search", "data_splitting"])
        ),
    }
    if hidden and rng.random() < 0.3:
        options["activation"] = str(rng.choice(["sign", "ternary", "levels:4"]))
    if rng.random() < 0.2:
        return BDNNRegressor, options, X, target, seconds
    if rng.random() < 0.2:
        kind = str(rng.choice(["pattern", "certified", "average"]))
        options["robust"] = Robust(0.05, loss=kind)
    if rng.random() < 0.2:
        options["validation_fraction"] = 0.2
    n_classes = int(rng.choice([2, 2, 3, 10]))
    y = np.digitize(target, np.quantile(target, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return BDNNClassifier, options, X, y, seconds

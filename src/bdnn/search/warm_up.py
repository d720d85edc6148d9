"""Loading of the compiled search, in the background and once per process.

The first search on a machine compiles for some ten seconds; later ones load the result from disk
in one or two.

``python -m bdnn.search.warm_up`` compiles ahead of time, for example when an image is built.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from bdnn.search.background import BackgroundLoad


def wait_until_ready(gives_up: Callable[[], bool], *, levels: bool = False) -> bool:
    """Load the compiled search; tell whether it is ready, or ``gives_up`` said True before.

    With ``levels`` also that of units of several values, which steps have no use for.
    """
    return _MOVES.wait(gives_up) and (not levels or _LEVELS.wait(gives_up))


def _run_every_move() -> None:
    _run((("ternary", "neuron", "step"), ("continuous", "layer", "step")))


def _run_every_level() -> None:
    _run((("ternary", "neuron", "ternary"), ("continuous", "layer", "ternary")))


def _run(kinds: tuple[tuple[str, str, str], ...]) -> None:
    """Search on problems so small that all the time goes into loading what they use."""
    from bdnn.architecture import Architecture
    from bdnn.problem import TrainingProblem
    from bdnn.search.descent import descend
    from bdnn.search.margin import widen_margin

    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for weights, thresholds, activation in kinds:
            shape = Architecture.create(
                2,
                2,
                hidden=(2, 2),
                weights=weights,
                thresholds=thresholds,
                activation=activation,
            )
            problem = TrainingProblem.from_samples(shape, X, y)
            found = descend(problem, seconds=60.0, seed=0, target=-1.0, max_sweeps=8)
            order = ("loss", "margin", "sparsity")
            widen_margin(problem, found.network, seconds=60.0, seed=0, objectives=order, sweeps=2)


_MOVES = BackgroundLoad(_run_every_move, name="bdnn-compile")
_LEVELS = BackgroundLoad(_run_every_level, name="bdnn-compile-levels")

if __name__ == "__main__":
    wait_until_ready(lambda: False, levels=True)

"""Loading of the compiled search, in the background and once per process.

The first search on a machine compiles for some ten seconds; later ones load the result from disk
in one or two.
"""

from __future__ import annotations

import warnings

import numpy as np

from bdnn.clock import Slot
from bdnn.search.background import BackgroundLoad


def wait_until_ready(slot: Slot, *, levels: bool = False) -> bool:
    """Load the compiled search; tell whether it is ready, or the slot was over before.

    With ``levels`` also that of units of several values, which steps have no use for.
    """
    return _MOVES.wait(slot) and (not levels or _LEVELS.wait(slot))


def _run_every_move() -> None:
    _run((("ternary", "neuron", "step"), ("continuous", "layer", "step")))


def _run_every_level() -> None:
    _run((("ternary", "neuron", "ternary"), ("continuous", "layer", "ternary")))


def _run(kinds: tuple[tuple[str, str, str], ...]) -> None:
    """Search on problems so small that all the time goes into loading what they use."""
    from bdnn.network.architecture import Architecture
    from bdnn.problem.create import classification
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
            problem = classification(shape, X, y)
            found = descend(problem, slot=Slot(), seed=0, target=-1.0, max_sweeps=8)
            order = ("loss", "margin", "sparsity")
            widen_margin(problem, found.network, slot=Slot(), seed=0, objectives=order, sweeps=2)


def wait_for_regression(slot: Slot) -> bool:
    """Do the same for the search of regression networks."""
    return _REGRESSION.wait(slot)


def _run_regression() -> None:
    """Build a regression network of two units and visit them once."""
    from bdnn.network.architecture import Architecture
    from bdnn.problem.create import regression
    from bdnn.search.regression.descent import build, sweep

    rng = np.random.default_rng(0)
    X, y = np.arange(8.0).reshape(4, 2), np.arange(4.0)[:, None] % 3
    for kind in ("squared", "absolute"):
        shape = Architecture.create(2, 1, hidden=(2,), weights="continuous", output="identity")
        problem = regression(shape, X, y, kind=kind)
        sweep(problem, build(problem, rng, slot=Slot()), rng, slot=Slot())


_MOVES = BackgroundLoad(_run_every_move, name="bdnn-compile")
_LEVELS = BackgroundLoad(_run_every_level, name="bdnn-compile-levels")
_REGRESSION = BackgroundLoad(_run_regression, name="bdnn-compile-regression")

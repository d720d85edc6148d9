"""Loading of compiled code ahead of time, so that no time limit has to pay for it.

The first search on a machine compiles for some time, later ones load the result from disk in a
second or two. Neither can be interrupted; whoever waits in another thread can show that it is under
way, and can stop waiting. Problems so small that all the time goes into loading trigger it.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bdnn.background import BackgroundLoad
from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.problem.create import regression
from bdnn.problem.losses.output import classification
from bdnn.problem.problem import Problem
from bdnn.search.state import SearchState


def wait_until_ready(slot: Slot, *, levels: bool = False) -> bool:
    """Load the compiled search; tell whether it is ready, or the slot was over before.

    With ``levels`` also that of units of several values, which steps have no use for.
    """
    return _MOVES.wait(slot) and (not levels or _LEVELS.wait(slot))


def wait_for_regression(slot: Slot, problem: Problem[Any] | None = None) -> bool:
    """Do the same for the search of regression networks, of a problem or of all steps."""
    from bdnn.search.regression import needs_moves

    ready = _SPLITS.wait(slot)
    if ready and (problem is None or needs_moves(problem)):
        has_levels = problem is not None and problem.architecture.has_levels
        ready = (_NUMBER_LEVELS if has_levels else _NUMBERS).wait(slot)
    return ready


def wait_for_worst_case(slot: Slot) -> bool:
    """Do the same for the search on the worst case."""
    return _WORST_CASE.wait(slot)


def load_moves(shape: Architecture, *, anneals: bool = False, descends: bool = True) -> None:
    """Load what a search of such networks calls, at once."""
    small = Architecture.create(1, 1, hidden=(1,), activation=_activation(shape))
    problem = classification(small, np.zeros((1, 1)), np.zeros(1, dtype=np.intp))
    state, rng = SearchState(problem, problem.constant_network()), np.random.default_rng(0)
    if descends:
        state.improve(np.arange(2), rng, 1, 0)
        for k in range(2):
            state.move_layer_threshold(k, rng, 1)
            state.redraw(k, k, rng)
    if anneals:
        state.anneal(np.arange(2), 0.0, rng)
        state.try_zero(np.arange(2), 0.0)


def _activation(shape: Architecture) -> str:
    """A rule that is compiled as those of an architecture are."""
    return "ternary" if shape.has_levels else "step"


def _search(activation: str) -> None:
    from bdnn.search.descent import descend
    from bdnn.search.margin import widen_margin

    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for weights, thresholds in (("ternary", "neuron"), ("continuous", "layer")):
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


def _search_numbers(kind: str, thresholds: str, activation: str) -> None:
    from bdnn.search.regression import build, sweep

    rng = np.random.default_rng(0)
    X, y = np.arange(8.0).reshape(4, 2), np.arange(4.0)[:, None] % 3
    shape = Architecture.create(
        2,
        1,
        hidden=(2,),
        weights="continuous",
        thresholds=thresholds,
        activation=activation,
        output="identity",
    )
    problem = regression(shape, X, y, kind=kind)
    sweep(problem, build(problem, rng, slot=Slot()), rng, slot=Slot())


def _search_worst_case() -> None:
    from bdnn.search.certified import Balls, improve_worst_case, stumps

    point, one = np.zeros((1, 1)), np.ones(1)
    balls = Balls(point, point, point, one, "linf", np.zeros(1, dtype=np.intp), one)
    rng = np.random.default_rng(0)
    network = stumps(Architecture.create(1, 2, hidden=(1,)), balls, rng)
    improve_worst_case(balls, network, wanted=1.0, sweeps=1, slot=Slot(), rng=rng)


_MOVES = BackgroundLoad(lambda: _search("step"), name="bdnn-compile")
_LEVELS = BackgroundLoad(lambda: _search("ternary"), name="bdnn-compile-levels")
_SPLITS = BackgroundLoad(
    lambda: _search_numbers("squared", "neuron", "step"), name="bdnn-compile-splits"
)
_NUMBERS = BackgroundLoad(
    lambda: _search_numbers("absolute", "layer", "step"), name="bdnn-compile-numbers"
)
_NUMBER_LEVELS = BackgroundLoad(
    lambda: _search_numbers("squared", "layer", "ternary"), name="bdnn-compile-number-levels"
)
_WORST_CASE = BackgroundLoad(_search_worst_case, name="bdnn-compile-worst-case")

"""Loading of compiled code ahead of time, so that no time limit has to pay for it.

The first search on a machine compiles for some time, later ones load the result from disk in a
second or two. Neither can be interrupted; whoever waits in another thread can show that it is under
way, and can stop waiting. Problems so small that all the time goes into loading trigger it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from bdnn.clock import BackgroundLoad, Slot
from bdnn.network.architecture import Architecture
from bdnn.problem.create import regression
from bdnn.problem.losses.output import classification
from bdnn.problem.problem import Problem
from bdnn.search.objective import OBJECTIVES, has_margins
from bdnn.search.state import SearchState


def wait_until_ready(
    slot: Slot,
    shape: Architecture | None = None,
    *,
    objectives: Sequence[str] = OBJECTIVES,
    descends: bool = True,
) -> bool:
    """Load the compiled search; tell whether it is ready, or the slot was over before.

    Only what networks of a shape (by default all of steps) and what the objectives have a use for:
    a descent compiles twice as long as the rest.
    """
    return all(load.wait(slot) for load in _loads(shape, objectives, descends))


def begin_to_load(shape: Architecture, objectives: Sequence[str] = OBJECTIVES) -> None:
    """Begin with what :func:`wait_until_ready` waits for, beside what does without it."""
    for load in _loads(shape, objectives, descends=True):
        if not load.is_ready:
            return load.start()


def _loads(
    shape: Architecture | None, objectives: Sequence[str], descends: bool
) -> list[BackgroundLoad]:
    kinds = ["moves"] if descends else []
    if descends and (shape is None or shape.thresholds == "layer"):
        kinds.append("layers")
    if has_margins(objectives):
        kinds.append("margins")
    if "sparsity" in objectives:
        kinds.append("removals")
    # Networks of several values begin with steps.
    rules = ("step", "ternary") if shape is not None and shape.has_levels else ("step",)
    return [_SEARCH[kind, rule] for rule in rules for kind in kinds]


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


def load_moves(
    shape: Architecture,
    *,
    descends: bool = True,
    anneals: bool = False,
    removes: bool = False,
) -> None:
    """Load what a search of such networks calls, at once."""
    thresholds = "layer" if shape.thresholds == "layer" else "neuron"
    small = Architecture.create(
        1, 1, hidden=(1,), activation=_activation(shape), thresholds=thresholds
    )
    problem = classification(small, np.zeros((1, 1)), np.zeros(1, dtype=np.intp))
    state, rng = SearchState(problem, problem.constant_network()), np.random.default_rng(0)
    if descends:
        state.improve(np.arange(2), rng, 1, 0)
        for k in range(2):
            state.redraw(k, k, rng)
            if thresholds == "layer":
                state.move_layer_threshold(k, rng, 1)
    if anneals:
        state.anneal(np.arange(2), 0.0, rng)
    if removes:
        state.try_zero(np.arange(2), 0.0)


def _activation(shape: Architecture) -> str:
    """A rule that is compiled as those of an architecture are."""
    return "ternary" if shape.has_levels else "step"


def _search(kind: str, activation: str) -> None:
    from bdnn.search.descent import descend
    from bdnn.search.margin import widen_margin

    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    shape = Architecture.create(
        2,
        2,
        hidden=(2, 2),
        thresholds="layer" if kind == "layers" else "neuron",
        activation=activation,
    )
    problem = classification(shape, X, np.array([0, 1, 1, 0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind in ("moves", "layers"):
            descend(problem, slot=Slot(), seed=0, target=-1.0, max_sweeps=8)
        else:
            last = "sparsity" if kind == "removals" else "margin"
            network = problem.constant_network()
            order = ("loss", last)
            widen_margin(problem, network, slot=Slot(), seed=0, objectives=order, sweeps=2)


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


_SEARCH = {
    (kind, rule): BackgroundLoad(partial(_search, kind, rule), name=f"bdnn-compile-{kind}-{rule}")
    for kind in ("moves", "layers", "margins", "removals")
    for rule in ("step", "ternary")
}
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

"""Loading of compiled moves ahead of time, so that no time limit has to pay for it.

The first call in a process reads compiled code from disk, and the first call on a machine compiles.
Both are triggered here by a problem of one input.
"""

from __future__ import annotations

import numpy as np

from bdnn.architecture import Architecture
from bdnn.problem import TrainingProblem
from bdnn.search.state import SearchState


def load_moves() -> None:
    """Load what a descent calls."""
    from bdnn.search.moves.sweep import improve_units, move_layer_threshold, redraw

    s, rng = _smallest_state().arrays, np.random.default_rng(0)
    improve_units(s, np.zeros(1, dtype=np.int64), rng, 1, 0)
    move_layer_threshold(s, 0, rng, 1)
    redraw(s, 0, 0, rng)


def load_annealing() -> None:
    """Load what second objectives call."""
    from bdnn.search.moves.annealing import anneal_hidden, anneal_outputs, try_zero

    s, rng = _smallest_state().arrays, np.random.default_rng(0)
    anneal_hidden(s, np.zeros(1, dtype=np.int64), 0.0, rng)
    anneal_outputs(s, 0.0, rng)
    try_zero(s, np.zeros(1, dtype=np.int64), 0.0)


def _smallest_state() -> SearchState:
    shape = Architecture.create(1, 1, hidden=(1,))
    problem = TrainingProblem(shape, np.zeros((1, 1)), np.ones((1, 1)))
    return SearchState(problem, problem.constant_network())

"""Loading of compiled moves ahead of time, so that no time limit has to pay for it.

The first call in a process reads compiled code from disk, and the first call on a machine compiles.
Both are triggered here by a problem of one input.
"""

from __future__ import annotations

import numpy as np

from bdnn.network.architecture import Architecture
from bdnn.problem.create import classification
from bdnn.search.state import SearchState


def load_moves(activation: str = "step") -> None:
    """Load what a descent calls."""
    state, rng = smallest_state(activation), np.random.default_rng(0)
    state.improve(np.arange(2), rng, 1, 0)
    for k in range(2):
        state.move_layer_threshold(k, rng, 1)
        state.redraw(k, k, rng)


def load_annealing(activation: str = "step") -> None:
    """Load what second objectives call."""
    state, rng = smallest_state(activation), np.random.default_rng(0)
    state.anneal_hidden(np.zeros(1, dtype=np.int64), 0.0, rng)
    state.anneal_outputs(0.0, rng)
    state.try_zero(np.arange(2), 0.0)


def name_of_moves(architecture: Architecture) -> str:
    """Activation whose moves a search on an architecture needs."""
    return "ternary" if architecture.has_levels else "step"


def smallest_state(activation: str) -> SearchState:
    """Make the state of a problem of one input."""
    shape = Architecture.create(1, 1, hidden=(1,), activation=activation)
    problem = classification(shape, np.zeros((1, 1)), np.zeros(1, dtype=np.intp))
    return SearchState(problem, problem.constant_network())

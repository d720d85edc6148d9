"""Moves of a state, whether its hidden units are steps or take several values.

Of a network of several values the outputs are steps: they are moved as a network of their own,
whose inputs are the values of the last hidden layer.
"""

from __future__ import annotations

import numpy as np

from bdnn.search.kernels.arrays import IntArray
from bdnn.search.state import SearchState


def improve(
    state: SearchState, units: IntArray, rng: np.random.Generator, passes: int, extra: int
) -> None:
    """Improve units one after the other, never raising the cost."""
    from bdnn.search.moves.sweep import improve_units

    if state.levels is None:
        improve_units(state.arrays, units, rng, passes, extra)
        return
    from bdnn.search.moves.level_sweep import improve_levels

    hidden, outputs = _split(units, int(state.arrays.unit_at[-2]))
    if len(hidden):
        improve_levels(state.arrays, state.levels, hidden, rng, passes, extra)
    if len(outputs):
        improve_units(state.top, outputs, rng, passes, extra)


def redraw(state: SearchState, k: int, unit: int, rng: np.random.Generator) -> None:
    """Draw a unit anew at whatever cost."""
    from bdnn.search.moves.sweep import redraw as redraw_step

    if state.levels is None:
        redraw_step(state.arrays, k, unit, rng)
        return
    from bdnn.search.moves.level_sweep import redraw_levels

    hidden = int(state.arrays.unit_at[-2])
    if unit < hidden:
        redraw_levels(state.arrays, state.levels, k, unit, rng)
    else:
        redraw_step(state.top, 0, unit - hidden, rng)


def move_layer_threshold(state: SearchState, k: int, rng: np.random.Generator, trials: int) -> None:
    """Try other thresholds for a layer as a whole, never raising the cost."""
    from bdnn.search.moves.sweep import move_layer_threshold as move_steps

    if state.levels is None:
        move_steps(state.arrays, k, rng, trials)
        return
    from bdnn.search.moves.level_sweep import move_shared_levels

    if k < len(state.levels.counts):
        move_shared_levels(state.arrays, state.levels, k, rng, trials)
    else:
        move_steps(state.top, 0, rng, trials)


def anneal_outputs(state: SearchState, temperature: float, rng: np.random.Generator) -> None:
    """Propose a change of every weight and threshold of the outputs."""
    from bdnn.search.moves.annealing import anneal_outputs as anneal_steps

    anneal_steps(state.arrays if state.levels is None else state.top, temperature, rng)


def anneal_hidden(
    state: SearchState, units: IntArray, temperature: float, rng: np.random.Generator
) -> None:
    """Propose a change of every weight and threshold of hidden units."""
    if state.levels is None:
        from bdnn.search.moves.annealing import anneal_hidden as anneal_steps

        anneal_steps(state.arrays, units, temperature, rng)
        return
    from bdnn.search.moves.level_sweep import anneal_levels

    anneal_levels(state.arrays, state.levels, units, temperature, rng)


def try_zero(state: SearchState, positions: IntArray, tolerance: float) -> None:
    """Set weights to zero where that does not raise the cost."""
    from bdnn.search.moves.annealing import try_zero as try_steps

    if state.levels is None:
        try_steps(state.arrays, positions, tolerance)
        return
    from bdnn.search.moves.level_sweep import try_zero_levels

    hidden, outputs = _split(positions, int(state.arrays.weight_at[-2]))
    if len(hidden):
        try_zero_levels(state.arrays, state.levels, hidden, tolerance)
    if len(outputs):
        try_steps(state.top, outputs, tolerance)


def _split(places: IntArray, first_output: int) -> tuple[IntArray, IntArray]:
    """Places of hidden units, and those of outputs counted from 0."""
    return places[places < first_output], places[places >= first_output] - first_output

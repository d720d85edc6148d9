"""Descent on the regression loss: units one after the other, then sweeps and kicks.

Units are added greedily, each the best of several proposals, its weights polished by exact moves,
and the last layer is fitted anew. Deeper layers are built on the activations of the layer below,
of which they can copy units, so that depth never has to hurt. Sweeps then visit all units again.
The absolute loss begins with the network of the squared one.

Where output weights can be fitted along with a unit (squared loss, steps with thresholds of their
own or none), :mod:`bdnn.search.moves.split` moves the last hidden layer. All other units have the
moves of every search, with outputs that stay until they are fitted anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bdnn.clock import Slot
from bdnn.network.activation import weighted_sums
from bdnn.network.network import Network
from bdnn.problem.create import regression
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem
from bdnn.search.embedding import as_levels, of_steps
from bdnn.search.moves.split import Unit, UnitSearch
from bdnn.search.refit import fit_outputs, merit, refit
from bdnn.search.starts.simple import drawn_thresholds
from bdnn.search.state import SearchState

_PROPOSALS, _LATER_PROPOSALS = 8, 3
# Features below a unit that are tried by themselves.
_MOST_SINGLES = 8
# Numbers that a fit of the last layer may touch after every single move.
_CHEAP_FIT = 20_000_000
# Passes over a unit's weights, random directions or pairs per pass, trials of shared thresholds.
_PASSES, _EXTRA, _LAYER_TRIALS = 2, 4, 2

Listener = Callable[[Network], object]


def build(
    problem: Problem[DistanceLoss],
    rng: np.random.Generator,
    on_network: Listener = lambda _: None,
    *,
    slot: Slot,
) -> Network:
    """Build a network unit by unit, of which ``on_network`` is told."""
    shape = problem.architecture

    def tell(network: Network) -> None:
        on_network(refit(problem, network))

    if not problem.loss.is_squared:
        return refit(problem, build(squared(problem), rng, tell, slot=slot))
    if shape.has_levels and shape.thresholds == "neuron" and not problem.terms:
        begin = build(of_steps(problem), rng, slot=slot)
        network = refit(problem, as_levels(begin, shape))
        on_network(network)
        return network
    if not _fits_along(problem) or (problem.terms and len(shape.hidden) > 1):
        return _best_drawn(problem, rng, on_network, slot)
    network = problem.constant_network()
    for depth in range(1, len(shape.hidden) + 1):
        # The layers so far as a network of their own, its last hidden layer to be built.
        part = replace(
            shape,
            hidden=shape.hidden[:depth],
            weights=(*shape.weights[:depth], shape.weights[-1]),
            activations=shape.activations[:depth],
        )
        stage = replace(problem, architecture=part)
        begin = stage.constant_network()
        if depth > 1:
            begin = Network(
                part,
                (*network.weights[:-1], *begin.weights[-2:]),
                (*network.thresholds[:-1], *begin.thresholds[-2:]),
            )
        is_last = depth == len(shape.hidden)
        network = _grow(stage, begin, rng, on_network if is_last else lambda _: None, slot)
    return network


def draw(problem: Problem[DistanceLoss], rng: np.random.Generator) -> Network:
    """Draw hidden units at random, which needs no compiled code, and fit the last layer."""
    shape = problem.architecture
    values, weights, thresholds = problem.inputs, [], []
    for k, units in enumerate(shape.hidden):
        kind = shape.weights[k]
        W = kind.nearest(kind.limit * rng.uniform(-1.0, 1.0, (units, values.shape[1])))
        sums = weighted_sums(values, W)
        weights.append(W)
        thresholds.append(drawn_thresholds(sums, shape, k, rng))
        values = shape.activation_of(k)(sums, thresholds[-1]).astype(float)
    last = problem.constant_network()
    network = Network(shape, (*weights, last.weights[-1]), (*thresholds, last.thresholds[-1]))
    return refit(problem, network)


def sweep(
    problem: Problem[DistanceLoss], network: Network, rng: np.random.Generator, *, slot: Slot
) -> Network:
    """Visit every unit once in random order; the network returned is never worse."""
    state = _state(problem, network, rng)
    best, least = network, merit(problem, network)
    shape = problem.architecture
    cheap = problem.inputs.shape[0] * max(shape.widths[-2], 1) ** 2 <= _CHEAP_FIT
    places = [(k, j) for k, width in enumerate(shape.hidden) for j in range(width)]
    for number, place in enumerate(rng.permutation(len(places)).tolist(), start=1):
        if slot.is_over():
            break
        layer, unit = places[place]
        moved = _visit(state, layer, unit, rng)
        if (moved and cheap) or number == len(places):
            if number == len(places) and shape.thresholds == "layer":
                for k in range(len(shape.hidden)):
                    state.move_layer_threshold(k, rng, _LAYER_TRIALS)
            _refit(state)
            found = state.to_network()
            if (now := merit(problem, found)) < least:
                best, least = found, now
    return best


def kick(problem: Problem[DistanceLoss], network: Network, rng: np.random.Generator) -> Network:
    """Draw some units of the last hidden layer anew, the least useful ones first."""
    if not problem.loss.is_squared:
        return refit(problem, kick(squared(problem), network, rng))
    state = _state(problem, network, rng)
    layer = len(problem.architecture.hidden) - 1
    if layer < 0:
        return network
    spread = state.inputs_of(layer + 1).std(axis=1) * np.abs(state.weights_of(layer + 1)).max(
        axis=0
    )
    count = min(len(spread), 1 + int(rng.integers(1 + len(spread) // 8)))
    odds = 1.0 / (spread + 1e-3 * spread.max(initial=0.0) + 1e-12)
    for unit in rng.choice(len(spread), size=count, replace=False, p=odds / odds.sum()):
        if not _fits_along(problem):
            state.redraw(layer, int(state.arrays.unit_at[layer] + unit), rng)
            continue
        choice = UnitSearch(state, unit, rng)
        found = choice.propose()
        if found is not None:
            choice.put(found)
    _refit(state)
    return state.to_network()


def squared(problem: Problem[DistanceLoss]) -> Problem[DistanceLoss]:
    """The problem with squares in place of sizes, one row per input again."""
    plain = regression(
        problem.architecture,
        problem.inputs[problem.loss.group],
        problem.loss.targets,
        problem.loss.weight,
        unit=problem.loss.price,
        tolerance=problem.loss.relative_tolerance,
    )
    return plain.with_terms(problem.terms)


def needs_moves(problem: Problem[DistanceLoss]) -> bool:
    """Whether some units need more than the moves that fit output weights along."""
    return len(problem.architecture.hidden) > 1 or not _fits_along(problem)


def _fits_along(problem: Problem[DistanceLoss]) -> bool:
    """Whether output weights can be chosen together with a unit below them."""
    shape = problem.architecture
    is_free = not shape.has_levels and shape.thresholds != "layer"
    return is_free and problem.loss.is_squared


def _state(
    problem: Problem[DistanceLoss], network: Network, rng: np.random.Generator
) -> SearchState:
    state = SearchState(problem, network)
    state.keep_terms(rng)
    return state


def _best_drawn(
    problem: Problem[DistanceLoss], rng: np.random.Generator, on_network: Listener, slot: Slot
) -> Network:
    """The best of several random networks, within the terms about weights."""
    best = problem.constant_network()
    least = merit(problem, best)
    for _ in range(_PROPOSALS):
        state = _state(problem, draw(problem, rng), rng)
        _refit(state)
        network = state.to_network()
        if (now := merit(problem, network)) < least:
            best, least = network, now
            on_network(network)
        if slot.is_over():
            break
    return best


def _grow(
    problem: Problem[DistanceLoss],
    network: Network,
    rng: np.random.Generator,
    on_network: Listener,
    slot: Slot,
) -> Network:
    """Choose the units of the last hidden layer one by one."""
    state = _state(problem, network, rng)
    width = problem.architecture.hidden[-1]
    size = problem.inputs.shape[0] * width**2
    every = 1 if size <= _CHEAP_FIT else max(1, width // 8)
    for unit in range(width):
        choice = UnitSearch(state, unit, rng, sharing=width - unit)
        best = max(_proposals(choice, _PROPOSALS), key=lambda found: found.gain, default=None)
        if best is not None:
            choice.put(choice.polish(best))
        ends = slot.is_over()
        if (unit + 1) % every == 0 or unit == width - 1 or ends:
            _refit(state)
            on_network(state.to_network())
        if ends or slot.is_over():
            break
    return state.to_network()


def _proposals(choice: UnitSearch, count: int) -> list[Unit]:
    made = [choice.propose() for _ in range(count)]
    singles = choice.rng.permutation(len(choice.values))[:_MOST_SINGLES]
    return [found for found in made if found is not None] + [choice.single(j) for j in singles]


def _visit(state: SearchState, layer: int, unit: int, rng: np.random.Generator) -> bool:
    """Improve a unit; tell whether that gained."""
    place = int(state.arrays.unit_at[layer]) + unit
    if layer < len(state.problem.architecture.hidden) - 1 or not _fits_along(state.problem):
        before = state.cost
        state.improve(np.array([place]), rng, _PASSES, _EXTRA)
        return state.cost < before - 1e-12 * abs(before)
    choice = UnitSearch(state, unit, rng)
    now = choice.now()
    best = choice.polish(now)
    for found in _proposals(choice, _LATER_PROPOSALS):
        if found.gain > best.gain:
            best = choice.polish(found)
    if not best.gain > now.gain + 1e-9 * abs(now.gain):
        return False
    choice.put(best)
    return True


def _refit(state: SearchState) -> None:
    """Fit the last layer anew, with as many weights as there is room for."""
    problem, s = state.problem, state.arrays
    top = len(s.widths) - 2
    values, W = state.inputs_of(top).T, state.weights_of(top)
    fitted, bias = fit_outputs(problem, values, W)
    if problem.terms:
        worth = np.abs(fitted) * values.std(axis=0)
        for o, line in enumerate(fitted):
            line[np.argsort(-worth[o])[state.room(top, o) :]] = 0.0
            W[o] = line
        fitted, bias = fit_outputs(problem, values, fitted, keeps_zeros=True)
    W[:] = fitted
    s.thresholds[s.unit_at[top] :, 0] = -bias
    state.refresh(top)

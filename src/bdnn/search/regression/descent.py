"""Descent on the regression loss: units one after the other, then sweeps and kicks.

Units are added greedily, each the best of several proposals, its weights polished by exact moves,
and the last layer is fitted anew. Deeper layers are built on the activations of the layer below,
of which they can copy units, so that depth never has to hurt. Sweeps then visit all units again.
The absolute loss begins with the network of the squared one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import UnsupportedFeatureError
from bdnn.network.activation import weighted_sums
from bdnn.network.network import Network
from bdnn.problem.create import regression
from bdnn.problem.losses.distance import DistanceLoss
from bdnn.problem.problem import Problem
from bdnn.search.regression.refit import refit
from bdnn.search.regression.state import RegressionState
from bdnn.search.regression.unit import Unit, UnitSearch

_PROPOSALS, _LATER_PROPOSALS = 8, 3
# Features below a unit that are tried by themselves.
_MOST_SINGLES = 8
# Numbers that a fit of the last layer may touch after every single move.
_CHEAP_FIT = 20_000_000

Listener = Callable[[Network], object]


def check_architecture(problem: Problem[DistanceLoss]) -> None:
    """Refuse what the search has no moves for."""
    shape = problem.architecture
    if shape.has_levels:
        raise UnsupportedFeatureError(
            "the search for regression has no moves for activation "
            f"'{shape.activation_names}': use 'step', or method 'exact' or 'auto'."
        )
    if shape.thresholds == "layer":
        raise UnsupportedFeatureError(
            "the search for regression has no moves for thresholds='layer': use 'neuron' or "
            "'zero', or method 'exact'."
        )


def build(
    problem: Problem[DistanceLoss],
    rng: np.random.Generator,
    on_network: Listener = lambda _: None,
    *,
    slot: Slot,
) -> Network:
    """Build a network unit by unit, of which ``on_network`` is told."""
    if problem.loss.kind == "absolute":
        begin = build(
            squared(problem), rng, lambda network: on_network(refit(problem, network)), slot=slot
        )
        return refit(problem, begin)
    shape = problem.architecture
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
        listener = on_network if is_last else lambda _: None
        network = _grow(stage, begin, rng, listener, slot)
    return network


def draw(problem: Problem[DistanceLoss], rng: np.random.Generator) -> Network:
    """Draw hidden units at random, which needs no compiled code, and fit the last layer."""
    shape = problem.architecture
    values, weights, thresholds = problem.inputs, [], []
    for units, kind in zip(shape.hidden, shape.weights, strict=False):
        W = kind.nearest(kind.limit * rng.uniform(-1.0, 1.0, (units, values.shape[1])))
        t = np.zeros(units)
        if shape.thresholds == "neuron":
            # Through a random input each.
            t = (W * values[rng.integers(len(values), size=units)]).sum(axis=1)
        weights.append(W)
        thresholds.append(t)
        values = (weighted_sums(values, W) >= t).astype(float)
    last = problem.constant_network()
    network = Network(shape, (*weights, last.weights[-1]), (*thresholds, last.thresholds[-1]))
    return refit(problem, network)


def _grow(
    problem: Problem[DistanceLoss],
    network: Network,
    rng: np.random.Generator,
    on_network: Listener,
    slot: Slot,
) -> Network:
    """Choose the units of the last hidden layer one by one."""
    state = RegressionState(problem, network, rng)
    width = len(state.on[-1])
    size = problem.inputs.shape[0] * width**2
    every = 1 if size <= _CHEAP_FIT else max(1, width // 8)
    for unit in range(width):
        search = state.search(unit)
        best = None
        for found in _proposals(search, _PROPOSALS):
            if best is None or found.gain > best.gain:
                best = found
        if best is not None:
            state.put(unit, search.polish(best))
        ends = slot.is_over()
        if (unit + 1) % every == 0 or unit == width - 1 or ends:
            state.refit()
            on_network(state.network())
        if ends or slot.is_over():
            break
    return state.network()


def _proposals(search: UnitSearch, count: int) -> list[Unit]:
    made = [search.propose() for _ in range(count)]
    n_features = len(search.values)
    singles = search.rng.permutation(n_features)[:_MOST_SINGLES]
    return [found for found in made if found is not None] + [search.single(j) for j in singles]


def sweep(
    problem: Problem[DistanceLoss],
    network: Network,
    rng: np.random.Generator,
    *,
    slot: Slot,
) -> Network:
    """Visit every unit once in random order; the network returned is never worse."""
    state = RegressionState(problem, network, rng)
    loss = problem.value(network)
    best = network
    cheap = problem.inputs.shape[0] * max(problem.architecture.widths[-2], 1) ** 2 <= _CHEAP_FIT
    places = [(k, j) for k, on in enumerate(state.on) for j in range(len(on))]
    for number, place in enumerate(rng.permutation(len(places)).tolist(), start=1):
        if slot.is_over():
            break
        moved = _visit(state, *places[place])
        if (moved and cheap) or number == len(places):
            state.refit()
            found = state.network()
            if (now := problem.value(found)) < loss:
                loss, best = now, found
    return best


def _visit(state: RegressionState, layer: int, unit: int) -> bool:
    if layer < len(state.on) - 1 or state.problem.loss.kind == "absolute":
        return state.improve(layer, unit)
    search = state.search(unit)
    now = search.take(state.weights[layer][unit], float(state.thresholds[layer][unit]))
    best = search.polish(now)
    for found in _proposals(search, _LATER_PROPOSALS):
        if found.gain > best.gain:
            best = search.polish(found)
    if not best.gain > now.gain + 1e-9 * abs(now.gain):
        return False
    state.put(unit, best)
    return True


def kick(problem: Problem[DistanceLoss], network: Network, rng: np.random.Generator) -> Network:
    """Draw some units of the last hidden layer anew, the least useful ones first."""
    if problem.loss.kind == "absolute":
        return refit(problem, kick(squared(problem), network, rng))
    state = RegressionState(problem, network, rng)
    if not state.on:
        return network
    spread = state.on[-1].std(axis=1) * np.abs(state.weights[-1]).max(axis=0)
    count = min(len(spread), 1 + int(rng.integers(1 + len(spread) // 8)))
    odds = 1.0 / (spread + 1e-3 * spread.max(initial=0.0) + 1e-12)
    for unit in rng.choice(len(spread), size=count, replace=False, p=odds / odds.sum()):
        search = state.search(unit)
        found = search.propose()
        if found is not None:
            state.put(unit, found)
    state.refit()
    return state.network()


def squared(problem: Problem[DistanceLoss]) -> Problem[DistanceLoss]:
    """The problem with squares in place of sizes, one line per input again."""
    return regression(
        problem.architecture,
        problem.inputs[problem.loss.group],
        problem.loss.targets,
        problem.loss.weight,
        unit=problem.loss.price,
        tolerance=problem.loss.relative_tolerance,
    )

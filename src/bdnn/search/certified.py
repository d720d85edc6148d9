"""Search on the worst case: networks whose class holds in a ball around every sample.

The cost of a sample is what its worst lead over another class lacks to a wanted one, see
:mod:`bdnn.search.kernels.certified`. A sample that cannot be protected costs no more than a bounded
amount above a lead of zero would be worth, and the others go on. Units begin as thresholds on
single features, whose sums move least in a ball; from planes in general position a search at large
radii does not get off the ground.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.clock import Slot
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.intervals import Bounds, sum_bounds
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.problem.reach import BinReach, reach_sums
from bdnn.search.kernels.arrays import MoveLimits
from bdnn.search.limits import drawn_limits, into_limits
from bdnn.search.state import free_limits

_CODES = {"linf": 0, "l1": 1, "l2": 2}
# First temperature, in units of the wanted lead times the weight of an average sample.
_HEAT = 0.05


@dataclass(frozen=True, eq=False)
class Balls:
    """Inputs that samples may become: a box each, and for l_1 and l_2 a ball in it.

    Where bins of raw columns decide inputs, those of a column move together in the box.
    """

    # (n_samples, n_features).
    low: FloatArray
    high: FloatArray
    centre: FloatArray
    # (n_samples,): of the balls, rounding included; of no meaning for l_inf, where the box is all.
    radius: FloatArray
    norm: str  # {"linf", "l1", "l2"}
    labels: NDArray[np.intp]  # (n_samples,)
    sample_weight: FloatArray  # (n_samples,)
    bins: tuple[BinReach, ...] = ()

    def sums(self, W: FloatArray) -> Bounds:
        """Least and largest sums over boxes and bins, one column per line of the weights."""
        numbers = np.ones(self.low.shape[1], dtype=bool)
        for column in self.bins:
            numbers[column.inputs] = False
        low, high = sum_bounds(W[:, numbers], self.low[:, numbers], self.high[:, numbers])
        parts = reach_sums(self.bins, W, len(self.low))
        return low + parts[0], high + parts[1]


def stumps(architecture: Architecture, balls: Balls, rng: np.random.Generator) -> Network:
    """A network of thresholds on single features, each for one class and against another."""
    n, units, outputs = architecture.n_features, architecture.hidden[0], architecture.n_outputs
    W = np.zeros((units, n))
    features = rng.integers(n, size=units)
    W[np.arange(units), features] = 1.0
    t = balls.centre[rng.integers(len(balls.centre), size=units), features]
    V = np.zeros((outputs, units))
    V[rng.integers(outputs, size=units), np.arange(units)] = 1.0
    V[rng.integers(outputs, size=units), np.arange(units)] = -1.0
    layers = []
    for kind, weights in zip(architecture.weights, (W, V), strict=True):
        if not kind.zero:
            weights = np.where(weights == 0.0, rng.choice([-1.0, 1.0], weights.shape), weights)
        layers.append(weights)
    T = np.zeros(outputs)
    if architecture.thresholds != "neuron":
        # Weights of continuous layers limit a shared threshold to [-1, 1].
        level = float(np.clip(np.median(t), -1, 1)) if architecture.thresholds == "layer" else 0.0
        t = np.full(units, level)
    return Network(architecture, tuple(layers), (t, T))


def best_cut(
    low: FloatArray, high: FloatArray, balls: Balls, n_classes: int
) -> tuple[int, float, int, int]:
    """The sum and its threshold that certify most, and the classes above and below.

    ``low`` and ``high`` are ends of sums of every sample, one column each. A sample is certain
    above a threshold that its least sum reaches and below one that its largest sum does not; only
    least sums need to be tried.
    """
    label_weight = np.zeros((len(balls.labels), n_classes))
    label_weight[np.arange(len(label_weight)), balls.labels] = balls.sample_weight
    best, found = -np.inf, (0, 0.0, 0, 0)
    for j in range(low.shape[1]):
        by_low, by_high = np.argsort(low[:, j]), np.argsort(high[:, j])
        levels, highest = low[by_low, j], high[by_high, j]
        above = np.cumsum(label_weight[by_low][::-1], axis=0)[::-1]
        above = above[np.searchsorted(levels, levels)]
        below = np.concatenate((np.zeros((1, n_classes)), np.cumsum(label_weight[by_high], axis=0)))
        below = below[np.searchsorted(highest, levels)]
        for on in range(n_classes):
            rest = np.where(np.arange(n_classes) == on, -np.inf, below)
            gain = above[:, on] + rest.max(axis=1)
            place = int(gain.argmax())
            if gain[place] > best and np.isfinite(levels[place]):
                best = float(gain[place])
                found = j, float(levels[place]), on, int(rest[place].argmax())
    return found


def cut_network(
    architecture: Architecture,
    j: int,
    level: float,
    on: int,
    off: int,
    sums: FloatArray | None = None,
) -> Network:
    """One unit with a class on either side of its threshold, on an input or one of given sums."""
    shape = replace(
        architecture,
        hidden=(1,),
        weights=(architecture.weights[0], architecture.weights[-1]),
        activations=(),
    )
    W, V = np.zeros((1, shape.n_features)), np.zeros((shape.n_outputs, 1))
    W[0, j if sums is None else slice(None)] = 1.0 if sums is None else sums[j]
    V[on, 0], V[off, 0] = 1.0, -1.0
    T = np.ones(shape.n_outputs)  # other classes stay behind
    T[[on, off]] = 0.5, -0.5
    return Network(shape, (W, V), (np.array([level]), T))


def improve_worst_case(
    balls: Balls,
    network: Network,  # where to begin
    *,
    wanted: float,  # lead beyond which nothing is gained, in units of weights
    sweeps: int,
    slot: Slot,  # fewer sweeps are planned where it is too short
    rng: np.random.Generator,
    # Of the network's architecture, whose terms about weights no move breaks.
    terms: Problem[Any] | None = None,
) -> Network:
    """Anneal the weights of a network with one hidden layer on its worst leads.

    Returns the last one, which is the coldest.
    """
    from bdnn.search.kernels.certified import anneal_tops, anneal_unit, refresh_leads

    limits = None
    if terms is not None and terms.terms:
        limits = drawn_limits(terms, network, rng, paired=False)
    state = _state(balls, network, wanted, limits)
    if limits is not None:
        shape, widths = network.architecture, np.array(network.architecture.widths)
        state.weights[:] = into_limits(state.weights, limits, shape, widths, rng)
    refresh_leads(state)
    heat = _HEAT * wanted * float(balls.sample_weight.mean())
    seconds, done = slot.remaining, 0
    current = network
    while done < sweeps:
        temperature = heat * (1.0 - (done + 1) / sweeps) ** 2
        anneal_tops(state, temperature, rng)
        for j in rng.permutation(len(state.t)):
            if slot.is_over():
                break
            anneal_unit(state, j, temperature, rng)
        refresh_leads(state)
        done += 1
        used = max(0.0, seconds - slot.remaining) if np.isfinite(seconds) else 0.0
        if used * sweeps > seconds * done:
            sweeps = max(done, int(done * seconds / max(used, 1e-9)))
        current = Network(
            network.architecture,
            (state.W.copy(), state.V.copy()),
            (state.t.copy(), state.T.copy()),
        )
        if slot.is_over():
            break
    return current


def _state(  # type: ignore[no-untyped-def]
    balls: Balls, network: Network, wanted: float, limits: MoveLimits | None = None
):
    from bdnn.search.kernels.certified import Worst

    shape = network.architecture
    n, units, outputs = shape.widths
    samples = len(balls.labels)
    values = [kind.values if kind.integer else np.zeros(0) for kind in shape.weights]
    weights = np.concatenate([W.ravel() for W in network.weights])
    split = units * n
    return Worst(
        low=np.ascontiguousarray(balls.low.T),
        high=np.ascontiguousarray(balls.high.T),
        centre=np.ascontiguousarray(balls.centre.T),
        columns=_columns(balls, n),
        radius=balls.radius.astype(float),
        norm=np.array([_CODES[balls.norm]], dtype=np.int64),
        label=balls.labels.astype(np.int64),
        sample_weight=balls.sample_weight.astype(float),
        weights=weights,
        weight_at=np.array([0, split, len(weights)]),
        limits=limits or free_limits(shape, np.array(shape.widths), paired=False),
        W=weights[:split].reshape(units, n),
        V=weights[split:].reshape(outputs, units),
        t=network.step_thresholds[0].copy(),
        T=network.step_thresholds[1].copy(),
        lower=np.zeros((units, samples)),
        upper=np.zeros((units, samples)),
        lead=np.zeros((samples, outputs)),
        values=values[0].astype(float),
        top_values=values[1].astype(float),
        free=np.array([shape.thresholds == "neuron"]),
        wanted=np.array([wanted]),
    )


def _columns(balls: Balls, n_features: int):  # type: ignore[no-untyped-def]
    from bdnn.search.kernels.certified import Columns

    def flat(parts: list[Any], kind: type) -> tuple[Any, NDArray[np.int64]]:
        """Arrays one after the other, and where each begins."""
        ends = np.cumsum([0, *(part.size for part in parts)])
        return np.concatenate([np.empty(0, kind), *(part.ravel() for part in parts)]), ends

    column_of = np.full(n_features, -1, dtype=np.int64)
    set_of = np.zeros((len(balls.bins), len(balls.labels)), dtype=np.int64)
    for j, column in enumerate(balls.bins):
        column_of[column.inputs], set_of[j] = j, column.set_of
    return Columns(
        column_of,
        *flat([column.inputs.astype(np.int64) for column in balls.bins], np.int64),
        *flat([column.patterns for column in balls.bins], float),
        *flat([column.sets for column in balls.bins], bool),
        np.array([len(column.patterns) for column in balls.bins], dtype=np.int64),
        set_of,
    )

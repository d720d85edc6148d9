"""A smaller model with the same answers: dead units, equal units and redundant literals gone.

Every step keeps each answer exactly, for all raw rows: a threshold that a float cannot hold, or a
weight that its set does not have, is left as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from bdnn.encoding.bins import Bins, make_bins
from bdnn.errors import ModelError
from bdnn.model import Model
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import WeightSet
from bdnn.network.network import Network

# Sums of the other columns, times patterns of one, that are looked at for a literal.
_MOST_SUMS = 200_000


def simplify(model: Model) -> Model:
    """Leave out what has no say.

    Networks whose units take other values than 0 and 1 only lose inputs that nothing looks at.
    """
    network = model.network
    is_step = all(rule.is_step for rule in network.architecture.activations)
    if is_step and network.architecture.hidden:
        layers = [(W.copy(), t[:, 0].copy()) for W, t in _layers(network)]
        while _smaller(layers, model):
            pass
        network = _network(network, layers)
    used = np.asarray(network.weights[0].any(axis=0))
    used[0] |= not used.any()
    shape = replace(network.architecture, n_features=int(used.sum()))
    weights = (network.weights[0][:, used], *network.weights[1:])
    encoder = model.encoder.subset(used)
    smaller = Network(shape, weights, network.thresholds)
    return replace(model, encoder=encoder, network=smaller)


Layer = tuple[FloatArray, FloatArray]


def _layers(network: Network) -> list[tuple[FloatArray, FloatArray]]:
    return list(zip(network.weights, network.thresholds, strict=True))


def _network(before: Network, layers: Sequence[Layer]) -> Network:
    """A network of layers, each with a set that has its weights."""
    sets = []
    for kind, (W, _) in zip(before.architecture.weights, layers, strict=True):
        largest = int(np.abs(W).max(initial=1.0)) if kind.integer else 1
        sets.append(_set(largest) if kind.integer else kind)
    shape = replace(
        before.architecture,
        hidden=tuple(len(W) for W, _ in layers[:-1]),
        weights=tuple(sets),
        thresholds="neuron",
        activations=before.architecture.activations,
    )
    weights, thresholds = zip(*layers, strict=True)
    return Network(shape, weights, tuple(t[:, None] for t in thresholds))


def _set(largest: int) -> WeightSet:
    return WeightSet.parse("ternary" if largest <= 1 else f"int:{largest}")


def _smaller(layers: list[Layer], model: Model) -> bool:
    """Take one step, if there is one."""
    if _without_literals(layers, model):
        return True
    low, high = _input_range(model)
    for k in range(len(layers) - 1):
        W, t = layers[k]
        least, most = _reach(W, low, high)
        # Sums of floats may round; what is decided by less than that is not.
        slack = 0.0 if _is_whole(W) and k else 1e-9 * (1 + np.abs(t))
        is_on, is_off = least > t + slack, most < t - slack
        if k and _is_whole(W):
            is_on = least >= t
        is_used = np.asarray(layers[k + 1][0].any(axis=0))
        for unit in np.flatnonzero(is_on | is_off | ~is_used).tolist():
            if _dropped(layers, k, unit, is_on=bool(is_on[unit]) and bool(is_used[unit])):
                return True
        if _joined_twins(layers, k, model):
            return True
        low, high = np.zeros(len(W)), np.ones(len(W))
    return False


def _input_range(model: Model) -> tuple[FloatArray, FloatArray]:
    """Least and largest values of inputs: bits are 0 or 1, numbers are whatever."""
    encoder = model.encoder
    is_number = np.arange(encoder.n_inputs) < encoder.n_numbers
    return np.where(is_number, -np.inf, 0.0), np.where(is_number, np.inf, 1.0)


def _reach(W: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least and largest sums."""
    ends = np.stack([W * np.where(W != 0, end, 0.0) for end in (low, high)])
    return ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)


def _is_whole(values: FloatArray) -> bool:
    return bool((values == np.rint(values)).all())


def _dropped(layers: list[Layer], k: int, unit: int, *, is_on: bool) -> bool:
    """Leave out a hidden unit that is always on or off; tell whether that was possible."""
    (W, t), (V, s) = layers[k], layers[k + 1]
    if len(W) == 1:
        return False
    shifted = s - V[:, unit] if is_on else s
    if is_on and not _is_exact(s, V[:, unit], shifted):
        return False
    layers[k] = np.delete(W, unit, axis=0), np.delete(t, unit)
    layers[k + 1] = np.delete(V, unit, axis=1), shifted
    return True


def _is_exact(before: FloatArray, less: FloatArray, after: FloatArray) -> bool:
    triples = zip(before.tolist(), less.tolist(), after.tolist(), strict=True)
    return all(Fraction(a) - Fraction(b) == Fraction(c) for a, b, c in triples)


def _joined_twins(layers: list[Layer], k: int, model: Model) -> bool:
    """Make one unit of two that are always equal."""
    (W, t), (V, s) = layers[k], layers[k + 1]
    kind = model.network.architecture.weights[k + 1]
    seen: dict[bytes, int] = {}
    for unit in range(len(W)):
        # Whole weights of bits reach a threshold where they reach the next whole number.
        limit = np.ceil(t[unit]) if k and _is_whole(W[unit]) else t[unit]
        first = seen.setdefault(W[unit].tobytes() + np.float64(limit).tobytes(), unit)
        if first == unit:
            continue
        joined = V[:, first] + V[:, unit]
        try:
            fits = kind.integer and _set(int(np.abs(joined).max(initial=1.0))).integer
        except ModelError:
            fits = False
        if not (fits or (np.abs(joined) <= 1).all()) or not _is_exact(
            joined, V[:, unit], V[:, first]
        ):
            continue
        V = V.copy()
        V[:, first] = joined
        layers[k] = np.delete(W, unit, axis=0), np.delete(t, unit)
        layers[k + 1] = np.delete(V, unit, axis=1), s
        return True
    return False


def _without_literals(layers: list[Layer], model: Model) -> bool:
    """Leave out bits of first units that never change them, given what columns can say."""
    encoder = model.encoder
    W, t = layers[0]
    if not _is_whole(W):
        return False
    bins = make_bins(encoder)
    changed = False
    for unit in range(len(W)):
        if W[unit, : encoder.n_numbers].any():
            continue
        t[unit] = np.ceil(t[unit])  # which whole sums reach where they reach the threshold
        found = _fewer(W[unit], float(t[unit]), bins)
        if found is not None:
            W[unit], t[unit] = found
            changed = True
    layers[0] = W, t
    return changed


def _fewer(row: FloatArray, limit: float, bins: Sequence[Bins]) -> tuple[FloatArray, float] | None:
    """A unit of bits without one literal that is redundant, or nothing."""
    own = [part.patterns @ row[part.inputs] for part in bins]
    looked = [j for j, part in enumerate(bins) if row[part.inputs].any()]
    for j in looked:
        others = np.zeros(1)
        for i in looked:
            if i != j:
                others = np.unique((others[:, None] + np.unique(own[i])).ravel())
        part = bins[j]
        if len(others) * part.n_bins > _MOST_SUMS:
            continue
        is_on: BoolArray = others[:, None] + own[j] >= limit
        for place in np.flatnonzero(row[part.inputs]).tolist():
            without = row.copy()
            without[part.inputs[place]] = 0.0
            sums = others[:, None] + part.patterns @ without[part.inputs]
            # As if it were always off, or always on.
            for moved in (limit, limit - float(row[part.inputs[place]])):
                if np.array_equal(sums >= moved, is_on):
                    return without, moved
    return None

"""A network for an epoch without a solver: allowed units below, a search on clusters above.

Along a direction every cluster covers an interval of sums. A threshold between these intervals
makes a unit that the epoch's problem allows, and all thresholds between two neighbouring intervals
make the same one; so a direction offers as many units as there are gaps, each with a known margin.
Balls around the inputs make the intervals wider by what a perturbation can add.

The first layer is taken from a pool of such units. What it says about a cluster is then one 0/1
input for the layers above, and these are trained on as many inputs as there are clusters, which
takes milliseconds. Where the loss meets the bound the network is optimal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.network.activation import BoolArray, FloatArray, weighted_sums
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.samples import Samples
from bdnn.program import IndexArray
from bdnn.search.descent import descend
from bdnn.search.embedding import embed
from bdnn.search.starts import random_start
from bdnn.training.paper.clusters import fit_to_set
from bdnn.training.paper.epoch import Candidate, EpochProblem

# Gaps must be wide enough to survive rounding, in units of the inputs.
_SMALLEST_GAP = 1e-7
# Thresholds that a layer shares are chosen among this many.
_SHARED_TRIALS = 64
# Directions of the first pool; every further one has twice as many.
_DIRECTIONS = 300
_POOLS = 3
# Penalties of the regressions, relative to the inputs' variance.
_PENALTIES = (1e-6, 1e-2, 1.0)
_SWEEPS = 40


@dataclass(frozen=True, eq=False)
class UnitPool:
    """Units that cut no cluster."""

    # Weights and threshold of every unit.
    W: FloatArray
    t: FloatArray
    on: BoolArray  # (n_units, n_clusters): which clusters a unit holds
    margin: FloatArray  # distance of the nearest input from the unit's plane

    def __len__(self) -> int:
        return len(self.W)

    def take(self, places: IndexArray) -> UnitPool:
        """Some of the units."""
        return UnitPool(self.W[places], self.t[places], self.on[places], self.margin[places])


def construct(
    epoch: EpochProblem,
    rng: np.random.Generator,
    target: float,
    slot: Slot,
) -> Candidate | None:
    """Build a network that obeys the epoch's clusters, None if no units were found for it.

    A loss of ``target``, which is a lower bound, is enough. Units of several values are left to the
    solver.
    """
    best: Candidate | None = None
    if epoch.problem.architecture.has_levels:
        return None
    for pool in unit_pools(epoch, rng):
        found = _from_pool(epoch, pool, rng, target, slot)
        if found is not None and epoch.is_feasible(found.network):
            loss = epoch.problem.value(found.network)
            if best is None or loss < epoch.problem.value(best.network):
                best = found
            if epoch.problem.is_close(loss, target):
                break
        if slot.is_over():
            break
    return best


def robust_start(problem: Problem[OutputLoss], rng: np.random.Generator) -> Network | None:
    """Draw a network whose units cut no ball around an input, those that halve the data rather.

    Weights at random would leave few gaps between the balls: sums of many features overlap. None
    where no network was found.
    """
    network = random_start(problem, rng)
    shape = problem.architecture
    # Every input is a cluster of its own.
    each = EpochProblem(problem, np.arange(len(problem.inputs)))
    pool = next((pool for pool in unit_pools(each, rng) if len(pool)), None)
    if pool is not None:
        n_on = pool.on.sum(axis=1)
        chance = np.minimum(n_on, pool.on.shape[1] - n_on)
        units = pool.take(rng.choice(len(pool), size=shape.widths[1], p=chance / chance.sum()))
        network = Network(
            shape, (units.W, *network.weights[1:]), (units.t, *network.thresholds[1:])
        )
    return problem.settled(network)


def _from_pool(
    epoch: EpochProblem, pool: UnitPool, rng: np.random.Generator, target: float, slot: Slot
) -> Candidate | None:
    """Make a network of the epoch's shape: a shallow one made deeper, or by a deep search."""
    shape = epoch.problem.architecture
    if not shape.hidden:
        return Candidate(_single_layer(epoch, pool))
    if not len(pool):
        return None
    flat = shallow_shape(shape)
    units = _first_layer(epoch, pool, flat.hidden[0], rng)
    network = _with_upper_layers(epoch, units, flat, rng, target, slot)
    with contextlib.suppress(ModelError):  # for example no zero weights to copy units with
        return Candidate(embed(network, shape), network if len(shape.hidden) > 1 else None)
    units = _first_layer(epoch, pool, shape.hidden[0], rng)
    return Candidate(_with_upper_layers(epoch, units, shape, rng, target, slot))


def shallow_shape(shape: Architecture) -> Architecture:
    """One hidden layer that fits into every hidden layer of a shape."""
    ends = (shape.weights[0], shape.weights[-1])
    return replace(shape, hidden=(min(shape.hidden),), weights=ends, activations=())


def _single_layer(epoch: EpochProblem, pool: UnitPool) -> Network:
    """Outputs straight from the pool: for each the allowed unit of least loss, or a constant."""
    shape = epoch.problem.architecture
    constant = epoch.problem.constant_network()
    if shape.thresholds == "layer" or not len(pool):
        return constant
    off = epoch.label_weight
    gain = 2 * off - off.sum(axis=1, keepdims=True)
    merit = pool.on.astype(float) @ gain
    W, t = constant.weights[0].copy(), constant.thresholds[0].copy()
    flat = np.maximum(gain.sum(axis=0), 0.0)
    for output in range(shape.n_outputs):
        best = int(merit[:, output].argmax())
        if merit[best, output] > flat[output]:
            W[output], t[output] = pool.W[best], pool.t[best]
    return Network(shape, (W,), (t,))


def _first_layer(
    epoch: EpochProblem, pool: UnitPool, width: int, rng: np.random.Generator
) -> UnitPool:
    """Choose units that tell clusters of different answers apart, with wide margins, and differ.

    Greedy: pairs of clusters that should differ and do not yet are served first, then chance
    decides with the margin as its weight.
    """
    wanted = epoch.label_weight * 2 > epoch.label_weight.sum(axis=1, keepdims=True)
    one, two = np.nonzero(np.triu((wanted[:, None, :] != wanted[None, :, :]).any(axis=2)))
    splits = pool.on[:, one] != pool.on[:, two]
    room = pool.margin / max(float(pool.margin.max()), 1e-300)
    open_pairs = np.ones(len(one), dtype=bool)
    chosen: list[int] = []
    while open_pairs.any() and len(chosen) < width:
        served = splits[:, open_pairs].sum(axis=1) * (0.1 + room)
        best = int(served.argmax())
        if not splits[best, open_pairs].any():
            break
        chosen.append(best)
        open_pairs &= ~splits[best]
    value = room * (1e-3 + splits.mean(axis=1)) if len(one) else room
    rest = width - len(chosen)
    count = min(rest, len(pool))
    lottery = np.log(rng.random(len(pool))) / np.maximum(value, 1e-6)
    chosen += np.argsort(-lottery)[:count].tolist()
    chosen += rng.choice(len(pool), size=width - len(chosen)).tolist()
    return pool.take(np.array(chosen))


def _with_upper_layers(
    epoch: EpochProblem,
    below: UnitPool,
    shape: Architecture,
    rng: np.random.Generator,
    target: float,
    slot: Slot,
) -> Network:
    """Train the layers above chosen units on one input per cluster."""
    above = Architecture(
        len(below), shape.hidden[1:], shape.n_outputs, shape.weights[1:], shape.thresholds,
        shape.ties,
    )  # fmt: skip
    samples = Samples.merge(below.on.T.astype(float), apart=True)
    problem = Problem(above, samples, OutputLoss.of_weights(epoch.label_weight))
    found = descend(
        problem,
        slot=slot,
        seed=np.random.SeedSequence(int(rng.integers(2**63))),
        start=_votes(problem) if not above.hidden else "random",
        target=target,
        max_sweeps=_SWEEPS,
    )
    weights, thresholds = found.network.weights, found.network.thresholds
    return Network(shape, (below.W, *weights), (below.t, *thresholds))


def _votes(problem: Problem[OutputLoss]) -> Network:
    """Outputs for which every unit votes by the sign of its correlation with the class."""
    shape, X, label_weight = problem.architecture, problem.inputs, problem.loss.label_weight
    total = label_weight.sum(axis=1)
    centred = X - np.average(X, axis=0, weights=total)
    share = label_weight - total[:, None] * (label_weight.sum(axis=0) / total.sum())
    W: FloatArray = share.T @ centred
    kind = shape.weights[0]
    largest = np.abs(W).max(axis=1, keepdims=True, initial=0.0)
    W = W / np.where(largest > 0, largest, 1.0)
    if kind.integer:
        W = np.sign(W) * kind.limit if kind.zero else np.where(W >= 0, 1.0, -1.0)
    sums = X @ W.T
    t = np.average(sums, axis=0, weights=total)
    if shape.thresholds != "neuron":
        t = np.zeros_like(t)
    return Network(shape, (W,), (t,))


def unit_pools(epoch: EpochProblem, rng: np.random.Generator) -> Iterator[UnitPool]:
    """Pools of ever more units."""
    shape = epoch.problem.architecture
    for attempt in range(_POOLS):
        directions = propose_directions(epoch, shape.weights[0], _DIRECTIONS << attempt, rng)
        yield allowed_units(epoch, directions, shape.thresholds)


def allowed_units(epoch: EpochProblem, directions: FloatArray, thresholds: str) -> UnitPool:
    """All units along given directions that cut no cluster and are not the same on all."""
    low, high = _intervals(epoch, directions)
    if thresholds == "zero":
        return _at_threshold(directions, low, high, np.zeros(len(directions)))
    order = np.argsort(low, axis=1, kind="stable")
    sorted_low = np.take_along_axis(low, order, axis=1)
    covered = np.maximum.accumulate(np.take_along_axis(high, order, axis=1), axis=1)
    gaps = sorted_low[:, 1:] - covered[:, :-1]
    line, place = np.nonzero(gaps > _SMALLEST_GAP * (1.0 + np.abs(covered[:, :-1])))
    t = 0.5 * (sorted_low[line, place + 1] + covered[line, place])
    W = directions[line]
    if thresholds == "layer":
        return _sharing(directions, low, high, W, t)
    return _at_threshold(W, low[line], high[line], t)


def _intervals(epoch: EpochProblem, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest sum of every cluster along every direction."""
    order = np.argsort(epoch.groups, kind="stable")
    first = np.unique(epoch.groups[order], return_index=True)[1]
    inputs, pattern = epoch.problem.inputs, epoch.problem.loss.pattern
    if pattern is None:
        low = high = weighted_sums(inputs, directions)
    else:
        low, high = pattern.sums(directions, inputs)
    low, high = low[order].T, high[order].T
    return np.minimum.reduceat(low, first, axis=1), np.maximum.reduceat(high, first, axis=1)


def _at_threshold(W: FloatArray, low: FloatArray, high: FloatArray, t: FloatArray) -> UnitPool:
    """Those of the units with these thresholds that cut no cluster."""
    on = low >= t[:, None]
    distance = np.where(on, low - t[:, None], t[:, None] - high).min(axis=1, initial=np.inf)
    allowed = (on | (high < t[:, None])).all(axis=1) & on.any(axis=1) & ~on.all(axis=1)
    length = np.maximum(np.linalg.norm(W, axis=1), 1e-300)
    return UnitPool(W, t, on, distance / length).take(np.flatnonzero(allowed))


def _sharing(
    directions: FloatArray, low: FloatArray, high: FloatArray, W: FloatArray, t: FloatArray
) -> UnitPool:
    """Units that all have the threshold at which most directions cut no cluster."""
    if not len(t):
        return _at_threshold(W, np.zeros((0, low.shape[1])), np.zeros((0, low.shape[1])), t)
    candidates = np.unique(t)[:: max(1, len(np.unique(t)) // _SHARED_TRIALS)]
    pools = (
        _at_threshold(directions, low, high, np.full(len(directions), level))
        for level in candidates
    )
    return max(pools, key=len)


def propose_directions(
    epoch: EpochProblem, weights: WeightSet, count: int, rng: np.random.Generator
) -> FloatArray:
    """Directions along which clusters may be told apart, in the box of a weight set.

    A part is sparse and random; the others regress a dichotomy of the clusters on the inputs: a
    class against the rest, some classes against the others, or clusters at random.
    """
    X = epoch.problem.inputs
    n = X.shape[1]
    sparse = np.zeros((count // 3, n))
    terms = rng.integers(1, min(n, 4) + 1, size=len(sparse))
    ranks = rng.random(sparse.shape).argsort(axis=1)
    chosen = ranks < terms[:, None]
    sparse[chosen] = rng.choice([-1.0, 1.0], size=int(chosen.sum())) * rng.uniform(
        0.5, 1.0, size=int(chosen.sum())
    )
    planes = _regressions(epoch, count - len(sparse), rng)
    return fit_to_set(np.vstack([np.eye(n), sparse, planes]), weights, rng)


def _regressions(epoch: EpochProblem, count: int, rng: np.random.Generator) -> FloatArray:
    X, p = epoch.problem.inputs, epoch.n_clusters
    leading = epoch.label_weight.argmax(axis=1)
    n_classes = epoch.label_weight.shape[1]
    kind = rng.integers(0, 3, size=count)
    sides = rng.random((count, n_classes)) < 0.5
    sides[kind == 0] = np.eye(n_classes, dtype=bool)[rng.integers(0, n_classes, (kind == 0).sum())]
    side = sides[:, leading]
    side[kind == 2] = rng.random((int((kind == 2).sum()), p)) < 0.5
    wanted = np.where(side, 1.0, -1.0)[:, epoch.groups]
    centred = X - X.mean(axis=0)
    wanted = wanted - wanted.mean(axis=1, keepdims=True)
    gram, moments = centred.T @ centred, wanted @ centred
    scale = max(float(np.trace(gram)) / max(1, X.shape[1]), 1e-300)
    planes: FloatArray = np.empty_like(moments)
    for place, penalty in enumerate(_PENALTIES):
        rows = slice(place, None, len(_PENALTIES))
        damped = gram + penalty * scale * np.eye(len(gram))
        planes[rows] = np.linalg.solve(damped, moments[rows].T).T
    return planes

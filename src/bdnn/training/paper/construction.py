"""A network for an epoch without a solver: allowed units below, a search on clusters above.

The first layer is taken from a pool of units that cut no cluster. What it says about a cluster is
then one 0/1 input for the layers above, and these are trained on as many inputs as there are
clusters, which takes milliseconds. Where the loss meets the bound the network is optimal.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np

from bdnn.clock import Slot
from bdnn.errors import ModelError
from bdnn.mip import Robust
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.samples import Samples
from bdnn.search.descent import descend
from bdnn.search.embedding import embed
from bdnn.search.starts import random_start
from bdnn.training.paper.epoch import Candidate, EpochProblem
from bdnn.training.paper.units import UnitPool, unit_pools
from bdnn.training.robust import settled

_SWEEPS = 40


def construct(
    epoch: EpochProblem,
    *,
    rng: np.random.Generator,
    target: float,
    slot: Slot,
) -> Candidate | None:
    """Build a network that obeys the epoch's clusters, None if no units were found for it.

    Parameters
    ----------
    epoch : EpochProblem
    rng : numpy.random.Generator
    target : float
        Loss with which to be content: a lower bound.
    slot : Slot
        Looked at between attempts and in the search above the first layer.
    """
    best: Candidate | None = None
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


def robust_start(
    problem: Problem[OutputLoss], robust: Robust, rng: np.random.Generator
) -> Network | None:
    """Draw a network whose units cut no ball around an input, those that halve the data rather.

    Weights at random would leave few gaps between the balls: sums of many features overlap. None
    where no network was found.
    """
    network = random_start(problem, rng)
    shape = problem.architecture
    # Every input is a cluster of its own.
    each = EpochProblem(problem, np.arange(len(problem.inputs)), robust)
    pool = next((pool for pool in unit_pools(each, rng) if len(pool)), None)
    if pool is not None:
        n_on = pool.on.sum(axis=1)
        chance = np.minimum(n_on, pool.on.shape[1] - n_on)
        units = pool.take(rng.choice(len(pool), size=shape.widths[1], p=chance / chance.sum()))
        network = Network(
            shape, (units.W, *network.weights[1:]), (units.t, *network.thresholds[1:])
        )
    return settled(network, robust, problem.inputs)


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
    off = epoch.mass
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
    wanted = epoch.mass * 2 > epoch.mass.sum(axis=1, keepdims=True)
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
    problem = Problem(above, samples, OutputLoss.of_weights(epoch.mass))
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
    shape, X, mass = problem.architecture, problem.inputs, problem.loss.label_weight
    total = mass.sum(axis=1)
    centred = X - np.average(X, axis=0, weights=total)
    share = mass - total[:, None] * (mass.sum(axis=0) / total.sum())
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

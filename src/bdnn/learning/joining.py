"""Networks side by side are a network: units beside units, and sums that add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bdnn.learning.stack import Array, Stack

_MOST = 127  # of a joined output weight, a byte


def is_joinable(stack: Stack) -> bool:
    """Whether all that outputs see of it are steps and bits, which others can stand beside."""
    return len(stack.weights) > 1 or stack.reads == "bits"


def join(stacks: Sequence[Stack], n_bits: int) -> Stack:
    """One network whose logits are the mean of those of several, up to rounding.

    Where all are trained alike their sums add as they are. Else every network's output weights are
    multiplied by the integer that is nearest to its share.
    """
    if len(stacks) == 1:
        return stacks[0]
    if any(stack.reads == "mix" for stack in stacks) or len({s.reads for s in stacks}) > 1:
        n_numbers = next(s.weights[0].shape[1] for s in stacks if s.reads != "bits")
        aligned = [_as_mix(stack, n_numbers, n_bits) for stack in stacks]
    else:
        aligned = [_with_units(stack) for stack in stacks]
    factors = shares(stacks)
    n_outputs = len(aligned[0].weights[-1])
    skips = n_bits if aligned[0].reads == "mix" else 0
    weights = [np.concatenate([stack.weights[0] for stack in aligned])]
    for k in range(1, len(aligned[0].weights) - 1):
        blocks = [stack.weights[k] for stack in aligned]
        weights.append(_beside(blocks, skips if k == 1 else 0))
    weights.append(
        np.concatenate(
            [stack.weights[-1] * f for stack, f in zip(aligned, factors, strict=True)], axis=1
        )
    )
    thresholds = [
        np.concatenate([stack.thresholds[k] for stack in aligned]) for k in range(len(weights) - 1)
    ]
    last = np.zeros(n_outputs, np.float32)
    for stack, factor in zip(aligned, factors, strict=True):
        last += stack.thresholds[-1] * factor
    slope = float(np.mean([s.slope / f for s, f in zip(stacks, factors, strict=True)]))
    joined = Stack(aligned[0].reads, tuple(weights), (*thresholds, last), slope / len(stacks))
    return merged(joined)


def shares(stacks: Sequence[Stack]) -> Array:
    """What output weights are multiplied by, so that all logits have one scale."""
    slopes = np.array([stack.slope for stack in stacks])
    if slopes.max() < 2.0 * slopes.min():
        return np.ones(len(stacks), np.float32)
    largest = np.array([np.abs(stack.weights[-1]).max() for stack in stacks])
    ratio = slopes / slopes.min()
    ratio *= max(1.0, min(8.0, _MOST / (ratio * largest).max()))
    factors: Array = np.maximum(np.rint(ratio), 1.0).astype(np.float32)
    return factors


def _with_units(stack: Stack) -> Stack:
    """Votes of bits as votes of units that copy them."""
    if len(stack.weights) > 1:
        return stack
    used = np.flatnonzero(np.abs(stack.weights[0]).sum(axis=0))
    copies = np.zeros((len(used), stack.weights[0].shape[1]), np.float32)
    copies[np.arange(len(used)), used] = 1.0
    return replace(
        stack,
        weights=(copies, stack.weights[0][:, used]),
        thresholds=(np.ones(len(used), np.float32), stack.thresholds[0]),
    )


def _as_mix(stack: Stack, n_numbers: int, n_bits: int) -> Stack:
    """The same with a first layer on numbers and a second one on its units and the bits."""
    if stack.reads == "mix":
        return stack
    if stack.reads == "bits":
        stack = _with_units(stack)
        first = np.zeros((0, n_numbers), np.float32), np.zeros(0, np.float32)
        second = stack.weights[0], stack.thresholds[0]
    else:
        first = stack.weights[0], stack.thresholds[0]
        units = len(stack.weights[0])
        second = np.eye(units, units + n_bits, dtype=np.float32), np.ones(units, np.float32)
    return replace(
        stack,
        reads="mix",
        weights=(first[0], second[0], stack.weights[-1]),
        thresholds=(first[1], second[1], stack.thresholds[-1]),
    )


def _beside(blocks: Sequence[Array], n_skipped: int) -> Array:
    """Blocks along the diagonal, and what they see of skipped bits in common columns at the end."""
    own = [block[:, : block.shape[1] - n_skipped] for block in blocks]
    total = sum(block.shape[1] for block in own)
    lines, place = [], 0
    for block, part in zip(blocks, own, strict=True):
        line = np.zeros((len(block), total + n_skipped), np.float32)
        line[:, place : place + part.shape[1]] = part
        line[:, total:] = block[:, part.shape[1] :]
        place += part.shape[1]
        lines.append(line)
    return np.concatenate(lines)


def merged(stack: Stack) -> Stack:
    """Put equal units together and leave out those that nothing above looks at."""
    weights, thresholds = list(stack.weights), list(stack.thresholds)
    for k in range(len(weights) - 2, -1, -1):
        units = len(weights[k])
        above = weights[k + 1]
        lines = np.concatenate((weights[k], thresholds[k][:, None]), axis=1)
        _, kept, which = np.unique(lines, axis=0, return_index=True, return_inverse=True)
        sums = np.zeros((len(above), len(kept)), np.float32)
        np.add.at(sums.T, which.ravel(), above[:, :units].T)
        if k < len(weights) - 2 and np.abs(sums).max(initial=0.0) > 1.0:
            # Two equal units below one hidden unit would need a weight of 2.
            kept, sums = np.arange(units), above[:, :units]
        used = np.flatnonzero(np.abs(sums).sum(axis=0))
        used = used if len(used) else np.arange(min(1, len(kept)))
        weights[k + 1] = np.concatenate((sums[:, used], above[:, units:]), axis=1)
        weights[k], thresholds[k] = weights[k][kept[used]], thresholds[k][kept[used]]
    return replace(stack, weights=tuple(weights), thresholds=tuple(thresholds))

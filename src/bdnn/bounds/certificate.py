"""Conflicts and trees as plain data, for a model file and its checker.

Inputs are told by their places in the ascending order of all distinct inputs. Variables and rows of
a tree are numbers:

    input i                  is given up: i,    needs unit j: n_inputs (1 + j) + i,
    conflict k of unit j     k n_units + j,
    set s of input i         n_conflicts n_units + i n_sets + s.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from bdnn.bounds.covering import DENOMINATOR, ConflictRow, Tree, Variable
from bdnn.bounds.rules import Rule
from bdnn.bounds.separation import Conflict
from bdnn.network.activation import FloatArray
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem


class Proof(NamedTuple):
    """A tree about one output that follows one rule.

    ``inputs`` are the numbers of the problem's inputs that conflicts and trees speak of.
    """

    output: int
    rule: Rule
    inputs: Sequence[int]
    conflicts: Sequence[Conflict]
    tree: Tree


def certificate(
    problem: Problem[OutputLoss], step: Fraction, proofs: Sequence[Proof]
) -> dict[str, Any] | None:
    """Write proofs about costs that are multiples of a step, rounded down; None without any."""
    if not proofs:
        return None
    rank = ranks(problem.inputs)
    used: dict[tuple[tuple[int, ...], ...], int] = {}
    for proof in proofs:
        for row in _conflict_rows(proof):
            used.setdefault(_members(proof, row, rank), len(used))
    return {
        "kind": "conflicts",
        "rounding": int(step / problem.loss.step),
        "denominator": DENOMINATOR,
        "conflicts": [[list(side) for side in sides] for sides in used],
        "trees": [
            {
                "output": proof.output,
                "rule": [list(proof.rule.weights), proof.rule.threshold],
                "tree": _numbers(proof, rank, used),
            }
            for proof in proofs
        ],
    }


def ranks(inputs: FloatArray) -> list[int]:
    """Places of inputs in their ascending order."""
    rank = np.empty(len(inputs), dtype=np.int64)
    rank[np.lexsort(inputs.T[::-1])] = np.arange(len(inputs))
    found: list[int] = rank.tolist()
    return found


def _conflict_rows(proof: Proof) -> list[ConflictRow]:
    leaves = (node for node in proof.tree if not isinstance(node, Variable))
    return [row for leaf in leaves for row, _ in leaf if isinstance(row, ConflictRow)]


def _members(proof: Proof, row: ConflictRow, rank: list[int]) -> tuple[tuple[int, ...], ...]:
    sides = proof.conflicts[row.conflict]
    return tuple(tuple(rank[proof.inputs[i]] for i in side) for side in sides)


def _numbers(
    proof: Proof, rank: list[int], used: dict[tuple[tuple[int, ...], ...], int]
) -> list[Any]:
    n_units = len(proof.rule.weights)
    n_sets = max(len(proof.rule.implicants), len(proof.rule.implicates))
    tree: list[Any] = []
    for node in proof.tree:
        if isinstance(node, Variable):
            block = 0 if node.unit is None else 1 + node.unit
            tree.append(len(rank) * block + rank[proof.inputs[node.input]])
            continue
        leaf: list[int] = []
        for row, multiplier in node:
            if isinstance(row, ConflictRow):
                number = used[_members(proof, row, rank)] * n_units + row.unit
            else:
                place = rank[proof.inputs[row.input]]
                number = len(used) * n_units + place * n_sets + row.number
            leaf += [number, multiplier]
        tree.append(leaf)
    return tree

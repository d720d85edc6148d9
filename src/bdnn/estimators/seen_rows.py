"""What a learnt network does with the rows of its table, block by block.

Inputs of all rows at once would take many times the memory of the table; sums of the outputs and
one fingerprint per row do not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from bdnn.encoding import Encoder
from bdnn.estimators.samples import LabelledSamples
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.problem.bound import Bound
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.samples import Samples, fingerprints
from bdnn.program import IndexArray

_BLOCK = 1 << 22  # inputs at a time, 32 MB


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Distinct inputs, their labels, and what the outputs sum up on them."""

    samples: Samples  # lines without inputs
    loss: OutputLoss
    sums: FloatArray  # (n_lines, n_outputs): pre-activations

    @classmethod
    def of(cls, network: Network, encoder: Encoder, table: LabelledSamples) -> SeenRows:
        """Go over the rows that count."""
        weight = np.ones(len(table.labels)) if table.weight is None else table.weight
        rows = np.flatnonzero(weight > 0)
        marks = np.empty(len(rows), dtype=np.uint64)
        sums = np.empty((len(rows), network.architecture.n_outputs))
        # Scores above thresholds of 0 are the sums.
        bare = replace(network, thresholds=(*network.thresholds[:-1], np.zeros((sums.shape[1], 1))))
        blocks = _blocks(len(rows), encoder.n_inputs)
        for block in blocks:
            inputs = encoder.transform(table.values[rows[block]]) + 0.0
            marks[block] = fingerprints(inputs)
            sums[block] = bare.scores(inputs)
        _, first, group = np.unique(marks, return_index=True, return_inverse=True)
        if not _are_equal(encoder, table.values, rows, first[group], blocks):
            first = group = np.arange(len(rows))  # rows that are apart have conflicts with none
        samples = Samples.of_lines(np.empty((len(first), 0)), weight, group)
        loss = OutputLoss.of(samples, table.labels, network.architecture.n_outputs)
        return cls(samples, loss, sums[first])

    def figures(self, network: Network) -> tuple[Fraction, Bound, float, Fraction]:
        """Loss, a bound, error and unit of the network with other thresholds of the outputs."""
        scores = self.sums - network.output_thresholds
        wrong = self.loss.cost_on[np.arange(len(scores)), scores.argmax(axis=1)]
        error = float(wrong.sum()) / self.loss.total
        bound = self.loss.irreducible(self.samples)
        return self.loss.of_outputs(scores >= 0), bound, error, Fraction(self.samples.unit)


def _blocks(n_rows: int, n_inputs: int) -> list[slice]:
    size = max(1, _BLOCK // max(1, n_inputs))
    return [slice(first, first + size) for first in range(0, n_rows, size)]


def _are_equal(
    encoder: Encoder, values: FloatArray, rows: IndexArray, twins: IndexArray, blocks: list[slice]
) -> bool:
    """Tell whether rows have the inputs of those that their fingerprints say."""
    for block in blocks:
        own, twin = rows[block], rows[twins[block]]
        differ = own != twin
        one, other = (encoder.transform(values[place[differ]]) for place in (own, twin))
        if not (one == other).all():
            return False
    return True

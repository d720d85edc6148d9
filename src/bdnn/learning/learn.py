"""From a raw table to an encoder and a network, by what networks say of rows they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from bdnn.clock import Slot
from bdnn.encoding import Column, Encoder, Inputs
from bdnn.learning.around import Around, Surroundings
from bdnn.learning.candidates import WIDER
from bdnn.learning.comparison import IntArray, same_rows
from bdnn.learning.course import FEWEST_ROWS, MOST_ROWS, Course, drawn
from bdnn.learning.flash import FlashSize, seen_network, with_short_scale
from bdnn.learning.held_out import HeldOut
from bdnn.learning.stack import Lesson, Table
from bdnn.model_file.data import describe_ranges
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import WeightSet
from bdnn.network.network import Network

# Rows that are learnt from: in a second, and in any case.
_LEARNT_PER_SECOND = 10_000
# Where rows may change: rows that are learnt from, cuts of a column, and bits of all rows together.
_MOST_GUARDED, _MOST_CUTS, _MOST_CELLS = 20_000, 256, 4_000_000


@dataclass(frozen=True, eq=False)
class Learned:
    """A network, what it looks at, and what is known of rows that it has not seen.

    Parameters
    ----------
    encoder : Encoder
    network : Network
    held_out : HeldOut
    is_interrupted : bool
        Whether Ctrl-C or a request to stop ended it before its time.
    """

    encoder: Encoder
    network: Network
    held_out: HeldOut
    is_interrupted: bool = False


def learn(
    codes: FloatArray,
    columns: Sequence[Column],
    labels: IntArray,
    n_classes: int,
    sample_weight: FloatArray | None = None,
    *,
    slot: Slot,
    seed: int = 0,
    workers: int = 1,
    inputs: Inputs | None = None,
    hidden: tuple[int, ...] | None = None,
    ternary: bool = False,
    most_inputs: int | None = None,
    max_bytes: int | None = None,
    groups: IntArray | None = None,
    header: bool = False,
    surroundings: Surroundings | None = None,
) -> Learned:
    """Learn a table.

    Candidates of many kinds are trained without one fold of the rows after the other, and judged by
    these. One network then learns from the labels and from what the best of them say.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
    columns : sequence of Column
    labels : array of int of shape (n_rows,)
    n_classes : int
    sample_weight : array of shape (n_rows,), optional
    slot : Slot
        All of the time; what is known to be enough takes less.
    seed : int
    workers : int
        Trainings at a time. As long as none of them runs out of time, all numbers of them end with
        the same network.
    inputs : Inputs, optional
    hidden : tuple of int, optional
        Widths of the hidden layers, which are then kept.
    ternary : bool
        Whether all weights are to be -1, 0 or 1; else outputs may have larger ones.
    most_inputs : int, optional
        Makes scorecards: no hidden layer, and so many inputs that have weights.
    max_bytes : int, optional
        The most bytes of flash that the C export may take, by the estimate of
        :class:`~bdnn.learning.flash.FlashSize`. By default the weights, thresholds and cuts of the
        network take 16 KiB at most.
    groups : array of int of shape (n_rows,), optional
        Rows of a group are held out together; by default equal rows are.
    header : bool
        Whether the columns' names came with the data.
    surroundings : Surroundings, optional
        What rows may become. A row is then right if it is right in all of that, candidates are
        those that are trained for it, and the best of them is trained on all rows.
    """
    rng = np.random.default_rng(seed)
    weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, float)
    ranges = describe_ranges(codes if weight.all() else codes[weight > 0])
    most = min(MOST_ROWS, max(FEWEST_ROWS, slot.remaining * _LEARNT_PER_SECOND))
    most = most if surroundings is None else min(most, _MOST_GUARDED)
    rows = drawn(np.flatnonzero(weight > 0), int(most), rng)
    codes, labels, weight = codes[rows], labels[rows], weight[rows]
    encode = inputs or Inputs()
    if encode.encode == "auto":
        encode = replace(encode, encode="both")
    reach = None
    if surroundings is not None:
        encode = _finely(encode, codes)
        reach = partial(_reach, surroundings, rows)
    encoder = Encoder.learn(
        codes,
        columns,
        encode,
        weights=WeightSet.parse("ternary"),
        sample_weight=weight,
        labels=labels,
        wanted=None if surroundings else tail_cuts(codes, encode.cuts),
        reach=reach,
        header=header,
    )
    encoder = with_short_scale(encoder)
    table = Table.of(encoder, codes)
    around = {}
    if surroundings is not None:
        for wider in WIDER:
            around[wider] = Around.of(surroundings.regions(rows, encoder, wider), encoder)
    lesson = Lesson(table, labels, weight.astype(np.float32), n_classes, around=around)
    together = same_rows(codes) if groups is None else groups[rows]
    with threadpool_limits(1):
        flash = FlashSize(encoder, ranges)
        shape = hidden, ternary, most_inputs, max_bytes
        course = Course(lesson, together, encoder.column_of, rng, slot, *shape, flash, workers)
        stack, held_out = course.run()
    encoder, network = seen_network(stack, encoder)
    scores = network.scores(encoder.transform(codes[held_out.rows]))
    held_out = replace(held_out, rows=rows[held_out.rows], scores=scores)
    is_interrupted = course.interrupted.is_set() or slot.is_stopped()
    return Learned(encoder, network, held_out, is_interrupted)


def _reach(surroundings: Surroundings, rows: IntArray, encoder: Encoder) -> FloatArray:
    """How far raw values of rows may move by the scale that the network will have."""
    return surroundings.reach(rows, with_short_scale(encoder))


def _finely(inputs: Inputs, codes: FloatArray) -> Inputs:
    """Inputs with more cuts to choose from: a robust network has few, but their places matter."""
    n_rows, n_columns = codes.shape
    bits = min(inputs.max_bits, _MOST_CELLS // max(1, n_rows))
    return replace(inputs, cuts=max(inputs.cuts, min(_MOST_CUTS, bits // n_columns)))


def tail_cuts(codes: FloatArray, cuts: int) -> dict[int, FloatArray]:
    """Further cuts of columns where one value is so frequent that quantiles fall on it.

    They are quantiles of the other values, as many as were lost.

    A value that more rows have than lie between two cuts takes the cuts of other rows: of a
    column that is mostly 0 hardly anything would be told apart but 0.
    """
    found = {}
    for j, column in enumerate(codes.T):
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        share = counts / max(1, counts.sum()) * (cuts + 1)
        is_frequent = share > 1.0
        lost = int(share[is_frequent].sum()) - int(is_frequent.sum())
        if len(values) > cuts + 1 and lost > 0:
            others = np.repeat(values[~is_frequent], counts[~is_frequent])
            levels = np.linspace(0.0, 1.0, lost + 2)[1:-1]
            found[j] = np.unique(np.quantile(others, levels, method="nearest"))
    return found

"""A model as a few arrays for the compiled code that predicts a row, or blocks of rows."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn.encoding.bins import make_bins
from bdnn.encoding.encoder import Encoder
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.model.lines import (
    FLIP_AFTER,
    FLIP_BEFORE,
    GE,
    GROUP,
    IS,
    MISSING,
    MOST_PLANES,
    MOST_SHORT,
    Sliced,
    Words,
)
from bdnn.model.shorts import HEAD, LANES
from bdnn.network.activation import STEP, BoolArray, FloatArray
from bdnn.network.network import Network

_CACHE_LINE = 64
_KINDS = {"ge": GE, "is": IS, "missing": MISSING}

Integers = NDArray[np.int64]


def row_arrays(encoder: Encoder, network: Network) -> tuple[Integers, FloatArray]:
    """All integers and all doubles, as :func:`bdnn.model.kernels.predict_row` takes them."""
    fills, terms, values = _inputs(encoder)
    bins = _bins(encoder, network)
    shapes, parameters = _parameters(network, encoder.n_numbers)
    counts = [len(each) for each in (terms, bins.groups, bins.cuts, bins.table, shapes)]
    integers = [np.array(counts), terms.ravel(), bins.groups.ravel(), shapes.ravel()]
    doubles = [np.array([encoder.step]), fills, values.ravel(), bins.cuts, bins.table.ravel()]
    return np.concatenate(integers), np.concatenate([*doubles, parameters])


def small_data(encoder: Encoder, network: Network) -> NDArray[np.uint8] | None:
    """What :func:`bdnn.model.shorts.predict_small_row` takes, None if no sum has room."""
    most = _room(encoder, network)
    if not most:
        return None
    unit, n = encoder.step or 1.0, encoder.n_numbers
    weights, limits = list(network.weights), [t[:, 0] for t in network.thresholds[:-1]]
    table = told = _bins(encoder, network).table
    n_open = len(weights[0])
    if limits:
        on, is_told = _told(encoder, network)
        told, n_open = on @ weights[1].T, int(np.count_nonzero(~is_told))
        weights[0], weights[1] = weights[0][~is_told], weights[1][:, ~is_told]
        table, limits[0] = table[:, ~is_told], limits[0][~is_told]
    parts = [weights[0][:, :n].T, table / unit]
    for k, (W, t) in enumerate(zip(weights[1:], limits, strict=True)):
        parts += [_small_limits(t / unit)[None], W.T]
        if k == 0 and n_open < len(network.weights[0]):
            parts.append(told)
        unit = 1.0  # of what hidden units say
    padded = [np.pad(part, ((0, 0), (0, -part.shape[1] % LANES))).ravel() for part in parts]
    integers, doubles = row_arrays(encoder, network)
    at_doubles = 8 * HEAD + integers.nbytes
    end = at_doubles + doubles.nbytes
    at_shorts = -(-end // _CACHE_LINE) * _CACHE_LINE
    head = np.array([most, at_doubles, end, at_shorts, n_open], dtype=np.int64)
    shorts = np.concatenate(padded).astype(np.int16)
    # Vectors across two lines of cache are twice as slow.
    room = np.zeros(at_shorts + shorts.nbytes + _CACHE_LINE, dtype=np.uint8)
    data = room[-room.ctypes.data % _CACHE_LINE :][: at_shorts + shorts.nbytes]
    for at, part in ((0, head), (8 * HEAD, integers), (at_doubles, doubles), (at_shorts, shorts)):
        data[at : at + part.nbytes] = part.view(np.uint8)
    return data


def _small_limits(limits: FloatArray) -> FloatArray:
    """Least whole sums that reach limits; some beyond all sums where none does, or all do."""
    return np.clip(np.ceil(limits), -MOST_SHORT - 1, MOST_SHORT + 1)


class _Bins(NamedTuple):
    """Groups of bits that one column decides, and what their bins add to the first sums."""

    groups: Integers
    cuts: FloatArray
    table: FloatArray


def _inputs(encoder: Encoder) -> tuple[FloatArray, Integers, FloatArray]:
    """Fills of the columns; which numbers are inputs, and how."""
    fills = [np.nan if column.missing == "error" else column.filling for column in encoder.columns]
    terms, values = np.zeros((encoder.n_numbers, 2), dtype=np.int64), []
    for k, number in enumerate(encoder.numbers):
        terms[k] = number.column, number.value is not None
        values.append((number.shift, number.factor, 0.0))
        if number.value is not None:
            code = encoder.columns[number.column].values.index(number.value)
            values[-1] = (code, *encoder.transform_feature(k, np.array([0.0, 1.0])).tolist())
    return np.array(fills), terms, np.array(values).reshape(-1, 3)


def _bins(encoder: Encoder, network: Network) -> _Bins:
    """Bits as bins of their columns: those of a column together, or one by one in their order."""
    W = network.weights[0][:, encoder.n_numbers :]
    columns = [bit.column for bit in encoder.bits]
    parts = [[i] for i in range(encoder.n_bits)]
    if _is_exact(encoder, network):
        parts = [[i for i, j in enumerate(columns) if j == column] for column in sorted({*columns})]
    groups, cuts, tables = [], [np.empty(0)], [np.empty((0, len(W)))]
    for part in parts:
        column = columns[part[0]]
        bits = tuple(replace(encoder.bits[i], column=0) for i in part)
        (own,) = make_bins(Encoder((encoder.columns[column],), bits=bits))
        first, patterns = own.first, own.patterns
        if encoder.columns[column].kind == "category":  # codes above the listed ones are not listed
            first = np.insert(first, -1, first[-2] + 1.0)
            patterns = np.insert(patterns, -1, patterns[0], axis=0)
        # Neighbours that the bits do not tell apart are one; the bin of missing values is the last.
        kept = np.append(True, (patterns[1:] != patterns[:-1]).any(axis=1))
        kept[-1] = True
        groups.append((column, sum(map(len, cuts)), int(kept.sum()) - 2, sum(map(len, tables))))
        cuts.append(first[kept][1:-1])
        tables.append(patterns[kept] @ W[:, part].T)
    found = np.array(groups, dtype=np.int64).reshape(-1, 4)
    found[:, 2] += found[:, 1]
    return _Bins(found, np.concatenate(cuts), np.ascontiguousarray(np.concatenate(tables)))


def _told(encoder: Encoder, network: Network) -> tuple[BoolArray, BoolArray]:
    """What the bins of columns say of units that each looks at one of them and at no number.

    Returns which of these are on in every row of the table, and which units they are.
    """
    bins, W, t = _bins(encoder, network), network.weights[0], network.thresholds[0][:, 0]
    starts = bins.groups[:, 3]
    group_of = np.searchsorted(starts, np.arange(len(bins.table)), side="right") - 1
    looks = np.zeros((len(starts), len(W)), dtype=bool)
    np.logical_or.at(looks, group_of, bins.table != 0)
    is_told = (looks.sum(axis=0) == 1) & ~W[:, : encoder.n_numbers].any(axis=1)
    return (bins.table >= t) & looks[group_of] & is_told, is_told


def _is_exact(encoder: Encoder, network: Network) -> bool:
    """Whether sums of the first layer do not round, so that their terms may come in any order."""
    W = network.weights[0]
    is_on_grid = not encoder.numbers or 0.0 < encoder.step <= 1.0
    is_small = np.abs(W).sum(axis=1).max(initial=0.0) * LARGEST_SCALED < 2.0**53 * encoder.step
    return bool((np.rint(W) == W).all() and is_on_grid and (is_small or not encoder.numbers))


def _parameters(network: Network, n_terms: int) -> tuple[Integers, FloatArray]:
    """Shapes of the layers, and all their numbers; of the first one those of the numbers."""
    shape = network.architecture
    shapes, parts = [], []
    for k, (W, t) in enumerate(zip(network.weights, network.thresholds, strict=True)):
        taken = W if k else W[:, :n_terms]
        is_last = k + 1 == shape.n_layers
        is_score = is_last and (shape.output != "step" or shape.ties != "first")
        n_levels = 0 if is_score else t.shape[1]
        shapes.append((taken.shape[1], W.shape[0], n_levels))
        parts += [taken.T.ravel(), t.ravel()]
        if n_levels:
            parts.append(np.array(shape.activation_of(k).values, dtype=float))
    return np.array(shapes, dtype=np.int64), np.concatenate(parts)


def sliced(encoder: Encoder, network: Network) -> Sliced | None:
    """The model for blocks of rows, None if its sums may have no room there."""
    encoder = replace(encoder)  # whose own form keeps nothing of this
    most = _room(encoder, network)
    if not most:
        return None
    shape, n = network.architecture, encoder.n_numbers
    unit = encoder.step if n and encoder.step else 1.0
    _, terms, values = _inputs(encoder)
    column_of = encoder.column_of
    # Inputs go by their columns.
    numbers, bits = np.argsort(column_of[:n], kind="stable"), column_of[n:].argsort(kind="stable")
    first = network.weights[0]
    rows = first[:, numbers]
    layers = [first[:, n + bits], *network.weights[1:]]
    limits = [t[:, 0] for t in network.thresholds[:-1]] + [np.zeros(shape.n_outputs)]
    units, groups = [], _Groups(1 + max(encoder.n_bits, *shape.widths[1:]))
    for W, t in zip(layers, limits, strict=True):
        units += [groups.unit(row, math.ceil(limit)) for row, limit in zip(W, t, strict=True)]
    if max(row[2] for row in units) > MOST_PLANES:
        return None
    sums, sum_groups = _number_groups(rows)
    columns = np.arange(encoder.n_columns + 1)
    literals = [encoder.bits[i] for i in bits.tolist()]
    codes = np.zeros(encoder.n_bits)
    for places, _, known in encoder.literals.values():
        codes[places] = np.where(np.isnan(known), 0.0, known)
    waits = rows.any(axis=1) & (layers[0].any(axis=1) | (not shape.hidden))
    return Sliced(
        step=encoder.step,
        most=float(most),
        number_starts=np.searchsorted(column_of[:n][numbers], columns),
        is_text=terms[numbers, 1],
        values=np.ascontiguousarray(values[numbers]),
        bit_starts=np.searchsorted(column_of[n:][bits], columns),
        bit_kinds=np.array([_KINDS[bit.kind] for bit in literals], dtype=np.int64),
        bit_values=codes[bits],
        is_apart=np.array([column.missing == "bit" for column in encoder.columns]),
        widths=np.array(shape.widths[1:], dtype=np.int64),
        units=np.array(units, dtype=np.int64),
        groups=groups.array,
        n_lines=groups.n_lines,
        sums=sums,
        sum_groups=sum_groups,
        n_digits=int(np.abs(rows).max(initial=1.0)).bit_length(),  # numbers are written unused too
        kept=np.where(waits, np.cumsum(waits) - 1, -1),
        limits=_small_limits(limits[0] / unit).astype(np.int64),
        worth=round(1 / unit),
        thresholds=np.ascontiguousarray(network.output_thresholds),
        by_output=shape.ties == "first",
    )


class _Groups:
    """Groups of lines whose bits units count; lines from ``n_lines`` on are for what is carried."""

    def __init__(self, n_lines: int) -> None:
        self._first = self.n_lines = n_lines
        self._rows: list[list[int]] = []

    @property
    def array(self) -> Words:
        """All groups; signs of places would be looked at for each."""
        return np.array(self._rows, dtype=np.uint64).reshape(-1, 3 + GROUP)

    def unit(self, weights: FloatArray, limit: int) -> tuple[int, ...]:
        """Add the groups of a unit, and return its row.

        The count begins with the sizes of all negative weights, so that it is never below 0.
        """
        start, sizes = len(self._rows), np.abs(weights).astype(np.int64)
        least = int(sizes[weights < 0].sum())
        n_planes = (int(sizes.sum())).bit_length()
        # Lines by digit: those that are taken off, and those that are added.
        lines = [
            [
                (1 + np.flatnonzero((sizes >> p & 1) * (sign * weights > 0))).tolist()
                for sign in (-1, 1)
            ]
            for p in range(n_planes + 3)
        ]
        place = self._first
        for p in range(n_planes):
            for side, places in enumerate(lines[p]):
                for i in range(0, len(places), GROUP):
                    is_first, is_last = i == 0, i + GROUP >= len(places)
                    flips = 0 if side else int(FLIP_BEFORE) * is_first + int(FLIP_AFTER) * is_last
                    some = (places[i : i + GROUP] + [0] * GROUP)[:GROUP]
                    self._rows.append([p, place, flips, *some])
                    lines[p + 3][side].append(place)
                    place += 1
        self.n_lines = max(self.n_lines, place)
        count = min(max(0, limit + least), 1 << n_planes)
        return start, len(self._rows), n_planes, least, count


def _number_groups(weights: FloatArray) -> tuple[Integers, Integers]:
    """Groups of lines of numbers by unit: those that are added, and those that are taken off."""
    sums: list[tuple[int, ...]] = []
    groups: list[list[int]] = []
    for row in weights:
        ends = [len(groups)]
        for part in (np.maximum(row, 0.0), np.maximum(-row, 0.0)):
            places, rest, first = [], part.astype(np.int64), 1
            while rest.any():
                places += (first + np.flatnonzero(rest & 1)).tolist()
                rest, first = rest >> 1, first + len(row)
            for i in range(0, len(places), GROUP):
                groups.append((places[i : i + GROUP] + [0] * GROUP)[:GROUP])
            ends.append(len(groups))
        sums.append(tuple(ends))
    return np.array(sums, dtype=np.int64), np.array(groups, dtype=np.int64).reshape(-1, GROUP)


def _room(encoder: Encoder, network: Network) -> int:
    """How many steps large a number may be for all sums to have 16 bits, 0 if none may."""
    unit, shape = encoder.step or 1.0, network.architecture
    is_whole = all((np.rint(W) == W).all() for W in network.weights)
    is_step = all(rule.values == STEP.values for rule in shape.activations)
    if not (is_whole and is_step and math.frexp(unit)[0] == 0.5 and unit <= 1.0):
        return 0
    bins = _bins(encoder, network)
    table = bins.table / unit
    sizes = [np.abs(W) for W in network.weights]
    # Sums of fours go through 16 bits by themselves, whatever their signs.
    above = max((size.sum(axis=1).max(initial=0.0) for size in sizes[1:]), default=0.0)
    by_bits = np.zeros(shape.widths[1])
    for start, end in pairwise([*bins.groups[:, 3].tolist(), len(table)]):
        by_bits += np.abs(table[start:end]).max(axis=0)
    _, terms, values = _inputs(encoder)
    is_text, on_numbers = terms[:, 1] == 1, sizes[0][:, : encoder.n_numbers]
    by_texts = on_numbers[:, is_text] @ np.abs(values[is_text, 1:]).max(axis=1, initial=0.0) / unit
    left = MOST_SHORT - (by_bits + by_texts).max(initial=0.0)
    if above > MOST_SHORT or left < 1:
        return 0
    return int(
        min(MOST_SHORT, left // max(1.0, on_numbers[:, ~is_text].sum(axis=1).max(initial=0)))
    )

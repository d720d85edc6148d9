"""Random models on cuts, texts, truth values and gaps, and their cells by enumeration.

A cell is a set of raw rows that the encoder does not tell apart. Lengths are exact: every cell of a
column is an interval of doubles, whose nearest one to the sample is found here by bisection and
without anything of the library's bins.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

from bdnn.encoding import Bit, Column, Encoder, Number
from bdnn.model import Model
from bdnn.robustness import Domain, PerturbationSet
from tests.robustness.cases import random_network

_LOW, _HIGH = -3.0, 8.0


def random_encoder(rng, n_columns, *, numbers):
    """Columns of all kinds; some columns of numbers are scaled numbers as well."""
    columns, bits, scaled = [], [], []
    for j in range(n_columns):
        kind = rng.choice(["number", "number", "number", "boolean", "category"])
        missing = str(rng.choice(["bit", "fill", "none"]))
        factor = float(rng.uniform(0.3, 2.0))
        if kind == "number":
            columns.append(
                Column(f"c{j}", "number", (), float(rng.integers(0, 6)), missing, factor)
            )
            cuts = np.unique(rng.choice(np.arange(0, 24) / 4, rng.integers(1, 4)))
            bits += [Bit(j, "ge", float(cut)) for cut in cuts]
            if numbers and rng.random() < 0.6:
                scaled.append(Number(j, None, float(rng.uniform(0, 4)), factor))
        elif kind == "boolean":
            columns.append(Column(f"c{j}", "boolean", (), float(rng.integers(2)), missing, factor))
            bits.append(Bit(j, "ge", 1.0))
        else:
            values = ("cook", "nurse", "pilot")[: rng.integers(1, 4)]
            columns.append(Column(f"c{j}", "category", values, values[0], missing))
            bits += [Bit(j, "is", value) for value in values[: rng.integers(1, 4)]]
        if missing == "bit":
            bits.append(Bit(j, "missing"))
    unknown = str(rng.choice(["none", "error"]))
    encoder = Encoder(tuple(columns), tuple(scaled), tuple(bits), unknown=unknown)
    if scaled:
        shift, factor = encoder.shift, encoder.factor
        encoder = encoder.scaled_by(shift, factor, float(rng.choice([0.5, 1.0])))
    return encoder


def random_rows(rng, encoder, n):
    X = np.empty((n, encoder.n_columns))
    for j, column in enumerate(encoder.columns):
        if column.kind == "number":
            X[:, j] = rng.integers(0, 25, n) / 4 if rng.random() < 0.5 else rng.uniform(0, 6, n)
        elif column.kind == "boolean":
            X[:, j] = rng.integers(0, 2, n)
        else:
            X[:, j] = rng.integers(-1 if encoder.unknown == "none" else 0, len(column.values), n)
        X[rng.random(n) < 0.15, j] = np.nan
    return X


def random_domain(rng, encoder, X):
    kinds = [column.kind for column in encoder.columns]
    numbers = [j for j, kind in enumerate(kinds) if kind == "number"]
    listed = [j for j, kind in enumerate(kinds) if kind != "number"]

    def some(places, share):
        return [j for j in places if rng.random() < share]

    whole = some(numbers, 0.3)
    X[:, whole] = np.rint(X[:, whole])
    lower, upper = np.full(len(kinds), _LOW), np.full(len(kinds), _HIGH)
    for j in some(numbers, 0.3):
        lower[j], upper[j] = rng.uniform(0, 2), rng.uniform(3, 6)
    change = {j: float(rng.choice([0.0, 0.5, 1.0])) for j in some(listed, 0.6)}
    everything = range(len(kinds))
    return Domain.create(
        len(kinds),
        lower=lower,
        upper=upper,
        integer=whole,
        fixed=some(everything, 0.1),
        change=change,
        may_be_missing=some(everything, 0.25),
        may_be_known=some(everything, 0.25),
    )


def random_cells(seed, *, norm="linf", numbers=False, samples=2, n_columns=None):
    """Samples of a random model whose columns have few cells."""
    rng = np.random.default_rng(seed)
    encoder = random_encoder(rng, n_columns or int(rng.integers(1, 4)), numbers=numbers)
    weights = str(rng.choice(["ternary", "int:3", "continuous"]))
    network = random_network(rng, encoder.n_inputs, weights)
    X = random_rows(rng, encoder, samples)
    domain = random_domain(rng, encoder, X)
    units = str(rng.choice(["raw", "scaled"]))
    if rng.random() < 0.3:
        units = {j: float(rng.choice([0.0, 0.5, 2.0])) for j in range(encoder.n_columns)}
    model = Model(encoder, network)
    return PerturbationSet.create(model, X, norm=norm, units=units, domain=domain)


def _cells(around, row, j):
    """Codes of a column, at least the nearest one of every cell, and what moving there costs."""
    domain, encoder = around.domain, around.model.encoder
    column, x = encoder.columns[j], around.X[row, j]
    stands = around.units[j] == 0 if isinstance(around.units, tuple) else False
    if domain.fixed[j] or stands:
        return [(x, Fraction(0))]
    found = [(x, Fraction(0))]
    is_gap = math.isnan(x)
    if not is_gap and domain.may_be_missing[j]:
        found.append((math.nan, Fraction(0)))
    if is_gap and not domain.may_be_known[j]:
        return found
    if column.kind != "number":
        codes = [0.0, 1.0] if column.kind == "boolean" else np.arange(-1.0, len(column.values))
        if encoder.unknown == "error" and column.kind == "category":
            codes = codes[1:]
        price = 0.0 if is_gap else domain.change[j]
        if math.isfinite(price):
            found += [(float(code), Fraction(price)) for code in codes if code != x]
        return found
    own = column.fill if is_gap else x
    low = min(domain.lower[j], math.inf if is_gap else x)
    high = max(domain.upper[j], -math.inf if is_gap else x)
    if domain.integer[j]:
        values = [float(v) for v in range(math.ceil(low), math.floor(high) + 1)]
    else:
        values = [v for v in _edges(encoder, j, low, high, own) if low <= v <= high]
    if isinstance(around.units, tuple):
        weight = 1 / Fraction(around.units[j])
    else:
        weight = abs(Fraction(encoder.units[j])) if around.units == "scaled" else Fraction(1)
    for value in values:
        cost = Fraction(0) if is_gap else abs(Fraction(value) - Fraction(x)) * weight
        found.append((value, cost))
    return found


def _edges(encoder, j, low, high, own):
    """Both sides of every cut and of every edge between grid points."""
    edges = {low, high, min(max(own, low), high)}
    for bit in encoder.bits:
        if bit.column == j and bit.kind == "ge":
            edges |= {bit.value, math.nextafter(bit.value, -math.inf)}
    for i, number in enumerate(encoder.numbers):
        if number.column == j and encoder.step:

            def seen(value, i=i):
                return float(encoder.transform_feature(i, np.array([value]))[0])

            k, last = seen(low), seen(high)
            while k < last:
                k += encoder.step
                a, b = low, high  # seen(a) < k <= seen(b)
                while math.nextafter(a, math.inf) < b:
                    middle = a + (b - a) / 2
                    a, b = (a, middle) if seen(middle) >= k else (middle, b)
                edges |= {a, b}
    return edges


def enumerated_cells(around, row):
    """Length (squared for l2) of the nearest counter-example as a fraction, None without one."""
    choices = [_cells(around, row, j) for j in range(around.X.shape[1])]
    points = list(product(*choices))
    X = np.array([[value for value, _ in point] for point in points])
    changed = np.flatnonzero(around.model.outcomes(X) != around.classes[row])
    size = {"linf": max, "l1": sum, "l2": lambda moves: sum(v * v for v in moves)}[around.norm]
    return min((size([cost for _, cost in points[i]]) for i in changed), default=None)


def is_below(radius, length, norm):
    """Whether a claimed radius is at most the length of the nearest counter-example."""
    if length is None or radius <= 0:
        return True
    if math.isinf(radius):
        return False
    return Fraction(radius) ** (2 if norm == "l2" else 1) <= length

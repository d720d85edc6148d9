"""Moves of raw columns with bins: to where a slope leads, and back as long as the class is changed.

A column moves to the bin that gains most; for l_1 and l_2 the columns of the best gain per cost go
first, until the radius is used up. A scaled number beside its bins goes to the end that gains.
"""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import BoolArray, FloatArray
from bdnn.robustness.columns import ColumnSet

_BISECTIONS = 24


def climbed(around: ColumnSet, slope: FloatArray, radius: FloatArray) -> FloatArray:
    """Raw rows within radii where a slope of the network's inputs promises most."""
    lines = np.arange(len(around.X))
    n_columns = len(around.bins)
    gains, costs = np.zeros((2, len(lines), n_columns))
    values = around.X.copy()
    for j in range(n_columns):
        offers, gain = _offers(around, j, slope, radius)
        best = gain.argmax(axis=1)
        values[:, j], gains[:, j] = offers[lines, best], gain[lines, best]
        costs[:, j] = np.where(gains[:, j] > 0, around.costs[j][lines, best], 0.0)
    values = np.where(gains > 0, values, around.X)
    if around.norm == "linf":
        return around.admitted(values)
    power = 2.0 if around.norm == "l2" else 1.0
    bills = costs**power
    order = np.argsort(-gains / np.maximum(bills, 1e-300), axis=1)
    spent = np.cumsum(np.take_along_axis(bills, order, axis=1), axis=1)
    is_paid = np.empty_like(spent, dtype=bool)
    np.put_along_axis(is_paid, order, spent <= radius[:, None] ** power, axis=1)
    return around.admitted(np.where(is_paid, values, around.X))


def _offers(
    around: ColumnSet, j: int, slope: FloatArray, radius: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A raw value of every bin of a column, and what it gains; -inf out of reach."""
    bins, encoder = around.bins[j], around.scaler
    parts = slope[:, bins.inputs] @ bins.patterns.T
    own = bins.of(around.X[:, j])
    gain = parts - parts[np.arange(len(parts)), own][:, None]
    offers = around.nearest[j]
    reach = (around.costs[j] <= radius[:, None]) & np.isfinite(around.costs[j])
    if j in around.numbered:
        places = [i for i, number in enumerate(encoder.numbers) if number.column == j]
        x = np.where(np.isnan(around.X[:, j]), encoder.fills[j], around.X[:, j])[:, None]
        first, last = around.ends(j)
        # For other norms the move that is needed for the bin is the only one.
        room = radius[:, None] / around.weight[j] if around.norm == "linf" else np.abs(offers - x)
        factors = np.array([encoder.numbers[i].factor for i in places])
        rises = slope[:, places] @ factors[:, None] > 0
        end = np.where(rises, np.minimum(last, x + room), np.maximum(first, x - room))
        offers = np.where(np.isnan(offers) | around.domain.fixed[j], offers, end)
        filled = np.where(np.isnan(offers), encoder.fills[j], offers)
        for i in places:
            gain = gain + slope[:, [i]] * encoder.numbers[i].factor * (filled - x)
    return offers, np.where(reach, np.nan_to_num(gain), -np.inf)


def pulled_back(around: ColumnSet, X: FloatArray) -> FloatArray:
    """Bring columns of counter-examples back to nearer bins, the farthest column first."""
    X = X.copy()
    size = np.stack([_own_costs(around, j, X) for j in range(len(around.bins))], axis=1)
    order = np.argsort(-size.max(axis=0))
    for j in order.tolist():
        cost = _own_costs(around, j, X)
        moved = cost > 0
        offers, prices = around.nearest[j], around.costs[j]
        for b in np.argsort(prices.min(axis=0)).tolist():
            tried = X.copy()
            use = moved & (prices[:, b] < cost)
            if not use.any():
                continue
            tried[use, j] = offers[use, b]
            kept = use & _is_changed(around, tried)
            X[kept] = tried[kept]
            cost = np.where(kept, prices[:, b], cost)
        if j in around.numbered:
            X = _bisected(around, j, X)
    return X


def _own_costs(around: ColumnSet, j: int, X: FloatArray) -> FloatArray:
    return np.asarray(around.costs[j][np.arange(len(X)), around.bins[j].of(X[:, j])])


def _bisected(around: ColumnSet, j: int, X: FloatArray) -> FloatArray:
    """Bring the raw value of a column as near as the class allows."""
    far, near = X[:, j].copy(), around.X[:, j]
    known = ~np.isnan(far) & ~np.isnan(near)
    for _ in range(_BISECTIONS):
        tried = X.copy()
        middle = 0.5 * (near + far)
        tried[known, j] = middle[known]
        tried = around.admitted(tried)
        changed = _is_changed(around, tried)
        far, near = np.where(changed, tried[:, j], far), np.where(changed, near, middle)
    X = X.copy()
    X[known, j] = far[known]
    return X


def _is_changed(around: ColumnSet, X: FloatArray) -> BoolArray:
    exists = np.isfinite(around.measured(X))
    return np.asarray(around.is_changed(X) & exists)

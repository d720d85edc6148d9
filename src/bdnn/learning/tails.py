"""Cuts in columns where one value is so frequent that quantiles fall on it."""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray


def tail_cuts(codes: FloatArray, cuts: int) -> dict[int, FloatArray]:
    """Further cuts of such columns: quantiles of their other values, as many as were lost.

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

"""Where a column of numbers is cut: few places ``c`` for bits ``x >= c``.

A cut lies in a gap between neighbouring values of the training rows. All places of a gap tell these
rows apart alike, so that a short decimal in its middle is taken: it is readable, and no reader of
decimals sees a value on its other side.
"""

from __future__ import annotations

import numpy as np

from bdnn.network.activation import FloatArray

# Powers of ten that doubles hold, as far as cuts of ordinary columns need them.
_MOST_DIGITS = 15
# Of the range of a column.
_SAME = 1e-9


def find_cuts(
    values: FloatArray,
    most: int,
    weight: FloatArray | None = None,
    wanted: FloatArray | None = None,
    reach: FloatArray | None = None,
) -> FloatArray:
    """Choose cuts of a column.

    Parameters
    ----------
    values : array
        Training rows without missing values.
    most : int
        Every gap has a cut if there are no more gaps than this; otherwise those have one that
        are next to as many quantiles.
    weight : array, optional
        Of every row.
    wanted : array, optional
        Further cuts, each moved within its gap.
    reach : array, optional
        How far every value may move. Gaps are then those between all ends ``x - r`` and ``x + r``,
        since which rows are certainly on one side of a cut changes there.

    Returns
    -------
    array
        Ascending.
    """
    is_moved = reach is not None and bool(reach.any()) and len(values) > 0
    if reach is not None and is_moved:
        ends = np.concatenate((values - reach, values + reach))
        values = np.clip(ends, values.min(), values.max())
        weight = None if weight is None else np.tile(weight, 2)
    distinct, places = np.unique(values, return_inverse=True)
    if is_moved:  # ends that rounding alone keeps apart are one
        is_new = np.append(True, np.diff(distinct) > _SAME * (distinct[-1] - distinct[0]))
        distinct, places = distinct[is_new], np.cumsum(is_new)[places] - 1
    n_gaps = len(distinct) - 1
    if n_gaps < 1:
        return np.empty(0)
    chosen = np.arange(n_gaps)
    if n_gaps > most:
        share = np.cumsum(np.bincount(places, weight))[:-1]
        total = float(len(values) if weight is None else weight.sum())
        quantiles = np.arange(1, most + 1) / (most + 1) * total
        after = np.clip(np.searchsorted(share, quantiles), 1, n_gaps - 1)
        is_before = quantiles - share[after - 1] < share[after] - quantiles
        chosen = np.unique(np.where(is_before, after - 1, after))
    if wanted is not None and len(wanted):
        asked = np.searchsorted(distinct, wanted) - 1
        chosen = np.union1d(chosen, asked[(asked >= 0) & (asked < n_gaps)])
    # The end of a move is no good place for a cut, which would be just reached.
    is_whole = bool((distinct == np.rint(distinct)).all() and np.abs(distinct).max() < 2.0**53)
    is_whole = is_whole and not is_moved
    return place_cuts(distinct[chosen], distinct[chosen + 1], is_whole=is_whole)


def place_cuts(low: FloatArray, high: FloatArray, *, is_whole: bool = False) -> FloatArray:
    """Find readable numbers c with ``low < c <= high``: whole ones, or the shortest decimals."""
    middle = 0.5 * low + 0.5 * high
    if is_whole:
        return np.ceil(middle)
    third = (high - low) / 3.0
    # One digit less than what surely gives a number in the middle third.
    digits = np.ceil(-np.log10(np.maximum(third, np.finfo(float).tiny))) - 1
    cuts = high.copy()
    is_open = np.ones(len(cuts), dtype=bool)
    for more in range(3):
        power = 10.0 ** np.clip(np.abs(digits + more), 0, 300)
        is_fraction = digits + more > 0
        with np.errstate(over="ignore", invalid="ignore"):
            whole = np.rint(np.where(is_fraction, middle * power, middle / power))
            tried = np.where(is_fraction, whole / power, whole * power)
        fits = is_open & (np.abs(tried - middle) <= 0.5 * third) & (low < tried) & (tried <= high)
        fits &= np.abs(digits + more) <= _MOST_DIGITS
        cuts[fits] = tried[fits]
        is_open &= ~fits
    return cuts + 0.0

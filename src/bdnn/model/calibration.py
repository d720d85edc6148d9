"""Probabilities of classes: small tables of integers, looked up by how far scores are apart.

The predicted class p leads class l by ``s_p - s_l``. With ``d`` the number of that lead, counted
in ``unit`` from 1 on, and 0 for p itself, the probability of l is ``E[d]`` over the sum of all
classes' entries. Entries fall with d, so that the predicted class is the likeliest and the order of
scores is kept; integers make the same numbers in Python and in C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from bdnn.limits import CALIBRATION
from bdnn.network.activation import FloatArray

Entries = NDArray[np.int64]

#: Entry of the predicted class in every table.
LARGEST = 1 << 15

# Pairs of classes that the common curve counts for beside the observed ones of a lead.
_PRIOR_PAIRS = 20.0
# Share of the leads that a table tells apart; those beyond it count as its last entry.
_COVERED = 0.995


@dataclass(frozen=True)
class Calibration:
    """How likely a class is whose score is so far behind."""

    unit: float  # a power of two, in which leads are counted
    # Per predicted class the entries of d = 0, 1, ...; all of one length, each falling.
    tables: tuple[tuple[int, ...], ...]
    rows: int  # number of rows that the tables were learnt from
    origin: str  # what these rows were: ``held-out rows`` or ``training rows``

    @classmethod
    def fit(
        cls,
        scores: FloatArray,  # (n_rows, n_classes)
        labels: NDArray[np.intp],  # (n_rows,)
        weight: FloatArray,  # (n_rows,)
        *,
        step: float,  # least difference of two leads that means anything, a power of two
        origin: str,
    ) -> Calibration:
        """Learn tables from scores of rows and their true classes.

        An entry is the odds of the other class against the predicted one at that lead: counted
        among the rows that belong to one of the two, and drawn towards one exponential curve for
        all classes where rows are few.
        """
        n_rows, n_classes = scores.shape
        rows = np.arange(n_rows)
        said = scores.argmax(axis=1)
        lead = scores[rows, said][:, None] - scores
        # A row of weight 2 counts as two rows; weights that are shares of one count as rows, too.
        counts = weight * max(1.0, n_rows / weight.sum())
        reach = _quantile(lead, counts)
        unit = max(step, 2.0 ** math.ceil(math.log2(max(reach, step) / (CALIBRATION - 2))))
        n_entries = min(CALIBRATION, 2 + int(reach // unit))
        place = _places(lead, said, unit, n_entries)
        curve = _common_curve(place, labels, counts, n_entries)
        tables = []
        for p in range(n_classes):
            here = said == p
            behind = np.delete(np.arange(n_classes), p)
            d, truth, count = place[here][:, behind], labels[here], counts[here]
            is_other = truth[:, None] == behind
            is_said = np.broadcast_to((truth == p)[:, None], is_other.shape)
            times = np.broadcast_to(count[:, None], is_other.shape)
            other = np.bincount(d.ravel(), (times * is_other).ravel(), n_entries)
            said_right = np.bincount(d.ravel(), (times * is_said).ravel(), n_entries)
            odds = (other + _PRIOR_PAIRS * curve) / (said_right + _PRIOR_PAIRS)
            pairs = np.asarray(other + said_right + _PRIOR_PAIRS, dtype=float)
            tables.append(_falling(_isotonic(odds[1:], pairs[1:])))
        return cls(unit, tuple(tables), n_rows, origin)

    def entries(self, scores: FloatArray) -> Entries:
        """Entries of all classes, which are in proportion to their probabilities."""
        said = scores.argmax(axis=1)
        tables = np.array(self.tables, dtype=np.int64)
        lead = scores[np.arange(len(scores)), said][:, None] - scores
        return np.asarray(tables[said[:, None], _places(lead, said, self.unit, tables.shape[1])])

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Probabilities of shape (n_rows, n_classes), rows of which sum to 1."""
        entries = self.entries(scores).astype(float)
        return np.asarray(entries / entries.sum(axis=1, keepdims=True))


def _places(
    lead: FloatArray, said: NDArray[np.intp], unit: float, n_entries: int
) -> NDArray[np.intp]:
    place = 1 + np.minimum(np.floor(lead / unit), n_entries - 2).astype(np.intp)
    place[np.arange(len(said)), said] = 0
    return place


def _quantile(lead: FloatArray, counts: FloatArray) -> float:
    """The lead that all but a few do not exceed."""
    widest = lead.max(axis=1)
    order = np.argsort(widest)
    share = np.cumsum(counts[order]) / counts.sum()
    return float(widest[order][min(np.searchsorted(share, _COVERED), len(order) - 1)])


def _common_curve(
    place: NDArray[np.intp], labels: NDArray[np.intp], counts: FloatArray, n_entries: int
) -> FloatArray:
    """The exponential curve under which the true classes are likeliest."""
    wrong = place[np.arange(len(labels)), labels]

    def surprise(log_rate: float) -> float:
        rate = math.exp(log_rate)
        total = np.exp(-rate * place).sum(axis=1)
        # As if one row more were wrong: a perfect record is no certainty.
        return float(counts @ (np.log(total) + rate * wrong)) + rate

    best = minimize_scalar(surprise, bounds=(-7.0, 3.0), method="bounded").x
    return np.asarray(np.exp(-math.exp(best) * np.arange(n_entries)))


def _isotonic(odds: FloatArray, counts: FloatArray) -> FloatArray:
    """The nearest odds that never rise, by joining neighbours that do."""
    # scikit-learn's own costs half a second of imports for a dozen numbers.
    blocks: list[list[float]] = []
    for value, count in zip(odds.tolist(), counts.tolist(), strict=True):
        blocks.append([value, count, 1])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            value, count, n = blocks.pop()
            last = blocks[-1]
            joined = last[1] + count
            blocks[-1] = [(last[0] * last[1] + value * count) / joined, joined, last[2] + n]
    return np.concatenate([np.full(int(n), value) for value, _, n in blocks])


def _falling(odds: FloatArray) -> tuple[int, ...]:
    """Integers in proportion to 1 and the odds, each below the one before."""
    entries = [LARGEST, *np.rint(LARGEST * np.minimum(odds, 1.0)).astype(int).tolist()]
    for d in range(1, len(entries)):
        # Room for the entries that follow, which are 1 at least.
        entries[d] = max(len(entries) - d, min(entries[d], entries[d - 1] - 1))
    return tuple(entries)

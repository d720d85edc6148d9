"""The largest radius that a sound bound guarantees, for all samples at once.

Whether the class holds in a ball is asked with intervals: for l_inf the ball is a box; for l_1 and
l_2 a sum of the first layer is also within ``r`` times the dual norm of its weights. The answer is
monotone in the radius, so that bisection finds the largest one, all samples side by side; among
the few radii at which something comes into reach where there are only so many.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from bdnn.errors import DataError
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.norms import check_radius
from bdnn.robustness.attacks import greedy
from bdnn.robustness.certificate import Certificate
from bdnn.robustness.perturbation import PerturbationSet
from bdnn.robustness.words import RowAtRisk, rows_at_risk, sentence

_DOUBLINGS = 64
_HALVINGS = 32
_FIRST = 2.0**-4
_ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False, repr=False)
class Certification:
    """Radii that are guaranteed: within them no perturbation changes the predicted class.

    Attributes
    ----------
    radii : array of shape (n_samples,)
        Infinite where nothing ever changes the class.
    radius : array of shape (n_samples,) or None
        What was asked for.
    """

    around: PerturbationSet
    radii: FloatArray
    radius: FloatArray | None = None

    @property
    def certified(self) -> BoolArray:
        """Which samples keep their class within the radius that was asked for."""
        if self.radius is None:
            raise DataError("no radius was given: call certify with radius=0.1, for example.")
        return self.radii >= self.radius

    @property
    def accuracy(self) -> float:
        """Share of samples that are predicted as labelled within the whole radius."""
        return float((self.certified & self._is_correct()).mean())

    def curve(self, levels: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
        """Certified accuracy against the radius.

        Parameters
        ----------
        levels : array, optional
            Radii; by default 0 and those at which the accuracy drops.

        Returns
        -------
        levels, accuracy : arrays
        """
        correct = self._is_correct()
        kept = np.sort(np.where(correct, self.radii, -1.0))
        if levels is None:
            levels = np.unique(np.concatenate([[0.0], kept[(kept > 0) & np.isfinite(kept)]]))
        wanted = np.atleast_1d(check_radius(levels, name="levels"))
        return wanted, (len(kept) - np.searchsorted(kept, wanted, side="left")) / len(kept)

    def certificate(self, sample: int) -> Certificate:
        """The guarantee of one sample, to be checked again without this package's bounds."""
        return Certificate.guarantee(self.around.rows(np.array([sample])), self.radii[sample])

    @property
    def sentence(self) -> str:
        """How many rows keep their class, in words; within half of all radii if none was asked."""
        if self.radius is None:
            middle = np.sort(self.radii)[len(self.radii) // 2] if len(self.radii) else 0.0
            if not middle:  # most rows stand at a cut
                middle = min(self.radii[self.radii > 0], default=0.0)
            if len(self.radii) and not middle:
                return "No row is certified to keep its class when values move."
            level = np.full(len(self.radii), middle)
            if not np.isfinite(middle):
                return f"Nothing changes the class of most of the {len(self.radii)} rows."
            return sentence(self.around, int((self.radii >= level).sum()), None, level)
        return sentence(self.around, int(self.certified.sum()), None, self.radius)

    def at_risk(self, most: int = 5) -> list[RowAtRisk]:
        """The rows of the smallest radii, with counter-examples as far as attacks find them."""
        rows = np.argsort(self.radii, kind="stable")[:most]
        part = self.around.rows(rows)
        found = greedy(part)
        told = rows_at_risk(part, self.radii[rows], found.X, found.lengths, most)
        return [replace(one, row=int(rows[one.row])) for one in told]

    def __repr__(self) -> str:
        return f"<Certification: {self.sentence}>"

    def _is_correct(self) -> BoolArray:
        correct = self.around.correct
        if correct is None:
            raise DataError("an accuracy needs labels: call certify with y.")
        return correct


def certify(around: PerturbationSet, radius: ArrayLike | None = None) -> Certification:
    """Guarantee radii within which no perturbation changes the predicted class.

    A fast bound for all samples at once that may be too small, never too large: the model gives the
    same class for every ``x'`` with ``||(x' - x) * encoder.factor||`` up to the radius, or
    ``||x' - x||`` in raw units.

    Parameters
    ----------
    around : PerturbationSet
        Made with labels, for certified accuracy.
    radius : float or array of shape (n_samples,), optional
        For the question which samples are certified.
    """
    wanted = None if radius is None else check_radius(radius, len(around.X))
    return Certification(around, guaranteed_radii(around), wanted)


def guaranteed_radii(around: PerturbationSet, *, deadline: float = math.inf) -> FloatArray:
    """Radii within which no perturbation changes the class, infinite where none ever does.

    Samples that are not reached before the deadline (of ``time.perf_counter``) get 0.
    """
    radii = np.zeros(len(around.X))
    for first in range(0, len(around.X), _ROWS_AT_ONCE):
        if time.perf_counter() >= deadline:
            break
        rows = np.arange(first, min(first + _ROWS_AT_ONCE, len(around.X)))
        radii[rows] = _radii(around.rows(rows))
    return radii


def is_guaranteed(around: PerturbationSet, radius: FloatArray) -> BoolArray:
    """Tell which samples certainly keep their class within one radius per sample."""
    return around.regions(radius).is_certain(around.network, around.classes)


def _radii(around: PerturbationSet) -> FloatArray:
    levels = around.levels
    if levels is not None:
        return _radii_between(around, levels)
    n_samples = len(around.X)
    always = is_guaranteed(around, np.full(n_samples, np.inf))
    low, high = np.zeros(n_samples), np.full(n_samples, _FIRST)
    rows = np.flatnonzero(~always)
    for _ in range(_DOUBLINGS):
        held = is_guaranteed(around.rows(rows), high[rows])
        rows = rows[held]
        if not rows.size:
            break
        low[rows], high[rows] = high[rows], 2 * high[rows]
    rows = np.flatnonzero(~always)
    part = around.rows(rows)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low[rows] + high[rows])
        held = is_guaranteed(part, middle)
        low[rows], high[rows] = (
            np.where(held, middle, low[rows]),
            np.where(held, high[rows], middle),
        )
    return np.where(always, np.inf, low)


def _radii_between(around: PerturbationSet, levels: FloatArray) -> FloatArray:
    """Radii just below the level, in the order of a sample's levels, where the class is lost."""
    lines, n_levels = np.arange(len(levels)), levels.shape[1]
    held, lost = np.full(len(levels), -1), np.full(len(levels), n_levels)
    while (is_open := lost - held > 1).any():
        middle = np.where(is_open, (held + lost) // 2, 0)
        holds = is_guaranteed(around, levels[lines, middle])
        held, lost = (
            np.where(is_open & holds, middle, held),
            np.where(is_open & ~holds, middle, lost),
        )
    ends = np.nextafter(levels[lines, np.minimum(lost, n_levels - 1)], -np.inf)
    # The double next to a cut is as far from it as halvings find, which is not at all.
    ends = np.where(ends < _FIRST * 2.0**-_HALVINGS, 0.0, ends)
    return np.where(lost == n_levels, np.inf, ends)

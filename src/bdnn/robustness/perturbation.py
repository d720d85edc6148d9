"""What the inputs of a network can become within a radius, rounding to the grid included.

Here every column is one number; columns of bits, texts and missing values are those of
:mod:`bdnn.robustness.columns`.

A raw input x is scaled to ``s = (x - shift) * factor`` and rounded to the grid: the network sees
``z = k * step``. A perturbed input reaches the grid point k as soon as it crosses the edge of its
cell, so that k costs a move of ``|k * step - s| - step / 2``. Every feature has a *coordinate*: the
grid point k, the raw value of a feature of whole numbers, or z itself where nothing is rounded.

All lengths found here are lower limits and all boxes upper limits, by more than floating point
numbers can be off, so that what holds for them holds for ``predict`` on any raw input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.errors import ModelError
from bdnn.model import Model
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.network.norms import SLACK, Norm, Units, check_norm, check_radius, check_units, length
from bdnn.problem.regions import Regions
from bdnn.robustness.domain import Domain

_NUDGES = 60


@dataclass(frozen=True, eq=False)
class PerturbationSet:
    """Samples, what they may become, and how far away that is. Build it with :meth:`create`.

    Attributes
    ----------
    model : Model
    domain : Domain
        The inputs that exist.
    norm : {"linf", "l1", "l2"}
    units : {"scaled", "raw"} or tuple of float
        What a radius of 1 is: a scaled input moved by 1, a raw one, or every raw column moved by
        a length of its own, 0 for one that stands still.
    X : array of shape (n_samples, n_features)
        Raw inputs.
    centre : array of the same shape
        Scaled inputs before rounding.
    current : array of the same shape
        Coordinates of the samples.
    classes : array of shape (n_samples,)
        Predicted classes, as numbers of outputs.
    lowest, highest : arrays of the shape of ``X``
        Range of the coordinates.
    labels : array of shape (n_samples,) or None
        True classes, as numbers of outputs; -1 for one that the model does not know.
    """

    model: Model
    domain: Domain
    norm: Norm
    units: Units | tuple[float, ...]
    X: FloatArray
    centre: FloatArray
    current: FloatArray
    classes: NDArray[np.intp]
    lowest: FloatArray
    highest: FloatArray
    labels: NDArray[np.intp] | None = None

    @classmethod
    def create(
        cls,
        model: Model,
        X: FloatArray,
        y: ArrayLike | None = None,
        *,
        norm: str = "linf",
        units: str | Mapping[Any, float] | Sequence[float] = "scaled",
        domain: Domain | None = None,
    ) -> PerturbationSet:
        """Look around samples of a classifier, whatever its weights and activations.

        A mapping of columns, by name or number, to lengths of raw moves are units too: every
        column moves by its own, and the others stand still.
        """
        from bdnn.robustness.columns import ColumnSet  # a subclass

        model.require_classifier("robustness")
        encoder = model.encoder
        if not (np.isfinite(encoder.units) & (encoder.units != 0)).all():
            raise ModelError(
                "a scaler with a factor of 0 says nothing about raw inputs: train the model again."
            )
        domain = Domain.create(X.shape[1]) if domain is None else domain
        if not isinstance(domain, Domain):
            raise ModelError(
                f"domain must be a Domain, got {domain!r}: make one with Domain.create."
            )
        domain.check(X)
        measure = parse_units(units, encoder.names)
        if not isinstance(measure, str):
            domain = replace(domain, fixed=domain.fixed | (np.array(measure) == 0))
        listed = np.array([column.kind != "number" for column in encoder.columns])
        _check_changes(encoder, domain, listed)
        classes = model.outcomes(X)
        labels = None if y is None else model.codes(y, len(X))
        kept = np.isinf(domain.change) & ~domain.may_be_missing & ~domain.may_be_known
        domain = replace(domain, fixed=domain.fixed | (listed & kept))
        jumps = (listed & ~domain.fixed) | domain.may_be_missing | domain.may_be_known
        kind = cls if encoder.is_plain and not jumps.any() else ColumnSet
        return kind._around(model, domain, check_norm(norm), measure, X, classes, labels)

    @classmethod
    def _around(
        cls,
        model: Model,
        domain: Domain,
        norm: Norm,
        units: Units | tuple[float, ...],
        X: FloatArray,
        classes: NDArray[np.intp],
        labels: NDArray[np.intp] | None,
    ) -> PerturbationSet:
        scaler = model.encoder
        centre = inputs = scaler.transform(X)
        if scaler.step:
            with np.errstate(over="ignore"):
                centre = (X - scaler.shift) * scaler.factor
            centre = np.clip(centre, -LARGEST_SCALED, LARGEST_SCALED)
        current = np.where(domain.integer, X, _grid_points(scaler, inputs))
        # The range by the domain always holds the sample itself.
        ends = np.sort(scaler.transform(np.stack([domain.lower, domain.upper])), axis=0)
        whole = np.stack([np.ceil(domain.lower), np.floor(domain.upper)])
        low, high = np.where(domain.integer, whole, _grid_points(scaler, ends))
        return cls(
            model,
            domain,
            norm,
            units,
            X,
            centre,
            current,
            classes,
            np.where(domain.fixed, current, np.minimum(low, current)),
            np.where(domain.fixed, current, np.maximum(high, current)),
            labels,
        )

    def rows(self, chosen: NDArray[np.intp] | BoolArray) -> PerturbationSet:
        """Some of the samples with what surrounds them."""
        names = ("X", "centre", "current", "classes", "lowest", "highest", "labels")
        parts: dict[str, Any] = {name: getattr(self, name) for name in names}
        parts = {name: part if part is None else part[chosen] for name, part in parts.items()}
        return replace(self, **parts)

    @property
    def network(self) -> Network:
        """The network, whose forward pass decides."""
        return self.model.network

    @property
    def scaler(self) -> Encoder:
        """From raw features to inputs of the network."""
        return self.model.encoder

    @property
    def correct(self) -> BoolArray | None:
        """Which samples are predicted as labelled, None without labels."""
        return None if self.labels is None else np.asarray(self.classes == self.labels)

    @property
    def half_step(self) -> float:
        """The most by which rounding moves a scaled input."""
        return 0.5 * self.scaler.step

    @property
    def whole(self) -> BoolArray:
        """Which coordinates are whole numbers."""
        return np.asarray(self.domain.integer | (self.scaler.step > 0))

    @property
    def unit(self) -> FloatArray:
        """How far a scaled input moves when its raw feature moves by a radius of 1."""
        return np.asarray(np.abs(self.scaler.units) / self.weight)

    @cached_property
    def weight(self) -> FloatArray:
        """What a raw move is multiplied with to be measured."""
        factor = np.abs(self.scaler.units)
        if isinstance(self.units, str):
            return factor if self.units == "scaled" else np.ones_like(factor)
        return np.array([1.0 / reach if reach else 1.0 for reach in self.units])

    @property
    def farthest(self) -> float:
        """A length within which all is that a single sample can become."""
        return np.inf

    @property
    def levels(self) -> FloatArray | None:
        """All radii at which more comes into reach, in order; None if these are too many to list.

        An array of shape (n_samples, n_levels).
        """
        return None

    def box(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest coordinates within one radius per sample."""
        reach = radius[:, None] * self.unit
        wide = reach + self.half_step + SLACK * (np.abs(self.centre) + reach)
        low, high = self.centre - wide, self.centre + wide
        if self.scaler.step:
            low, high = np.ceil(low / self.scaler.step), np.floor(high / self.scaler.step)
        whole = self.domain.integer
        if whole.any():
            raw_reach = radius[:, None] / self.weight * (1 + SLACK)
            low = np.where(whole, np.ceil(self.X - raw_reach), low)
            high = np.where(whole, np.floor(self.X + raw_reach), high)
        low = np.minimum(np.maximum(low, self.lowest), self.current)
        high = np.maximum(np.minimum(high, self.highest), self.current)
        return low, high

    def tightened(
        self, low: FloatArray, high: FloatArray, radius: float
    ) -> tuple[FloatArray, FloatArray]:
        """Boxes around a single sample as far as they lie within a radius, upside down if not."""
        least, most = self.box(np.array([radius]))
        return np.maximum(low, least), np.minimum(high, most)

    def nearest_points(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """The point of every box that is nearest to a single sample."""
        return np.clip(self.current, low, high)

    def is_point(self, low: FloatArray, high: FloatArray) -> BoolArray:
        """Tell which boxes are a single point to the network."""
        return np.asarray((low == high).all(axis=1))

    def halves(
        self, number: NDArray[np.intp], low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Where to halve ranges of coordinates: the last value of one half, the first of the other.

        The coordinates are given by their numbers.
        """
        whole, middle = self.whole[number], 0.5 * (low + high)
        cut = np.where(whole, np.floor(middle), middle)
        return cut, np.where(whole, cut + 1, cut)

    def by_coordinate(self, values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """What inputs count for, as what coordinates of boxes do; -1 for one without width."""
        # A feature that no unit sees is the last choice.
        return np.where(high > low, values + 1e-300, -1.0)

    def inputs(self, coordinates: FloatArray) -> FloatArray:
        """What the network sees at coordinates."""
        values = coordinates * (self.scaler.step or 1.0)
        whole = self.domain.integer
        if not whole.any() or not self.scaler.step:
            return values
        return np.where(whole, self.scaler.transform(np.where(whole, coordinates, 0.0)), values)

    def input_box(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the network sees at least and at most in boxes of coordinates."""
        a, b = self.inputs(low), self.inputs(high)
        return np.minimum(a, b), np.maximum(a, b)

    def regions(self, radius: FloatArray) -> Regions:
        """What the network may see within one radius per sample."""
        low, high = self.input_box(*self.box(radius))
        return Regions(low, high, self.centre, radius, self.norm, self.unit, self.scaler.step)

    def parts(self, low: FloatArray, high: FloatArray, radius: float) -> Regions:
        """What the network may see in boxes of coordinates around a single sample."""
        a, b = self.input_box(low, high)
        centre, reach = np.broadcast_to(self.centre, a.shape), np.full(len(low), radius)
        return Regions(a, b, centre, reach, self.norm, self.unit, self.scaler.step)

    def is_possible(self, low: FloatArray, high: FloatArray) -> BoolArray:
        """Tell which boxes of coordinates hold a point with exactly one 1 in every group."""
        possible = np.ones(len(low), dtype=bool)
        for group in self.domain.groups:
            members = list(group)
            possible &= low[:, members].sum(axis=1) <= 1
            possible &= high[:, members].sum(axis=1) >= 1
        return possible

    def lengths(self, coordinates: FloatArray) -> FloatArray:
        """Lower limits of how far coordinates are away, for one sample or row by row."""
        return length(self.norm, self.moves(coordinates)) * (1 - SLACK)

    def moves(self, coordinates: FloatArray) -> FloatArray:
        """Lower limits of how far every feature has to move to its coordinate."""
        distance = np.abs(coordinates * (self.scaler.step or 1.0) - self.centre)
        distance -= self.half_step + SLACK * (np.abs(self.centre) + distance)
        moves = np.maximum(distance, 0.0) / self.unit
        whole = self.domain.integer
        if whole.any():
            moves = np.where(whole, np.abs(coordinates - self.X) * self.weight * (1 - SLACK), moves)
        return np.where(coordinates == self.current, 0.0, moves)

    def measured(self, X: FloatArray) -> FloatArray:
        """Upper limits of how far raw inputs are from the samples."""
        return length(self.norm, (X - self.X) * self.weight) * (1 + SLACK)

    def predict(self, X: FloatArray) -> NDArray[np.intp]:
        """Classes of raw inputs, as numbers of outputs."""
        return self.network.predict(self.scaler.transform(X))

    def is_changed(self, X: FloatArray) -> BoolArray:
        """Tell which raw inputs are put into another class than their sample."""
        return np.asarray(self.predict(X) != self.classes)

    def admitted(self, X: FloatArray) -> FloatArray:
        """The nearest raw inputs that exist; a group that would lose its one 1 is left as it is."""
        low = np.minimum(self.domain.lower, self.X)
        high = np.maximum(self.domain.upper, self.X)
        moved = np.clip(np.where(self.domain.integer, np.rint(X), X), low, high)
        return self._with_groups(np.where(self.domain.fixed, self.X, moved))

    def _with_groups(self, moved: FloatArray) -> FloatArray:
        """Put groups back that have not exactly one 1."""
        for group in self.domain.groups:
            members = list(group)
            broken = moved[:, members].sum(axis=1) != 1
            moved[np.ix_(broken, members)] = self.X[np.ix_(broken, members)]
        return moved

    def raw(self, coordinates: FloatArray) -> FloatArray:
        """Raw inputs with these coordinates, as near to their samples as floating point allows."""
        scaler, wanted = self.scaler, self.inputs(coordinates)
        if not scaler.step:
            return np.where(coordinates == self.current, self.X, coordinates)
        side = np.sign(wanted - self.centre)
        first = scaler.shift + (wanted - side * self.half_step) / scaler.factor
        outward = side * np.sign(scaler.factor)
        found = np.where(coordinates == self.current, self.X, first)
        found = np.where(self.domain.integer, coordinates, found)
        nudge = np.spacing(np.maximum(np.abs(first), np.abs(scaler.shift)))
        for doubling in range(_NUDGES):
            missing = scaler.transform(found) != wanted
            if not missing.any():
                break
            found = np.where(missing, first + outward * nudge * 2.0**doubling, found)
        return found


def _grid_points(scaler: Encoder, inputs: FloatArray) -> FloatArray:
    """Inputs as multiples of the grid, as they are without one."""
    return np.rint(inputs / scaler.step) if scaler.step else inputs


def parse_units(units: Any, names: Sequence[str]) -> Units | tuple[float, ...]:
    """Names of units as they are, lengths of raw moves as one per column."""
    if isinstance(units, str):
        return check_units(units)
    if not isinstance(units, Mapping):
        units = dict(enumerate(units)) if isinstance(units, Sequence) else {None: units}
    known: dict[Any, int] = {name: j for j, name in enumerate(names)}
    known |= {j: j for j in range(len(names))}
    found = [0.0] * len(names)
    for column, reach in units.items():
        if column not in known:
            raise ModelError(
                f"a radius per column needs names or numbers of columns, got {column!r}: choose of "
                f"{', '.join(map(repr, names))}."
            )
        found[known[column]] = float(check_radius(reach))
    return tuple(found)


def _check_changes(encoder: Encoder, domain: Domain, listed: BoolArray) -> None:
    """Refuse changes that make no sense for a column."""
    wrong = np.isfinite(domain.change) & ~listed
    if wrong.any():
        raise ModelError(
            f"change is for truth values and texts, got the column "
            f"{encoder.names[int(np.argmax(wrong))]!r} of numbers: give a radius instead."
        )
    wrong = domain.may_be_missing & np.isnan(encoder.fills)
    if wrong.any():
        raise ModelError(
            f"the model refuses missing values in column "
            f"{encoder.names[int(np.argmax(wrong))]!r}, got it in may_be_missing: leave it out."
        )

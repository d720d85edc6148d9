"""What the inputs of a network can become within a radius, rounding to the grid included.

Texts and missing values stay what they are. A column that is more than one number, with bits beside
it or instead of it, is looked at in raw values.

A raw input x is scaled to ``s = (x - shift) * factor`` and rounded to the grid: the network sees
``z = k * step``. A perturbed input reaches the grid point k as soon as it crosses the edge of its
cell, so that k costs a move of ``|k * step - s| - step / 2``. Every feature has a *coordinate*: the
grid point k, the raw value of a feature of whole numbers, or z itself where nothing is rounded.

All lengths found here are lower limits and all boxes upper limits, by more than floating point
numbers can be off, so that what holds for them holds for ``predict`` on any raw input.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.encoding.encoder import Encoder
from bdnn.encoding.scaling import LARGEST_SCALED
from bdnn.errors import ModelError
from bdnn.model import Model
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.network.norms import SLACK, Norm, Units, check_norm, check_units, length
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
    units : {"scaled", "raw"}
        What a radius of 1 is: a scaled input moved by 1, or a raw one.
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
    units: Units
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
        units: str = "scaled",
        domain: Domain | None = None,
    ) -> PerturbationSet:
        """Look around samples of a classifier, whatever its weights and activations."""
        model.require_classifier("robustness")
        scaler = model.encoder
        if not (np.isfinite(scaler.units) & (scaler.units != 0)).all():
            raise ModelError(
                "a scaler with a factor of 0 says nothing about raw inputs: train the model again."
            )
        domain = Domain.create(X.shape[1]) if domain is None else domain
        if not isinstance(domain, Domain):
            raise ModelError(
                f"domain must be a Domain, got {domain!r}: make one with Domain.create."
            )
        domain.check(X)
        centre = inputs = scaler.transform(X)
        if not scaler.is_plain:
            return cls._of_columns(model, domain, check_norm(norm), check_units(units), X, y)
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
            check_norm(norm),
            check_units(units),
            X,
            centre,
            current,
            model.network.predict(inputs),
            np.where(domain.fixed, current, np.minimum(low, current)),
            np.where(domain.fixed, current, np.maximum(high, current)),
            None if y is None else model.codes(y, len(X)),
        )

    @classmethod
    def _of_columns(
        cls,
        model: Model,
        domain: Domain,
        norm: Norm,
        units: Units,
        X: FloatArray,
        y: ArrayLike | None,
    ) -> PerturbationSet:
        """Samples of which columns are more than one number: coordinates are raw values.

        Texts and missing values stay what they are.
        """
        is_text = np.array([column.kind == "category" for column in model.encoder.columns])
        domain = replace(domain, fixed=domain.fixed | is_text)
        low = np.where(domain.integer, np.ceil(domain.lower), domain.lower)
        high = np.where(domain.integer, np.floor(domain.upper), domain.upper)
        still = domain.fixed | np.isnan(X)
        return cls(
            model,
            domain,
            norm,
            units,
            X,
            X,
            X,
            model.outcomes(X),
            np.where(still, X, np.minimum(low, X)),
            np.where(still, X, np.maximum(high, X)),
            None if y is None else model.codes(y, len(X)),
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
    def is_plain(self) -> bool:
        """Whether every column is one number."""
        return self.scaler.is_plain

    @property
    def unit(self) -> FloatArray:
        """How far a scaled input moves when its raw feature moves by a radius of 1."""
        factor = np.abs(self.scaler.units)
        return np.ones_like(factor) if self.units == "scaled" else factor

    @property
    def weight(self) -> FloatArray:
        """What a raw move is multiplied with to be measured."""
        factor = np.abs(self.scaler.units)
        return factor if self.units == "scaled" else np.ones_like(factor)

    def box(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest coordinates within one radius per sample."""
        if not self.is_plain:
            return self._raw_box(radius)
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

    def _raw_box(self, radius: FloatArray) -> tuple[FloatArray, FloatArray]:
        reach = radius[:, None] / self.weight * (1 + SLACK)
        wide = reach + SLACK * (np.abs(self.X) + reach)
        low, high = self.X - wide, self.X + wide
        whole = self.domain.integer
        low = np.where(whole, np.ceil(self.X - reach), low)
        high = np.where(whole, np.floor(self.X + reach), high)
        low = np.minimum(np.maximum(low, self.lowest), self.X)
        return low, np.maximum(np.minimum(high, self.highest), self.X)

    def inputs(self, coordinates: FloatArray) -> FloatArray:
        """What the network sees at coordinates."""
        if not self.is_plain:
            return self.scaler.transform(coordinates)
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
        if not self.is_plain:
            # Every input grows with its column, so that the ends of a column are its own ends;
            # a ball of any norm lies in that box.
            step = self.scaler.step if self.scaler.numbers else 1.0
            one, inputs = np.ones(self.scaler.n_inputs), self.scaler.transform(self.X)
            return Regions(low, high, inputs, radius, "linf", one, step, self._points(radius))
        return Regions(low, high, self.centre, radius, self.norm, self.unit, self.scaler.step)

    def _points(self, radius: FloatArray) -> FloatArray:
        """Raw values in the unit of radii; texts and missing values are too far apart to meet."""
        far = 4.0 * (1.0 + np.max(radius, initial=0.0, where=np.isfinite(radius)))
        values = np.where(self.domain.fixed, self.X * far, self.X * self.weight)
        return np.where(
            np.isnan(self.X), -far * (2.0 + np.nanmax(np.abs(values), initial=0.0)), values
        )

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
        moves = np.where(np.isnan(self.X), 0.0, X - self.X) * self.weight
        return length(self.norm, moves) * (1 + SLACK)

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
        moved = np.where(self.domain.fixed | np.isnan(self.X), self.X, moved)
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

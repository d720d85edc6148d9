"""Certificates: what was found about one sample, to be checked again without a solver.

A counter-example is checked by a forward pass. A guarantee is checked by the interval arithmetic of
:mod:`bdnn.checker.guarantee` in exact numbers: nothing of the bounds that found it is used again.
Where boxes had to be halved to prove it, the certificate holds the halvings and every part is
checked.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bdnn.checker.encoder import parse_encoder
from bdnn.checker.guarantee import Ball, Guarantee
from bdnn.checker.guarantee import Domain as ExactDomain
from bdnn.checker.layers import Layer
from bdnn.checker.model import Classifier
from bdnn.errors import DataError
from bdnn.model import Model
from bdnn.model_file.write import encoder_content
from bdnn.network.activation import FloatArray
from bdnn.network.norms import Units, check_norm, check_radius, check_units
from bdnn.robustness.domain import Domain
from bdnn.robustness.perturbation import PerturbationSet

FORMAT = "bdnn-certificate"
VERSION = 1
# A guarantee without limit is written down for this radius.
_LARGEST_RADIUS = 2.0**40


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """A statement about one sample of one model.

    Parameters
    ----------
    kind : {"guarantee", "counter-example"}
        No input nearer than the radius is put into another class, or this one within it is.
    model : str
        Fingerprint of network and scaler.
    norm : str
    units : str or tuple of float
        Raw or scaled moves, or the raw move of every column that is a length of 1.
    radius : float
    sample : tuple of float
        The raw input.
    label : int
        Number of its predicted class.
    domain : dict
        The inputs that count, as :class:`~bdnn.robustness.Domain` writes them.
    counter_example : tuple of float or None
    proof : nested list or None
        Halvings ``[feature, cut, left, right]`` of the box around the sample.
    """

    kind: str
    model: str
    norm: str
    units: str | tuple[float, ...]
    radius: float
    sample: tuple[float, ...]
    label: int
    domain: Mapping[str, Any]
    counter_example: tuple[float, ...] | None = None
    proof: Any = None

    @classmethod
    def guarantee(cls, around: PerturbationSet, radius: float, proof: Any = None) -> Certificate:
        """State that nothing nearer than a radius changes the class of a single sample."""
        return cls._about(around, "guarantee", min(float(radius), _LARGEST_RADIUS), proof=proof)

    @classmethod
    def refutation(cls, around: PerturbationSet, counter_example: FloatArray) -> Certificate:
        """State that a raw input is put into another class than the sample near it."""
        radius = float(around.measured(counter_example[None])[0])
        found = tuple(counter_example.tolist())
        return cls._about(around, "counter-example", radius, counter_example=found)

    @classmethod
    def _about(cls, around: PerturbationSet, kind: str, radius: float, **more: Any) -> Certificate:
        return cls(
            kind,
            fingerprint(around.model),
            around.norm,
            around.units,
            radius,
            tuple(around.X[0].tolist()),
            int(around.classes[0]),
            around.domain.to_dict(),
            **more,
        )

    def check(self, model: Model) -> bool:
        """Go through the statement again: a forward pass, or exact fractions.

        Raises
        ------
        DataError
            If it is about another model.
        """
        if self.model != fingerprint(model):
            raise DataError(
                f"the certificate is about another model (fingerprint {self.model[:12]}): check it "
                "with the model it was made for."
            )
        domain, found = Domain.from_dict(self.domain, len(self.sample)), self.counter_example
        try:
            sample = np.array([self.sample])
            around = PerturbationSet.create(model, sample, units=self.units, domain=domain)
        except DataError:
            return False  # a sample that does not exist
        ball = Ball(
            Fraction(self.radius),
            check_norm(self.norm),
            check_units(self.units) if isinstance(self.units, str) else self.units,
            closed=found is not None,
        )
        known = ExactDomain(
            domain.lower.tolist(),
            domain.upper.tolist(),
            domain.integer.tolist(),
            domain.fixed.tolist(),
            domain.groups,
            domain.change.tolist(),
            domain.may_be_missing.tolist(),
            domain.may_be_known.tolist(),
        )
        guarantee = Guarantee(_plain(model), ball, known)
        if around.classes[0] != self.label:
            return False
        if found is not None:
            raw = np.array([found])
            exists = np.array_equal(around.admitted(raw), raw, equal_nan=True)
            is_changed = bool(around.is_changed(raw)[0])
            return exists and is_changed and guarantee.contains(self.sample, found)
        try:
            return guarantee.holds(self.sample, self.label, self.proof)
        except (TypeError, ValueError, IndexError, RecursionError):
            return False  # halvings that are none

    def __repr__(self) -> str:
        units = self.units if isinstance(self.units, str) else "own units of columns"
        return (
            f"<Certificate: {self.kind} within {self.radius:.6g} ({self.norm}, {units}) of a row "
            f"of {len(self.sample)} columns, model {self.model[:12]}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain data for JSON."""
        sample, found = _with_gaps(self.sample), self.counter_example
        return {
            "format": FORMAT,
            "version": VERSION,
            **vars(self),
            "units": self.units if isinstance(self.units, str) else list(self.units),
            "sample": sample,
            "counter_example": None if found is None else _with_gaps(found),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Certificate:
        """Read a certificate from plain data."""
        try:
            if (values["format"], values["version"]) != (FORMAT, VERSION):
                raise ValueError(f"format {values['format']!r}, version {values['version']!r}")
            counter_example, kind = values["counter_example"], values["kind"]
            if kind != ("guarantee" if counter_example is None else "counter-example"):
                raise ValueError(f"kind {kind!r} does not say what it holds")
            certificate = cls(
                kind,
                str(values["model"]),
                check_norm(values["norm"]),
                _units(values["units"]),
                float(check_radius(values["radius"])),
                _without_gaps(values["sample"]),
                int(values["label"]),
                dict(values["domain"]),
                None if counter_example is None else _without_gaps(counter_example),
                values["proof"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"this is no certificate that can be read ({error}): give one written by bdnn."
            ) from error
        return certificate


def _with_gaps(row: Sequence[float]) -> list[float | None]:
    """A row for JSON, None for what is missing."""
    return [None if value != value else value for value in row]


def _without_gaps(row: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(math.nan if value is None else float(value) for value in row)


def _units(units: Any) -> Units | tuple[float, ...]:
    if isinstance(units, list):
        return tuple(float(check_radius(reach)) for reach in units)
    return check_units(units)


def fingerprint(model: Model) -> str:
    """A checksum of everything that decides a prediction."""
    network, scaler = model.network, model.encoder
    content = hashlib.sha256(f"{network.architecture!r} {scaler.scale} {scaler.step!r}".encode())
    for values in (*network.weights, *network.thresholds, scaler.shift, scaler.factor):
        content.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    if not scaler.is_plain:
        content.update(repr((scaler.columns, scaler.numbers, scaler.bits)).encode())
    return content.hexdigest()


def _plain(model: Model) -> Classifier:
    """What decides a prediction, in Python's own numbers."""
    network = model.network
    shape = network.architecture
    layers = [
        Layer(W.tolist(), t.tolist(), kind.name, shape.activation_of(k).values)
        for k, (W, t, kind) in enumerate(
            zip(network.weights, network.thresholds, shape.weights, strict=True)
        )
    ]
    return Classifier(layers, shape.ties, parse_encoder(encoder_content(model.encoder)))

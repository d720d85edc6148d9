"""Certificates: what was found about one sample, to be checked again without a solver.

A counter-example is checked by a forward pass. A guarantee is checked by the interval arithmetic of
:mod:`bdnn.checker.guarantee` in exact numbers: nothing of the bounds that found it is used again.
Where boxes had to be halved to prove it, the certificate holds the halvings and every part is
checked.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from bdnn.checker import guarantee as guarantees
from bdnn.checker.guarantee import Ball, Guarantee
from bdnn.checker.layers import Layer
from bdnn.checker.model import Classifier
from bdnn.encoding.encoder import Encoder
from bdnn.errors import DataError
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.expansion import unrolled
from bdnn.network.network import Network
from bdnn.network.norms import check_norm, check_radius, check_units
from bdnn.robustness.domain import Domain

if TYPE_CHECKING:
    from bdnn.robustness.surroundings import Surroundings

FORMAT = "bdnn-certificate"
VERSION = 1
# A guarantee without limit is written down for this radius.
_LARGEST_RADIUS = 2.0**40


@dataclass(frozen=True, eq=False)
class Certificate:
    """A statement about one sample of one model.

    Parameters
    ----------
    kind : {"guarantee", "counter-example"}
        No input nearer than the radius is put into another class, or this one within it is.
    model : str
        Fingerprint of network and scaler.
    norm, units : str
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
    units: str
    radius: float
    sample: tuple[float, ...]
    label: int
    domain: Mapping[str, Any]
    counter_example: tuple[float, ...] | None = None
    proof: Any = None

    @classmethod
    def guarantee(cls, around: Surroundings, radius: float, proof: Any = None) -> Certificate:
        """State that nothing nearer than a radius changes the class of a single sample."""
        return cls._about(around, "guarantee", min(float(radius), _LARGEST_RADIUS), proof=proof)

    @classmethod
    def refutation(cls, around: Surroundings, counter_example: FloatArray) -> Certificate:
        """State that a raw input is put into another class than the sample near it."""
        radius = float(around.measured(counter_example[None])[0])
        found = tuple(counter_example.tolist())
        return cls._about(around, "counter-example", radius, counter_example=found)

    @classmethod
    def _about(cls, around: Surroundings, kind: str, radius: float, **more: Any) -> Certificate:
        return cls(
            kind,
            fingerprint(around.network, around.scaler),
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
        network, scaler = unrolled(model.network, "robustness"), model.encoder
        if self.model != fingerprint(network, scaler):
            raise DataError(
                f"the certificate is about another model (fingerprint {self.model[:12]}): check it "
                "with the model it was made for."
            )
        sample = np.array([self.sample])
        if int(network.predict(scaler.transform(sample))[0]) != self.label:
            return False
        domain = _domain(self.domain, sample.shape[1])
        if self.counter_example is not None:
            found = np.array([self.counter_example])
            changed = int(network.predict(scaler.transform(found))[0]) != self.label
            return changed and self._is_near(scaler, domain, found[0])
        ball = Ball(
            Fraction(self.radius), check_norm(self.norm), check_units(self.units), closed=False
        )
        guarantee = Guarantee(_plain(network, scaler), ball, _plain_domain(domain))
        try:
            return guarantee.holds(self.sample, self.label, self.proof)
        except (TypeError, ValueError, IndexError, RecursionError):
            return False  # halvings that are none

    def _is_near(self, scaler: Encoder, domain: Domain, found: FloatArray) -> bool:
        """Whether the counter-example exists in the domain and lies within the radius."""
        sample = np.array(self.sample)
        try:
            domain.check(found[None])
        except DataError:
            return False
        low, high = np.minimum(domain.lower, sample), np.maximum(domain.upper, sample)
        if not ((low <= found) & (found <= high)).all() or (found != sample)[domain.fixed].any():
            return False
        weight = np.abs(scaler.factor) if self.units == "scaled" else np.ones(len(sample))
        order = {"linf": math.inf, "l1": 1, "l2": 2}[self.norm]
        return bool(np.linalg.norm((found - sample) * weight, ord=order) <= self.radius)

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain data for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "model": self.model,
            "norm": self.norm,
            "units": self.units,
            "radius": self.radius,
            "sample": list(self.sample),
            "label": self.label,
            "domain": dict(self.domain),
            "counter_example": None if self.counter_example is None else list(self.counter_example),
            "proof": self.proof,
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
                check_units(values["units"]),
                float(check_radius(values["radius"])),
                tuple(map(float, values["sample"])),
                int(values["label"]),
                dict(values["domain"]),
                None if counter_example is None else tuple(map(float, counter_example)),
                values["proof"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"this is no certificate that can be read ({error}): give one written by bdnn."
            ) from error
        return certificate


def fingerprint(network: Network, scaler: Encoder) -> str:
    """A checksum of everything that decides a prediction."""
    content = hashlib.sha256(f"{network.architecture!r} {scaler.scale} {scaler.step!r}".encode())
    for values in (*network.weights, *network.thresholds, scaler.shift, scaler.factor):
        content.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return content.hexdigest()


def _plain(network: Network, scaler: Encoder) -> Classifier:
    """What decides a prediction, in Python's own numbers."""
    layers = [
        Layer(W.tolist(), t.reshape(len(t), -1).tolist(), kind.name)
        for W, t, kind in zip(
            network.weights, network.thresholds, network.architecture.weights, strict=True
        )
    ]
    return Classifier(
        layers,
        network.architecture.ties,
        scaler.shift.tolist(),
        scaler.factor.tolist(),
        scaler.step,
    )


def _plain_domain(domain: Domain) -> guarantees.Domain:
    return guarantees.Domain(
        domain.lower.tolist(),
        domain.upper.tolist(),
        domain.integer.tolist(),
        domain.fixed.tolist(),
        domain.groups,
    )


def _domain(values: Mapping[str, Any], n_features: int) -> Domain:
    def bounds(name: str, none: float) -> list[float]:
        return [none if value is None else float(value) for value in values[name]]

    return Domain.create(
        n_features,
        lower=bounds("lower", -math.inf),
        upper=bounds("upper", math.inf),
        integer=values["integer"],
        fixed=values["fixed"],
        groups=values["groups"],
    )

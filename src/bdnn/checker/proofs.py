"""Proofs of bounds that a model file carries, by their kind.

A proof is repeated from its certificate, the training data and the shape of the network. A kind is
one file with one function, which returns what is proven of the loss of all networks of the shape.
It raises a ``ValueError`` for what it does not understand and looks at the deadline now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from bdnn.checker.all_weights import weights_bound
from bdnn.checker.bounds import Masses
from bdnn.checker.claims import Deadline, OutOfTimeError, shown
from bdnn.checker.conflicts import conflict_bound
from bdnn.checker.listed import units_bound
from bdnn.checker.model import CheckedModel
from bdnn.checker.planes import planes_bound

_KINDS: dict[str, Callable[[CheckedModel, Masses, dict[str, Any], Deadline], Fraction]] = {
    "weights": weights_bound,
    "conflicts": conflict_bound,
    "units": units_bound,
    "planes": planes_bound,
}

# Inputs times classes, whose costs are held in memory.
_MOST_CELLS = 2_000_000


class NoProofError(Exception):
    """Why a file proves nothing of its bound."""


def proven_bound(model: CheckedModel, masses: Masses, deadline: Deadline) -> Fraction:
    """What the certificate of a file's bound proves."""
    certificate = model.part("result")["bound"].get("certificate")
    if certificate is None:
        raise NoProofError("the file has no proof of it")
    kind = certificate.get("kind") if isinstance(certificate, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise NoProofError(f"its proof is of an unknown kind, {shown(kind)}")
    if len(masses.points) * len(model.classes) > _MOST_CELLS:
        raise NoProofError("there are too many inputs to follow its proof")
    try:
        return _KINDS[kind](model, masses, certificate, deadline)
    except OutOfTimeError as error:
        raise NoProofError(f"its proof is {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise NoProofError(f"its proof cannot be followed ({error})") from error

"""How much an input may change before its class does: guarantees, exact answers, attacks."""

from bdnn.robustness.attack import Attack, attack
from bdnn.robustness.certificate import Certificate
from bdnn.robustness.certify import Certification, certify
from bdnn.robustness.domain import Domain
from bdnn.robustness.perturbation import PerturbationSet
from bdnn.robustness.verify import Verification, verify
from bdnn.robustness.words import RowAtRisk

__all__ = [
    "Attack",
    "Certificate",
    "Certification",
    "Domain",
    "PerturbationSet",
    "RowAtRisk",
    "Verification",
    "attack",
    "certify",
    "verify",
]

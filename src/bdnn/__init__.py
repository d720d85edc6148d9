"""Binarized deep neural networks trained by mixed-integer optimisation."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bdnn import constraints, datasets, plotting
    from bdnn.encoding import Inputs
    from bdnn.errors import BDNNError
    from bdnn.estimators import (
        BDNNClassifier,
        BDNNRegressor,
        Robust,
        load,
        size_curve,
        smallest_network,
    )
    from bdnn.network.activation import Activation
    from bdnn.network.architecture import Architecture
    from bdnn.network.network import Network
    from bdnn.training.limits import Limits

# To colour a message of its compiler, numba sets standard output and error for a moment, in
# whatever thread that is: what another thread redirected meanwhile would be undone.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

__version__ = version("bdnn")

__all__ = [
    "Activation",
    "Architecture",
    "BDNNClassifier",
    "BDNNError",
    "BDNNRegressor",
    "Inputs",
    "Limits",
    "Network",
    "Robust",
    "__version__",
    "constraints",
    "datasets",
    "load",
    "plotting",
    "size_curve",
    "smallest_network",
]

_PARTS = ("constraints", "datasets", "plotting")
# Loaded when first used: scikit-learn alone takes longer to import than a small network to train.
_HOME = {
    "Activation": "bdnn.network.activation",
    "Architecture": "bdnn.network.architecture",
    "BDNNClassifier": "bdnn.estimators",
    "BDNNError": "bdnn.errors",
    "BDNNRegressor": "bdnn.estimators",
    "Inputs": "bdnn.encoding",
    "Limits": "bdnn.training.limits",
    "Network": "bdnn.network.network",
    "Robust": "bdnn.estimators",
    "load": "bdnn.estimators",
    "size_curve": "bdnn.estimators",
    "smallest_network": "bdnn.estimators",
}


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"bdnn.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'bdnn' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

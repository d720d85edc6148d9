"""scikit-learn estimators."""

from __future__ import annotations

import os

from bdnn.estimators.classifier import BDNNClassifier
from bdnn.estimators.problems import Robust
from bdnn.estimators.regressor import BDNNRegressor
from bdnn.estimators.sizes import SizeCurve, SizePoint, size_curve
from bdnn.estimators.smallest import SmallestNetwork, smallest_network
from bdnn.model_file import read_model

__all__ = [
    "BDNNClassifier",
    "BDNNRegressor",
    "Robust",
    "SizeCurve",
    "SizePoint",
    "SmallestNetwork",
    "load",
    "size_curve",
    "smallest_network",
]


def load(path: str | os.PathLike[str]) -> BDNNClassifier | BDNNRegressor:
    """Read a fitted model from a file written by its ``save`` method."""
    record = read_model(path)
    estimator = BDNNClassifier if record.model.kind == "classifier" else BDNNRegressor
    return estimator.from_record(record)

"""Fitted models from files."""

from __future__ import annotations

import os

from bdnn.estimators.classifier import BDNNClassifier
from bdnn.estimators.regressor import BDNNRegressor
from bdnn.model_file import read_model


def load(path: str | os.PathLike[str]) -> BDNNClassifier | BDNNRegressor:
    """Read a fitted model from a file written by its ``save`` method."""
    record = read_model(path)
    estimator = BDNNClassifier if record.model.kind == "classifier" else BDNNRegressor
    return estimator.from_record(record)

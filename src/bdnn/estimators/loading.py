"""Fitted models from files."""

from __future__ import annotations

import os

from bdnn.errors import ModelFileError
from bdnn.estimators.classifier import BDNNClassifier
from bdnn.estimators.regressor import BDNNRegressor
from bdnn.export.json import read_model


def load(path: str | os.PathLike[str]) -> BDNNClassifier | BDNNRegressor:
    """Read a fitted model from a file written by its ``save`` method."""
    record = read_model(path)
    if record.kind == "classifier":
        return BDNNClassifier.from_record(record)
    if record.kind == "regressor":
        return BDNNRegressor.from_record(record)
    raise ModelFileError(f"{path} holds a model of unknown kind {record.kind!r}.")

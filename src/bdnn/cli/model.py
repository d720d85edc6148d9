"""A model file in the hands of a command, without the second that scikit-learn takes to load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bdnn.activation import FloatArray
from bdnn.datasets.tables.columns import ColumnCode
from bdnn.datasets.tables.encoding import Encoding
from bdnn.errors import ModelFileError, UnsupportedFeatureError
from bdnn.export.json import ModelRecord, read_model


def read_record(path: Path) -> ModelRecord:
    """Read the file of a classifier or a regressor."""
    record = read_model(path)
    return record if record.kind == "regressor" else _checked(record, path)


def read_classifier(path: Path) -> ModelRecord:
    """Read the file of a classifier, for commands that regressors cannot serve."""
    record = read_model(path)
    if record.kind == "regressor":
        raise UnsupportedFeatureError(
            f"{path} holds a regressor and this command is for classifiers: regressors have "
            "predict, evaluate and info."
        )
    return _checked(record, path)


def _checked(record: ModelRecord, path: Path) -> ModelRecord:
    if record.kind != "classifier" or len(record.classes) != record.network.architecture.n_outputs:
        raise ModelFileError(
            f"{path} does not hold a classifier: give a file written by 'bdnn train'."
        )
    return record


def classify(record: ModelRecord, X: FloatArray) -> NDArray[np.generic]:
    """Predict the labels of samples, as the estimator's ``predict`` does."""
    return labels_of(record)[record.network.predict(record.scaler.transform(X))]


def labels_of(record: ModelRecord) -> NDArray[np.generic]:
    """Labels in the order of the outputs, as an array."""
    return np.array(record.classes)


def encoding_of(record: ModelRecord) -> Encoding:
    """Find how a model wants its table encoded; one trained in Python takes numbers as they are."""
    if "table" in record.extra:
        encoding = Encoding.from_dict(record.extra["table"])
        if len(encoding.feature_names) != record.network.architecture.n_features:
            raise ModelFileError(
                f"the model file describes a table of {len(encoding.feature_names)} features for a "
                f"network of {record.network.architecture.n_features}: save the model again."
            )
        return encoding
    names = record.feature_names
    n_features = record.network.architecture.n_features
    columns = names or [f"x{j}" for j in range(1, n_features + 1)]
    return Encoding(tuple(ColumnCode(name) for name in columns), header=names is not None)

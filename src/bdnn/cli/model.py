"""A model file in the hands of a command, without the second that scikit-learn takes to load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bdnn.datasets.tables.columns import ColumnCode
from bdnn.datasets.tables.encoding import Encoding
from bdnn.errors import DataError, ModelFileError, UnsupportedFeatureError
from bdnn.model_file import ModelRecord, read_model


def read_classifier(path: Path) -> ModelRecord:
    """Read the file of a classifier, for commands that regressors cannot serve."""
    record = read_model(path)
    if record.model.kind == "regressor":
        raise UnsupportedFeatureError(
            f"{path} holds a regressor and this command is for classifiers: regressors have "
            "predict, evaluate and info."
        )
    return record


def check_labels(record: ModelRecord, y: NDArray[np.generic]) -> None:
    """Raise an error for a label that is no class of a model."""
    unknown = next((label for label in y.tolist() if label not in record.model.classes), None)
    if unknown is not None:
        raise DataError(
            f"the label {unknown!r} is no class of the model, which knows "
            f"{', '.join(map(repr, record.model.classes))}: check --target."
        )


def encoding_of(record: ModelRecord) -> Encoding:
    """Find how a model wants its table encoded; one trained in Python takes numbers as they are."""
    model = record.model
    if "table" not in record.extra:
        columns = tuple(ColumnCode(name) for name in model.feature_names)
        return Encoding(columns, header=model.names is not None)
    encoding = Encoding.from_dict(record.extra["table"])
    if len(encoding.feature_names) != model.n_features:
        raise ModelFileError(
            f"the model file describes a table of {len(encoding.feature_names)} features for a "
            f"network of {model.n_features}: save the model again."
        )
    return encoding

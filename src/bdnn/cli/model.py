"""A model file in the hands of a command, without the second that scikit-learn takes to load."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


class Target(NamedTuple):
    """Name and place of the column of the labels, as far as a model file tells them."""

    name: str | None = None
    place: int | None = None


def target_of(record: ModelRecord) -> Target:
    """Find which column a model was trained to predict; one trained in Python does not know."""
    told = record.extra.get("target")
    if told is None:
        return Target()
    n_columns = len(record.model.encoder.columns)
    try:
        target = Target(told["name"], told["place"])
        if not isinstance(target.name, str) or type(target.place) is not int:
            raise TypeError("a name and a place are needed")
        if not 0 <= target.place <= n_columns:
            raise ValueError(f"place {target.place} of {n_columns + 1} columns")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"the model file describes its target in a way that cannot be read ({error}): save the "
            "model again."
        ) from error
    return target

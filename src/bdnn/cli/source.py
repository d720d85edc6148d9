"""A model file and a table in the hands of a command: a built-in data set or a file of the user's.

Nothing here loads scikit-learn, which takes a second.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdnn import datasets, limits
from bdnn.cli.options import data as options
from bdnn.datasets.samples import Samples, read_labels, read_numbers
from bdnn.datasets.tables import read_table
from bdnn.encoding import Encoder, Inputs, Table, read_codes
from bdnn.errors import DataError, ModelFileError, UnsupportedFeatureError
from bdnn.model_file import ModelRecord, read_model
from bdnn.network.activation import FloatArray


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
    try:
        target = Target(told["name"], told["place"])
        if not isinstance(target.name, str) or type(target.place) is not int:
            raise TypeError("a name and a place are needed")
        if not 0 <= target.place <= limits.COLUMNS:
            raise ValueError(f"place {target.place}")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"the model file describes its target in a way that cannot be read ({error}): save the "
            "model again."
        ) from error
    return target


def training_samples(asked: options.Data, inputs: Inputs, *, regression: bool) -> Samples:
    """Read features and labels to train on, or numbers for a regression."""
    if asked.data in datasets.names():
        return Samples.from_dataset(builtin(asked, regression=regression), inputs)
    return Samples.from_table(_open(asked), asked.target, inputs, numeric=regression)


def model_features(record: ModelRecord, asked: options.Table) -> tuple[FloatArray, list[str]]:
    """Read the features that a model needs; labels are not looked at."""
    if asked.data in datasets.names():
        return read_codes(record.model.encoder, _table(datasets.load(asked.data)))
    table, target = _open(asked), target_of(record)
    is_named = table.header and target.name in table.names
    place = table.position(target.name) if is_named else target.place
    return read_codes(record.model.encoder, table, place)


def model_samples(
    record: ModelRecord, asked: options.LabelledTable
) -> tuple[FloatArray, NDArray[np.generic], list[str]]:
    """Read the features that a model needs, and labels to compare its answers with."""
    encoder = record.model.encoder
    numeric = record.model.kind == "regressor"
    if asked.data in datasets.names():
        dataset = builtin(asked, regression=numeric)
        X, notes = read_codes(encoder, _table(dataset))
        return X, dataset.y, notes
    table = _open(asked)
    place = _find_target(table, encoder, target_of(record), asked.target)
    X, notes = read_codes(encoder, table, place)
    if numeric:
        return X, read_numbers(table, place), notes
    as_text = record.model.labels.dtype.kind == "U"
    return X, read_labels(table, place, as_text=as_text), notes


def check_exists(data: str) -> None:
    """Raise an error unless there is a file, as there is no built-in data set."""
    if not Path(data).exists():
        raise DataError(
            f"there is no file {data!r} and no built-in data set of that name: give a CSV file or "
            f"one of {', '.join(datasets.names())}."
        )


def builtin(asked: options.LabelledTable, *, regression: bool = False) -> datasets.Dataset:
    """Load a built-in data set, with numbers as targets for a regression."""
    housing = regression and asked.data == "boston-housing"
    dataset = datasets.load(asked.data, **({"target": "medv"} if housing else {}))
    if regression and dataset.y.dtype.kind not in "iuf":
        raise DataError(
            f"the target {dataset.target_name!r} of the built-in data set {asked.data} is no "
            "number: leave --regression out, or use boston-housing."
        )
    if asked.target not in (None, dataset.target_name):
        raise DataError(
            f"the built-in data set {dataset.name} has the target {dataset.target_name!r}, got "
            f"--target {asked.target!r}: leave it out."
        )
    return dataset


def _open(asked: options.Table) -> Table:
    check_exists(asked.data)
    return read_table(asked.data, header=asked.header)


def _table(dataset: datasets.Dataset) -> Table:
    return Table.of_numbers(dataset.name, dataset.feature_names, dataset.X)


def _find_target(table: Table, encoder: Encoder, trained: Target, asked: str | None) -> int:
    if asked is not None or trained.name is None:
        return table.position(asked)
    if table.header and encoder.header:
        return table.position(trained.name)
    if trained.place is None or trained.place >= table.n_columns:
        raise DataError(
            f"{table.source} has {table.n_columns} columns where the model needs "
            f"{len(encoder.columns)} and the target: give the same columns as in training."
        )
    return trained.place

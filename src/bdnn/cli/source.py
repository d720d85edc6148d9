"""A model file and a table in the hands of a command: a built-in data set or a file of the user's.

Nothing here loads scikit-learn, which takes a second.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bdnn import datasets
from bdnn.cli.options import data as options
from bdnn.datasets.tables.columns import ColumnCode
from bdnn.datasets.tables.encoding import Encoding
from bdnn.datasets.tables.samples import Samples, read_labels, read_numbers
from bdnn.datasets.tables.table import Table, read_table
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


def training_samples(asked: options.Data, *, regression: bool) -> Samples:
    """Read features and labels to train on, or numbers for a regression."""
    if asked.data in datasets.names():
        return Samples.from_dataset(builtin(asked, regression=regression))
    return Samples.from_table(_open(asked), asked.target, missing=asked.missing, numeric=regression)


def model_features(record: ModelRecord, asked: options.Table) -> tuple[FloatArray, list[str]]:
    """Read the features that a model needs; labels are not looked at."""
    if asked.data in datasets.names():
        return encoding_of(record).encode(Table.from_dataset(datasets.load(asked.data)))
    return encoding_of(record).encode(_open(asked))


def model_samples(
    record: ModelRecord, asked: options.LabelledTable
) -> tuple[FloatArray, NDArray[np.generic], list[str]]:
    """Read the features that a model needs, and labels to compare its answers with."""
    encoding = encoding_of(record)
    numeric = record.model.kind == "regressor"
    if asked.data in datasets.names():
        dataset = builtin(asked, regression=numeric)
        X, notes = encoding.encode(Table.from_dataset(dataset))
        return X, dataset.y, notes
    table = _open(asked)
    place = _find_target(table, encoding, asked.target)
    X, notes = replace(encoding, target_place=place).encode(table)
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


def _find_target(table: Table, encoding: Encoding, target: str | None) -> int:
    if target is not None or encoding.target is None:
        return table.position(target)
    if table.header and encoding.header:
        return table.position(encoding.target)
    place = encoding.target_place
    if place is None or table.n_columns != len(encoding.columns) + 1:
        raise DataError(
            f"{table.source} has {table.n_columns} columns where the model needs "
            f"{len(encoding.columns)} and the target: give the same columns as in training."
        )
    return place

"""Where a command's data come from: a built-in data set or a file of the user's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bdnn import datasets
from bdnn.cli.model import Target, target_of
from bdnn.cli.options import data as options
from bdnn.datasets.samples import Samples, read_labels, read_numbers
from bdnn.datasets.tables import read_table
from bdnn.encoding import Encoder, Table
from bdnn.errors import DataError
from bdnn.model_file import ModelRecord
from bdnn.network.activation import FloatArray


def training_samples(asked: options.Data, *, regression: bool) -> Samples:
    """Read features and labels to train on, or numbers for a regression."""
    if asked.data in datasets.names():
        return Samples.from_dataset(builtin(asked, regression=regression))
    return Samples.from_table(_open(asked), asked.target, missing=asked.missing, numeric=regression)


def model_features(record: ModelRecord, asked: options.Table) -> tuple[FloatArray, list[str]]:
    """Read the features that a model needs; labels are not looked at."""
    if asked.data in datasets.names():
        return record.model.encoder.features(_table(datasets.load(asked.data)))
    return record.model.encoder.features(_open(asked), target_of(record).place)


def model_samples(
    record: ModelRecord, asked: options.LabelledTable
) -> tuple[FloatArray, NDArray[np.generic], list[str]]:
    """Read the features that a model needs, and labels to compare its answers with."""
    encoder = record.model.encoder
    numeric = record.model.kind == "regressor"
    if asked.data in datasets.names():
        dataset = builtin(asked, regression=numeric)
        X, notes = encoder.features(_table(dataset))
        return X, dataset.y, notes
    table = _open(asked)
    place = _find_target(table, encoder, target_of(record), asked.target)
    X, notes = encoder.features(table, place)
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
    if trained.place is None or table.n_columns != len(encoder.columns) + 1:
        raise DataError(
            f"{table.source} has {table.n_columns} columns where the model needs "
            f"{len(encoder.columns)} and the target: give the same columns as in training."
        )
    return trained.place

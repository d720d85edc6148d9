"""Where a command's data come from: a built-in data set or a file of the user's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bdnn import datasets
from bdnn.activation import FloatArray
from bdnn.cli.model import encoding_of, labels_of
from bdnn.datasets.tables.encoding import Encoding
from bdnn.datasets.tables.samples import Samples, read_labels, read_numbers
from bdnn.datasets.tables.table import Table, read_table
from bdnn.errors import DataError
from bdnn.export.json import ModelRecord


def training_samples(
    data: str,
    *,
    target: str | None,
    missing: str | None,
    header: bool | None,
    regression: bool = False,
) -> Samples:
    """Read features and labels to train on, or numbers for a regression."""
    if data in datasets.names():
        dataset = _builtin(data, regression=regression)
        _check_builtin_target(dataset, target)
        return Samples.from_dataset(dataset)
    return Samples.from_table(_open(data, header), target, missing=missing, numeric=regression)


def model_features(
    model: ModelRecord, data: str, header: bool | None
) -> tuple[FloatArray, list[str]]:
    """Read the features that a model needs; labels are not looked at."""
    if data in datasets.names():
        return encoding_of(model).encode(Table.from_dataset(datasets.load(data)))
    return encoding_of(model).encode(_open(data, header))


def model_samples(
    model: ModelRecord, data: str, *, target: str | None, header: bool | None
) -> tuple[FloatArray, NDArray[np.generic], list[str]]:
    """Read the features that a model needs, and labels to compare its answers with."""
    encoding = encoding_of(model)
    numeric = model.kind == "regressor"
    if data in datasets.names():
        dataset = _builtin(data, regression=numeric)
        _check_builtin_target(dataset, target)
        X, notes = encoding.encode(Table.from_dataset(dataset))
        return X, dataset.y, notes
    table = _open(data, header)
    place = _find_target(table, encoding, target)
    X, notes = replace(encoding, target_place=place).encode(table)
    if numeric:
        return X, read_numbers(table, place), notes
    as_text = labels_of(model).dtype.kind == "U"
    return X, read_labels(table, place, as_text=as_text), notes


def _open(data: str, header: bool | None) -> Table:
    if not Path(data).exists():
        raise DataError(
            f"there is no file {data!r} and no built-in data set of that name: give a CSV file or "
            f"one of {', '.join(datasets.names())}."
        )
    return read_table(data, header=header)


def _builtin(data: str, *, regression: bool) -> datasets.Dataset:
    """Load a built-in data set, with numbers as targets for a regression."""
    if not regression:
        return datasets.load(data)
    if data == "boston-housing":
        return datasets.load(data, target="medv")
    dataset = datasets.load(data)
    if dataset.y.dtype.kind not in "iuf":
        raise DataError(
            f"the target {dataset.target_name!r} of the built-in data set {data} is no number: "
            "leave --regression out, or use boston-housing."
        )
    return dataset


def _check_builtin_target(dataset: datasets.Dataset, target: str | None) -> None:
    if target is not None and target != dataset.target_name:
        raise DataError(
            f"the built-in data set {dataset.name} has the target {dataset.target_name!r}, got "
            f"--target {target!r}: leave it out."
        )


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

"""What a model file says of the data it was trained on."""

from __future__ import annotations

from typing import Any

from bdnn.checker.claims import Claim, claimed, false, judged, proven
from bdnn.checker.model import CheckedModel
from bdnn.checker.rows import parse_rows
from bdnn.checker.samples import Samples
from bdnn.checker.statements import exact, place, shown
from bdnn.errors import DataError, ModelFileError


def training_samples(model: CheckedModel, samples: Samples, first: int | None = None) -> Samples:
    """Find the rows a model was trained on: the first so many, those the file names, or all."""
    n_rows = len(samples)
    if first is not None:
        if not 1 <= first <= n_rows:
            raise DataError(f"--rows must be from 1 to {n_rows}, got {first}: give such a number.")
        return samples.trained_on(range(first), None)
    named, used = model.part("extra").get("rows"), model.data.get("used")
    fitted = range(n_rows) if named is None else _rows(named, n_rows)
    return samples.trained_on(fitted, None if used is None else _rows(used, len(fitted)))


def _rows(text: Any, n_rows: int) -> list[int]:
    try:
        rows = parse_rows(text)
        if not len(rows):
            raise ValueError("none at all")
    except ValueError as error:
        raise ModelFileError(
            f"the model file names its rows in a way that cannot be read ({error}): save the model "
            "again."
        ) from error
    if rows.last >= n_rows:
        raise DataError(
            f"the model was trained on row {rows.last + 1} of its data, got {n_rows} rows: give "
            "the data it was trained on."
        )
    return list(rows)


def check_data(model: CheckedModel, samples: Samples) -> Claim:
    """Compare number and hash of the rows."""
    data, n_rows = model.data, len(samples)
    rows = f"{n_rows} rows"
    if n_rows < samples.n_given:
        rows = f"{n_rows} of the {samples.n_given} rows"
    target = "" if samples.target is None else f", target {shown(samples.target)}"
    if "sha256" not in data:
        return claimed("training data", f"the file has no hash of them; {rows} are taken{target}")
    if data.get("rows", n_rows) != n_rows:
        return false("training data", f"{rows} are given, {shown(data['rows'])} in the file")
    if data["sha256"] != samples.fingerprint():
        return false("training data", f"these {rows} do not have the file's hash")
    return proven("training data", f"{rows} have the file's hash{target}")


def check_names(model: CheckedModel, samples: Samples) -> list[Claim]:
    """Compare the names of the features with the header of the data."""
    stated = model.names
    if stated is None:
        return []
    name = "names of the inputs"
    if samples.names is None:
        return [claimed(name, "the data have no header")]
    for j, (own, other) in enumerate(zip(stated, samples.names, strict=True)):
        if own != other:
            detail = f"input {j + 1} is {shown(own)} in the file and {shown(other)} in the data"
            return [false(name, detail)]
    return [proven(name, "as in the data")]


def check_ranges(model: CheckedModel, samples: Samples) -> list[Claim]:
    """Compare least and largest values and units of the features."""
    name, data = "ranges of the inputs", model.data
    if not all(key in data for key in ("low", "high", "per_unit")):
        return [claimed(name, "are not in the file")]
    lists = [data[key] for key in ("low", "high", "per_unit")]
    try:
        if any(not isinstance(v, list) or len(v) != model.n_features for v in lists):
            raise ValueError("they are not one per feature")
        low, high = ([exact(value) for value in values] for values in lists[:2])
        units = [None if unit is None else place(unit) for unit in lists[2]]
        if any(unit == 0 for unit in units):
            raise ValueError("a unit is 0")
    except ValueError as error:
        raise ModelFileError(
            f"the certificate's ranges make no sense ({error}): save the model again."
        ) from error
    fits = True
    for column, least, most, unit in zip(samples.columns(), low, high, units, strict=True):
        fits &= min(column) == least and max(column) == most
        fits &= unit is None or all(round(v * unit) / unit == v for v in set(column))
    return [judged(name, fits, "as the file says" if fits else "differ from what the file says")]

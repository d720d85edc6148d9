"""Training samples in little memory, every row once, as bytes; what a file says of them.

A sample counts 1, a weight of its class, or a weight of its own that the file states. Balanced
weights follow from the data and are recomputed. All others are nothing that data could confirm:
they are part of what is claimed and are printed with it.
"""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from bdnn import limits
from bdnn.checker.claims import (
    Claim,
    Deadline,
    claimed,
    exact,
    false,
    judged,
    key_of,
    number_text,
    parse_rows,
    place,
    proven,
    shown,
)
from bdnn.checker.encoder import Encoder
from bdnn.checker.model import CheckedModel
from bdnn.errors import DataError, ModelFileError

Row = tuple[float, ...]


@dataclass(frozen=True)
class Samples:
    """Rows of codes with the index of each row's class.

    Attributes
    ----------
    records : list of bytes
        Codes of every row as little-endian doubles; equal rows are one object.
    classes : list of int
    n_features : int
    names : list of str or None
        What DATA call what the file describes, None if they have no header.
    target : str or None
        What DATA call the column of the labels.
    n_given : int
        Rows of DATA, of which these may be some.
    fitted : list of int
        Classes of all rows that training got, of which the loss may count some.
    """

    records: list[bytes]
    classes: list[int]
    n_features: int
    names: list[str] | None
    target: str | None
    n_given: int
    fitted: list[int]

    def __len__(self) -> int:
        return len(self.records)

    def row(self, i: int) -> Row:
        """Codes of a row."""
        return struct.unpack(f"<{self.n_features}d", self.records[i])

    def rows(self) -> Iterator[Row]:
        """Codes of all rows."""
        layout = struct.Struct(f"<{self.n_features}d")
        return map(layout.unpack, self.records)

    def described(self, encoder: Encoder) -> Samples:
        """The rows as an earlier file describes them, with a column per text."""
        if not encoder.of_features or encoder.is_plain:
            return self
        layout = struct.Struct(f"<{len(encoder.numbers)}d")
        records = [layout.pack(*encoder.described(row)) for row in self.rows()]
        return replace(self, records=records, n_features=len(encoder.numbers))

    def columns(self) -> Iterator[Row]:
        """All values of every column, missing ones left out."""
        for j in range(self.n_features):
            codes = (struct.unpack_from("<d", record, 8 * j)[0] for record in self.records)
            yield tuple(code for code in codes if code == code)

    def trained_on(self, fitted: Sequence[int], used: Iterable[int] | None) -> Samples:
        """Keep the rows that training got, or those among them that the loss counts."""
        rows = list(fitted) if used is None else [fitted[i] for i in used]
        return replace(
            self,
            records=[self.records[i] for i in rows],
            classes=[self.classes[i] for i in rows],
            fitted=[self.classes[i] for i in fitted],
        )

    def fingerprint(self) -> str:
        """SHA-256 over the sorted records, each its features and its class in eight bytes."""
        labels = [struct.pack("<q", c) for c in range(max(self.classes, default=0) + 1)]
        # By class first: the second sort leaves equal records in that order.
        places = sorted(range(len(self)), key=lambda i: labels[self.classes[i]])
        places.sort(key=self.records.__getitem__)
        digest = hashlib.sha256()
        for i in places:
            digest.update(self.records[i] + labels[self.classes[i]])
        return digest.hexdigest()


def make_samples(
    model: CheckedModel,
    rows: Iterable[tuple[Sequence[float], Any]],
    *,
    names: Sequence[str] | None = None,
    target: str | None = None,
    deadline: Deadline | None = None,
) -> Samples:
    """Put rows and labels together, the labels as indices of the model's classes."""
    places = {key_of(label): i for i, label in enumerate(model.classes)}
    layout = struct.Struct(f"<{model.n_features}d")
    most = limits.CHECKED_CELLS // max(model.n_features, model.encoder.n_inputs)
    known: dict[bytes, bytes] = {}
    records, classes = [], []
    for codes, label in rows:
        number = None if label is None else places.get(key_of(label))
        if number is None:
            known_labels = ", ".join(map(shown, model.classes[:10]))
            raise DataError(
                f"the label {shown(label)} is no class of the model, which knows {known_labels}: "
                "check --target."
            )
        if len(codes) != model.n_features:
            raise DataError(
                f"the data have {len(codes)} columns where the model takes "
                f"{model.n_features}: give the data it was trained on."
            )
        record = layout.pack(*(value + 0.0 for value in codes))  # 0 for -0
        records.append(known.setdefault(record, record))
        classes.append(number)
        if len(records) % 1000 == 0 and deadline is not None:
            deadline.check()
        if len(records) > min(limits.CHECKED_ROWS, most):
            raise DataError(
                f"the data have more rows than the checker takes, {len(records) - 1} of "
                f"{model.n_features} columns: check a model of fewer."
            )
    called = None if names is None else list(names)
    return Samples(records, classes, model.n_features, called, target, len(records), classes)


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
    if data["sha256"] != samples.described(model.encoder).fingerprint():
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
    samples = samples.described(model.encoder)
    try:
        if any(not isinstance(v, list) or len(v) != samples.n_features for v in lists):
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
        fits &= min(column, default=0.0) == least and max(column, default=0.0) == most
        fits &= unit is None or all(round(v * unit) / unit == v for v in set(column))
    return [judged(name, fits, "as the file says" if fits else "differ from what the file says")]


_ROUNDING = Fraction(1, 10**9)
_MOST_SHOWN = 6


@dataclass(frozen=True)
class Weights:
    """Weights of all samples."""

    of_rows: list[Fraction] | None  # None where the file does not hold them
    words: str = ""  # how they are printed with a claim, empty if all are 1
    claims: tuple[Claim, ...] = ()  # what could be decided about them

    @property
    def are_whole(self) -> bool:
        """Whether sums of weights are whole numbers, which are stated without rounding."""
        return all(weight.denominator == 1 for weight in set(self.of_rows or ()))


def read_weights(model: CheckedModel, samples: Samples) -> Weights:
    """Read the weights that a file states, and recompute those that follow from the data."""
    own, by_class = model.data.get("sample_weight"), model.data.get("class_weight")
    setting = model.part("settings").get("class_weight")
    try:
        if isinstance(own, list):
            return _own_weights(own, samples)
        if own:
            return Weights(None)
        if by_class is None and setting is not None and not model.data:
            return Weights(None)  # an old file without a certificate
        if by_class is None:
            return Weights([Fraction(1)] * len(samples))
        return _class_weights(
            model, samples, by_class, is_balanced="balanced" in (by_class, setting)
        )
    except ValueError as error:
        raise ModelFileError(
            f"the certificate's weights of samples make no sense ({error}): save the model again."
        ) from error


def _own_weights(values: list[Any], samples: Samples) -> Weights:
    weights = [exact(value) for value in values]
    if len(weights) != len(samples) or min(weights) <= 0:
        return Weights(None, claims=(false("weights", "are not one above 0 for every sample"),))
    low, high = number_text(min(weights)), number_text(max(weights))
    return Weights(weights, f"samples weigh {low} to {high} as the file says")


def _class_weights(
    model: CheckedModel, samples: Samples, values: Any, *, is_balanced: bool
) -> Weights:
    balanced = _balanced(model, samples)
    weights = balanced if values == "balanced" else _stated(model, values)
    used = set(samples.classes)
    if is_balanced:
        for c in used:
            if abs(weights[c] - balanced[c]) > _ROUNDING * balanced[c]:
                label, wanted = shown(model.classes[c]), number_text(balanced[c])
                detail = f"{label} weighs {number_text(weights[c])}, {wanted} would be balanced"
                return Weights(None, claims=(false("class weights", detail),))
        words, claims = "balanced", (proven("class weights", "balanced, as the data say"),)
        return Weights([balanced[c] for c in samples.classes], words, claims)
    if any(weights[c] <= 0 for c in used):
        return Weights(None, claims=(false("class weights", "leave out samples that are counted"),))
    shares = [
        f"{number_text(weights[c])} for {shown(model.classes[c])}"
        for c in sorted(used)[:_MOST_SHOWN]
    ]
    more = ", ..." if len(used) > _MOST_SHOWN else ""
    words = f"samples weigh {', '.join(shares)}{more}"
    return Weights([weights[c] for c in samples.classes], words)


def _stated(model: CheckedModel, values: Any) -> list[Fraction]:
    if not isinstance(values, list) or len(values) != len(model.classes):
        raise ValueError("they are not one per class")
    return [exact(value) for value in values]


def _balanced(model: CheckedModel, samples: Samples) -> list[Fraction]:
    """Weights that make classes equal, as doubles; of all samples given to training."""
    counts = Counter(samples.fitted)
    n_rows, n_classes = len(samples.fitted), len(counts)
    return [
        Fraction(n_rows / (n_classes * counts[c]) if counts[c] else 1)
        for c in range(len(model.classes))
    ]

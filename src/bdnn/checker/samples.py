"""Training samples in little memory: every row once, as bytes."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bdnn import limits
from bdnn.checker.deadline import Deadline
from bdnn.checker.model import CheckedModel
from bdnn.checker.statements import key_of, shown
from bdnn.errors import DataError

Row = tuple[float, ...]


@dataclass(frozen=True)
class Samples:
    """Rows of features with the index of each row's class.

    Attributes
    ----------
    records : list of bytes
        Features of every row as little-endian doubles; equal rows are one object.
    classes : list of int
    n_features : int
    names : list of str or None
        What DATA call the features, None if they have no header.
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
        """Features of a row."""
        return struct.unpack(f"<{self.n_features}d", self.records[i])

    def rows(self) -> Iterator[Row]:
        """Features of all rows."""
        layout = struct.Struct(f"<{self.n_features}d")
        return map(layout.unpack, self.records)

    def columns(self) -> Iterator[Row]:
        """All rows of every feature."""
        for j in range(self.n_features):
            yield tuple(struct.unpack_from("<d", record, 8 * j)[0] for record in self.records)

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
    known: dict[bytes, bytes] = {}
    records, classes = [], []
    for features, label in rows:
        number = None if label is None else places.get(key_of(label))
        if number is None:
            known_labels = ", ".join(map(shown, model.classes[:10]))
            raise DataError(
                f"the label {shown(label)} is no class of the model, which knows {known_labels}: "
                "check --target."
            )
        if len(features) != model.n_features:
            raise DataError(
                f"the data have {len(features)} features where the model takes "
                f"{model.n_features}: give the data it was trained on."
            )
        record = layout.pack(*(value + 0.0 for value in features))  # 0 for -0
        records.append(known.setdefault(record, record))
        classes.append(number)
        if len(records) % 1000 == 0 and deadline is not None:
            deadline.check()
        if len(records) > min(limits.CHECKED_ROWS, limits.CHECKED_CELLS // model.n_features):
            raise DataError(
                f"the data have more rows than the checker takes, {len(records) - 1} of "
                f"{model.n_features} features: check a model of fewer."
            )
    called = None if names is None else list(names)
    return Samples(records, classes, model.n_features, called, target, len(records), classes)

"""What a page is about: a model with what is known of it, and labelled rows if there are some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.evaluation.assessment import Assessment
from bdnn.export.simplified import simplify
from bdnn.model import Model
from bdnn.model_file import ModelRecord
from bdnn.network.activation import FloatArray
from bdnn.training.result import TrainingResult

# More rows make no better picture, and take long.
_MOST_ROWS = 2000


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows to show a model on, and how they are called."""

    codes: FloatArray
    y: NDArray[Any]
    name: str
    places: NDArray[np.intp]  # of the rows in the table that they come from

    @classmethod
    def of(cls, record: ModelRecord, codes: FloatArray, y: NDArray[Any]) -> LabelledRows:
        """Take the rows that were not trained on, where they can be told and there are some."""
        name, seen = "rows of which nobody knows whether they were trained on", record.seen
        chosen = np.arange(len(codes))
        if seen is not None:
            is_seen, is_told = seen.tell(codes)
            others = np.flatnonzero(~is_seen & is_told)
            name = "rows that were trained on, which say nothing of new ones"
            if len(others):
                chosen, name = others, "rows that were not trained on"
        if len(chosen) > _MOST_ROWS:
            kept = np.linspace(0, len(chosen) - 1, _MOST_ROWS).astype(int)
            name = f"of {len(chosen)} {name}"
            chosen = chosen[kept]
        return cls(codes[chosen], y[chosen], f"{len(chosen)} {name}", chosen)


@dataclass(frozen=True, eq=False)
class Subject:
    """A model with what is known of it."""

    model: Model
    result: TrainingResult
    assessment: Assessment | None
    data: Mapping[str, Any] | None  # ranges of the training data, as a certificate has them
    title: str
    rows: LabelledRows | None = None

    @classmethod
    def of(
        cls,
        record: ModelRecord,
        title: str,
        codes: FloatArray | None = None,
        y: NDArray[Any] | None = None,
    ) -> Subject:
        """Gather what a record holds."""
        kept = record.extra.get("assessment")
        rows = None
        if codes is not None and y is not None and len(codes):
            rows = LabelledRows.of(record, codes, y)
        return cls(
            record.model,
            TrainingResult.from_dict(record.result),
            None if kept is None else Assessment.from_dict(kept),
            record.certificate.get("data"),
            title,
            rows,
        )

    @cached_property
    def simple(self) -> Model:
        """The model without what has no say."""
        return simplify(self.model)

    @property
    def is_number(self) -> bool:
        """Whether the answers are numbers."""
        return self.model.kind == "regressor"

"""What ``certify`` and ``attack`` have in common: the rows, and what surrounds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdnn.cli.options.data import LabelledTable
from bdnn.cli.options.guarantee import Perturbation
from bdnn.cli.options.output import Answer
from bdnn.errors import DataError

if TYPE_CHECKING:
    from bdnn.model_file import ModelRecord
    from bdnn.network.activation import FloatArray
    from bdnn.robustness import Domain, PerturbationSet


@dataclass(frozen=True)
class Question:
    """The labelled rows of a table and what surrounds them."""

    record: ModelRecord
    around: PerturbationSet
    notes: list[str]


def ask(model: Path, table: LabelledTable, perturbation: Perturbation, answer: Answer) -> Question:
    """Read a model and labelled rows, and look around them."""
    from bdnn.cli.model import check_labels, read_classifier
    from bdnn.cli.source import model_samples
    from bdnn.network.norms import check_radius
    from bdnn.robustness import PerturbationSet

    check_radius(perturbation.radius)
    record = read_classifier(model)
    X, y, notes = model_samples(record, table)
    check_labels(record, y)
    around = PerturbationSet.create(
        record.model,
        X,
        y,
        norm=perturbation.norm,
        units=perturbation.units,
        domain=_domain(record, X, perturbation),
    )
    answer.tell(notes)
    return Question(record, around, notes)


def _domain(record: ModelRecord, X: FloatArray, perturbation: Perturbation) -> Domain:
    """Categories as the model's table has them, and the columns that the user names."""
    from bdnn.cli.model import encoding_of
    from bdnn.robustness import Domain

    places: dict[str, list[int]] = {}
    groups = []
    start = 0
    for column in encoding_of(record).columns:
        members = list(range(start, start + len(column.feature_names)))
        places[column.name] = members
        start += len(members)
        if column.categories is not None:
            groups.append(members)
    return Domain.create(
        X.shape[1],
        lower=X.min(axis=0) if perturbation.in_range else None,
        upper=X.max(axis=0) if perturbation.in_range else None,
        integer=_features(places, perturbation.integer or (), "--integer"),
        fixed=_features(places, perturbation.fixed or (), "--fixed"),
        groups=groups,
    )


def _features(places: dict[str, list[int]], names: Sequence[str], option: str) -> list[int]:
    unknown = [name for name in names if name not in places]
    if unknown:
        raise DataError(
            f"{option} {unknown[0]!r} is no column of the model, which has "
            f"{', '.join(map(repr, places))}: name one of these."
        )
    return [j for name in names for j in places[name]]


def describe(question: Question, perturbation: Perturbation) -> dict[str, Any]:
    """What both commands tell first."""
    return {
        "rows": len(question.around.X),
        "norm": perturbation.norm,
        "units": perturbation.units,
        "accuracy": float((question.around.classes == question.around.labels).mean()),
        "radius": perturbation.radius,
    }

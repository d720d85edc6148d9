"""What ``certify`` and ``attack`` have in common: the rows, and what surrounds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bdnn.cli.options import option
from bdnn.cli.options.data import LabelledTable, ModelFile
from bdnn.errors import DataError

if TYPE_CHECKING:
    from bdnn.model_file import ModelRecord
    from bdnn.network.activation import FloatArray
    from bdnn.robustness import Domain, PerturbationSet


@dataclass(frozen=True)
class Perturbation:
    """What may be done to the rows of a table."""

    radius: float = option("How far inputs may be moved.", 0.1)
    norm: str = option("linf, l1 or l2.", "linf")
    units: str = option("What the radius measures: scaled inputs, or raw ones.", "scaled")
    integer: list[str] | None = option(
        "A column of whole numbers; repeat it for several.", metavar="COL"
    )
    fixed: list[str] | None = option(
        "A column that cannot be changed; repeat it for several.", metavar="COL"
    )
    in_range: bool = option("Keep every column within its range in DATA.", False)

    def __str__(self) -> str:
        return f"{self.radius:g} ({self.norm}, {self.units} inputs)"


@dataclass(frozen=True)
class Question:
    """A model, labelled rows, what surrounds them, and what both commands tell first."""

    record: ModelRecord
    around: PerturbationSet
    facts: dict[str, Any]
    notes: list[str]


def ask(file: ModelFile, table: LabelledTable, perturbation: Perturbation) -> Question:
    """Read a model and labelled rows, and look around them."""
    from bdnn.cli.source import check_labels, model_samples, read_classifier
    from bdnn.network.norms import check_radius
    from bdnn.robustness import PerturbationSet

    check_radius(perturbation.radius)
    record = read_classifier(file.model)
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
    facts = {
        "model": str(file.model),
        "data": table.data,
        "rows": len(X),
        "norm": perturbation.norm,
        "units": perturbation.units,
        "accuracy": float((around.classes == around.labels).mean()),
        "radius": perturbation.radius,
    }
    return Question(record, around, facts, notes)


def _domain(record: ModelRecord, X: FloatArray, perturbation: Perturbation) -> Domain:
    """Categories as the model's table has them, and the columns that the user names."""
    from bdnn.robustness import Domain

    encoder = record.model.encoder
    features = list(zip(encoder.columns, encoder.places(), strict=True))
    places = {column.name: members for column, members in features}
    return Domain.create(
        X.shape[1],
        lower=X.min(axis=0) if perturbation.in_range else None,
        upper=X.max(axis=0) if perturbation.in_range else None,
        integer=_features(places, perturbation.integer or (), "--integer"),
        fixed=_features(places, perturbation.fixed or (), "--fixed"),
        groups=[members for column, members in features if column.values],
    )


def _features(places: dict[str, list[int]], names: Sequence[str], option: str) -> list[int]:
    unknown = [name for name in names if name not in places]
    if unknown:
        raise DataError(
            f"{option} {unknown[0]!r} is no column of the model, which has "
            f"{', '.join(map(repr, places))}: name one of these."
        )
    return [j for name in names for j in places[name]]

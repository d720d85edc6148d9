"""What ``certify`` and ``attack`` have in common: options, and the surroundings of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bdnn.cli.console import note
from bdnn.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn.activation import BoolArray, FloatArray
    from bdnn.export.json import ModelRecord
    from bdnn.robustness import Domain, Surroundings

RadiusOption = Annotated[float, typer.Option(help="How far inputs may be moved.")]
NormOption = Annotated[str, typer.Option(help="linf, l1 or l2.")]
UnitsOption = Annotated[
    str, typer.Option(help="What the radius measures: scaled inputs, or raw ones.")
]
IntegerOption = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="A column of whole numbers; repeat it for several."),
]
FixedOption = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="A column that cannot be changed; repeat it for several."),
]
InRangeOption = Annotated[
    bool, typer.Option("--in-range", help="Keep every column within its range in DATA.")
]
TimeLimitOption = Annotated[float, typer.Option(help="Seconds of exact answers, for all rows.")]
JobsOption = Annotated[int, typer.Option(help="Rows at the same time; -1 for all cores.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]


@dataclass(frozen=True)
class Question:
    """The rows of a table, their labels, and what surrounds them."""

    record: ModelRecord
    around: Surroundings
    labels: NDArray[np.intp]
    notes: list[str]

    @property
    def correct(self) -> BoolArray:
        """Which rows are predicted as labelled."""
        is_right: BoolArray = self.around.classes == self.labels
        return is_right


def ask(
    model: Path,
    data: str,
    *,
    target: str | None,
    header: bool | None,
    norm: str,
    units: str,
    integer: Sequence[str],
    fixed: Sequence[str],
    in_range: bool,
    quiet: bool,
) -> Question:
    """Read a model and labelled rows, and look around them."""
    from bdnn.cli.model import labels_of, read_classifier
    from bdnn.cli.source import model_samples
    from bdnn.robustness import Surroundings

    record = read_classifier(model)
    X, y, notes = model_samples(record, data, target=target, header=header)
    match = y[:, None] == labels_of(record)
    if not match.any(axis=1).all():
        stranger = y[~match.any(axis=1)].tolist()[0]
        raise DataError(
            f"the label {stranger!r} is no class of the model, which knows "
            f"{', '.join(map(repr, record.classes))}: check --target."
        )
    domain = _domain(record, X, integer, fixed, in_range=in_range)
    around = Surroundings.create(
        record.network, record.scaler, X, norm=norm, units=units, domain=domain
    )
    for text in () if quiet else notes:
        note(text)
    return Question(record, around, match.argmax(axis=1), notes)


def _domain(
    record: ModelRecord,
    X: FloatArray,
    integer: Sequence[str],
    fixed: Sequence[str],
    *,
    in_range: bool,
) -> Domain:
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
        lower=X.min(axis=0) if in_range else None,
        upper=X.max(axis=0) if in_range else None,
        integer=_features(places, integer, "--integer"),
        fixed=_features(places, fixed, "--fixed"),
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


def describe(question: Question) -> dict[str, Any]:
    """What both commands tell first."""
    around = question.around
    return {
        "rows": len(around.X),
        "norm": around.norm,
        "units": around.units,
        "accuracy": float(question.correct.mean()),
    }

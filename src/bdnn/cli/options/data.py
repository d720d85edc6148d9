"""The model and the table a command reads, and which rows are trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bdnn.cli.options import argument, option
from bdnn.errors import DataError, ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn.datasets import Samples
    from bdnn.encoding import Inputs

_CSV = "A CSV file (also .gz), or the name of a built-in data set (see 'bdnn datasets')."

_TEST_SIZE, _MOST_FOLDS = 0.2, 100


@dataclass(frozen=True)
class ModelFile:
    """What was trained before."""

    model: Path = argument("MODEL", "A file written by 'bdnn train'.")


@dataclass(frozen=True)
class Table:
    """Rows of features."""

    panel: ClassVar[str] = "Data"

    data: str = argument("DATA", _CSV)
    header: bool | None = option(
        "Whether the first row of DATA holds names.",
        None,
        "--header/--no-header",
        shown="found out",
    )


@dataclass(frozen=True)
class LabelledTable(Table):
    """Rows with what is to be predicted of them."""

    target: str | None = option(
        "Target column: its name, or its place from 1 (-1 is the last).",
        metavar="COL",
        shown="the model's, or the last",
    )


@dataclass(frozen=True)
class Data(LabelledTable):
    """Rows to train on, and to test on, and what becomes of their columns."""

    inputs: str | None = option(
        "auto, scaled (numbers), cuts (bits such as age >= 42) or both.", shown="auto"
    )
    cuts: int | None = option("The most cuts of a column.", shown="16")
    scale: str | None = option(
        "auto, standard, common, minmax or none.", shown="auto; standard for --regression"
    )
    drop: list[str] | None = option(
        "A column to leave out; again for each.", metavar="COL", shown=False
    )
    categories: list[str] | None = option(
        "A column of numbers that are names; again for each.", metavar="COL", shown=False
    )
    missing: str | None = option(
        "auto, mean, median or most-frequent fill missing values; error refuses them.",
        shown="auto",
    )
    unknown: str | None = option(
        "none or error: whether texts that are new at prediction are refused.", shown="none"
    )
    rows: int | None = option(
        "Train on the first so many rows and test on the others.", shown="all"
    )
    test_size: float | None = option(
        "Share of every class to test on, 0 for no test; see also --rows.",
        shown="0.2, and 0 with --cv",
    )

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        from bdnn.encoding import Inputs

        return {} if self.chosen == Inputs() else {"inputs": self.chosen}

    @property
    def chosen(self) -> Inputs:
        """What is said of the inputs."""
        from bdnn.encoding import Inputs

        given: dict[str, Any] = {
            "encode": self.inputs,
            "cuts": self.cuts,
            "scale": self.scale,
            "drop": self.drop,
            "categories": self.categories,
            "missing": self.missing,
            "unknown": self.unknown,
        }
        given = {name: value for name, value in given.items() if value is not None}
        if self.scale == "none":
            given["scale"] = None
        return Inputs(**given)

    def split(
        self, samples: Samples, *, seed: int, regression: bool, usual: float = _TEST_SIZE
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Choose the rows to train on and those to test on, the usual share if none was given."""
        import numpy as np

        from bdnn.datasets.samples import check_classes, split_holdout

        n_rows = len(samples.y)
        strata = np.zeros(n_rows) if regression else samples.y
        share = usual if self.test_size is None else self.test_size
        chosen, kept = split_holdout(strata, share, seed)
        if self.rows is not None:
            if not 2 <= self.rows <= n_rows:
                raise DataError(
                    f"--rows must be from 2 to {n_rows}, the number of rows, got {self.rows}: give "
                    "such a number or leave it out."
                )
            chosen = np.arange(self.rows)
            kept = np.arange(self.rows, n_rows if share else self.rows)
        if not regression:
            check_classes(samples.y[chosen], "the training part")
        return chosen, kept


@dataclass(frozen=True)
class Folds:
    """Which rows judge."""

    panel: ClassVar[str] = "Judging"

    cv: int | None = option(
        "Judge by K networks, each trained without one of K parts of the rows; takes K times as "
        "long again.",
        metavar="K",
        shown="none",
    )

    def __post_init__(self) -> None:
        if self.cv is not None and not 2 <= self.cv <= _MOST_FOLDS:
            raise ModelError(
                f"--cv must be from 2 to {_MOST_FOLDS}, got {self.cv}: give for example 5."
            )

    def parts(
        self,
        samples: Samples,
        rows: tuple[NDArray[np.intp], NDArray[np.intp]],
        *,
        seed: int,
        regression: bool,
    ) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Rows to train on and rows to judge by: folds, equal rows in the same; or as tested."""
        import numpy as np

        from bdnn.datasets.samples import check_classes
        from bdnn.learning.comparison import folds_of, same_rows

        chosen, kept = rows
        if self.cv is None:
            return [rows] if len(kept) else []
        y = samples.y[chosen]
        strata = np.zeros(len(y)) if regression else y
        labels = np.unique(strata, return_inverse=True)[1].ravel()
        rng = np.random.default_rng(seed)
        fold = folds_of(labels, same_rows(samples.X[chosen]), self.cv, rng)
        parts = [(chosen[fold != k], chosen[fold == k]) for k in range(self.cv)]
        parts = [part for part in parts if len(part[1])]
        for trained, _ in () if regression else parts:
            check_classes(samples.y[trained], "what --cv leaves to train on")
        return parts


@dataclass(frozen=True)
class Judging(Folds):
    """How a trained network is judged."""

    no_baselines: bool = option("Train no linear model, tree and forest to compare with.", False)

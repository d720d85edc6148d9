"""The model and the table a command reads, and which rows are trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bdnn.cli.options import argument, option
from bdnn.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn.datasets import Samples
    from bdnn.encoding import Inputs

_CSV = "A CSV file (also .gz), or the name of a built-in data set (see 'bdnn datasets')."


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
    drop: list[str] | None = option("A column to leave out.", metavar="COL", shown=False)
    categories: list[str] | None = option(
        "A column of numbers that are names.", metavar="COL", shown=False
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
    test_size: float = option(
        "Share of every class to test on, 0 for no test; see also --rows.", 0.2
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
        self, samples: Samples, *, seed: int, regression: bool
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Choose the rows to train on and those to test on."""
        import numpy as np

        from bdnn.datasets.samples import check_classes, split_holdout

        n_rows = len(samples.y)
        strata = np.zeros(n_rows) if regression else samples.y
        chosen, kept = split_holdout(strata, self.test_size, seed)
        if self.rows is not None:
            if not 2 <= self.rows <= n_rows:
                raise DataError(
                    f"--rows must be from 2 to {n_rows}, the number of rows, got {self.rows}: give "
                    "such a number or leave it out."
                )
            chosen = np.arange(self.rows)
            kept = np.arange(self.rows, n_rows if self.test_size else self.rows)
        if not regression:
            check_classes(samples.y[chosen], "the training part")
        return chosen, kept

"""The table a command reads, and which of its rows are trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from typer import Argument, Option

from bdnn.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn.datasets import Samples

ModelArgument = Annotated[
    Path, Argument(metavar="MODEL", help="A file written by 'bdnn train'.", show_default=False)
]


@dataclass(frozen=True)
class Table:
    """Rows of features."""

    panel: ClassVar[str] = "Data"

    data: Annotated[
        str,
        Argument(
            metavar="DATA",
            help="A CSV file (also .gz), or the name of a built-in data set (see 'bdnn datasets').",
            show_default=False,
        ),
    ]
    header: Annotated[
        bool | None,
        Option(
            "--header/--no-header",
            help="Whether the first row of DATA holds names.",
            show_default="found out",
        ),
    ] = None


@dataclass(frozen=True)
class LabelledTable(Table):
    """Rows with what is to be predicted of them."""

    target: Annotated[
        str | None,
        Option(
            metavar="COL",
            help="Target column: its name, or its place from 1 (-1 is the last).",
            show_default="the model's, or the last",
        ),
    ] = None


@dataclass(frozen=True)
class Data(LabelledTable):
    """Rows to train on, and to test on."""

    missing: Annotated[
        str | None,
        Option(
            help="Fill missing values by mean, median or most-frequent.", show_default="refused"
        ),
    ] = None
    rows: Annotated[
        int | None,
        Option(help="Train on the first so many rows and test on the others.", show_default="all"),
    ] = None
    test_size: Annotated[
        float, Option(help="Share of every class to test on, 0 for no test; see also --rows.")
    ] = 0.2

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

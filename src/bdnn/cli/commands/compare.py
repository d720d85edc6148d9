"""``bdnn compare``: networks of several sizes beside plain models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from bdnn.cli.commands.curve import sizes_of
from bdnn.cli.figures import spread
from bdnn.cli.options import option, options
from bdnn.cli.options.data import Data, Folds
from bdnn.cli.options.learning import SeededEffort
from bdnn.cli.output import Output, check_picture, decimals, number, print_table, write_picture
from bdnn.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bdnn.model import Model


@options
def compare(
    data: Data,
    folds: Folds,
    effort: SeededEffort,
    output: Output,
    budgets: str = option(
        "Bytes of flash of the networks' C exports.", "512,2048,8192", metavar="N,N,..."
    ),
) -> None:
    """Compare networks of several sizes with a linear model, a small tree and a forest.

    All learn from the same rows and are judged by the same other rows: accuracy and AUC with their
    standard errors, bytes, time per row in Python. With --out the table becomes a picture too, a
    .png, .pdf or .svg.
    """
    from bdnn import Limits, size_curve
    from bdnn.cli.fitting import convergence_warnings
    from bdnn.cli.source import training_samples
    from bdnn.evaluation.comparison import compare as compare_models

    sizes = sizes_of(budgets)
    if output.out is not None:
        check_picture(output.out, "--out")
    samples = training_samples(data, data.chosen, regression=False)
    usual = {} if folds.cv is None else {"usual": 0.0}
    rows = data.split(samples, seed=effort.seed, regression=False, **usual)
    parts = folds.parts(samples, rows, seed=effort.seed, regression=False)
    if not parts:
        raise DataError("there are no rows to judge by: give a --test-size above 0, or --cv 5.")
    output.tell(samples.notes)

    def networks(trained: NDArray[np.intp], seconds: float) -> dict[str, tuple[Model, int]]:
        output.tell([f"training networks on {len(trained)} rows"])
        with convergence_warnings():
            found = size_curve(
                samples.X[trained],
                samples.y[trained],
                budgets=sizes,
                limits=Limits(seconds=seconds),
                encoder=samples.encoder,
                random_state=effort.seed,
                n_jobs=effort.jobs,
                **data.parameters(),
            )
        if found.points[-1].classifier.result_.status == "interrupted":
            raise KeyboardInterrupt
        return {
            f"network, {point.max_bytes} bytes": (point.classifier.model_, point.bytes)
            for point in found.points
        }

    found = compare_models(
        samples.X,
        samples.encoder.columns,
        samples.y,
        parts,
        networks,
        seconds=effort.seconds,
        seed=effort.seed,
        n_jobs=effort.jobs,
    )
    if output.out is not None:
        from bdnn.plotting import plot_comparison

        write_picture(output.out, plot_comparison(found).figure)  # type: ignore[arg-type]
    lines = [vars(each) for each in found]
    n_rows = sum(len(judged) for _, judged in parts)
    facts = {"data": data.data, "rows": n_rows, "models": lines, "out": output.place}
    output.show(facts, lambda: _print(n_rows, lines))


def _print(n_rows: int, lines: list[dict[str, Any]]) -> None:
    typer.echo(f"{n_rows} rows, each judged by models that have not seen it:")
    print_table(
        ["model", "accuracy", "AUC", "bytes", "microseconds per row"],
        [
            [
                each["name"],
                spread(each["accuracy"], each["error"]),
                "" if each["auc"] is None else spread(each["auc"], each["auc_error"], decimals),
                str(each["bytes"]),
                number(each["microseconds"], 3),
            ]
            for each in lines
        ],
    )

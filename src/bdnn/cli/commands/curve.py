"""``bdnn curve``: accuracy against bytes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from bdnn.cli.options import option, options
from bdnn.cli.options.data import Data
from bdnn.cli.options.learning import SeededEffort
from bdnn.cli.output import Output, check_picture, percent, print_table, write_picture
from bdnn.errors import ModelError


@options
def curve(
    data: Data,
    effort: SeededEffort,
    output: Output,
    budgets: str = option(
        "Bytes of flash of the C export.", "512,1024,2048,4096,8192", metavar="N,N,..."
    ),
) -> None:
    """Find the best network of every size, and draw accuracy against bytes.

    The expected accuracy is that of cross-validation. With --out the curve becomes a .png, .pdf or
    .svg.
    """
    from bdnn import Limits, size_curve
    from bdnn.cli.fitting import describe
    from bdnn.cli.progress import ProgressDisplay
    from bdnn.cli.source import training_samples

    sizes = sizes_of(budgets)
    if output.out is not None:
        check_picture(output.out, "--out")
    samples = training_samples(data, data.chosen, regression=False)
    chosen, kept = data.split(samples, seed=effort.seed, regression=False)
    output.tell(samples.notes)
    test = (samples.X[kept], samples.y[kept]) if len(kept) else None
    display = None if output.quiet else ProgressDisplay(describe, effort.seconds)
    with display or nullcontext():
        found = size_curve(
            samples.X[chosen],
            samples.y[chosen],
            budgets=sizes,
            limits=Limits(seconds=effort.seconds),
            test=test,
            encoder=samples.encoder,
            callback=display,
            random_state=effort.seed,
            n_jobs=effort.jobs,
            **data.parameters(),
        )
    if output.out is not None:
        from bdnn.plotting import plot_size

        write_picture(output.out, plot_size(found).figure)  # type: ignore[arg-type]
    points = [point.to_dict() for point in found.points]
    facts = {"data": data.data, "points": points, "out": output.place}
    output.show(facts, lambda: _print(points))


def _print(points: list[dict[str, Any]]) -> None:
    rows = [
        (
            str(point["max_bytes"]),
            str(point["bytes"]),
            f"{percent(point['accuracy'])} +- {percent(point['error'])}",
            percent(point["test_accuracy"]),
            point["network"],
        )
        for point in points
    ]
    print_table(("budget", "bytes", "expected accuracy", "on test rows", "network"), rows)


def sizes_of(text: str) -> list[int]:
    """Read a list of bytes."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) for word in words):
        raise ModelError(
            f"--budgets must be whole numbers of bytes, got {text!r}: give for example 512,2048."
        )
    return [int(word) for word in words]

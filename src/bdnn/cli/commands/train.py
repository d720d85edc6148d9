"""``bdnn train``: train a network on a table and save it."""

from __future__ import annotations

from typing import Any

from bdnn.cli.figures import print_assessment, print_next
from bdnn.cli.options import options
from bdnn.cli.options.constraints import Constraints, Guarantee
from bdnn.cli.options.data import Data, Judging
from bdnn.cli.options.learning import Learning, Limits, Shape
from bdnn.cli.output import (
    ModelOutput,
    expectation,
    gap_text,
    number,
    percent,
    print_pairs,
    status_text,
)
from bdnn.errors import DataError

_PRICED = "loss and prices, which the bound is about"


@options
def train(
    data: Data,
    shape: Shape,
    learning: Learning,
    limits: Limits,
    guarantee: Guarantee,
    constraints: Constraints,
    judging: Judging,
    output: ModelOutput,
) -> None:
    """Train a binarized network, say how good it is, and how far from optimal.

    It is judged by rows that it was not trained on, beside plain models. DATA is a CSV file
    (separator , ; or tab, with or without header) or a built-in data set. Columns may be numbers,
    texts or truth values, and may have gaps. Ctrl-C ends training and keeps the best network so
    far.
    """
    from bdnn.cli.fitting import SETTLED, Task
    from bdnn.cli.source import training_samples

    parameters = {
        name: value
        for group in (data, shape, learning, limits, guarantee, constraints)
        for name, value in group.parameters().items()
    }
    task = Task.create(learning, parameters)
    samples = training_samples(data, data.chosen, regression=learning.regression)
    usual = {} if judging.cv is None else {"usual": 0.0}
    rows = data.split(samples, seed=limits.seed, regression=learning.regression, **usual)
    output.tell(samples.notes)
    summary, problem = task.fit(samples, rows, data.data, limits, judging, output)
    output.show(summary, lambda: _print(summary, SETTLED))
    if problem is not None:
        raise DataError(f"{problem}: the network is in {summary['out']} instead.")


def _print(summary: dict[str, Any], settled: tuple[str, ...]) -> None:
    bits = summary["size_bits"]
    pairs = [
        ("network", summary["network"]),
        ("smallest width", _smallest(summary)),
        ("status", status_text(summary["status"])),
        # How small the loss is was no question where held-out rows chose.
        *([] if summary["held_out"] else _minimised(summary, settled)),
        ("time", f"{summary['seconds']:.2f} s"),
        *expectation(summary["held_out"], summary["class_weight"]),
        *_measured_pairs(summary),
        ("size", f"{bits} bits ({-(-bits // 8)} bytes) of weights and thresholds"),
        ("message", summary["message"] or None),
        ("saved", summary["out"] or "no (give --out model.json)"),
    ]
    print_pairs(pairs)
    if summary["assessment"] is not None:
        print_assessment(summary["assessment"])
    print_next(summary["next"])


def _minimised(summary: dict[str, Any], settled: tuple[str, ...]) -> list[tuple[str, str | None]]:
    """Loss and bound, and by what they were found."""
    objective, solver = summary["objective"], summary["solver"]
    return [
        ("loss", f"{summary['loss']:g}"),
        # What was minimised, where that is more than the loss.
        ("objective", None if objective is None else f"{objective:g} ({_PRICED})"),
        ("bound", f"{summary['bound']:g} ({summary['bound_origin']})"),
        ("gap", gap_text(summary["gap"], summary["bound"])),
        *((name, f"{summary[name]:g}") for name in settled if name in summary),
        ("method", summary["method"] + (f", {solver}" if solver else "")),
    ]


def _measured_pairs(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Accuracy or R2, of the rows trained on and of the others."""
    pairs = []
    for part in ("train", "test"):
        rows = summary[f"{part}_rows"]
        if f"{part}_r2" in summary:
            measure, told = "R2", f"{number(summary[f'{part}_r2'])} on {rows} rows"
        else:
            measure, told = "accuracy", f"{percent(summary[f'{part}_accuracy'])} of {rows} rows"
        pairs.append((f"{part} {measure}", told if rows else "not measured"))
    return pairs


def _smallest(summary: dict[str, Any]) -> str | None:
    """What was found out about narrower networks, if that was asked."""
    if "width" not in summary:
        return None
    width, ruled_out = summary["width"], summary["insufficient_width"]
    if ruled_out == width - 1:
        proof = "proven to be the smallest"
    else:
        proof = f"proven insufficient: {ruled_out}" if ruled_out else "no width is ruled out"
    return f"{width} ({proof})"

"""How a model was trained, and what is proven of it."""

from __future__ import annotations

import math

import numpy as np

from bdnn.report.charts import Panel, draw
from bdnn.report.html import Html, figure, joined, pairs, table, tag
from bdnn.report.subject import Subject

_MOST_MOMENTS = 60


def proven(subject: Subject) -> Html:
    """What is proven, and on what condition."""
    result = subject.result
    what = "loss" if result.objective is None else "objective"
    if result.status == "selected":
        text = "Held-out rows chose this network. That it has the smallest loss is not proven."
    elif result.is_proven:
        text = (
            f"Proven: no network of this shape has a smaller {what} on the training rows "
            f"({result.status})."
        )
    else:
        text = "Not proven to be the best of its shape"
        text += "." if result.status == "feasible" else f"; training ended by: {result.status}."
    origin = f"by {result.bound_origin}" if result.bound > 0 else "which rules nothing out"
    lines = [
        (f"{what} on the training rows", f"{result.minimised:g}"),
        ("no network has less than", f"{result.bound:g}, {origin}"),
        *([("condition", str(result.condition))] if str(result.condition) else []),
        ("method", ", ".join(filter(None, (result.method, result.solver)))),
        ("time", f"{result.seconds:.1f} s"),
    ]
    rest = "It says nothing of new rows. Check every claim: bdnn check model.json data.csv"
    return joined([tag("p", text), pairs(lines), tag("p", rest)])


def history(subject: Subject) -> Html | None:
    """Loss and bound over time."""
    moments = [m for m in subject.result.history if math.isfinite(m.loss)]
    if len(moments) < 2:
        return None
    kept = np.unique(np.linspace(0, len(moments) - 1, _MOST_MOMENTS).astype(int))
    shown = [moments[k] for k in kept]
    lines = {
        "loss": [(m.seconds, m.loss) for m in shown],
        "bound": [(m.seconds, m.bound) for m in shown if math.isfinite(m.bound)],
    }
    title = "Loss and bound over the time of training"
    numbers = table(
        ["phase", "seconds", "loss", "bound"],
        [[m.phase, f"{m.seconds:.2f}", f"{m.loss:.6g}", f"{m.bound:.6g}"] for m in shown],
    )
    drawing = draw([Panel("", lines)], x_label="seconds", y_label="loss", title=title)
    return figure(drawing, title, numbers)

"""Figures of an experiment: means over the seeds, as line charts in SVG."""

from __future__ import annotations

import statistics

from bdnn.experiments.experiment import Experiment, Figure
from bdnn.experiments.numbers import Rows, find_measure, seed_rows, shown, word
from bdnn.report.charts import Panel, draw


def draw_figure(experiment: Experiment, figure: Figure, rows: Rows) -> str:
    """A figure as SVG; panels and lines without results are empty."""
    panels: dict[str, dict[str, dict[float, list[float]]]] = {}
    for method, coordinates in experiment.places():
        panel = panels.setdefault(shown(coordinates)[figure.panels], {})
        line = panel.setdefault(method.name, {})
        for row in seed_rows(experiment, method, coordinates, rows):
            if figure.x == "epoch":
                for number, value in enumerate(row["curves"].get(figure.y, []), start=1):
                    line.setdefault(float(number), []).append(value)
                continue
            measure = find_measure(figure.y)
            if measure is not None and measure.name in row["measures"]:
                at = float(coordinates[figure.x])
                line.setdefault(at, []).append(row["measures"][measure.name])
    drawn = [
        Panel(
            f"{word(figure.panels)}: {title}",
            {
                name: sorted((x, statistics.fmean(values)) for x, values in line.items())
                for name, line in lines.items()
            },
        )
        for title, lines in panels.items()
    ]
    label = "training samples" if figure.x == "samples" else word(figure.x)
    return draw(drawn, x_label=label, y_label=word(figure.y), log=figure.log)

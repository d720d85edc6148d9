"""What a report says before it is HTML or Markdown: tables, charts, summary, what failed."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from bdnn.experiments.experiment import Experiment, Figure, Table, plan
from bdnn.experiments.numbers import (
    Entry,
    Rows,
    Summary,
    below_paper,
    entries,
    find_measure,
    seed_rows,
    shown,
    summarise,
    word,
)
from bdnn.report.charts import Panel, draw

Heading = tuple[str, ...]

# Axes whose values say nothing without the axis.
_NUMERIC = ("hidden", "samples", "radius")


@dataclass(frozen=True)
class Pivot:
    """A table of entries; a heading has one text per level, and the corner names those of rows."""

    corner: Heading
    columns: list[Heading]
    rows: list[Heading]
    cells: dict[tuple[Heading, Heading], Entry]

    @classmethod
    def of(cls, table: Table, listed: Sequence[Entry]) -> Pivot:
        """Place entries; headings keep the order in which they come."""
        rows: dict[Heading, None] = {}
        columns: dict[Heading, None] = {}
        cells = {}
        for entry in listed:
            row = tuple(word(entry.at.get(name, "")) for name in table.rows)
            column = tuple(_over_column(name, entry.at.get(name, "")) for name in table.columns)
            rows[row] = columns[column] = None
            cells[row, column] = entry
        # Headings of one level stand together, in the order in which they first come.
        return cls(
            tuple(map(word, table.rows)), _together(list(columns)), _together(list(rows)), cells
        )

    def spans(self, headings: Sequence[Heading], level: int) -> list[tuple[str, int]]:
        """Texts of a level, each with the number of headings that it stands over."""
        return [
            (prefix[level], len(list(group)))
            for prefix, group in groupby(heading[: level + 1] for heading in headings)
        ]


def _over_column(name: str, value: str) -> str:
    """A column's heading, which no corner explains: a value of the grid has its name with it."""
    return f"{word(name)} {value}" if value and name in _NUMERIC else word(value)


def _together(headings: list[Heading]) -> list[Heading]:
    order: dict[Heading, int] = {}
    for heading in headings:
        for level in range(len(heading)):
            order.setdefault(heading[: level + 1], len(order))
    return sorted(headings, key=lambda h: [order[h[: level + 1]] for level in range(len(h))])


@dataclass(frozen=True)
class Section:
    """One experiment: its table and its drawings."""

    experiment: Experiment
    listed: list[Entry]
    pivot: Pivot | None
    drawings: list[tuple[str, str]]
    done: int
    total: int

    @property
    def remarks(self) -> list[str]:
        """What the numbers are of, where it is not all that the experiment describes."""
        found = []
        trains = any(method.kind != "facts" for method in self.experiment.methods)
        n_seeds = len(self.experiment.seeds)
        if trains and n_seeds == 1:
            found.append("Every number is of one run and has no standard error.")
        elif trains:
            found.append(f"Numbers are means over {n_seeds} seeds, with their standard errors.")
        if self.experiment.mode == "quick":
            found.append("Quick run: a part of the full run, which the text describes.")
        if self.done < self.total:
            found.append(f"{self.done} of {self.total} cells are done.")
        return found


@dataclass(frozen=True)
class Contents:
    """A whole report.

    Lists have a name, a heading and lines: accuracy cells below the paper and cells that failed.
    Facts are date, versions and machines.
    """

    title: str
    command: str
    sections: list[Section]
    summary: Summary
    failures: list[tuple[str, str]]
    lists: list[tuple[str, str, list[str]]]
    facts: list[tuple[str, str]]


def gather(experiments: Sequence[Experiment], rows: Rows, *, title: str, command: str) -> Contents:
    """Collect everything from the results that belong to these experiments."""
    sections = [_section(experiment, rows) for experiment in experiments]
    cells = plan(experiments)
    used = {key: rows[key] for key in cells if key in rows}
    failures = [
        (cells[key].label, row["error"]) for key, row in used.items() if row["status"] == "failed"
    ]
    listed = [entry for section in sections for entry in section.listed]
    below = [
        f"{section.experiment.title}; {place(entry.at)}: {explain(entry)}"
        for section in sections
        for entry in below_paper(section.listed)
    ]
    lists = [
        ("below", "Accuracy cells below the paper", below),
        ("failed", "Cells that failed", [f"{label}: {reason}" for label, reason in failures]),
    ]
    facts = _facts(used, len(cells), [experiment.mode for experiment in experiments])
    shown = [part for part in lists if part[2]]
    return Contents(title, command, sections, summarise(listed), failures, shown, facts)


def _section(experiment: Experiment, rows: Rows) -> Section:
    listed = entries(experiment, rows)
    cells = plan([experiment])
    done = sum(key in rows and rows[key]["status"] == "done" for key in cells)
    pivot = None if experiment.table is None else Pivot.of(experiment.table, listed)
    drawings = [
        (figure.title, draw_figure(experiment, figure, rows)) for figure in experiment.figures
    ]
    return Section(experiment, listed, pivot, drawings, done, len(cells))


def _facts(used: Rows, total: int, modes: Sequence[str]) -> list[tuple[str, str]]:
    done = sum(row["status"] == "done" for row in used.values())
    facts = [
        ("mode", ", ".join(dict.fromkeys(modes))),
        ("cells", f"{done} of {total} done, {len(used) - done} failed"),
    ]
    if used:
        dates = sorted(row["finished"] for row in used.values())
        work = sum(row["wall_seconds"] for row in used.values())
        facts += [
            ("run", f"{_date(dates[0])} to {_date(dates[-1])} UTC"),
            ("work", f"{work / 60:.0f} minutes of one core, each cell with one thread"),
            ("versions", _most(row["versions"] for row in used.values())),
            ("machine", _most(row["machine"] for row in used.values())),
        ]
    return facts


def _date(text: str) -> str:
    return text[:16].replace("T", " ")


def _most(records: Any) -> str:
    """Different records with the number of cells of each, where there are several."""
    texts = Counter(
        ", ".join(f"{name} {value}" for name, value in record.items()) for record in records
    )
    if len(texts) == 1:
        return next(iter(texts))
    return "; ".join(f"{text} ({count} cells)" for text, count in texts.most_common())


def headline(summary: Summary) -> str:
    """The sentence that matters."""
    return f"cells at or above the paper: {summary.accuracy}"


def details(summary: Summary) -> list[tuple[str, str]]:
    """Further numbers of the summary, those that exist."""
    found = [
        ("binarized networks", str(summary.networks), summary.networks.total > 0),
        ("DNN", str(summary.dnn), summary.dnn.total > 0),
        ("precision, recall, F1, gaps, facts", str(summary.other), summary.other.total > 0),
        (
            "median of the paper's seconds over ours",
            f"{summary.speedup:.0f}x",
            math.isfinite(summary.speedup),
        ),
        ("numbers of the paper without a result", str(summary.missing), summary.missing > 0),
    ]
    return [(name, text) for name, text, is_there in found if is_there]


def explain(entry: Entry) -> str:
    """How far a cell is below the paper, beside what other splits would change."""
    assert entry.difference is not None
    text = f"{entry.measure.write(entry.ours)}, paper {entry.measure.write(entry.paper)}"
    if not math.isfinite(entry.error):
        return f"{text}: a single number, which other splits would change"
    errors = f"standard error {entry.error:.1f} over {entry.found} splits"
    if -entry.difference <= 2 * entry.error:
        return f"{text}: {errors}, so that the difference is within chance"
    return f"{text}: {errors}, a difference beyond chance"


def place(at: Mapping[str, str]) -> str:
    """Coordinates of an entry in one line."""
    return ", ".join(f"{word(name)} {word(value)}" for name, value in at.items())


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

"""What a report says, before it is written as HTML or Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bdnn.experiments.cells import plan
from bdnn.experiments.experiment import Experiment
from bdnn.experiments.numbers import Entry, Rows, Summary, below_paper, entries, summarise
from bdnn.experiments.report.curves import draw_figure
from bdnn.experiments.report.pivot import Pivot, word


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
        if self.experiment.mode == "quick":
            n_seeds = len(self.experiment.seeds)
            seeds = "one seed" if n_seeds == 1 else f"{n_seeds} seeds"
            found.append(f"Quick run, {seeds}: a part of the full run, which the text describes.")
        if self.done < self.total:
            found.append(f"{self.done} of {self.total} cells are done.")
        return found


@dataclass(frozen=True)
class Contents:
    """A whole report.

    Parameters
    ----------
    title, command : str
    sections : list of Section
    summary : Summary
    below : list of (title, Entry)
        Accuracy cells below the paper.
    failures : list of (cell, reason)
    facts : list of (name, text)
        Date, versions, machines.
    """

    title: str
    command: str
    sections: list[Section]
    summary: Summary
    below: list[tuple[str, Entry]]
    failures: list[tuple[str, str]]
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
        (section.experiment.title, entry)
        for section in sections
        for entry in below_paper(section.listed)
    ]
    facts = _facts(used, len(cells), [experiment.mode for experiment in experiments])
    return Contents(title, command, sections, summarise(listed), below, failures, facts)


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

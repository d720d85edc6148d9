"""Reports of experiments: one page of HTML, Markdown with figures beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from bdnn.experiments.experiment import Experiment
from bdnn.experiments.numbers import Entry, Rows
from bdnn.experiments.report.contents import Contents, Pivot, details, gather, headline
from bdnn.experiments.report.html import to_html
from bdnn.files import write_whole

__all__ = ["write_report"]

HTML, MARKDOWN, FIGURES = "report.html", "report.md", "figures"


def write_report(
    folder: Path, experiments: Sequence[Experiment], rows: Rows, *, title: str, command: str
) -> Contents:
    """Write ``report.html``, ``report.md`` and ``figures/`` into a folder.

    Parameters
    ----------
    folder : path
    experiments : sequence of Experiment
    rows : mapping of key to result
    title, command : str
        Heading, and the command that makes it all again.
    """
    contents = gather(experiments, rows, title=title, command=command)
    paths: list[list[str]] = []
    for section in contents.sections:
        paths.append([])
        for number, (_, drawing) in enumerate(section.drawings, start=1):
            # Names of experiments may be those of a user's files.
            stem = re.sub(r"[^\w-]+", "-", section.experiment.name)
            path = f"{FIGURES}/{stem}-{number}.svg"
            (folder / FIGURES).mkdir(exist_ok=True)
            write_whole(folder / path, drawing)
            paths[-1].append(path)
    write_whole(folder / MARKDOWN, _to_markdown(contents, paths))
    write_whole(folder / HTML, to_html(contents))
    return contents


def _to_markdown(contents: Contents, figures: list[list[str]]) -> str:
    """Write a report, with the paths of every section's figures."""
    lines = [f"# {contents.title}", ""]
    if contents.summary.accuracy.total:
        lines += [f"**{headline(contents.summary).capitalize()}**", ""]
    lines += [f"- {name}: {text}" for name, text in details(contents.summary)]
    lines += ["", "```sh", contents.command, "```", ""]
    lines += [f"- {name}: {text}" for name, text in contents.facts]
    if any(entry.paper is not None for section in contents.sections for entry in section.listed):
        lines += [
            "",
            "A cell shows ours / the paper's and the difference, ▲ at or above the paper, ▼ below; "
            "for times how many times faster ours is, on another machine than the paper's.",
        ]
    for section, paths in zip(contents.sections, figures, strict=True):
        lines += ["", f"## {section.experiment.title}", ""]
        if section.experiment.about:
            lines += [section.experiment.about, ""]
        for remark in section.remarks:
            lines += [remark, ""]
        if section.pivot is not None:
            lines += _table(section.pivot)
        for (title, _), path in zip(section.drawings, paths, strict=True):
            lines += ["", f"![{title}]({path})", "", f"*{title}*"]
    for _, heading, texts in contents.lists:
        lines += ["", f"## {heading}", "", *(f"- {text}" for text in texts)]
    return "\n".join(lines) + "\n"


def _table(pivot: Pivot) -> list[str]:
    headings = [*pivot.corner, *(", ".join(filter(None, column)) for column in pivot.columns)]
    lines = [_line(headings), _line(["---"] * len(headings))]
    for row in pivot.rows:
        cells = (pivot.cells.get((row, column)) for column in pivot.columns)
        lines.append(_line([*row, *map(_cell, cells)]))
    return lines


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cell(entry: Entry | None) -> str:
    if entry is None or (entry.ours is None and entry.paper is None):
        return ""
    ours = entry.measure.write(entry.ours)
    if entry.paper is None:
        return ours
    return f"{ours} / {entry.measure.write(entry.paper)} {entry.badge}".rstrip()

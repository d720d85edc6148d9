"""The report as Markdown, with the figures as files beside it."""

from __future__ import annotations

from bdnn.experiments.numbers import Entry, write_ratio
from bdnn.experiments.report.contents import Contents, details, explain, headline, place
from bdnn.experiments.report.pivot import Pivot


def to_markdown(contents: Contents, figures: list[list[str]]) -> str:
    """Write a report.

    Parameters
    ----------
    contents : Contents
    figures : list of list of str
        Paths of every section's figures.
    """
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
    if contents.below:
        lines += ["", "## Accuracy cells below the paper", ""]
        lines += [
            f"- {title}; {place(entry.at)}: {explain(entry)}" for title, entry in contents.below
        ]
    if contents.failures:
        lines += ["", "## Cells that failed", ""]
        lines += [f"- {label}: {reason}" for label, reason in contents.failures]
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
    text = f"{ours} / {entry.measure.write(entry.paper)}"
    if entry.measure.name == "seconds":
        return text if entry.ratio is None else f"{text} {write_ratio(entry.ratio)}"
    if entry.difference is None:
        return text
    sign = "▲" if entry.difference >= 0 else "▼"
    return f"{text} {sign}{abs(entry.difference):.{entry.measure.digits}f}"

"""Reports of experiments: a page of HTML that needs nothing else, and Markdown with figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from bdnn.experiments.contents import (
    Contents,
    Pivot,
    Section,
    details,
    gather,
    headline,
    place,
)
from bdnn.experiments.experiment import Experiment
from bdnn.experiments.numbers import Entry, Rows
from bdnn.files import write_whole
from bdnn.report.html import page

HTML, MARKDOWN, FIGURES = "report.html", "report.md", "figures"
ERRORS = (
    "A mean over several runs has its standard error with it (±). A number without one is of a "
    "single run, or the largest or smallest of several."
)


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
    write_whole(folder / HTML, _to_html(contents))
    return contents


def _to_markdown(contents: Contents, figures: list[list[str]]) -> str:
    """Write a report, with the paths of every section's figures."""
    lines = [f"# {contents.title}", ""]
    if contents.summary.accuracy.total:
        lines += [f"**{headline(contents.summary).capitalize()}**", ""]
    lines += [f"- {name}: {text}" for name, text in details(contents.summary)]
    lines += ["", "```sh", contents.command, "```", ""]
    lines += [f"- {name}: {text}" for name, text in contents.facts]
    lines += ["", ERRORS]
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
            lines += _markdown_table(section.pivot)
        for (title, _), path in zip(section.drawings, paths, strict=True):
            lines += ["", f"![{title}]({path})", "", f"*{title}*"]
    for _, heading, texts in contents.lists:
        lines += ["", f"## {heading}", "", *(f"- {text}" for text in texts)]
    return "\n".join(lines) + "\n"


def _markdown_table(pivot: Pivot) -> list[str]:
    headings = [*pivot.corner, *(", ".join(filter(None, column)) for column in pivot.columns)]
    lines = [_line(headings), _line(["---"] * len(headings))]
    for row in pivot.rows:
        cells = (pivot.cells.get((row, column)) for column in pivot.columns)
        lines.append(_line([*row, *map(_markdown_cell, cells)]))
    return lines


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _markdown_cell(entry: Entry | None) -> str:
    if entry is None or (entry.ours is None and entry.paper is None):
        return ""
    if entry.paper is None:
        return entry.text
    return f"{entry.text} / {entry.measure.write(entry.paper)} {entry.badge}".rstrip()


def _to_html(contents: Contents) -> str:
    return page(
        contents.title,
        [
            _head(contents),
            *map(_section, contents.sections),
            *(_list(*part) for part in contents.lists),
        ],
    )


def _head(contents: Contents) -> str:
    summary = contents.summary
    parts = [f"<header><h1>{escape(contents.title)}</h1>"]
    if summary.accuracy.total:
        share = 100 * summary.accuracy.reached / summary.accuracy.total
        parts.append(
            f'<p class="headline" id="summary">{escape(headline(summary).capitalize())}</p>'
            f'<div class="bar"><div style="width:{share:.1f}%"></div></div>'
        )
    parts.append('<dl class="cards">')
    for name, text in details(summary):
        parts.append(f"<div><dd>{escape(text)}</dd><dt>{escape(name)}</dt></div>")
    parts.append(f"</dl><pre>{escape(contents.command)}</pre><dl class='facts'>")
    for name, text in contents.facts:
        parts.append(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>")
    parts.append(f"</dl><p>{escape(ERRORS)}</p>")
    links = (
        f'<a href="#{escape(section.experiment.name)}">{escape(section.experiment.title)}</a>'
        for section in contents.sections
    )
    parts.append(f"<nav>{''.join(links)}</nav></header>")
    return "".join(parts)


def _section(section: Section) -> str:
    experiment = section.experiment
    parts = [f'<section id="{escape(experiment.name)}"><h2>{escape(experiment.title)}</h2>']
    if experiment.about:
        parts.append(f"<p>{escape(experiment.about)}</p>")
    parts += (f'<p class="open">{escape(remark)}</p>' for remark in section.remarks)
    if section.pivot is not None:
        parts.append(_table(section.pivot))
    for title, drawing in section.drawings:
        parts.append(
            f'<figure><div class="wide">{drawing}</div>'
            f"<figcaption>{escape(title)}</figcaption></figure>"
        )
    return "".join([*parts, "</section>"])


def _table(pivot: Pivot) -> str:
    levels = len(pivot.columns[0]) if pivot.columns else 1
    parts = ['<div class="wide"><table><thead>']
    for level in range(levels):
        parts.append("<tr>")
        if level == 0:
            corner = "".join(
                f'<th class="side" rowspan="{levels}">{escape(name)}</th>' for name in pivot.corner
            )
            parts.append(corner)
        for text, span in pivot.spans(pivot.columns, level):
            parts.append(f'<th colspan="{span}">{escape(text)}</th>')
        parts.append("</tr>")
    parts.append("</thead><tbody>")
    shown: tuple[str, ...] = ()
    for row in pivot.rows:
        same = next((k for k, text in enumerate(shown) if row[k] != text), len(shown))
        parts.append('<tr class="first">' if same == 0 else "<tr>")
        for level, text in enumerate(row):
            # A heading that repeats the one above it is left empty.
            parts.append(f'<th class="side">{escape(text) if level >= same else ""}</th>')
        parts += [_cell(pivot.cells.get((row, column))) for column in pivot.columns]
        parts.append("</tr>")
        shown = row
    return "".join([*parts, "</tbody></table></div>"])


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return "<td></td>"
    ours = f"<b>{escape(entry.text)}</b>"
    badge = f"<i>{entry.badge}</i>" if entry.badge else ""
    kind = {"▲": "good", "▼": "bad"}.get(entry.badge[:1], "plain")
    paper = ""
    if entry.paper is not None:
        paper = f"<small>paper {escape(entry.measure.write(entry.paper))}</small>"
    weight = "" if entry.counted else " aside"
    title = f"{place(entry.at)}; {entry.found} of {entry.wanted} seeds"
    return f'<td class="{kind}{weight}" title="{escape(title)}">{ours} {badge}{paper}</td>'


def _list(name: str, heading: str, lines: list[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<section id="{name}"><h2>{escape(heading)}</h2><ul>{items}</ul></section>'

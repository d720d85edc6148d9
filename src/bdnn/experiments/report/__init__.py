"""Reports of experiments: one page of HTML, Markdown with figures beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from bdnn.experiments.experiment import Experiment
from bdnn.experiments.numbers import Rows
from bdnn.experiments.report.contents import Contents, gather
from bdnn.experiments.report.html import to_html
from bdnn.experiments.report.markdown import to_markdown
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
    write_whole(folder / MARKDOWN, to_markdown(contents, paths))
    write_whole(folder / HTML, to_html(contents))
    return contents

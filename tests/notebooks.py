"""Runs the notebooks of the documentation; ``python -m tests.notebooks`` keeps what they show."""

import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))

# Where a warning says it comes from; another place in every run.
_PLACE = re.compile(r"\S*ipykernel_\d+\S*\.py:")


def run(path, folder):
    """The notebook with the outputs of a fresh kernel in an empty folder."""
    notebook = nbformat.read(path, as_version=4)
    commands = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    client = NotebookClient(
        notebook,
        timeout=200,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
    )
    with client.setup_kernel(env={**os.environ, "PATH": commands, "COLUMNS": "88"}):
        for place, cell in enumerate(notebook.cells):
            client.execute_cell(cell, place)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            if "text" in output:
                output.text = _PLACE.sub("cell, line ", output.text)
    return notebook


def printed(cell):
    """What a code cell has printed, and the text of what it shows."""
    return [
        output.get("text") or output.get("data", {}).get("text/plain") for output in cell.outputs
    ]


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:] or NOTEBOOKS):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(run(path, folder), path)

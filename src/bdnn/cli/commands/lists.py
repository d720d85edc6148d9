"""``bdnn datasets`` and ``bdnn solvers``: what is built in, and what is installed."""

from __future__ import annotations

from typing import Any

from bdnn.cli.options import options
from bdnn.cli.output import Answer, print_table


@options
def datasets(answer: Answer) -> None:
    """List the built-in data sets with size, source and licence."""
    from bdnn.datasets import describe

    records = describe()
    headings = ["name", "rows", "attributes", "classes", "offline", "source", "licence"]
    offline = {True: "yes", False: "no (set BDNN_DATA)"}
    lines = [
        [str(offline[record[key]] if key == "offline" else record[key]) for key in headings]
        for record in records
    ]
    answer.show({"datasets": records}, lambda: print_table(headings, lines))


@options
def solvers(answer: Answer) -> None:
    """List the solvers with version and abilities, without starting any."""
    from bdnn.solvers.registry import SOLVERS

    entries: list[dict[str, Any]] = [
        {
            "name": name,
            "installed": solver.is_available(),
            "version": solver.version() if solver.is_available() else None,
            "install": "pip install "
            + (f"'bdnn[{solver.extra}]'" if solver.extra else solver.distribution),
            "features": sorted(feature.value for feature in solver.features),
        }
        for name, solver in SOLVERS.items()
    ]
    lines = [
        [
            entry["name"],
            entry["version"] or f"not installed ({entry['install']})",
            ", ".join(entry["features"]),
        ]
        for entry in entries
    ]
    answer.show({"solvers": entries}, lambda: print_table(["name", "version", "features"], lines))

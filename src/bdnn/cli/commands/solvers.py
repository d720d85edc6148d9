"""``bdnn solvers``: the solvers that are known and those that are installed."""

from __future__ import annotations

from typing import Any

from bdnn.cli.console import print_table
from bdnn.cli.options import options
from bdnn.cli.options.output import Answer


@options
def solvers(answer: Answer) -> None:
    """List the solvers with version and abilities, without starting any."""
    entries = _entries()
    answer.show({"solvers": entries}, lambda: _print(entries))


def _print(entries: list[dict[str, Any]]) -> None:
    print_table(
        ["name", "version", "features"],
        [
            [
                entry["name"],
                entry["version"] or f"not installed ({entry['install']})",
                ", ".join(entry["features"]),
            ]
            for entry in entries
        ],
    )


def _entries() -> list[dict[str, Any]]:
    from bdnn.solvers.registry import SOLVERS

    return [
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

"""``bdnn datasets``: the built-in data sets."""

from __future__ import annotations

from typing import Any

from bdnn.cli.console import print_table
from bdnn.cli.options import options
from bdnn.cli.options.output import Answer


@options
def datasets(answer: Answer) -> None:
    """List the built-in data sets with size, source and licence."""
    from bdnn.datasets import describe

    records = describe()
    answer.show({"datasets": records}, lambda: _print(records))


def _print(records: list[dict[str, Any]]) -> None:
    print_table(
        ["name", "rows", "attributes", "classes", "offline", "source", "licence"],
        [
            [
                record["name"],
                str(record["rows"]),
                str(record["attributes"]),
                str(record["classes"]),
                "yes" if record["offline"] else "no (set BDNN_DATA)",
                record["source"],
                record["licence"],
            ]
            for record in records
        ],
    )

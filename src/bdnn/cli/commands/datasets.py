"""``bdnn datasets``: the built-in data sets."""

from __future__ import annotations

from bdnn.cli.console import print_json, print_table
from bdnn.cli.options import JsonOption


def datasets(as_json: JsonOption = False) -> None:
    """List the built-in data sets with size, source and licence."""
    from bdnn.datasets import describe

    records = describe()
    if as_json:
        print_json({"datasets": records})
        return
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

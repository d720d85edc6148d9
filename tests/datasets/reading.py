"""Tables for tests, read from text as a user's file would be."""

from bdnn.datasets.tables import Table, _parse


def table(text: str, *, source: str = "t.csv", header: bool | None = None) -> Table:
    return _parse(text.encode(), source, header)

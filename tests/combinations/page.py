"""The page of the documentation: ``python -m tests.combinations.page`` writes it anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.combinations.reasons import REASONS, Reason, reason_of
from tests.combinations.values import VALUES, pairs

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "combinations.md"

_HEAD = """# Combinations

What can be asked for together. The tests fit every pair of the values below on a tiny problem. A
pair *works* if a network is returned, keeps what was asked, has the loss that the result says, the
bound is no larger, and the separate checker finds no claim of its file false. A pair that means
nothing is refused in one sentence, for the reason given here.

`python -m tests.combinations.page` writes this page from the tables that the tests read.

## Values

| dimension | values, the default first |
|---|---|
"""


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD.rstrip()
    dimensions = list(dict.fromkeys(value.dimension for value in VALUES))
    for dimension in dimensions:
        names = [value.name for value in VALUES if value.dimension == dimension]
        yield f"| {dimension} | {', '.join(f'`{name}`' for name in names)} |"
    total = sum(1 for _ in pairs())
    refused = Counter((a.dimension, b.dimension) for a, b in pairs() if reason_of(a, b))
    works = total - refused.total()
    yield ""
    share = f"{100 * works / total:.1f} %"
    yield f"Of {total} pairs {works} work ({share}), {refused.total()} mean nothing."
    yield from ("", "## What means nothing", "", "| | with | reason |", "|---|---|---|")
    yield from map(_row, REASONS)
    yield from (
        "",
        "## Pairs of dimensions",
        "",
        "How many of the pairs of two dimensions work.",
        "",
    )
    yield f"| | {' | '.join(dimensions[1:])} |"
    yield "|---" * len(dimensions) + "|"
    sizes = Counter(value.dimension for value in VALUES)
    for i, a in enumerate(dimensions[:-1]):
        cells = [""] * i
        for b in dimensions[i + 1 :]:
            of = sizes[a] * sizes[b]
            done = of - refused[a, b]
            cells.append("all" if done == of else f"{done} of {of}")
        yield f"| {a} | {' | '.join(cells)} |"


def _row(reason: Reason) -> str:
    return f"| {_names(reason.left)} | {_names(reason.right)} | {reason.why} |"


def _names(beginnings: tuple[str, ...]) -> str:
    """Values that begin so, by dimension; all of one dimension are called by its name."""
    parts = []
    for dimension in dict.fromkeys(value.dimension for value in VALUES):
        others = [v for v in VALUES if v.dimension == dimension and not v.is_default]
        found = [value.name for value in others if str(value).startswith(beginnings)]
        if found:
            names = ", ".join(f"`{name}`" for name in found)
            parts.append(
                f"any {dimension}" if len(found) == len(others) > 2 else f"{dimension} {names}"
            )
    return "; ".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

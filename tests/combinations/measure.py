"""Fit every pair and print where the table of reasons is not true.

``python -m tests.combinations.measure``, some minutes; ``0.05`` after it for less time per fit.
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.combinations.outcome import run
from tests.combinations.reasons import reason_of
from tests.combinations.values import pairs


def main(seconds: float = 0.2) -> None:
    """Print every pair whose outcome is not the expected one, and how many there are of each."""
    found: Counter[str] = Counter()
    for a, b in pairs():
        if a.is_default or b.is_default:
            continue
        outcome = run(a, b, seconds=seconds)
        found[outcome.kind] += 1
        expected = "refused" if reason_of(a, b) else "works"
        if outcome.kind != expected:
            sys.stdout.write(f"{a} + {b}: {expected} was expected, {outcome}\n")
    sys.stdout.write(f"{dict(found)}\n")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))

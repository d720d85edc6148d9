"""Values of long grids: `make test` runs the others, `make test-all` runs all."""

from __future__ import annotations

import pytest


def long(*values: object) -> list[object]:
    """Values of a parameter that only the long run takes."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]

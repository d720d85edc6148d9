"""Settings that all tests share."""

from __future__ import annotations

import pytest
from hypothesis import settings

from bdnn.training.run import Run
from tests import grids

# A phase that fails is an error here, and a line of the message for users.
Run.strict = True


def pytest_configure(config: pytest.Config) -> None:
    """Say before tests are read how much of them is run."""
    grids.is_quick = "not long" in config.option.markexpr
    # The same examples in every run; a machine under load must not fail a test that is slow there.
    settings.register_profile("fixed", grids.examples(100), derandomize=True, database=None)
    settings.load_profile("fixed")

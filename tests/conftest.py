"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import settings

# The same examples in every run; a machine under load must not fail a test that is slow there.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")

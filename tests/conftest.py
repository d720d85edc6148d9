"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import settings

from bdnn.training.run import Run

# The same examples in every run; a machine under load must not fail a test that is slow there.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")

# A phase that fails is an error here, and a line of the message for users.
Run.strict = True

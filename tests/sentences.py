"""What every message to a user must be: one sentence on one line."""

from __future__ import annotations

import re


def assert_one_sentence(error: BaseException) -> None:
    text = str(error)
    assert text.strip(), "the message is empty"
    assert "\n" not in text
    # A full stop before a capital letter starts another sentence.
    assert not re.search(r"[a-z)'][.!?] [A-Z]", text), text

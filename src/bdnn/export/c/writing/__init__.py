"""The text of C headers."""

from bdnn.export.c.writing.code import write_code
from bdnn.export.c.writing.lines import Code
from bdnn.export.c.writing.self_test import self_test

__all__ = ["Code", "self_test", "write_code"]

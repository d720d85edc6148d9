"""Pages that need nothing but themselves: a model in figures, rules and pictures."""

from bdnn.report.page import make_card, make_page
from bdnn.report.subject import Subject

__all__ = ["Subject", "make_card", "make_page"]

"""What a C function computes: exact integer statements wherever the network allows them."""

from bdnn.export.c.planning.plan import Plan
from bdnn.export.c.planning.planner import make_plan

__all__ = ["Plan", "make_plan"]

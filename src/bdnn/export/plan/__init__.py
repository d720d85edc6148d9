"""What an exported function computes: exact integer statements wherever the network allows them."""

from bdnn.export.plan.plan import Plan
from bdnn.export.plan.planner import make_plan

__all__ = ["Plan", "make_plan"]

"""Lower bounds on the objective of every network: one argument per file, one protocol for all."""

from bdnn.bounds.argument import AllOf, BoundArgument, FirstOf
from bdnn.bounds.free import FREE, lower_bound
from bdnn.problem.bound import Bound, Condition

__all__ = ["FREE", "AllOf", "Bound", "BoundArgument", "Condition", "FirstOf", "lower_bound"]

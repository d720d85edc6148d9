"""What a user may ask of networks besides a small loss."""

from bdnn.problem.terms.cardinality import Sparsity
from bdnn.problem.terms.context import AbstractConstraint
from bdnn.problem.terms.fairness import DemographicParity, EqualOpportunity
from bdnn.problem.terms.linear import LinearRows, Variables
from bdnn.problem.terms.monotone import Monotone
from bdnn.problem.terms.norms import Regularizer
from bdnn.problem.terms.outputs import MustClassify
from bdnn.problem.terms.weight_box import FixedWeight, Forbid

__all__ = [
    "AbstractConstraint",
    "DemographicParity",
    "EqualOpportunity",
    "FixedWeight",
    "Forbid",
    "LinearRows",
    "Monotone",
    "MustClassify",
    "Regularizer",
    "Sparsity",
    "Variables",
]

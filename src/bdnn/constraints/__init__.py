"""What a trained network must be like besides having a small loss.

``Sparsity`` and ``Regularizer`` are parameters of their own of the estimators; all others go into
``constraints``::

    BDNNClassifier(
        sparsity=Sparsity(per_unit=3, features=5),
        regularizer=Regularizer(l1=0.01),
        constraints=[Monotone("age", +1), Forbid("sex"), DemographicParity("region", 0.05)],
    )
"""

from bdnn.constraints.base import AbstractConstraint
from bdnn.constraints.own import LinearRows, Variables
from bdnn.constraints.problem import ConstrainedProblem, constrain
from bdnn.constraints.regularizer import Regularizer
from bdnn.constraints.samples import DemographicParity, EqualOpportunity, MustClassify
from bdnn.constraints.sparsity import Sparsity
from bdnn.constraints.weights import FixedWeight, Forbid, Monotone

__all__ = [
    "AbstractConstraint",
    "ConstrainedProblem",
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
    "constrain",
]

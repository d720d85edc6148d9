"""The paper's equations as blocks of a mixed-integer program."""

from bdnn.formulation.model import DEFAULT_EPS, NetworkModel
from bdnn.formulation.reductions import Reductions
from bdnn.formulation.robust import Robust

__all__ = ["DEFAULT_EPS", "NetworkModel", "Reductions", "Robust"]

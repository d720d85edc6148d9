"""The paper's equations as blocks of a mixed-integer program."""

from bdnn.blocks.reductions import Reductions
from bdnn.mip.model import DEFAULT_EPS, NetworkModel
from bdnn.mip.robust import Robust

__all__ = ["DEFAULT_EPS", "NetworkModel", "Reductions", "Robust"]

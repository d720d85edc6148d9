"""The paper's equations as blocks of a mixed-integer program."""

from bdnn.blocks.bounds import Reductions
from bdnn.mip.model import DEFAULT_EPS, NetworkModel

__all__ = ["DEFAULT_EPS", "NetworkModel", "Reductions"]

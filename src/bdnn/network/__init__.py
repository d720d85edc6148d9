"""What a network is: activation, architecture, forward pass; no solver, no learning."""

from bdnn.network.activation import Activation
from bdnn.network.architecture import Architecture, WeightSet
from bdnn.network.network import Network

__all__ = ["Activation", "Architecture", "Network", "WeightSet"]

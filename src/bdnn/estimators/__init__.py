"""scikit-learn estimators."""

from bdnn.estimators.classifier import BDNNClassifier, load
from bdnn.estimators.smallest import SmallestNetwork, smallest_network

__all__ = ["BDNNClassifier", "SmallestNetwork", "load", "smallest_network"]

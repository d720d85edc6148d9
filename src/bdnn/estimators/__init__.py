"""scikit-learn estimators."""

from bdnn.estimators.classifier import BDNNClassifier
from bdnn.estimators.loading import load
from bdnn.estimators.regressor import BDNNRegressor
from bdnn.estimators.robust import Robust
from bdnn.estimators.smallest import SmallestNetwork, smallest_network

__all__ = [
    "BDNNClassifier",
    "BDNNRegressor",
    "Robust",
    "SmallestNetwork",
    "load",
    "smallest_network",
]

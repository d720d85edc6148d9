"""Training methods: each takes a training problem and returns a network with its result."""

from bdnn.training.base import METHODS, AbstractMethod, get_method
from bdnn.training.gradients import Gradients
from bdnn.training.limits import Budget, Limits, Schedule, Share
from bdnn.training.methods import Auto, Descent, Exact
from bdnn.training.paper.data_splitting import DataSplitting
from bdnn.training.paper.local_search import LocalSearch
from bdnn.training.phases.numbers import DescendNumbers
from bdnn.training.phases.worst_case import DescendWorstCase
from bdnn.training.result import Progress, Trained, TrainingResult
from bdnn.training.run import Run

__all__ = [
    "METHODS",
    "AbstractMethod",
    "Auto",
    "Budget",
    "DataSplitting",
    "DescendNumbers",
    "DescendWorstCase",
    "Descent",
    "Exact",
    "Gradients",
    "Limits",
    "LocalSearch",
    "Progress",
    "Run",
    "Schedule",
    "Share",
    "Trained",
    "TrainingResult",
    "get_method",
]

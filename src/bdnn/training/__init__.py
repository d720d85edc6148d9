"""Training methods: each takes a training problem and returns a network with its result."""

from bdnn.training.auto import Auto
from bdnn.training.base import AbstractMethod, Recorder
from bdnn.training.budget import Budget
from bdnn.training.certified import Certified, CertifiedProblem
from bdnn.training.data_splitting import DataSplitting
from bdnn.training.descent import Descent
from bdnn.training.exact import Exact
from bdnn.training.gradients import Gradients
from bdnn.training.local_search import LocalSearch
from bdnn.training.result import Progress, Trained, TrainingResult

__all__ = [
    "AbstractMethod",
    "Auto",
    "Budget",
    "Certified",
    "CertifiedProblem",
    "DataSplitting",
    "Descent",
    "Exact",
    "Gradients",
    "LocalSearch",
    "Progress",
    "Recorder",
    "Trained",
    "TrainingResult",
]

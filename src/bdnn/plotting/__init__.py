"""Pictures of training runs and networks; needs matplotlib (``pip install 'bdnn[plot]'``)."""

from bdnn.plotting.curves import (
    plot_comparison,
    plot_epochs,
    plot_progress,
    plot_robustness,
    plot_size,
)
from bdnn.plotting.regions import plot_decision_regions
from bdnn.plotting.weights import plot_weights

__all__ = [
    "plot_comparison",
    "plot_decision_regions",
    "plot_epochs",
    "plot_progress",
    "plot_robustness",
    "plot_size",
    "plot_weights",
]

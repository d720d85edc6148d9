"""Pictures of training runs; needs matplotlib (``pip install 'bdnn[plot]'``)."""

from bdnn.plotting.curves import plot_epochs, plot_progress
from bdnn.plotting.robustness import plot_robustness

__all__ = ["plot_epochs", "plot_progress", "plot_robustness"]

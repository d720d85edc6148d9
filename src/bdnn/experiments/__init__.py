"""The paper's tables and figures, and experiments of your own, as data that a runner works off."""

from bdnn.experiments.experiment import Cell, Experiment, estimated_seconds, plan
from bdnn.experiments.reading import load_experiment, names, parse_experiment
from bdnn.experiments.report import write_report
from bdnn.experiments.results import ResultFile, read_results
from bdnn.experiments.runner import Progress, run_cells

__all__ = [
    "Cell",
    "Experiment",
    "Progress",
    "ResultFile",
    "estimated_seconds",
    "load_experiment",
    "names",
    "parse_experiment",
    "plan",
    "read_results",
    "run_cells",
    "write_report",
]

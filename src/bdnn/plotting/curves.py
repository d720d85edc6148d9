"""Curves of training runs: loss and bound over time, and what the epochs of data splitting did."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bdnn.errors import DataError
from bdnn.network.activation import FloatArray
from bdnn.plotting.figure import COLOURS, new_axes
from bdnn.training.result import TrainingResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Run = Sequence[Mapping[str, Any]]

_PANELS = {
    "loss": "training loss of the batch",
    "validation_accuracy": "validation accuracy",
    "seconds": "seconds",
}


def plot_progress(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the loss and the bound of a run against the time.

    Parameters
    ----------
    result : TrainingResult, or estimator with ``result_``
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
    """
    result = getattr(result, "result_", result)
    if not isinstance(result, TrainingResult) or not result.history:
        raise DataError("the result has no history to draw: train with any method first.")
    ax = new_axes(1)[1][0] if ax is None else ax
    seconds = [moment.seconds for moment in result.history] + [result.seconds]
    loss = [moment.loss for moment in result.history] + [result.loss]
    bound = [moment.bound for moment in result.history] + [result.bound]
    loss = [value if math.isfinite(value) else math.nan for value in loss]
    ax.fill_between(seconds, bound, loss, step="post", color="0.92", linewidth=0)
    ax.step(seconds, loss, where="post", label="loss", color=COLOURS[0], linewidth=2)
    ax.step(seconds, bound, where="post", label="bound", color=COLOURS[5], linestyle="--")
    ax.set_xlabel("seconds")
    ax.set_ylabel("loss")
    # Two lines at zero would be hidden by the axis.
    ax.set_ylim(bottom=-0.03 * max(result.loss, np.nanmax([1.0, *loss])))
    ax.set_title(f"{result.status}: loss {result.loss:g}, bound {result.bound:g}", fontsize=9)
    ax.legend()
    return ax


def plot_epochs(runs: Mapping[str, Sequence[Run]], *, title: str = "") -> Figure:
    """Draw loss, validation accuracy and seconds of every epoch of data splitting.

    These are the paper's figures 3 and 4. Several runs of the same name, for example on several
    splits of the data, are drawn as their mean with their range.

    Parameters
    ----------
    runs : mapping of name to sequence of runs
        A run is ``model.result_.steps`` of a model trained with ``method="data_splitting"``.
    title : str

    Returns
    -------
    matplotlib figure
    """
    if not any(len(run) for named in runs.values() for run in named):
        raise DataError("there is no epoch to draw: train with method 'data_splitting' first.")
    figure, axes = new_axes(len(_PANELS))
    for ax, (field, label) in zip(axes, _PANELS.items(), strict=True):
        for name, named in runs.items():
            table = _table(named, field)
            if np.isnan(table).all():
                continue
            epochs = np.arange(1, table.shape[1] + 1)
            ax.plot(epochs, np.nanmean(table, axis=0), label=name)
            ax.fill_between(epochs, np.nanmin(table, axis=0), np.nanmax(table, axis=0), alpha=0.15)
        ax.set_xlabel("epoch")
        ax.set_ylabel(label)
    axes[0].legend()
    figure.suptitle(title)
    return figure


def _table(runs: Sequence[Run], field: str) -> FloatArray:
    """One line per run, NaN where a run ended earlier or has no such number."""
    table = np.full((len(runs), max(map(len, runs))), np.nan)
    for line, run in zip(table, runs, strict=True):
        values = [math.nan if step[field] is None else float(step[field]) for step in run]
        line[: len(values)] = values
    return np.where(np.isfinite(table), table, np.nan)

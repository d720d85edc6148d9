"""Curves: loss and bound over time, epochs, accuracy against perturbations and against bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bdnn.errors import DataError
from bdnn.network.activation import FloatArray
from bdnn.plotting.figure import COLOURS, MARKERS, new_axes, use_fonts
from bdnn.robustness import Certification, Verification
from bdnn.training.result import TrainingResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Run = Sequence[Mapping[str, Any]]

_PANELS = {
    "loss": "training loss of the batch",
    "validation_accuracy": "validation accuracy",
    "seconds": "seconds",
}
_POINTS = 200


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
        raise DataError(
            "there is no history of loss and bound to draw, got an untrained model or one that was "
            "learnt for new rows: train with objective='loss'."
        )
    ax = ax or new_axes(1)[1][0]
    moments: list[Any] = [*result.history, result]
    seconds, loss, bound = np.array([(m.seconds, m.loss, m.bound) for m in moments], dtype=float).T
    loss = np.where(np.isfinite(loss), loss, np.nan)
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


def plot_epochs(runs: Mapping[str, Sequence[Run]], *, title: str = "") -> list[Axes]:
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
    list of matplotlib axes
        Panels of one figure.
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
    use_fonts(axes[0])
    return axes


def plot_robustness(
    found: Certification | Verification | Mapping[str, Certification | Verification],
    *,
    largest: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw certified accuracy against the radius, and that of the worst case where it is known.

    Parameters
    ----------
    found : Certification, Verification or mapping of name to either
        Made with labels. A verification is drawn as the band between its limits.
    largest : float, optional
        Largest radius; by default the one at which nothing is left.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
    """
    alone = "certified" if isinstance(found, Certification) else "worst case"
    named = found if isinstance(found, Mapping) else {alone: found}
    if not named:
        raise DataError("there is nothing to draw: give at least one certification.")
    ax = ax or new_axes(1)[1][0]
    levels = np.linspace(0.0, largest or max(map(_end, named.values())), _POINTS)
    for name, result in named.items():
        if isinstance(result, Certification):
            ax.plot(levels, result.curve(levels)[1], label=name)
            continue
        levels_known = levels[levels <= result.radius.min()]
        limits = np.array([result.worst_case_accuracy(level) for level in levels_known])
        (line,) = ax.plot(levels_known, limits[:, 0], label=name)
        ax.fill_between(levels_known, *limits.T, alpha=0.25, color=line.get_color())
    around = next(iter(named.values())).around
    ax.set_xlabel(f"radius ({around.norm}, {around.units} inputs)")
    ax.set_ylabel("accuracy")
    ax.set_ylim(0.0, 1.0)
    ax.legend()
    use_fonts(ax)
    return ax


def plot_size(curve: Any, *, ax: Axes | None = None) -> Axes:
    """Draw accuracy against bytes of flash.

    Parameters
    ----------
    curve : SizeCurve
        Of :func:`bdnn.size_curve`. Bars are standard errors of the expected accuracy.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
    """
    points = getattr(curve, "points", ())
    if not points:
        raise DataError("there is no point to draw: give a curve of bdnn.size_curve.")
    ax = ax or new_axes(1)[1][0]
    sizes, right, spread = np.array([(p.bytes, p.accuracy, p.error) for p in points], float).T
    ax.errorbar(sizes, right, spread, label="expected", color=COLOURS[0], marker=MARKERS[0])
    tested = [(p.bytes, p.test_accuracy) for p in points if p.test_accuracy is not None]
    if tested:
        ax.plot(*zip(*tested, strict=True), label="on test rows", color=COLOURS[5], linestyle="--")
    ax.set_xscale("log", base=2)
    ax.set_xlabel("bytes of flash")
    ax.set_ylabel("accuracy")
    ax.legend()
    return ax


def plot_comparison(contenders: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Draw accuracy against bytes of networks and plain models.

    Parameters
    ----------
    contenders : sequence of Contender
        Of :func:`bdnn.evaluation.comparison.compare`. Bars are standard errors.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
    """
    if not contenders:
        raise DataError("there is nothing to draw: give models to compare.")
    ax = ax or new_axes(1, size=(6.5, 3.2))[1][0]
    for place, each in enumerate(contenders):
        ax.errorbar(
            each.bytes,
            each.accuracy,
            each.error,
            label=each.name,
            color=COLOURS[0 if each.is_network else 5],
            marker=MARKERS[place % len(MARKERS)],
            linestyle="",
        )
    ax.set_xscale("log", base=2)
    ax.set_xlabel("bytes")
    ax.set_ylabel("accuracy")
    # Beside it: models are often as good as each other, and names over them cannot be read.
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return ax


def _table(runs: Sequence[Run], field: str) -> FloatArray:
    """One line per run, NaN where a run ended earlier or has no such number."""
    table = np.full((len(runs), max(map(len, runs))), np.nan)
    for line, run in zip(table, runs, strict=True):
        values = [math.nan if step[field] is None else float(step[field]) for step in run]
        line[: len(values)] = values
    return np.where(np.isfinite(table), table, np.nan)


def _end(result: Certification | Verification) -> float:
    radii = result.radii if isinstance(result, Certification) else result.upper
    finite = radii[np.isfinite(radii)]
    return float(finite.max(initial=0.0)) * 1.05 or 1.0

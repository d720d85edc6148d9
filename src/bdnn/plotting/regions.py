"""Decision regions: which class a classifier gives to every pair of values of two features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.errors import DataError
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.plotting.figure import COLOURS, MARKERS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Share of a feature's range that is drawn beyond its values, and how much of a class's colour its
# region has, so that points stand out.
_BEYOND, _TINT = 0.06, 0.3


def plot_decision_regions(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    features: Sequence[int | str] = (0, 1),
    resolution: int = 300,
    ax: Axes | None = None,
) -> Axes:
    """Draw the classes of all pairs of values of two features, the others at their median.

    Parameters
    ----------
    model : Model, or any fitted classifier of scikit-learn's kind
    X : array of shape (n_samples, n_features)
        Their ranges and medians are used.
    y : array of shape (n_samples,), optional
        Labels of the samples to draw; those that the model gets wrong, with all their features,
        have a black ring.
    features : pair of int or str
        Which two, by place or by name.
    resolution : int
        Points along each axis.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
    """
    values = np.asarray(X, dtype=float)
    names = _names(model, X, values.shape[-1])
    first, second = _chosen(features, names, values)
    horizontal, vertical = (
        _axis(values[~np.isnan(values[:, j]), j], resolution) for j in (first, second)
    )
    grid = np.tile(np.nanmedian(values, axis=0), (resolution**2, 1))
    grid[:, first] = np.tile(horizontal, resolution)
    grid[:, second] = np.repeat(vertical, resolution)
    classes = model.labels if isinstance(model, Model) else np.asarray(model.classes_)
    found = np.searchsorted(classes, model.predict(_like(X, grid))).reshape(resolution, resolution)
    ax = ax or new_axes(1, size=(5.4, 4.2))[1][0]
    ax.imshow(
        _tints(len(classes))[found],
        extent=(horizontal[0], horizontal[-1], vertical[0], vertical[-1]),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
    )
    for number in np.unique(found) if len(np.unique(found)) > 1 else ():
        ax.contour(
            horizontal, vertical, found == number, levels=[0.5], colors="0.25", linewidths=0.8
        )
    if y is not None:
        _draw_samples(ax, values[:, [first, second]], np.asarray(y), model.predict(X), classes)
    others = values.shape[1] - 2
    ax.set_xlabel(names[first])
    ax.set_ylabel(names[second])
    ax.set_title(
        f"{others} other feature{'s' * (others > 1)} at the median" if others else "", fontsize=9
    )
    return ax


def _draw_samples(
    ax: Axes,
    places: FloatArray,
    labels: NDArray[Any],
    predicted: NDArray[Any],
    classes: NDArray[Any],
) -> None:
    if labels.shape != (len(places),):
        raise DataError(
            f"y must be one label per sample, got shape {labels.shape} for {len(places)} samples: "
            "check its length."
        )
    wrong = labels != predicted
    for label, colour, marker in zip(classes, cycle(COLOURS), cycle(MARKERS), strict=False):
        # Mistakes lie on top, so that no other sample hides them.
        for chosen, edge, width, level in ((~wrong, "white", 0.5, 2), (wrong, "black", 1.4, 3)):
            across, up = places[(labels == label) & chosen].T
            edges: dict[str, Any] = {"edgecolors": edge, "linewidths": width, "zorder": level}
            ax.scatter(across, up, s=30, color=colour, marker=marker, **edges)
        ax.scatter([], [], s=30, color=colour, marker=marker, label=str(label))
    if wrong.any():
        ax.scatter([], [], s=30, facecolors="none", edgecolors="black", label="wrong")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _names(model: Any, X: Any, n_features: int) -> list[str]:
    """Names of the features: of the table, of the model, or numbers from 1."""
    found = getattr(X, "columns", None)
    if found is None:
        found = getattr(getattr(model, "model_", model), "names", None)
    return [f"feature {j + 1}" for j in range(n_features)] if found is None else [*map(str, found)]


def _chosen(features: Sequence[int | str], names: list[str], values: FloatArray) -> list[int]:
    if values.ndim != 2 or not len(values) or not np.isfinite(values).all():
        raise DataError("X must be a table of finite numbers with at least one row: check it.")
    places = [
        names.index(f) if isinstance(f, str) and f in names else f
        for f in (features if isinstance(features, list | tuple) else ())
    ]
    n_features = values.shape[1]
    good = [j for j in places if isinstance(j, int) and 0 <= j < n_features]
    if len(places) != 2 or len(set(good)) != 2:
        raise DataError(
            f"features must be two different ones of {n_features}, by place from 0 or by name, got "
            f"{features!r}: check them."
        )
    return good


def _axis(column: FloatArray, resolution: int) -> FloatArray:
    low, high = float(column.min()), float(column.max())
    beyond = _BEYOND * (high - low) or 1.0
    return np.linspace(low - beyond, high + beyond, resolution)


def _like(X: Any, grid: FloatArray) -> Any:
    """Rows of the same kind as X, so that a model that knows column names finds them."""
    return type(X)(grid, columns=X.columns) if hasattr(X, "columns") else grid


def _tints(count: int) -> FloatArray:
    """Light versions of the colours, as red, green and blue."""
    words = [COLOURS[number % len(COLOURS)] for number in range(count)]
    colours = np.array([[int(word[i : i + 2], 16) / 255 for i in (1, 3, 5)] for word in words])
    return 1.0 - _TINT * (1.0 - colours)

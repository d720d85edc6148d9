"""Decision regions: which class a classifier gives to every pair of values of two features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.encoding import Column
from bdnn.errors import DataError
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.plotting.figure import COLOURS, MARKERS, new_axes, use_fonts

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
    """Draw the classes of all pairs of values of two columns, the others at a usual value.

    A usual value is the median of a number, and the most frequent one of texts and truth values.

    Parameters
    ----------
    model : Model, or any fitted classifier of scikit-learn's kind
    X : array or table of shape (n_samples, n_features)
        Raw rows; the codes of raw columns for a Model. Their ranges and usual values are taken.
    y : array of shape (n_samples,), optional
        Labels of the samples to draw; those that the model gets wrong, with all their columns,
        have a black ring.
    features : pair of int or str
        Which two columns, by place or by name.
    resolution : int
        Points along each axis.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib axes
    """
    predict, values, columns = _raw_columns(model, X)
    first, second = _chosen(features, [column.name for column in columns], values)
    horizontal, vertical = (_axis(columns[j], values[:, j], resolution) for j in (first, second))
    usual = [_usual(column, values[:, j]) for j, column in enumerate(columns)]
    grid = np.tile(usual, (resolution**2, 1))
    for j, drawn in (
        (first, np.tile(horizontal, resolution)),
        (second, np.repeat(vertical, resolution)),
    ):
        grid[:, j] = _nearest_text(columns[j], drawn)
    classes = model.labels if isinstance(model, Model) else np.asarray(model.classes_)
    found = np.searchsorted(classes, predict(grid)).reshape(resolution, resolution)
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
        _draw_samples(ax, values[:, [first, second]], np.asarray(y), predict(values), classes)
    for column, axis in ((columns[first], ax.xaxis), (columns[second], ax.yaxis)):
        axis.set_label_text(column.name)
        if column.kind == "category":
            axis.set_ticks(range(len(column.values)), column.values)
    others = len(columns) - 2
    ax.set_title(
        f"{others} other column{'s' * (others > 1)} at the usual value" if others else "",
        fontsize=9,
    )
    use_fonts(ax)
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


def _raw_columns(
    model: Any, X: Any
) -> tuple[Callable[[FloatArray], NDArray[Any]], FloatArray, Sequence[Column]]:
    """How to predict from numbers, one per cell, these numbers, and what they stand for."""
    own = getattr(model, "model_", model)
    if isinstance(own, Model):
        # Texts are codes here, so that no column is ever between two texts.
        values = np.asarray(X, dtype=float) if own is model else model._values(X)
        numbered = [f"feature {j}" for j in range(1, own.n_features + 1)]
        names = own.names or numbered
        known = [replace(c, name=n) for c, n in zip(own.encoder.columns, names, strict=True)]
        return own.predict, values, known
    values = np.asarray(X, dtype=float)
    named = getattr(X, "columns", [f"feature {j}" for j in range(1, values.shape[-1] + 1)])

    def predict(rows: FloatArray) -> NDArray[Any]:
        # Rows of the same kind as X, so that a model that knows column names finds them.
        table = type(X)(rows, columns=X.columns) if hasattr(X, "columns") else rows
        return np.asarray(model.predict(table))

    return predict, values, [Column(str(name)) for name in named]


def _chosen(features: Sequence[int | str], names: list[str], values: FloatArray) -> list[int]:
    if values.ndim != 2 or np.isinf(values).any() or np.isnan(values).all(axis=0).any():
        raise DataError(
            "X must be a table of finite numbers with a value in every column: check it."
        )
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


def _usual(column: Column, values: FloatArray) -> float:
    """The most frequent of values that have nothing between them, else the median."""
    different, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if column.kind != "number" or set(different.tolist()) <= {0.0, 1.0}:
        return float(different[np.argmax(counts)])
    return float(np.nanmedian(values))


def _axis(column: Column, values: FloatArray, resolution: int) -> FloatArray:
    if column.kind == "category":
        return np.linspace(-0.5, len(column.values) - 0.5, resolution)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    beyond = _BEYOND * (high - low) or 1.0
    return np.linspace(low - beyond, high + beyond, resolution)


def _nearest_text(column: Column, drawn: FloatArray) -> FloatArray:
    """What is predicted along an axis: numbers as they are, of texts the nearest."""
    if column.kind == "number":
        return drawn
    most = len(column.values) - 1 if column.kind == "category" else 1
    return np.clip(np.rint(drawn), 0, most)


def _tints(count: int) -> FloatArray:
    """Light versions of the colours, as red, green and blue."""
    words = [COLOURS[number % len(COLOURS)] for number in range(count)]
    colours = np.array([[int(word[i : i + 2], 16) / 255 for i in (1, 3, 5)] for word in words])
    return 1.0 - _TINT * (1.0 - colours)

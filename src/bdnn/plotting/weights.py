"""Weight maps: what every unit looks for, as one matrix or as an image per unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bdnn.errors import DataError
from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.network.network import Network
from bdnn.plotting.figure import DIVERGING, new_axes, use_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Panels of a row at most, and the most units that are drawn as images.
_COLUMNS, _MOST_IMAGES = 12, 200
# The ends of the colour map are nearly black; colours from further inside are easier to tell apart.
_SPARE = 1.4
# Names of more inputs than this cannot be read, nor lines between more weights.
_MOST_NAMES, _MOST_LINES = 120, 40
# More different weights than this are a range.
_MOST_COLOURS = 9


def plot_weights(
    model: Any,
    *,
    layer: int = 1,
    shape: tuple[int, int] | None = None,
    names: Sequence[str] | None = None,
) -> list[Axes]:
    """Draw the weights of a layer.

    Parameters
    ----------
    model : Network, Model or fitted estimator
    layer : int
        From 1; the last one is that of the outputs.
    shape : pair of int, optional
        Height and width of the inputs as an image: one image per unit. Without, one matrix with a
        line per unit.
    names : sequence of str, optional
        Of the inputs; by default what the model's own inputs say, such as ``age >= 42``.

    Returns
    -------
    list of matplotlib axes
        Panels of one figure.
    """
    model = getattr(model, "model_", model)
    network = getattr(model, "network", model)
    if not isinstance(network, Network):
        raise DataError(f"a network or a fitted estimator is needed, got {model!r}: fit it first.")
    n_layers = len(network.weights)
    if not isinstance(layer, int) or not 1 <= layer <= n_layers:
        raise DataError(f"layer must be from 1 to {n_layers}, got {layer!r}: choose one of these.")
    W, thresholds = network.weights[layer - 1], network.thresholds[layer - 1]
    what = "output" if layer == n_layers else "unit"
    if shape is not None:
        return _images(W, thresholds, shape, what)
    units: Sequence[Any] = range(1, len(W) + 1)
    if isinstance(model, Model):
        if layer == 1:
            names = model.encoder.input_names if names is None else names
        if layer == n_layers and model.classes:
            what, units = "class", model.classes
    return _matrix(W, what, units, names)


def _matrix(
    W: FloatArray, what: str, units: Sequence[Any], names: Sequence[str] | None
) -> list[Axes]:
    n_units, inputs = W.shape
    if names is not None and len(names) != inputs:
        raise DataError(f"names must be {inputs}, one per input, got {len(names)}: check them.")
    is_named = names is not None and inputs <= _MOST_NAMES
    width = min(20.0 if is_named else 14.0, max(4.0, 1.6 + 0.2 * inputs))
    height = min(9.0, max(2.2, 1.2 + 0.22 * n_units))
    figure, (ax,) = new_axes(1, size=(width, height))
    image = ax.imshow(W, **_colours(W), aspect="auto")
    ax.set_ylabel(what)
    ax.set_yticks(_ticks(n_units), [str(units[j]) for j in _ticks(n_units)])
    if is_named:
        given = [str(name) for name in names or ()]
        ax.set_xticks(range(inputs), given, rotation=45, ha="right", rotation_mode="anchor")
        ax.tick_params(axis="x", labelsize="small")
    else:
        ax.set_xlabel("input")
        ax.set_xticks(_ticks(inputs), [str(j + 1) for j in _ticks(inputs)])
    # Thin white lines part the weights as long as there is room for them.
    if inputs <= _MOST_LINES and n_units <= _MOST_LINES:
        ax.set_xticks(np.arange(0.5, inputs - 1), minor=True)
        ax.set_yticks(np.arange(0.5, n_units - 1), minor=True)
        ax.grid(which="minor", color="white", linewidth=1)
        ax.tick_params(which="minor", length=0)
    _add_legend(figure, image, [ax], W)
    use_fonts(ax)
    return [ax]


def _images(W: FloatArray, thresholds: FloatArray, shape: tuple[int, int], what: str) -> list[Axes]:
    units, inputs = W.shape
    if len(shape) != 2 or min(shape) < 1 or math.prod(shape) != inputs:
        raise DataError(
            f"shape must be the height and width of {inputs} inputs, got {shape!r}: check it."
        )
    if units > _MOST_IMAGES:
        raise DataError(
            f"at most {_MOST_IMAGES} units can be drawn as images, got {units}: leave shape out."
        )
    columns = min(_COLUMNS, units, max(3, math.ceil(math.sqrt(1.7 * units))))
    rows = math.ceil(units / columns)
    figure, axes = new_axes(columns, rows, size=(1.15, 1.3 * max(0.6, shape[0] / shape[1])))
    for ax in axes[units:]:
        ax.axis("off")
    for number, ax in enumerate(axes[:units]):
        image = ax.imshow(W[number].reshape(shape), **_colours(W), aspect="equal")
        limits = ", ".join(f"{t:.3g}" for t in thresholds[number])
        ax.set_title(f"{what} {number + 1}\n≥ {limits}", fontsize=7)
        ax.set_xticks([])
        ax.set_yticks([])
    _add_legend(figure, image, axes, W)
    return axes[:units]


def _limit(W: FloatArray) -> float:
    return float(np.abs(W).max(initial=0.0)) or 1.0


def _colours(W: FloatArray) -> dict[str, Any]:
    return {"cmap": DIVERGING, "vmin": -_SPARE * _limit(W), "vmax": _SPARE * _limit(W)}


def _add_legend(figure: Figure, image: Any, axes: list[Axes], W: FloatArray) -> None:
    """Add a patch per weight if there are few, else a colour bar."""
    values, limit = np.unique(W), _limit(W)
    if len(values) > _MOST_COLOURS:
        bar = figure.colorbar(image, ax=axes, label="weight", ticks=[-limit, 0.0, limit])
        bar.ax.set_ylim(-limit, limit)
        return
    patches = [
        axes[0].scatter(
            [], [], s=60, marker="s", facecolor=image.cmap(image.norm(v)), edgecolor="0.6"
        )
        for v in values[::-1]
    ]
    words = [f"{v:g}" for v in values[::-1]]
    figure.legend(patches, words, title="weight", loc="outside right upper", frameon=False)


def _ticks(count: int) -> list[int]:
    """Places to number, at most some twenty."""
    return list(range(0, count, max(1, math.ceil(count / 20))))

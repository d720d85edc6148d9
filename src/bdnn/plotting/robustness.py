"""Accuracy against the size of perturbations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bdnn.errors import DataError
from bdnn.plotting.figure import new_axes
from bdnn.robustness import Certification, Verification

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 200


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
    named = found if isinstance(found, Mapping) else {_name(found): found}
    if not named:
        raise DataError("there is nothing to draw: give at least one certification.")
    ax = new_axes(1)[1][0] if ax is None else ax
    end = largest or max(_end(result) for result in named.values())
    levels = np.linspace(0.0, end, _POINTS)
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
    return ax


def _name(result: Certification | Verification) -> str:
    return "certified" if isinstance(result, Certification) else "worst case"


def _end(result: Certification | Verification) -> float:
    radii = result.radii if isinstance(result, Certification) else result.upper
    finite = radii[np.isfinite(radii)]
    return float(finite.max(initial=0.0)) * 1.05 or 1.0

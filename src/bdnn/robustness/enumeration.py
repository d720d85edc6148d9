"""The nearest counter-example of a row of few cells, by a forward pass of each of them."""

from __future__ import annotations

import math

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.robustness.columns import ColumnSet

_MOST_CELLS = 1 << 16


def nearest_cell(around: ColumnSet, radius: float) -> tuple[float, float, FloatArray | None] | None:
    """Lower and upper limit of the nearest counter-example of a single row, and itself.

    None where scaled numbers stand beside bins, or bins within the radius make too many cells.
    """
    reach = [np.flatnonzero((costs[0] <= radius) & np.isfinite(costs[0])) for costs in around.costs]
    if around.numbered.size or math.prod(map(len, reach)) > _MOST_CELLS:
        return None
    grid = np.meshgrid(*(bins.astype(float) for bins in reach), indexing="ij")
    cells: FloatArray = np.stack(grid, axis=-1).reshape(-1, len(reach))
    cells = cells[around.is_possible(cells, cells)]
    cells = cells[around.network.predict(around.inputs(cells)) != around.classes[0]]
    lengths = around.lengths(cells)
    cells, lengths = cells[lengths <= radius], lengths[lengths <= radius]
    if not len(cells):
        return radius, math.inf, None
    nearest = int(lengths.argmin())
    found = around.raw(cells[[nearest]])
    if not around.is_changed(found)[0]:
        return None
    return float(lengths[nearest]), float(around.measured(found)[0]), found[0]

"""Exact 0-1 search for networks of small loss.

Two verbs do the work; each takes a ``Problem[OutputLoss]`` and returns networks
whose loss is recomputed from their own forward pass::

    result = descend(problem, slot=Slot.of(10), seed=0, target=bound.value)
    result.loss, result.reason, result.network                     # "target": proven optimal
    network = widen_margin(problem, result.network, slot=Slot.of(2), seed=0)

``descend`` begins at random, at a linear model, at straight-through gradients
(``start="straight_through"``) or at a given network; :func:`embed` makes the start of a wide or
deep network from a trained small one. ``objectives`` of ``widen_margin`` orders what is wanted, for
example ``("loss", "margin", "sparsity")``; ``("margin",)`` trades training errors for margins,
which generalises best where classes overlap. :func:`straight_through` can be run by itself, with a
callback per epoch for a choice by validation.

Restarts run in threads (``restarts``, ``n_jobs``). Under a budget of sweeps (``max_sweeps``) a seed
gives the same network whatever ``n_jobs`` is; a time limit that strikes first depends on the
machine.

Numba is imported when a search first runs, never by importing this package; with its
``NUMBA_DISABLE_JIT=1`` in the environment the same source runs as Python, much more slowly.
"""

from bdnn.search.descent import DescentResult, descend
from bdnn.search.embedding import embed
from bdnn.search.margin import widen_margin
from bdnn.search.objective import OBJECTIVES, Objective, output_margins
from bdnn.search.starts import Start, linear_start, random_start, straight_through
from bdnn.search.state import SearchState

__all__ = [
    "OBJECTIVES",
    "DescentResult",
    "Objective",
    "SearchState",
    "Start",
    "descend",
    "embed",
    "linear_start",
    "output_margins",
    "random_start",
    "straight_through",
    "widen_margin",
]

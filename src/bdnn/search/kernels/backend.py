"""Choice between compiled kernels and plain numpy, made once, when a search first runs.

Work that goes over inputs is done by primitives that exist twice: compiled with numba, and in plain
numpy. Moves are written once on top of them. Plain numpy is used where numba cannot be imported, or
where the environment variable ``BDNN_PURE_NUMPY`` is set to anything but 0. Nothing here is
imported before a search is run, so that ``import bdnn`` does not wait for numba.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

COMPILED = os.environ.get("BDNN_PURE_NUMPY", "0") in ("", "0") and find_spec("numba") is not None

if COMPILED or TYPE_CHECKING:
    from bdnn.search.kernels.compiled import compiled
    from bdnn.search.kernels.elementwise import (
        add_scaled,
        assign,
        bracket,
        divide,
        fill,
        largest_of,
        shift_by,
        total_of,
    )
    from bdnn.search.kernels.forward import (
        commit,
        input_line,
        output_costs,
        refresh,
        switch,
        unit_task,
    )
    from bdnn.search.kernels.line import (
        combine,
        level_merit,
        line_search,
        ordered_search,
        threshold_search,
        value_search,
    )
    from bdnn.search.kernels.split import best_split, set_gain
else:
    from bdnn.search.kernels.reference import (
        add_scaled,
        assign,
        best_split,
        bracket,
        combine,
        commit,
        divide,
        fill,
        input_line,
        largest_of,
        level_merit,
        line_search,
        ordered_search,
        output_costs,
        refresh,
        set_gain,
        shift_by,
        switch,
        threshold_search,
        total_of,
        unit_task,
        value_search,
    )

    def compiled(function: Function) -> Function:
        """Leave a function of the search as it is."""
        return function


__all__ = [
    "COMPILED",
    "add_scaled",
    "assign",
    "best_split",
    "bracket",
    "combine",
    "commit",
    "compiled",
    "divide",
    "fill",
    "input_line",
    "largest_of",
    "level_merit",
    "line_search",
    "ordered_search",
    "output_costs",
    "refresh",
    "set_gain",
    "shift_by",
    "switch",
    "threshold_search",
    "total_of",
    "unit_task",
    "value_search",
]

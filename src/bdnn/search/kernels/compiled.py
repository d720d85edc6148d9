"""The one place that says how functions of the search are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile for the machine at hand, keep the result on disk, and let other threads run."""
    result: Function = njit(cache=True, nogil=True, no_cfunc_wrapper=True)(function)
    return result

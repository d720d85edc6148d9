"""Functions that only compiled code calls, for tests that call them from Python."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from numba import njit


class Parts:
    """The functions of a module, each called by a compiled one of its own."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._module, name)

        @njit
        def call(*args: Any) -> Any:
            return part(*args)

        setattr(self, name, call)
        return call

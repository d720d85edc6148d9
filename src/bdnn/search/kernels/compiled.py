"""The one place that says how functions of the search are compiled, and where the result is kept.

The cache on disk saves every process but the first a minute, and is never a reason to fail: broken
files are dropped, a full disk keeps nothing, and where neither the package's folder nor the user's
can be written a folder among the temporary files, closed to others, takes their place.

The flat arrays that compiled moves read and write, and the names of their codes.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserWideCacheLocator
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

from bdnn.network.activation import BoolArray, FloatArray

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function, *, fastmath: bool = False) -> Function:
    """Compile for the machine at hand, keep the result on disk, and let other threads run.

    With ``fastmath`` sums are added in any order.
    """
    result: Any = njit(nogil=True, no_cfunc_wrapper=True, fastmath=fastmath)(function)
    # Nothing can be written anywhere: every process compiles for itself.
    with suppress(RuntimeError):
        result._cache = _Cache(function)
    done: Function = result
    return done


class _TemporaryLocator(UserWideCacheLocator):  # type: ignore[misc]
    """A folder of the user's among the temporary files.

    What is cached is run, so that nobody else may be able to write there.
    """

    def ensure_cache_path(self) -> None:
        """Make the folder, or raise ``OSError`` if it is not ours alone."""
        folder = Path(tempfile.gettempdir()) / f"bdnn-compiled-{os.getuid()}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise PermissionError(f"{folder} is open to others")
        self._cache_path = str(folder / self.get_suitable_cache_subpath(self._py_file))
        super().ensure_cache_path()


class _Places(CompileResultCacheImpl):  # type: ignore[misc]
    """Numba's places in numba's order, then the temporary one."""

    _locator_classes = (
        *CompileResultCacheImpl._locator_classes,
        *([_TemporaryLocator] if hasattr(os, "getuid") else []),
    )


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, with a key that knows the functions it calls."""

    _impl_class = _Places

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load what was compiled; nothing if it cannot be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # bytes that are no pickle may raise anything
            self._drop()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if that can be."""
        try:
            super().save_overload(sig, data)
        except Exception:
            self._drop()

    def _drop(self) -> None:
        """Forget all that is kept of the function: without an index no other file is read."""
        with suppress(OSError):
            Path(self.cache_path, f"{self._impl.filename_base}.nbi").unlink()

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), _fingerprint(self._py_func))


@cache
def _fingerprint(function: FunctionType) -> str:
    """Digest of a function and of all compiled into it.

    Numba compiles anew when the file of a function changes, and not when one it calls does that
    stands in another file, as after an update of the package.
    """
    code = function.__code__
    constants = [c.co_code if isinstance(c, CodeType) else c for c in code.co_consts]
    parts = [code.co_code.hex(), repr(constants)]
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, Dispatcher) and value.py_func is not function:
            parts.append(_fingerprint(value.py_func))
        elif isinstance(value, bool | int | float | str | tuple):
            parts.append(f"{name}={value!r}")
    return sha256("\n".join(parts).encode()).hexdigest()


IntArray = NDArray[np.int64]
LevelArray = NDArray[np.uint8]

# Codes of the threshold kinds: compiled code compares integers faster than strings.
PER_UNIT, PER_LAYER, NO_THRESHOLD = 0, 1, 2
THRESHOLD_CODES = {"neuron": PER_UNIT, "layer": PER_LAYER, "zero": NO_THRESHOLD}


class Targets(NamedTuple):
    """Numbers that identity outputs should give; all arrays are empty where outputs are steps."""

    first: IntArray  # (n_inputs + 1,): input ``i`` owns the rows ``first[i]:first[i + 1]``
    values: FloatArray  # (outputs, rows)
    weight: FloatArray  # (rows,)
    price: FloatArray  # (outputs,)
    is_squared: bool  # whether errors are squared; otherwise their size counts


class Arrays(NamedTuple):
    """A network and its values on all inputs: one line per unit, one column per input.

    Units of all layers are numbered through from the first hidden layer to the outputs; layer ``k``
    owns the lines ``unit_at[k]:unit_at[k + 1]`` and the weights ``weight_at[k]:weight_at[k + 1]``.
    """

    inputs: FloatArray  # (n_features, n_inputs)
    widths: IntArray  # array of the number of features, hidden units per layer, and outputs
    weights: FloatArray
    weight_at: IntArray
    # (units, most levels): ascending in every line, infinite where a unit has fewer.
    thresholds: FloatArray
    unit_at: IntArray
    sums: FloatArray  # (units, n_inputs): pre-activations
    level: LevelArray  # (units, n_inputs): how many of its thresholds a unit reaches
    # (layers, 2): the values of units that have two, which take a faster way than :class:`Levels`.
    pair: FloatArray
    # (n_inputs,): what every input costs at present, see :mod:`bdnn.search.objective`.
    cost: FloatArray
    # (outputs, n_inputs).
    cost_on: FloatArray
    cost_off: FloatArray
    mass: FloatArray  # (classes, n_inputs)
    # Allowed weights of every integer layer, ascending; a continuous layer has none. The last three
    # are -1, 0 and 1.
    values: FloatArray
    value_at: IntArray
    threshold_kind: int
    # Weights of loss, error and hinge, the wanted margin, and whether ties go to the first class.
    goal: FloatArray
    # What makes the cost instead of on, off, mass and goal, where outputs are numbers.
    targets: Targets


class Levels(NamedTuple):
    """What networks need of whose units some have more than two values; others have None instead.

    Compiled functions are compiled once for None and once for this, so that those that never meet
    several values neither compile nor pay for what these need.
    """

    sets: FloatArray  # (layers, most values): values that units can take, ascending
    counts: IntArray  # array of the number of thresholds of a unit, one per layer
    # (layers, most levels): distances of the thresholds from a unit's shift, where they are fixed.
    offsets: FloatArray
    fixed: BoolArray  # boolean array, one entry per layer: whether distances are fixed


class MoveLimits(NamedTuple):
    """What moves may do to weights."""

    # Arrays with one entry per weight: equal where it must not change. Infinite where nothing but
    # the scale of the unit limits it: such a unit may be multiplied by any positive number.
    low: FloatArray
    high: FloatArray
    # (2, layers): largest numbers of weights that are not 0, of one unit and of all units
    # of a layer.
    most: IntArray
    total: int  # the same for the whole network
    copies: int  # how often a weight of an output counts: twice where one output stands for two

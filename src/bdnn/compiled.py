"""The one place that says how functions of the search are compiled, and where the result is kept.

The cache on disk saves every process but the first a minute, and is never a reason to fail: broken
files are dropped, a full disk keeps nothing, and where neither the package's folder nor the user's
can be written a folder among the temporary files, closed to others, takes their place.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserWideCacheLocator
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from numba.types import unliteral

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(
    function: Function,
    *,
    fastmath: bool = False,
    is_part: bool = False,
    compiler: type[Compiler] = Compiler,
) -> Function:
    """Compile for the machine at hand, keep the result on disk, and let other threads run.

    With ``fastmath`` sums are added in any order. A part is for other compiled functions alone.
    """
    result: Any = njit(
        nogil=True,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=is_part,
        fastmath=fastmath,
        pipeline_class=compiler,
    )(function)
    if result is function:  # NUMBA_DISABLE_JIT
        return function
    result.get_call_template = _without_literals(result.get_call_template)
    # Nothing can be written anywhere: every process compiles for itself.
    with suppress(RuntimeError):
        result._cache = (_PartCache if is_part else _Cache)(function)
    done: Function = result
    return done


def part(function: Function, *, is_apart: bool = False) -> Function:
    """Compile a function that only compiled ones call.

    Without the code that takes Python's objects apart, which large tuples of arrays have much of,
    and without machine code of its own, the search is there in half the time. Python must not find
    it then.

    With ``is_apart`` no cell that it writes is one that it finds under another name, and it makes
    no array. Then no loop looks whether arrays overlap, and nobody counts who uses them, which
    take as long as a thousand cells and as a hundred.
    """
    result: Any = compiled(
        function, is_part=True, compiler=_ApartCompiler if is_apart else _PartCompiler
    )

    def refuse(*_args: object, **_kws: object) -> None:
        raise TypeError(f"{function.__name__} can be called by compiled functions alone")

    result._insert = lambda *_: None
    result._compile_for_args = refuse
    done: Function = result
    return done


def _without_literals(get_call_template: Callable[..., object]) -> Callable[..., object]:
    """Compile nothing anew for a number that stands in the code of the caller."""

    def of_types(args: tuple[Any, ...], kws: dict[str, Any]) -> object:
        plain = {key: unliteral(value) for key, value in kws.items()}
        return get_call_template(tuple(map(unliteral, args)), plain)

    return of_types


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is optimised and translated where it is called, and only there.

    Numba does both for a function and all that it calls, so that parts of parts had their turn at
    every level.
    """

    def _optimize_final_module(self) -> None:
        """Leave it to those who call it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Have it linked; there is no machine code to point at."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> _PartLibrary:
        """Who is told of the environment."""
        return self

    def set_env(self, env_name: str, env: object) -> None:
        """Take no note of the environment, for which machine code has the room."""

    def serialize_using_object_code(self) -> Any:
        """Keep what callers need."""
        return self.serialize_using_bitcode()


class _PartCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, which ends where a part does."""

    def compile_extra(self, func: FunctionType) -> Any:
        """Compile a function into a library of parts."""
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _ApartCompiler(_PartCompiler):
    """The compiler of parts whose arrays do not overlap, and are counted by others."""

    def __init__(self, *given: Any) -> None:
        flags = given[5]
        flags.noalias, flags.nrt = True, False
        super().__init__(*given)


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


class _PartPlaces(_Places):
    """Places of parts, which stay parts."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Load code and do not translate it, after which it would be hard to optimise.

        Loops over arrays would be several times as slow in callers that are compiled later.
        """
        context, codegen = copy(target_context), copy(target_context.codegen())
        context._internal_codegen, codegen._library_class = codegen, _PartLibrary
        return super().rebuild(context, payload)


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


class _PartCache(_Cache):
    """The cache of a part."""

    _impl_class = _PartPlaces


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
        elif isinstance(value, _Intrinsic):
            parts.append(_fingerprint(value._defn))
        elif isinstance(value, bool | int | float | str | tuple):
            parts.append(f"{name}={value!r}")
    return sha256("\n".join(parts).encode()).hexdigest()

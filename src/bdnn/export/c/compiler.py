"""The C compilers of this machine: to measure a header, and to run it beside Python."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.errors import UnsupportedFeatureError
from bdnn.export.boundary import answers, compared_inputs
from bdnn.export.c.header import CExport
from bdnn.model import Model
from bdnn.network.activation import FloatArray

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
_NATIVE = ("gcc", "clang", "cc")
_ARM = "arm-none-eabi-gcc"
_ARM_FLAGS = ("-mcpu=cortex-m0", "-mthumb")
_TIMEOUT = 300
_DTYPES = {"double": "<f8", "float": "<f4", "uint8_t": "<u1", "int8_t": "<i1"}
_DTYPES |= {"uint16_t": "<u2", "int16_t": "<i2", "int32_t": "<i4"}


@dataclass(frozen=True)
class Size:
    """Bytes of code and constants, and of all stack frames, more than which no call takes."""

    flash: int
    stack: int
    target: str


def native_compiler() -> str | None:
    """Name of a compiler for this machine, None if there is none."""
    return next((name for name in _NATIVE if shutil.which(name)), None)


def arm_compiler() -> tuple[str, tuple[str, ...]] | None:
    """Name and flags of a compiler for a Cortex-M0, None if it is not here."""
    return (_ARM, _ARM_FLAGS) if shutil.which(_ARM) else None


def measure(export: CExport) -> Size | None:
    """Compile for a 32-bit ARM (Cortex-M0) if its compiler is here, else for this machine.

    A compiler may be here without the headers of its library; the next one is taken then.
    """
    for compiler, flags in filter(None, (arm_compiler(), (native_compiler(), ()))):
        if compiler is not None:
            with suppress(UnsupportedFeatureError):
                return compiled_size(_source([export]), compiler, flags)
    return None


def compiled_size(source: str, compiler: str, flags: Sequence[str] = ()) -> Size:
    """Compile a source to an object of the smallest size and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        file, target = Path(folder) / "model.c", Path(folder) / "model.o"
        file.write_text(source, encoding="ascii")
        _run([compiler, "-std=c99", "-Os", *flags, "-fstack-usage", "-c", file, "-o", target])
        tool = compiler.replace("gcc", "size") if compiler.endswith("eabi-gcc") else "size"
        sections = _run([tool, "-A", target])
        usage = target.with_suffix(".su")
        stack = re.findall(r"\t(\d+)\t", usage.read_text()) if usage.exists() else []
    found = re.findall(r"^\.(?:text|rodata|data)\S*\s+(\d+)", sections, flags=re.MULTILINE)
    name = "Cortex-M0" if compiler == _ARM else f"{compiler} on this machine"
    return Size(sum(map(int, found)), sum(map(int, stack)), name)


def run_compiled(
    exports: Sequence[CExport],
    inputs: Sequence[FloatArray],
    *,
    compiler: str | None = None,
    flags: Sequence[str] = ("-O1",),
) -> list[NDArray[Any]]:
    """Compile headers of different names into one program and run it, one sample per line.

    Returns the classes of the inputs of every function, or their numbers, or weights and classes.
    """
    compiler = compiler or native_compiler()
    if compiler is None or not shutil.which(compiler):
        raise UnsupportedFeatureError(
            "there is no C compiler on this machine: install gcc or clang, or leave the check out."
        )
    data = b"".join(
        np.ascontiguousarray(X, dtype=_DTYPES[export.inputs.c_type]).tobytes()
        for export, X in zip(exports, inputs, strict=True)
    )
    with tempfile.TemporaryDirectory() as folder:
        file, program = Path(folder) / "models.c", Path(folder) / "models"
        counts = [len(X) for X in inputs]
        source = "#include <stdio.h>\n" + _source(exports) + _main(exports, counts)
        file.write_text(source, encoding="ascii")
        _run([compiler, *STRICT, *flags, file, "-o", program])
        done = subprocess.run(
            [program], input=data, capture_output=True, timeout=_TIMEOUT, check=False
        )
    if done.returncode:
        raise RuntimeError(f"the compiled program failed: {done.stderr.decode()[-500:]}")
    found, start = [], 0
    for export, count in zip(exports, counts, strict=True):
        dtype = np.dtype(_answer(export)[1])
        found.append(np.frombuffer(done.stdout, dtype, count, start))
        start += count * dtype.itemsize
    return found


def count_differences(model: Model, export: CExport, count: int) -> int:
    """Compare a compiled header with Python on so many random, boundary and extreme inputs."""
    X = compared_inputs(model, export.inputs, count)
    (found,) = run_compiled([export], [X])
    wrong = found != wanted_answers(model, export, X)
    return int(np.count_nonzero(wrong.reshape(len(X), -1).any(axis=1)))


def wanted_answers(model: Model, export: CExport, X: FloatArray) -> NDArray[Any]:
    """What Python says: classes, numbers, or the weights of all classes and then the class."""
    found = answers(model, export.inputs, X)
    if not export.plan.n_weights or model.calibration is None:
        return found
    scores = model.network.scores(export.inputs.scaled(X, model.encoder))
    return np.column_stack([model.calibration.entries(scores), found])


def _answer(export: CExport) -> tuple[str, Any]:
    """Type of what a function gives, in C and for numpy."""
    plan = export.plan
    if plan.n_weights:
        return "uint16_t", ("<u2", plan.n_weights + 1)
    return ("double", ("<f8", plan.n_numbers)) if plan.n_numbers else ("int16_t", "<i2")


def _source(exports: Sequence[CExport]) -> str:
    """A translation unit that gives every function, and nothing else, a name to call it by."""
    lines = [export.function for export in exports]
    for export in exports:
        named = export.signature.partition("(")[0].split(" ")[-1]
        call = export.signature.replace(f"{named}(", f"{export.name}_call(")
        given = ", y" if export.plan.n_numbers else ", weight" if export.plan.n_weights else ""
        back = "" if export.plan.n_numbers else "return "
        lines.append(f"{call};\n{call} {{ {back}{named}(x{given}); }}")
    return "\n".join(lines) + "\n"


def _main(exports: Sequence[CExport], counts: Sequence[int]) -> str:
    lines = ["int main(void)", "{", "    int i;"]
    for export, count in zip(exports, counts, strict=True):
        size = f"{export.name.upper()}_FEATURES"
        kind, dtype = _answer(export)
        n_out = 1 if isinstance(dtype, str) else dtype[1]
        call = f"out[{n_out - 1}] = ({kind}){export.name}_call(x{', out' if n_out > 1 else ''});"
        if export.plan.n_numbers:
            call = f"{export.name}_call(x, out);"
        lines += [
            "    {",
            f"        {export.inputs.c_type} x[{size}];",
            f"        {kind} out[{n_out}];",
            f"        for (i = 0; i < {count}; ++i) {{",
            f"            if (fread(x, sizeof x[0], {size}, stdin) != {size}) return 1;",
            f"            {call}",
            f"            fwrite(out, sizeof out[0], {n_out}, stdout);",
            "        }",
            "    }",
        ]
    return "\n".join([*lines, "    return 0;", "}"]) + "\n"


def _run(command: Sequence[str | Path]) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if done.returncode:
        raise UnsupportedFeatureError(
            f"{command[0]} could not compile the header ({done.stderr.strip()[:300]}): check that "
            "the compiler works."
        )
    return done.stdout

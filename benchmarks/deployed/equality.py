"""Exports of random networks beside Python, input by input."""

from __future__ import annotations

import shutil
import sys
from itertools import product
from pathlib import Path

import numpy as np

from bdnn.errors import BDNNError
from bdnn.export.boundary import boundary_inputs, random_inputs
from bdnn.export.c import export_c
from bdnn.export.c.compiler import STRICT, compiled_size, run_compiled

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.export.models import any_format, any_model

BATCH = 10
FEW_INPUTS = 100_000
ARM = ("arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-Os", "-std=c99")


def equality(n_networks: int, n_inputs: int) -> None:
    """Compare compiled headers and ONNX models with the forward pass."""
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    strange = ("-O3", "-ffast-math", "-march=native")
    checked = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    rng = np.random.default_rng(0)
    compared = dict.fromkeys((*compilers, "onnx"), 0)
    differences = dict(compared)
    integer_only = 0
    flash: list[int] = []
    for first in range(0, n_networks, BATCH):
        models = [any_model(rng) for _ in range(min(BATCH, n_networks - first))]
        exports = [
            export_c(model, name=f"net{i}", **any_format(rng)) for i, model in enumerate(models)
        ]
        integer_only += sum(export.is_integer for export in exports)
        flags = strange if (first // BATCH) % 2 else checked
        inputs = [
            questions(model, export.inputs, n_inputs, rng)
            for model, export in zip(models, exports, strict=True)
        ]
        if flags is strange:
            inputs = [
                without_subnormals(X, export.inputs)
                for X, export in zip(inputs, exports, strict=True)
            ]
        answers = [
            np.argmax(model.network.scores(export.inputs.scaled(X, model.encoder)), axis=1)
            for model, export, X in zip(models, exports, inputs, strict=True)
        ]
        for compiler in compilers:
            found = run_compiled(exports, inputs, compiler=compiler, flags=flags)
            compared[compiler] += sum(map(len, inputs))
            differences[compiler] += sum(
                int(np.count_nonzero(a != b)) for a, b in zip(found, answers, strict=True)
            )
        if shutil.which(ARM[0]):
            flash += [arm_bytes(export) for export in exports]
        for model in models:
            seen = onnx_differences(model, n_inputs)
            if seen is not None:
                compared["onnx"] += seen[0]
                differences["onnx"] += seen[1]
    print(f"{n_networks} networks, {integer_only} of them without floating point in C")
    for name, count in compared.items():
        print(f"{name:8} {count:12} inputs compared, {differences[name]} differences")
    if flash:
        print(f"{ARM[0]}: all compile; flash median {np.median(flash):.0f}, most {max(flash)}")


def arm_bytes(export) -> int:
    """Compile for Cortex-M0 with all warnings as errors, and measure code and constants."""
    kind, name = export.inputs.c_type, export.name
    call = f"int {name}_class(const {kind} *x);\nint {name}_class(const {kind} *x)"
    source = f"{export.text}{call} {{ return {name}_predict(x); }}\n"
    return compiled_size(source, ARM[0], (*ARM[1:3], *STRICT[1:])).flash


def questions(model, inputs, count: int, rng) -> np.ndarray:
    """Random inputs, inputs at boundaries, and all inputs where there are few."""
    parts = [
        random_inputs(model.encoder, inputs, count, rng),
        boundary_inputs(model.network, model.encoder, inputs, count // 10, rng),
    ]
    sizes = [high - low + 1 for low, high in inputs.ranges]
    if sizes and np.prod([float(size) for size in sizes]) <= FEW_INPUTS:
        ranges = [range(low, high + 1) for low, high in inputs.ranges]
        parts.append(np.array(list(product(*ranges)), dtype=float))
    return np.concatenate(parts)


def without_subnormals(X: np.ndarray, inputs) -> np.ndarray:
    """Rows without numbers that ``-ffast-math`` makes zeros, as the documentation says."""
    if inputs.is_integer:
        return X
    size = np.abs(X)
    return X[~((size > 0) & (size < inputs.reals.tiny)).any(axis=1)]


def onnx_differences(model, count: int) -> tuple[int, int] | None:
    """Inputs compared and differences under onnxruntime, None without it."""
    try:
        from bdnn.export.onnx import differences, to_onnx

        found = differences(model, to_onnx(model), count, at_boundaries=count // 10)
        return count, found
    except BDNNError:
        return None

"""Compiled C against Python, at the edges of cells and of number formats."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from bdnn.errors import BDNNError
from bdnn.export.boundary import answers, compared_inputs
from bdnn.export.c import export_c
from bdnn.export.c.compiler import run_compiled
from tests.encoding.encoders import rescaled
from tests.export.models import any_format, any_model, level_model, number_model

_SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_MAKERS = (any_model, any_model, level_model, number_model)


class CompiledCode:
    """Some networks in one translation unit; a claim is an answer to one input."""

    name: ClassVar[str] = "c code"
    share: ClassVar[float] = 0.15
    n_networks: ClassVar[int] = 8
    n_inputs: ClassVar[int] = 50

    def prepare(self, folder: Path) -> None:
        if shutil.which("gcc") is None:
            raise RuntimeError("gcc is not installed: leave this kind out with --kinds.")

    def attempt(self, number: int) -> tuple[int, list[str]]:
        rng = np.random.default_rng(number)
        models, exports, inputs = [], [], []
        while len(exports) < self.n_networks:
            model = _MAKERS[rng.integers(len(_MAKERS))](rng)
            if rng.random() < 0.3:
                # The largest and smallest numbers just reach the thresholds, or just do not.
                factor = 10.0 ** rng.uniform(-100, 30, model.encoder.n_numbers)
                model = replace(model, encoder=rescaled(model.encoder, factor=factor))
            try:
                export = export_c(model, name=f"net{len(exports)}", **any_format(rng))
            except BDNNError:
                continue
            models.append(model)
            exports.append(export)
            inputs.append(compared_inputs(model, export.inputs, self.n_inputs, rng=rng))
        found = run_compiled(exports, inputs, flags=_SANITIZED)
        wrong = []
        for model, export, X, told in zip(models, exports, inputs, found, strict=True):
            differ = np.flatnonzero(
                np.any(
                    np.atleast_2d(told.T) != np.atleast_2d(answers(model, export.inputs, X).T),
                    axis=0,
                )
            )
            if len(differ):
                wrong.append(f"{export.name} differs at {X[differ[0]].tolist()}")
        return sum(map(len, inputs)), wrong

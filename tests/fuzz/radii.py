"""Certified radii against the nearest counter-example among all cells of the grid."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np

from bdnn.robustness.certify import guaranteed_radii
from tests.robustness.cases import NORMS, as_length, enumerated, random_case


class Radii:
    """Random networks of any depth and tie rule; a claim is the radius of one sample."""

    name: ClassVar[str] = "radii"
    share: ClassVar[float] = 0.15

    def prepare(self, folder: Path) -> None:
        """Nothing is needed."""

    def attempt(self, number: int) -> tuple[int, list[str]]:
        rng = np.random.default_rng(number)
        around = random_case(
            number,
            norm=NORMS[number % 3],
            units=["scaled", "raw"][number // 3 % 2],
            samples=8,
            activation=str(rng.choice(["step", "step", "sign", "ternary", "levels:4"])),
        )
        found = guaranteed_radii(around)
        wrong = []
        for i, radius in enumerate(found):
            exact = as_length(around, enumerated(around, i))
            if radius > exact:
                wrong.append(f"sample {i} is certified within {radius}, changed at {exact}")
        return len(found), wrong

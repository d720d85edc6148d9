"""A counter-example near one sample as a mixed-integer program: network fixed, input free.

With integer weights on a grid and the norm linf, "is there one within the radius?" is a purely
integer program, which CP-SAT answers without rounding. Otherwise it has real rows, which admit a
little too much, never too little; and what it finds is only believed after a forward pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bdnn.network.activation import FloatArray
from bdnn.program import Program
from bdnn.robustness.fixed_network import add_layer, add_other_class, helps
from bdnn.robustness.free_input import FreeInput
from bdnn.robustness.surroundings import Surroundings


@dataclass(frozen=True)
class Adversary:
    """The program of one sample, see :meth:`build`."""

    program: Program
    free_input: FreeInput
    is_integer: bool

    @classmethod
    def build(cls, around: Surroundings, radius: float, *, minimise: bool = False) -> Adversary:
        """Write down the search within a finite radius around a single sample.

        The result ``is_integer`` if all its variables and coefficients are.

        Parameters
        ----------
        around : Surroundings
            Of exactly one sample.
        radius : float
        minimise : bool
            Whether the nearest counter-example is wanted, with real numbers for its length, or any
            within the radius.
        """
        program = Program()
        free_input = FreeInput(around, radius, program)
        network, label = around.network, int(around.classes[0])
        signals = free_input.signals
        for k, (W, t) in enumerate(
            zip(network.weights[:-1], network.step_thresholds[:-1], strict=True), start=1
        ):
            last = k == len(network.weights) - 1
            every = np.ones(len(W), dtype=bool)
            on, off = helps(network, label) if last else (every, every)
            signals = add_layer(program, k, signals, W, t, needs_on=on, needs_off=off)
        add_other_class(program, network, signals, label)
        if minimise or around.norm != "linf":
            free_input.add_length(minimise=minimise)
        integer = free_input.is_exact and around.norm == "linf" and not minimise
        integer = integer and all(weights.integer for weights in network.architecture.weights)
        return cls(program, free_input, integer)

    def interior(self, x: FloatArray, room: float) -> FloatArray | None:
        """A point near a solution that keeps its activations with the widest margin.

        A solution of real numbers lies on the edge of what units allow, where rounding decides.
        """
        from scipy.optimize import linprog  # slow to load, and seldom needed

        program, inputs = self.program, self.free_input.k[self.free_input.plain]
        if self.free_input.is_whole or not inputs.size:
            return None
        rows = np.concatenate(
            [
                np.arange(block.first, block.first + block.count)
                for block in program.row_blocks
                if block.name.startswith(("on1", "off1", "lead"))
            ]
        )
        matrix = program.matrix[rows]
        A = matrix[:, inputs].toarray()
        slack = matrix @ np.where(program.integer, np.rint(x), x)
        low, high = program.row_lower[rows] - slack, program.row_upper[rows] - slack
        size = np.linalg.norm(A, axis=1)
        below, above = np.isfinite(low) & (size > 0), np.isfinite(high) & (size > 0)
        A_ub = np.concatenate(
            [np.column_stack([-A, size])[below], np.column_stack([A, size])[above]]
        )
        b_ub = np.concatenate([-low[below], high[above]])
        lower, upper = program.lower[inputs] - x[inputs], program.upper[inputs] - x[inputs]
        bounds = [
            (max(-room, min(a, 0.0)), min(room, max(b, 0.0)))
            for a, b in zip(lower, upper, strict=True)
        ]
        cost = np.append(np.zeros(len(inputs)), -1.0)
        answer = linprog(cost, A_ub=A_ub, b_ub=b_ub, bounds=[*bounds, (0.0, room)])
        if answer.status != 0:
            return None
        moved = x.copy()
        moved[inputs] += answer.x[:-1]
        return self.free_input.coordinates(moved)

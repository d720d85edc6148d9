"""Features that only ever speak for a class, or raise a number.

A path's sign is the product of its weights' signs; p and q say which units a positive and a
negative path from the feature may reach, and of the outputs one of the two is 0:

    path:  W <= U p, W >= L q                              first layer, one feature
           W <= U (1 - p_j + p_l),  W <= U (1 - q_j + q_l)
           W >= L (1 - p_j + q_l),  W >= L (1 - q_j + p_l)  layers above
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bdnn.blocks.weights import LayerWeights
from bdnn.errors import ModelError
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import AbstractTerm, Draw, WeightLimits
from bdnn.problem.terms.builder import Block, Builder
from bdnn.problem.terms.context import AbstractConstraint, Context
from bdnn.program import IndexArray, Program

# Continuous weights on paths are zero below this, which is what a solver may be off.
_SMALL = 1e-6


@dataclass(frozen=True, eq=False)
class PathSigns(AbstractTerm):
    """No path of weights from a feature to an output has the wrong sign.

    With ``sign = +1`` the paths to ``output`` must not be negative and, where outputs are classes,
    those to all other outputs not positive; with -1 the other way round.
    """

    feature: int
    sign: int
    output: int
    label: Any
    promise: Mapping[str, Any]

    def is_feasible(self, network: Network, problem: Problem[Any]) -> bool:
        rising, falling = path_signs(network.weights, self.feature)[-1]
        up, down = self._ways(problem, np.arange(len(rising)))
        return not ((falling & up) | (rising & down)).any()

    def _ways(self, problem: Problem[Any], outputs: IndexArray) -> tuple[BoolArray, BoolArray]:
        """Which outputs may only rise, and which only fall."""
        up = outputs == self.output
        others = ~up if problem.architecture.output == "step" else np.zeros_like(up)
        return (up, others) if self.sign > 0 else (others, up)

    @classmethod
    def narrow(cls, terms: Sequence[PathSigns], limits: WeightLimits, draw: Draw) -> None:
        """Give every hidden unit one output that it may speak for, or none."""
        shape = limits.architecture
        outputs, n_layers = shape.n_outputs, shape.n_layers
        # Of two classes, what speaks for one speaks against the other.
        wanted = [
            (r.feature, -r.sign, 1)
            if outputs == 2 and r.output == 0
            else (r.feature, r.sign, r.output)
            for r in terms
        ]
        if n_layers == 1:
            for feature, sign, output in wanted:
                for o in range(outputs):
                    limits.narrow(0, (o, feature), *_side((o == output) == (sign > 0)))
            return
        classes = sorted({output for *_, output in wanted})
        # With a threshold per unit any unit below a single pair of outputs can be turned round.
        complete = outputs == 2 and n_layers == 2 and shape.thresholds == "neuron"
        kinds = classes if complete else [*classes, -1]
        below: list[int] = []
        for k in range(n_layers):
            is_last = k == n_layers - 1
            units = list(range(outputs))
            if not is_last:
                drawn = draw.rng.integers(len(kinds), size=shape.widths[k + 1])
                units = [kinds[(u + int(d)) % len(kinds)] for u, d in enumerate(drawn)]
            for u, kind in enumerate(units):
                if k == 0:
                    for feature, sign, output in wanted:
                        ends = _side(sign > 0) if output == kind else (0.0, 0.0)
                        limits.narrow(0, (u, feature), *ends)
                    continue
                for j, source in enumerate(below):
                    if source != -1:
                        other = _side(False) if is_last else (0.0, 0.0)
                        limits.narrow(k, (u, j), *(_side(True) if source == kind else other))
            below = units

    def block(self, builder: Builder) -> Block:
        """Add which units a path may reach, and rows that let it go on only there."""
        program, layers = builder.program, builder.layers
        number = builder.number
        rises: list[IndexArray] = []
        falls: list[IndexArray] = []
        for layer in layers[:-1]:
            for name, known in (("rises", rises), ("falls", falls)):
                name = f"{name}{layer.number}_{number}"
                known.append(program.add_variables(name, (len(layer.W),), integer=True))
        # With one output for two classes the second decides.
        n_units = len(layers[-1].W)
        outputs = np.arange(builder.problem.architecture.n_outputs)[-n_units:]
        up, down = self._ways(builder.problem, outputs)
        for k, layer in enumerate(layers):
            # Weights that cannot be negative (or positive) have no such end to hold back.
            low, high = min(layer.range[0], 0.0), max(layer.range[1], 0.0)
            name = f"path{layer.number}_{number}"
            is_last = k == len(layers) - 1
            if k == 0:
                W = layer.W[:, self.feature]
                if is_last:
                    lower, upper = np.where(up, 0.0, low), np.where(down, 0.0, high)
                    program.add_rows(name, W[:, None], 1.0, lower=lower, upper=upper)
                    continue
                for way, limit in ((rises[0], high), (falls[0], low)):
                    _add_side(program, name, [W, way], [1.0, -limit], limit, 0.0)
                continue
            for below, limit, above in (
                (rises[k - 1], high, 0),
                (falls[k - 1], high, 1),
                (rises[k - 1], low, 1),
                (falls[k - 1], low, 0),
            ):
                way = np.broadcast_to(below, layer.W.shape)
                if not is_last:
                    reached = (rises, falls)[above][k][:, None]
                    columns = [layer.W, way, np.broadcast_to(reached, layer.W.shape)]
                    _add_side(program, name, columns, [1.0, limit, -limit], limit, limit)
                    continue
                # An output that must not fall has its q at 0, one that must not rise its p.
                closed = np.flatnonzero(up if above == 1 else down)
                if closed.size:
                    columns = [layer.W[closed], way[closed]]
                    _add_side(program, name, columns, [1.0, limit], limit, limit)
        return _Paths(self.feature, layers, rises, falls)

    def claim(self) -> dict[str, Any]:
        """Say which feature moves which class."""
        return dict(self.promise)


@dataclass(frozen=True, eq=False)
class _Paths(Block):
    feature: int
    layers: Sequence[LayerWeights]
    rises: list[IndexArray]
    falls: list[IndexArray]

    def read(self, x: FloatArray, weights: list[FloatArray]) -> None:
        for k, layer in enumerate(self.layers):
            if not layer.weights.integer:
                weights[k] = np.where(np.abs(weights[k]) < _SMALL, 0.0, weights[k])

    def lift(self, x: FloatArray) -> bool:
        weights = [x[layer.W] for layer in self.layers]
        for k, (up, down) in enumerate(path_signs(weights, self.feature)[:-1]):
            x[self.rises[k]], x[self.falls[k]] = up, down
        return True


def _side(upward: bool) -> tuple[float, float]:
    return (0.0, np.inf) if upward else (-np.inf, 0.0)


def _add_side(
    program: Program,
    name: str,
    columns: list[IndexArray],
    values: list[float],
    limit: float,
    side: float,
) -> None:
    """Add rows against the upper end of weights (limit > 0) or their lower end (limit < 0)."""
    terms = np.stack(columns, axis=-1)
    if limit > 0:
        program.add_rows(f"{name}_upper", terms, values, upper=side)
    elif limit < 0:
        program.add_rows(f"{name}_lower", terms, values, lower=side)


def path_signs(weights: Sequence[FloatArray], feature: int) -> list[tuple[BoolArray, BoolArray]]:
    """For every layer, which units a positive and which a negative path from a feature reaches."""
    column = weights[0][:, feature]
    found = [(column > 0, column < 0)]
    for W in weights[1:]:
        rising, falling = found[-1]
        up, down = W > 0, W < 0
        rises = (up & rising) | (down & falling)
        falls = (up & falling) | (down & rising)
        found.append((np.asarray(rises.any(axis=1)), np.asarray(falls.any(axis=1))))
    return found


@dataclass(frozen=True, eq=False)
class Monotone(AbstractConstraint):
    """Raising a feature never speaks against a class, or never lowers a number.

    No path of weights from the feature has the wrong sign: to the output of the class none is
    negative, to the other outputs none is positive (with ``sign=-1`` the other way round). The
    scores then move only that way with the feature, whatever the other features are, and a sample
    that has the class keeps it. A feature with cuts has all of them so; that it is missing may
    speak for or against.

    Parameters
    ----------
    feature : str or int
    sign : {1, -1}, default 1
        Whether larger values speak for the class or against it.
    label : object, default None
        The class; of two classes the second by default. For a regressor the number of an output,
        by default the only one.
    """

    feature: str | int
    sign: int = 1
    label: Any = None

    def resolve(self, context: Context) -> list[AbstractTerm]:
        if self.sign not in (1, -1) or isinstance(self.sign, bool):
            raise ModelError(
                f"{self.name}: sign must be 1 or -1, got {self.sign!r}: choose one of these."
            )
        column, inputs = context.inputs_of(self.feature, self.name)
        output, sign = context.output(self.label, self.name), int(self.sign)
        label = context.classes[output]
        promise = {"kind": "monotone", "feature": column, "sign": sign, "class": label}
        if column is None:
            promise = {"kind": "own", "name": self.name}
        elif context.features is not None:
            inputs = [j for j in inputs if context.features.is_ascending[j]]
        if not inputs:
            raise ModelError(
                f"{self.name} is about a feature without an order: name one of its inputs."
            )
        return [PathSigns(self.name, j, sign, output, label, promise) for j in inputs]

    @property
    def name(self) -> str:
        label = "" if self.label is None else f", label={self.label!r}"
        sign = f"{self.sign:+d}" if isinstance(self.sign, int) else repr(self.sign)
        return f"Monotone({self.feature!r}, {sign}{label})"

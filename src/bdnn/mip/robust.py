"""Activations that hold for every perturbation of a training sample (paper, robust model).

    active:    W x_i - r_i n - t >= -M_i (1 - u)
    inactive:  W x_i + r_i n - t <= -margin + M_i u

The dual norm n of a unit's weights is what a perturbation of length 1 changes at most; larger
values only make the rows harder, so that ``n >= ||w||_*`` is enough:

    linf  n = sum_j a_j, a_j >= |w_j|        l1  n >= |w_j|        l2  ||w||_2 <= n, a cone

The paper's ``M_1^i = n (r + r_i)`` lacks the threshold's range; here M is the box bound of the sums
plus r_i times the largest dual norm of the box, and the thresholds' range, see `bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bdnn.errors import DataError, ModelError
from bdnn.mip.bounds import box_bounds, input_unit
from bdnn.mip.layers import Steps
from bdnn.mip.weights import LayerWeights
from bdnn.network.activation import BoolArray, FloatArray, step, weighted_sums
from bdnn.network.architecture import WeightSet
from bdnn.network.network import Network
from bdnn.program import IndexArray, Program

RobustNorm = Literal["linf", "l1", "l2"]


@dataclass(frozen=True, eq=False)
class Robust:
    """Balls around the training inputs in which first-layer activations must not change.

    Parameters
    ----------
    radius : array of shape (n_inputs,)
        In the units of the network's inputs, that is of scaled ones.
    norm : {"linf", "l1", "l2"}
    """

    radius: FloatArray
    norm: RobustNorm

    @classmethod
    def create(cls, radius: object, norm: str, n_inputs: int) -> Robust:
        """Check one radius for all, or one per input of a problem."""
        if norm not in get_args(RobustNorm):
            raise ModelError(
                f"robust_norm must be 'linf', 'l1' or 'l2', got {norm!r}: choose one of these."
            )
        try:
            values = np.asarray(radius, dtype=float)
        except (TypeError, ValueError):
            values = np.array(np.nan)
        if values.ndim > 1 or not (np.isfinite(values) & (values >= 0)).all():
            raise ModelError(
                f"robust_radius must be finite and 0 or more, one number or one per input, got "
                f"{radius!r}: give for example 0.1."
            )
        if values.ndim == 1 and len(values) != n_inputs:
            raise DataError(
                f"robust_radius must be one number or one per distinct input, got {len(values)} "
                f"for {n_inputs}: check its length."
            )
        return cls(np.broadcast_to(values, (n_inputs,)).copy(), norm)  # type: ignore[arg-type]

    def of_inputs(self, rows: IndexArray) -> Robust:
        """The balls around some of the inputs."""
        return Robust(self.radius[rows], self.norm)

    def dual_norms(self, W: FloatArray) -> FloatArray:
        """Dual norm of the weights of every unit."""
        sizes = np.abs(W)
        if self.norm == "linf":
            return np.asarray(sizes.sum(axis=1))
        if self.norm == "l1":
            return np.asarray(sizes.max(axis=1, initial=0.0))
        return np.asarray(np.linalg.norm(W, axis=1))

    def worst_sums(self, sums: FloatArray, W: FloatArray, on: BoolArray) -> FloatArray:
        """Sums under the perturbation that brings each nearest to switching."""
        reach = self.radius[:, None] * self.dual_norms(W)
        return np.where(on, sums - reach, sums + reach)

    def holds(self, network: Network, inputs: FloatArray) -> BoolArray:
        """Tell for which inputs no perturbation changes a first-layer activation."""
        W, t = network.weights[0], network.step_thresholds[0]
        sums = weighted_sums(inputs, W)
        on = step(sums, t)
        worst = self.worst_sums(sums, W, on)
        return np.asarray((np.where(on, worst >= t, worst < t)).all(axis=1))

    def reach(self, weights: WeightSet, n_features: int) -> FloatArray:
        """Most by which a perturbation can move a sum of every input, for any weights."""
        largest = self.dual_norms(np.full((1, n_features), float(weights.limit)))[0]
        return np.asarray(self.radius * largest)

    def is_whole(self, unit: float) -> bool:
        """Whether worst sums of integers in this unit are integers."""
        multiples = self.radius / unit
        whole = bool((multiples == np.rint(multiples)).all())
        return whole and (self.norm != "l2" or not self.radius.any())


def first_layer_bounds(
    inputs: FloatArray, weights: WeightSet, box: tuple[float, float], robust: Robust | None
) -> tuple[float, bool, FloatArray, FloatArray]:
    """Unit of a first layer, whether its sums are whole in it, and these sums' box bounds."""
    unit, exact = input_unit(inputs, integer=weights.integer)
    lowest, highest = box_bounds(inputs / unit, box)
    if robust is not None:
        reach = np.ceil(robust.reach(weights, inputs.shape[1]) / unit)
        lowest, highest = lowest - reach, highest + reach
        exact = exact and robust.is_whole(unit)
    return unit, exact, lowest, highest


@dataclass(frozen=True)
class DualNorms:
    """Variables ``n`` (and ``a`` for linf) of the first layer's units, see :meth:`add`."""

    robust: Robust
    layer: LayerWeights
    n: IndexArray
    a: IndexArray | None

    @classmethod
    def add(cls, program: Program, layer: LayerWeights, robust: Robust) -> DualNorms:
        """Add the dual norms of a layer's weights."""
        W = layer.W
        whole = layer.weights.integer and robust.norm != "l2"
        most = robust.dual_norms(np.full((1, W.shape[1]), float(layer.weights.limit)))[0]
        n = program.add_variables("norm1", (len(W),), upper=most, integer=whole)
        a = None
        sizes = np.broadcast_to(n[:, None], W.shape)
        if robust.norm == "linf":
            a = program.add_variables(
                "size1", W.shape, upper=float(layer.weights.limit), integer=whole
            )
            sizes = a
            columns = np.concatenate([a, n[:, None]], axis=1)
            values = np.append(-np.ones(W.shape[1]), 1.0)
            program.add_rows("norm1", columns, values, lower=0.0)
        if robust.norm == "l2":
            program.add_cones("norm1", W, n)
        else:
            pairs = np.stack([sizes, W], axis=-1)
            for sign in (-1.0, 1.0):
                program.add_rows("size1", pairs, [1.0, sign], lower=0.0)
        return cls(robust, layer, n, a)

    def add_rows(
        self,
        program: Program,
        steps: Steps,
        inputs: FloatArray,
        needs_active: BoolArray,
        needs_inactive: BoolArray,
    ) -> None:
        """Add the rows of the first layer's steps, each under its worst perturbation.

        ``inputs`` of shape (samples, 1, features) are in the layer's unit.
        """
        terms = np.concatenate([self.layer.W, self.n[:, None]], axis=1)[None]
        reach = (self.robust.radius / self.layer.bounds.unit)[:, None, None]
        none = np.zeros(steps.u.shape, dtype=bool)
        for sign, active, inactive in ((-1.0, needs_active, none), (1.0, none, needs_inactive)):
            values = np.concatenate([inputs, sign * reach], axis=-1)
            steps.add_rows(program, terms, values, needs_active=active, needs_inactive=inactive)

    def lift(self, x: FloatArray) -> None:
        """Fill in the norms of the weights that a start has."""
        W = x[self.layer.W]
        if self.a is not None:
            x[self.a] = np.abs(W)
        x[self.n] = self.robust.dual_norms(W)

"""Balls around the training inputs in which first-layer activations must hold (the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bdnn.network.activation import BoolArray, FloatArray, step, weighted_sums
from bdnn.network.network import Network
from bdnn.network.norms import Norm, check_norm, check_radius, dual_length
from bdnn.program import IndexArray


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
    norm: Norm

    @classmethod
    def create(cls, radius: ArrayLike, norm: str, n_inputs: int) -> Robust:
        """Check one radius for all, or one per input of a problem."""
        found = check_radius(radius, n_inputs, name="robust_radius")
        return cls(found, check_norm(norm, name="robust_norm"))

    def of_inputs(self, rows: IndexArray) -> Robust:
        """The balls around some of the inputs."""
        return Robust(self.radius[rows], self.norm)

    def dual_norms(self, W: FloatArray) -> FloatArray:
        """Dual norm of the weights of every unit."""
        return dual_length(self.norm, W)

    def holds(self, network: Network, inputs: FloatArray) -> BoolArray:
        """Tell for which inputs no perturbation changes a first-layer activation."""
        W, t = network.weights[0], network.thresholds[0]
        sums = weighted_sums(inputs, W)[:, :, None]
        reach = (self.radius[:, None] * self.dual_norms(W))[:, :, None]
        kept = np.where(step(sums, t), sums - reach >= t, sums + reach < t)
        return np.asarray(kept.all(axis=(1, 2)))

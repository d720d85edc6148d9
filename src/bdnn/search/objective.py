"""What a search minimises: loss, 0-1 error, margin and number of weights, in a chosen order.

Of one input with outputs ``s_l`` (pre-activation minus threshold) and class weights ``m_l``:

- ``loss``: ``sum_l  m_l [s_l < 0] + (sum_k m_k - m_l) [s_l >= 0]``, the paper's output loss;
- ``error``: the weight outside the predicted class;
- ``margin``: ``sum_l m_l max(0, wanted - (s_l - max_{k != l} s_k))``, the hinge that an output
  margin below ``wanted`` costs;
- ``smallest_margin``: minus the smallest output margin of an input's leading class, relative to the
  largest sum of absolute output weights, for the whole network;
- ``sparsity``: the number of weights that are not zero, for the whole network.

Objectives are lexicographic. The first three are functions of the outputs of one input and are
added with weights so large that no gain in a later one can pay for a loss in an earlier one;
the last two are reached by moves of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bdnn.errors import ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem

OBJECTIVES = ("loss", "error", "margin", "smallest_margin", "sparsity")
_SUMS = ("loss", "error", "margin")


def has_margins(order: Sequence[str]) -> bool:
    """Tell whether an order of objectives asks for margins, which annealing widens."""
    return "margin" in order or "smallest_margin" in order


@dataclass(frozen=True)
class Objective:
    """An order of objectives and the margin that is wanted."""

    # Tuple of {"loss", "error", "margin", "smallest_margin", "sparsity"}: most important first.
    order: tuple[str, ...]
    wanted_margin: float  # output margin beyond which nothing is gained, in units of weights

    @classmethod
    def create(
        cls, order: Sequence[str], architecture: Architecture, wanted_margin: float | None = None
    ) -> Objective:
        """Check an order of objectives; the wanted margin grows with the width by default."""
        order = (order,) if isinstance(order, str) else tuple(order)
        if not order or len(set(order)) < len(order) or not set(order) <= set(OBJECTIVES):
            raise ModelError(
                f"objectives must name some of {', '.join(OBJECTIVES)}, each once, got "
                f"{order!r}: give for example ('loss', 'margin')."
            )
        if order[0] not in _SUMS:
            raise ModelError(
                f"objectives must not begin with {order[0]!r}, which says nothing about most "
                "samples: put 'loss', 'error' or 'margin' first."
            )
        if wanted_margin is None:
            wanted_margin = default_margin(architecture)
        if not wanted_margin > 0:
            raise ModelError(f"wanted_margin must be positive, got {wanted_margin!r}: raise it.")
        return cls(order, float(wanted_margin))

    def goal(self, problem: Problem[OutputLoss]) -> FloatArray:
        """Weights for compiled code: the least is 1, and every other outweighs all that follow."""
        goal = np.zeros(5)
        goal[3] = self.wanted_margin
        goal[4] = float(problem.architecture.ties == "first")
        total = float(problem.loss.label_weight.sum())
        positive = problem.loss.label_weight[problem.loss.label_weight > 0]
        smallest = float(positive.min(initial=np.inf)) if positive.size else 1.0
        width, limit = problem.architecture.widths[-2], problem.architecture.weights[-1].limit
        limit *= _largest_value(problem.architecture)
        worst = {
            "loss": total * problem.architecture.n_outputs,
            "error": total,
            "margin": total * (self.wanted_margin + 4.0 * width * limit),
        }
        weight = 1.0
        for name in reversed([name for name in self.order if name in _SUMS]):
            goal[_SUMS.index(name)] = weight
            # Loss and error move in steps of the smallest weight, or less where weights are odd;
            # then the search is led by a sum, and what it returns is still compared by `key`.
            weight = 1.0 + weight * worst[name] / smallest
        return goal

    def key(self, problem: Problem[OutputLoss], network: Network) -> tuple[float, ...]:
        """Value of every objective, in order, from the network's own forward pass.

        Infinite where the network breaks a term.
        """
        if not problem.is_feasible(network):
            return (np.inf,) * len(self.order)
        return tuple(_VALUES[name](problem, network, self.wanted_margin) for name in self.order)


def default_margin(architecture: Architecture) -> float:
    """Output margin worth having: grows with the square root of the last hidden width."""
    width = architecture.hidden[-1] if architecture.hidden else 1
    values = architecture.activation_of(len(architecture.hidden) - 1).values
    reach = architecture.weights[-1].limit * (values[-1] - values[0])
    return float(np.ceil(2.0 * np.sqrt(width)) * reach)


def _largest_value(architecture: Architecture) -> int:
    """Largest absolute value of a unit of the last hidden layer."""
    values = architecture.activation_of(len(architecture.hidden) - 1).values
    return max(abs(value) for value in values)


def output_margins(problem: Problem[OutputLoss], network: Network) -> FloatArray:
    """Score of every class minus the best other score, of shape (n_inputs, n_outputs)."""
    scores = network.values(problem.inputs)
    if scores.shape[1] == 1:
        return np.full_like(scores, np.inf)
    ranked = np.sort(scores, axis=1)
    best, second = ranked[:, -1:], ranked[:, -2:-1]
    leads = np.zeros(scores.shape, dtype=bool)
    leads[np.arange(len(scores)), scores.argmax(axis=1)] = True
    return np.where(leads, scores - second, scores - best)


def smallest_margin(problem: Problem[OutputLoss], network: Network) -> float:
    """Smallest normalised margin of the inputs' leading classes; negative where one is wrong."""
    leading = problem.loss.label_weight.argmax(axis=1)
    margins = output_margins(problem, network)[np.arange(len(leading)), leading]
    size = float(np.abs(network.weights[-1]).sum(axis=1).max(initial=0.0))
    return float(margins.min(initial=np.inf)) / max(size, 1e-300)


def hinge(problem: Problem[OutputLoss], network: Network, wanted_margin: float) -> float:
    """Sum over the samples of what their output margin lacks."""
    lacking = np.maximum(0.0, wanted_margin - output_margins(problem, network))
    return float((problem.loss.label_weight * lacking).sum())


def _loss(problem: Problem[OutputLoss], network: Network, wanted_margin: float) -> float:
    return float(problem.objective(network))


def _error(problem: Problem[OutputLoss], network: Network, wanted_margin: float) -> float:
    return problem.error(network)


def _sparsity(problem: Problem[OutputLoss], network: Network, wanted_margin: float) -> float:
    return float(sum(np.count_nonzero(W) for W in network.weights))


def _smallest(problem: Problem[OutputLoss], network: Network, wanted_margin: float) -> float:
    return -smallest_margin(problem, network)


_VALUES = {
    "loss": _loss,
    "error": _error,
    "margin": hinge,
    "smallest_margin": _smallest,
    "sparsity": _sparsity,
}

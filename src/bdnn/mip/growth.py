"""Growing a model: what further samples add to a program, without writing the rest again.

Further samples bring activations, products and rows of their own, and change costs. Rows that are
there already stay right as long as they say the same: the grid and the margin of the inputs and
the range of the thresholds, from which the big-M values follow, must not change. Where the
preferred answer to an earlier sample changes, one-sided outputs get the row they did without.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bdnn.mip.bounds import LayerBounds
from bdnn.mip.layers import Steps
from bdnn.mip.loss import OutputObjective
from bdnn.mip.mccormick import Products
from bdnn.mip.model import DEFAULT_EPS, NetworkModel, bounds_of_sums
from bdnn.mip.reductions import Reductions
from bdnn.mip.robust import Robust
from bdnn.network.activation import BoolArray
from bdnn.problem.create import led_by
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem


class GrowingModel:
    """Builds models; each continues the one before where that is possible.

    Attributes
    ----------
    model : NetworkModel[OutputObjective] or None
        The last one. The program of an earlier one is used up by it.
    """

    def __init__(self) -> None:
        self.model: NetworkModel[OutputObjective] | None = None
        self._settings: tuple[Reductions | None, float] | None = None

    def __getstate__(self) -> dict[str, None]:
        # A program is many times larger than the samples and soon written again.
        return {"model": None, "_settings": None}

    def build(
        self,
        problem: Problem[OutputLoss],
        *,
        reductions: Reductions | None = None,
        eps: float = DEFAULT_EPS,
        robust: Robust | None = None,
    ) -> NetworkModel[OutputObjective]:
        """Make a model like :meth:`~bdnn.mip.NetworkModel.build`."""
        last, self.model = self.model, None
        grown = None
        if last is not None and robust is None and self._settings == (reductions, eps):
            grown = grow(last, led_by(problem, last.problem.samples), eps=eps)
        self.model = grown or NetworkModel.build(
            problem, reductions=reductions, eps=eps, robust=robust
        )
        self._settings = (reductions, eps)
        return self.model


def grow(
    model: NetworkModel[OutputObjective], problem: Problem[OutputLoss], *, eps: float = DEFAULT_EPS
) -> NetworkModel[OutputObjective] | None:
    """Append the variables and rows of further inputs to the program of a model.

    Parameters
    ----------
    model : NetworkModel[OutputObjective]
        Its program is changed, so that it must not be used any more.
    problem : Problem[OutputLoss]
        The model's inputs come first, in the same order; weights of samples may differ.
    eps : float
        What the model was built with.

    Returns
    -------
    NetworkModel or None
        None, and nothing is changed, where rows that are there already would have to change.
    """
    known, total = len(model.problem.inputs), len(problem.inputs)
    if not _is_continued(model, problem):
        return None
    bounds = [_grown_bounds(model, problem, k, eps) for k in range(1, len(model.layers) + 1)]
    if any(b is None for b in bounds):
        return None
    loss = OutputObjective.of(problem, np.arange(total), model.reductions)
    program = model.program
    layers = [replace(layer, bounds=b) for layer, b in zip(model.layers, bounds, strict=True) if b]
    steps: list[Steps] = []
    products: list[Products] = []
    for k, layer in enumerate(layers):
        is_output = k == len(layers) - 1
        rule = problem.architecture.activation_of(k)
        u = Steps.add_activations(program, layer, total - known).u
        step = Steps(layer, np.concatenate([model.steps[k].u, u]))
        one_sided = is_output and model.reductions.one_sided
        active, inactive = _missing_rows(model.loss, loss, step.u.shape, one_sided=one_sided)
        if k == 0:
            terms, values = layer.W[None], (problem.inputs / layer.bounds.unit)[:, None, :]
        else:
            below = problem.architecture.activation_of(k - 1)
            s = Products.add_products(program, layer, below, total - known)
            old = model.products[k - 1]
            product = Products(layer, below, steps[-1].u, np.concatenate([old.s, s]))
            product.add_rows(
                program,
                needs_upper=active[:, :: rule.n_thresholds],
                needs_lower=inactive[:, :: rule.n_thresholds],
            )
            products.append(product)
            terms, values = product.terms(layer.bounds.unit)
        step.add_rows(program, terms, values, needs_active=active, needs_inactive=inactive)
        steps.append(step)
    _change_loss(model, loss, steps[-1])
    return replace(
        model,
        problem=problem,
        layers=tuple(layers),
        steps=tuple(steps),
        products=tuple(products),
        loss=loss,
        groups=np.arange(total),
    )


def _is_continued(model: NetworkModel[OutputObjective], problem: Problem[OutputLoss]) -> bool:
    """Whether a problem has a model's inputs and others after them, and nothing else is new."""
    earlier = model.problem
    return (
        model.dual_norms is None
        and not problem.terms
        and not model.blocks
        and model.reductions.merge
        and np.array_equal(model.groups, np.arange(len(earlier.inputs)))
        and problem.architecture == earlier.architecture
        and np.array_equal(problem.inputs[: len(earlier.inputs)], earlier.inputs)
    )


def _grown_bounds(
    model: NetworkModel[OutputObjective], problem: Problem[OutputLoss], k: int, eps: float
) -> LayerBounds | None:
    """Bounds of layer ``k`` for all inputs, None if they do not leave the earlier rows alone."""
    layer = model.layers[k - 1]
    shape = (len(problem.inputs), layer.W.shape[1])
    signed = k == len(model.layers) and model.reductions.signed
    bounds = bounds_of_sums(problem, k, layer.weights, shape, None, signed=signed, eps=eps)
    old = layer.bounds
    same = (bounds.unit, bounds.threshold, bounds.margin, bounds.exact) == (
        old.unit,
        old.threshold,
        old.margin,
        old.exact,
    )
    return bounds if same else None


def _missing_rows(
    before: OutputObjective, after: OutputObjective, shape: tuple[int, ...], *, one_sided: bool
) -> tuple[BoolArray, BoolArray]:
    """Which (sample, unit) pairs need the row of an active and of an inactive unit, and lack it."""
    active, inactive = np.ones(shape, dtype=bool), np.ones(shape, dtype=bool)
    known = len(before.cost_on)
    if not one_sided:
        active[:known] = inactive[:known] = False
        return active, inactive
    active = after.cost_on < after.cost_off
    inactive = after.cost_on > after.cost_off
    active[:known] &= ~(before.cost_on < before.cost_off)
    inactive[:known] &= ~(before.cost_on > before.cost_off)
    return active, inactive


def _change_loss(
    model: NetworkModel[OutputObjective], loss: OutputObjective, outputs: Steps
) -> None:
    """Turn the objective into the new loss, leaving what else is in it."""
    coefficients = loss.cost_on - loss.cost_off
    coefficients[: len(model.loss.cost_on)] -= model.loss.cost_on - model.loss.cost_off
    model.program.minimise(outputs.u, coefficients)
    model.program.offset += float(loss.cost_off.sum() - model.loss.cost_off.sum())

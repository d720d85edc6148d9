"""From networks to starts of a solver, and from its answers back.

A start is the columns of layers and switches from weights and thresholds. Of an answer, rounding
may make units lose the activations that the solver meant. Given the activations, units no longer
depend on each other: each needs weights in the box that put its "on" samples above and its "off"
samples below, which is a linear program with the margin as objective. Integer weights are exact
after rounding and need no repair.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog

from bdnn.blocks.input_sets import InputSets
from bdnn.blocks.weights import LayerWeights
from bdnn.errors import InfeasibleError
from bdnn.network.activation import Activation, BoolArray, FloatArray, step
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputBlock
from bdnn.problem.terms.base import AbstractTerm
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.result import Limits, SolveResult, Termination

if TYPE_CHECKING:
    from bdnn.mip.model import NetworkModel


def lift_points(
    model: NetworkModel[Any],
    x: FloatArray,
    network: Network,
    weights: list[FloatArray],
    thresholds: list[FloatArray],
) -> bool:
    """Fill in layers that keep the network's activations with the full margin."""
    on = switches_of(network, model.problem.inputs)
    first = np.unique(model.groups, return_index=True)[1]
    if not (on[0] == on[0][first][model.groups]).all():
        return False
    on = [layer[first] for layer in on]
    if model.reductions.one_output:
        weights[-1], thresholds[-1], on[-1] = _better_output(model.loss, network, on[-1])
    if model.reductions.signed:
        rule = model.problem.architecture.activation_of(len(model.layers) - 2)
        on[-2] = turn_round(weights, thresholds, on[-2], rule)
    (inputs,) = model.input_sets(model.problem)
    rigid, products = model.problem.scale_dependent, iter(model.products)
    for k, (layer, switches) in enumerate(zip(model.layers, model.steps, strict=False)):
        if k not in model.given.layers:
            sums = inputs.sums(weights[k])
            kept = on[k][inputs.groups(model.groups)] if k == 0 else on[k]
            if not layer.lift(x, weights[k], thresholds[k], sums, kept, rigid=rigid):
                return False
        inputs = InputSets(switches.lift(x, on[k]))
        if k == 0 and model.dual_norms is not None:
            model.dual_norms.lift(x)
        elif k not in model.given.layers:
            next(products).lift(x)
    return True


def lift_sets(
    model: NetworkModel[Any], x: FloatArray, weights: list[FloatArray], thresholds: list[FloatArray]
) -> bool:
    """Fill in layers, and what is sure of their activations at the program's thresholds."""
    rigid = model.problem.scale_dependent
    for layer, W, t in zip(model.layers[:-1], weights, thresholds, strict=False):
        if not layer.lift(x, W, t, rigid=rigid):
            return False
    fill_switches(model, x)
    return True


def fill_switches(model: NetworkModel[Any], x: FloatArray) -> None:
    """Fill in what is sure of activations, by the weights and thresholds that a start has."""
    for k, (layer, switches) in enumerate(zip(model.layers, model.steps, strict=False)):
        if k > 0:
            product = model.products[k - 1]
            product.lift(x)
            unit = layer.bounds.unit
            sums = [(x[s.columns] * s.coefficients).sum(axis=-1) for s in product.sums(unit)]
            switches.lift(x, *layer.certain(x, *sums))
            continue
        model.dual_norms.lift(x)  # type: ignore[union-attr]
        found, sets = [], model.input_sets(model.problem)
        for way, around in zip(model.ways or (switches,), sets, strict=True):
            sums = [part / layer.bounds.unit for part in around.sums(x[layer.W])]
            found.append(layer.certain(x, *sums))
            way.lift(x, *found[-1])
        on, possible = (np.stack(part) for part in zip(*found, strict=True))
        switches.lift(x, np.logical_or.reduce(on), np.logical_and.reduce(possible))


def _better_output(
    loss: Any, network: Network, on: BoolArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Of two outputs keep the second, or the first turned round if that costs less."""
    W, t = network.weights[-1], network.thresholds[-1]
    on_second, on_first = on[:, 1:], ~on[:, :1]
    if loss.value(on_second) <= loss.value(on_first):
        return W[1:], t[1:], on_second
    return -W[:1], -t[:1], on_first


def switches_of(network: Network, inputs: FloatArray) -> list[BoolArray]:
    """Which thresholds are reached, for every layer of shape (lines, units x levels)."""
    return [
        step(sums[:, :, None], t).reshape(len(sums), -1)
        for sums, t in zip(network.preactivations(inputs), network.thresholds, strict=True)
    ]


def turn_round(
    weights: list[FloatArray],
    thresholds: list[FloatArray],
    on: BoolArray,
    rule: Activation,
) -> BoolArray:
    """Make the single output's weights non-negative by turning round units below it.

    A unit turned round reaches its thresholds from the other end: its value v becomes
    v_0 + v_L - v, which the output's threshold takes up. Weights and thresholds are changed in
    their lists; the switches of the last hidden layer are returned.
    """
    flip = (weights[-1][0] < 0)[:, None]
    total = rule.values[0] + rule.values[-1]
    negative = np.minimum(weights[-1], 0.0).sum(axis=1, keepdims=True)
    thresholds[-1] = thresholds[-1] - total * negative
    weights[-1] = np.abs(weights[-1])
    weights[-2] = np.where(flip, -weights[-2], weights[-2])
    thresholds[-2] = np.where(flip, -thresholds[-2][:, ::-1], thresholds[-2])
    reached = on.reshape(len(on), *thresholds[-2].shape)
    return np.where(flip, ~reached[..., ::-1], reached).reshape(on.shape)


def networks_of(model: NetworkModel[OutputBlock], outcome: SolveResult) -> list[Network]:
    """Networks of a solver's answer: the one it has, and a repaired one where that lost by it."""
    if outcome.solution is None:
        return []
    network = model.read(outcome.solution)
    claimed = outcome.objective + 1e-6 * max(1.0, abs(outcome.objective))
    if model.problem.objective(network) <= claimed:
        return [network]
    repaired = repair(model, outcome.solution)
    return [network] if repaired is None else [network, repaired]


def repair(model: NetworkModel[OutputBlock], solution: FloatArray) -> Network | None:
    """Find the network of widest margin with the solution's activations, None if there is none.

    Shared thresholds tie units together, and so do several thresholds of one unit; there the
    solver's network is left as it is.
    """
    problem = model.problem
    shape = problem.architecture
    if shape.thresholds == "layer" or shape.has_levels or problem.loss.input_regions is not None:
        return None
    repaired = solution.copy()
    inputs = problem.inputs
    for k, (layer, steps) in enumerate(zip(model.layers, model.steps, strict=True)):
        if k in model.given.layers:
            break
        on = np.rint(solution[steps.u]).astype(bool)
        tied = np.ones(on.shape, dtype=bool)
        if layer is model.layers[-1] and model.reductions.one_sided:
            # An output is held only to the answer that lowers the loss, as in the model.
            gain = model.loss.cost_off - model.loss.cost_on
            tied = np.where(on, gain > 0, gain < 0)
        if layer is model.layers[0]:
            # Inputs of a cluster share their activations.
            on, tied = on[model.groups], tied[model.groups]
        if not layer.weights.integer:
            scaled = inputs / layer.bounds.unit
            for unit in range(len(layer.W)):
                rows = tied[:, unit]
                fitted = widest_margin(
                    scaled[rows], on[rows, unit], layer.range, fixed=layer.t is None
                )
                if fitted is None:
                    return None
                _write_unit(repaired, layer, unit, fitted)
        inputs = np.rint(solution[steps.u])
    return model.read(repaired)


def _write_unit(x: FloatArray, layer: LayerWeights, unit: int, fitted: FloatArray) -> None:
    x[layer.W[unit]] = fitted[:-1]
    if layer.t is not None:
        # Reading puts the threshold half a margin lower, here it is central already.
        x[layer.t[unit]] = fitted[-1] + layer.bounds.margin / 2


def widest_margin(
    inputs: FloatArray, on: BoolArray, box: tuple[float, float], *, fixed: bool
) -> FloatArray | None:
    """Weights and threshold with ``w.x - t`` at least d where on and at most -d where off, d max.

    A threshold fixed at 0 may be met exactly by units that are on, so only "off" has a margin.
    """
    n_inputs = inputs.shape[1]
    side = np.where(on, -1.0, 1.0)
    gap = np.where(on & fixed, 0.0, 1.0)
    rows = np.column_stack([side[:, None] * inputs, -side, gap])
    reach = np.abs(inputs).sum(axis=1).max(initial=0.0) + 1.0
    bounds = [box] * n_inputs + [(0.0, 0.0) if fixed else (-reach, reach), (0.0, 1.0)]
    cost = np.zeros(n_inputs + 2)
    cost[-1] = -1.0
    answer = linprog(cost, A_ub=rows, b_ub=np.zeros(len(inputs)), bounds=bounds)
    if answer.status != 0 or answer.x[-1] <= 1e-9 < float((~on).sum()):
        return None
    return np.asarray(answer.x[:-1])


def explain_conflict(
    model: NetworkModel[OutputBlock], engine: AbstractSolver, *, seconds: float
) -> None:
    """Raise an error that names the constraints of a program without a solution.

    A constraint that has no network alone is named alone; of others, those without which there is
    one are named together. Nothing happens where the problem has no constraints.
    """
    problem = model.problem
    if not problem.constraints:
        return
    deadline = time.monotonic() + seconds

    def is_infeasible(terms: Sequence[AbstractTerm]) -> bool:
        left = deadline - time.monotonic()
        if left <= 0 or not terms:
            return False
        program = type(model).build(problem.with_terms(terms)).program
        outcome = engine.solve(
            program,
            limits=Limits(seconds=left),
            on_event=lambda event: event.solution is not None,
        )
        return outcome.termination is Termination.INFEASIBLE

    kept = f"no network {problem.architecture}"
    if model.margin:
        kept += f" whose units keep a margin of {model.margin:.2g}"
    for term in problem.constraints:
        if is_infeasible([term]):
            raise InfeasibleError(f"{kept} can keep {term.name}: ask for less or a wider network.")
    needed = list(problem.constraints)
    for term in problem.constraints:
        fewer = [other for other in needed if other is not term]
        if is_infeasible(fewer):
            needed = fewer
    names = problem.with_terms(needed).term_names
    raise InfeasibleError(f"{kept} can keep {names} together: leave one out or ask for less.")

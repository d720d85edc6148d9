"""What to do with a solver's answer: repair a network, or say which constraints nobody can keep.

Rounding may make units lose the activations that a solver meant. Given the activations, units no
longer depend on each other: each needs weights in the box that put its "on" samples above and its
"off" samples below, which is a linear program with the margin as objective. Integer weights are
exact after rounding and need no repair.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog

from bdnn.blocks.weights import LayerWeights
from bdnn.errors import InfeasibleError
from bdnn.mip import NetworkModel
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.problem.losses.output import OutputBlock
from bdnn.problem.terms.base import AbstractTerm
from bdnn.solvers.base import AbstractSolver
from bdnn.solvers.result import Limits, SolveResult, Termination


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
        program = NetworkModel.build(problem.with_terms(terms)).program
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
    names = problem.with_terms(needed).demands
    raise InfeasibleError(f"{kept} can keep {names} together: leave one out or ask for less.")

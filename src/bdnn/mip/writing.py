"""The one loop over layers: weights, switches, products and rows of a network in a program.

A layer's sums have four forms: given inputs times free weights are coefficients on W, free inputs
times given weights are coefficients on u, free times free are products, and what is given on both
sides is never written down. Lines may be points or sets of inputs, see `layers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bdnn.mip.bounds import LayerBounds, layer_bounds, value_range
from bdnn.mip.certified import Leads
from bdnn.mip.layers import Products, Steps, Sums
from bdnn.mip.loss import OutputObjective
from bdnn.mip.regression import DistanceObjective
from bdnn.mip.robust import DualNorms, InputSets
from bdnn.mip.weights import GivenWeights, LayerWeights, weight_range
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray

if TYPE_CHECKING:
    from bdnn.mip.model import NetworkModel

Needs = tuple[BoolArray, BoolArray]


@dataclass(frozen=True)
class Given:
    """What is not to be found."""

    # Weights and thresholds by number from 0, of layers above the first.
    layers: Mapping[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    # (n_lines, outputs): what the outputs must be, in place of a loss.
    outputs: BoolArray | None = None
    units: IndexArray | None = None  # outputs that are there; by default all

    def costs(self, loss: OutputObjective) -> OutputObjective:
        """What is left of a loss."""
        if self.outputs is not None:
            return OutputObjective(*np.zeros((2, *self.outputs.shape)))
        if self.units is None:
            return loss
        return replace(
            loss, cost_on=loss.cost_on[:, self.units], cost_off=loss.cost_off[:, self.units]
        )


class LayerWriter:
    """Adds to a model's program what the lines of a problem lack, and weights if there are none."""

    def __init__(
        self,
        model: NetworkModel[Any],  # as it is so far: empty, or of the first lines
        problem: Problem[Any],
        groups: IndexArray,  # (n_inputs,)
        *,
        # Whether the model has these lines as regions, and points are wanted beside them.
        is_beside: bool = False,
    ) -> None:
        self.is_beside = is_beside
        self.model = model
        self.problem = problem
        self.groups = groups
        self.shape = problem.architecture
        self.program = model.program
        self.sets = model.input_sets(problem)
        self.n_lines = int(groups.max(initial=-1)) + 1
        self.counts_outputs = problem.loss.counts_outputs
        self.objective: Any = None
        self.layers: list[Any] = []
        self.steps: list[Steps] = []
        self.ways: list[Steps] = []
        self.products: list[Products] = []
        self.norms: DualNorms | None = None

    def write(self, *, tangents: bool = False) -> NetworkModel[Any]:
        """Go through the layers."""
        model, problem, program = self.model, self.problem, self.program
        if self.counts_outputs:
            costs = OutputObjective.of(problem, self.groups, model.reductions)
            self.objective = model.given.costs(costs)
        for k in range(self.shape.n_layers):
            self.layers.append(self._weights(k))
            is_last = k == self.shape.n_layers - 1
            if is_last and problem.loss.input_regions is not None:
                self.objective = Leads.add_leads(
                    program, problem, self.layers[-1], self.steps[-1], eps=model.eps
                )
                break
            if not is_last or self.counts_outputs:
                self.steps.append(self._switches(k))
            needs = self._needs(k)
            sums = self._first_sums() if k == 0 else self._upper_sums(k, needs)
            if is_last and not self.counts_outputs:
                self.objective = DistanceObjective.add(
                    program, problem, self.layers[-1], sums[0], tangents=tangents
                )
            elif k == 0:
                self._add_first_rows(sums, needs)
            else:
                self._add_rows(self.steps[k], sums, needs)
        if self.counts_outputs and not self.is_beside:
            self.objective.add(program, self.steps[-1].u, model.loss)
        return replace(
            model,
            problem=problem,
            loss=self.objective,
            groups=self.groups,
            layers=tuple(self.layers),
            steps=tuple(self.steps),
            ways=tuple(self.ways),
            products=tuple(self.products),
            dual_norms=self.norms,
        )

    def _weights(self, k: int) -> LayerWeights | GivenWeights:
        shape, model = self.shape, self.model
        weights, rule = shape.weights[k], shape.activation_of(k)
        if k in model.given.layers:
            numbers, below = model.given.layers[k], shape.activation_of(k - 1)
            return GivenWeights.of(k + 1, *numbers, weights, below, rule, eps=model.eps)
        if self.is_beside:
            return self._beside(model.layers[k])
        bounds = self.bounds(k)
        if model.layers:
            return replace(model.layers[k], bounds=bounds)
        is_last = k == shape.n_layers - 1
        return LayerWeights.add(
            self.program,
            k + 1,
            (shape.widths[k + 1] - (is_last and model.reductions.one_output), shape.widths[k]),
            weights,
            shape.thresholds,
            bounds,
            signed=is_last and model.reductions.signed,
            rule=rule,
        )

    def _beside(self, layer: LayerWeights) -> LayerWeights:
        """Measure points as regions are; on the grid of leads outputs are a step apart."""
        bounds = layer.bounds
        return replace(layer, bounds=replace(bounds, margin=bounds.margin or 1.0))

    def bounds(self, k: int) -> LayerBounds:
        """Bounds of a layer's sums over the box of its weights."""
        shape, problem = self.shape, self.problem
        is_last, weights = k == shape.n_layers - 1, shape.weights[k]
        if is_last and not self.counts_outputs:
            if problem.loss.input_regions is None:
                return DistanceObjective.bounds(problem)
            return Leads.bounds(problem, self.model.eps)
        box = weight_range(weights, signed=is_last and self.model.reductions.signed)
        if k == 0:
            # Points beside regions are measured in the same unit.
            points = InputSets(problem.inputs)
            units = [around.unit(weights) for around in (*self.sets, points)]
            unit, exact = min(unit for unit, _ in units), all(exact for _, exact in units)
            if len(self.sets) > 1 and not exact:
                unit = float(max(np.abs(around.centre).max() for around in self.sets)) or 1.0
            sides = np.array([around.box_bounds(unit, weights, box) for around in self.sets])
            lowest, highest = sides[:, 0].min(axis=0), sides[:, 1].max(axis=0)
        else:
            unit, exact = 1.0, weights.integer
            ends = value_range(box, shape.activation_of(k - 1).values)
            lowest, highest = (np.full(self.n_lines, shape.widths[k] * end) for end in ends)
        return layer_bounds(
            lowest,
            highest,
            unit=unit,
            exact=exact,
            thresholds=shape.thresholds,
            eps=self.model.eps,
            normalised=not weights.integer,
            rule=shape.activation_of(k),
        )

    def _switches(self, k: int) -> Steps:
        earlier = self.model.steps[k].u if self.model.steps else None
        known = 0 if earlier is None else len(earlier)
        is_last = k == self.shape.n_layers - 1
        steps = Steps.add(
            self.program,
            self.layers[k],
            self.n_lines - known,
            sets=None if self.problem.loss.input_regions is None else "",
            kept=self.model.given.outputs if is_last else None,
        )
        return steps if earlier is None else replace(steps, u=np.concatenate([earlier, steps.u]))

    def _needs(self, k: int) -> Needs:
        """Which activations need the row of an active and of an inactive unit, and lack it."""
        model, layer = self.model, self.layers[k]
        size = (self.n_lines, len(layer.W) * layer.rule.n_thresholds)
        needs = (np.ones(size, dtype=bool), np.ones(size, dtype=bool))
        known = len(model.steps[k].u) if model.steps else 0
        had = tuple(part[:known].copy() for part in needs)
        if k == self.shape.n_layers - 1 and self.counts_outputs:
            if model.given.outputs is not None:
                needs = (model.given.outputs, ~model.given.outputs)
            elif model.reductions.one_sided:
                needs = self.objective.needs
                had = model.loss.needs if known else had
        for part, earlier in zip(needs, had, strict=True):
            part[:known] &= ~earlier
        return needs

    def _first_sums(self) -> tuple[Sums, Sums]:
        self.norms = DualNorms.add(self.program, self.layers[0], self.sets)
        return self.norms.sums(self.sets[0])

    def _upper_sums(self, k: int, needs: Needs) -> tuple[Sums, Sums]:
        layer, model = self.layers[k], self.model
        if k in model.given.layers:
            sums = Sums(self.steps[k - 1].u[:, None, :], layer.coefficients[None])
            return sums, sums
        n_levels = layer.rule.n_thresholds
        product = Products.add(
            self.program,
            layer,
            self.steps[k - 1],
            needs_upper=needs[0][:, ::n_levels],
            needs_lower=needs[1][:, ::n_levels],
            earlier=model.products[len(self.products)] if model.products else None,
        )
        self.products.append(product)
        return product.sums(layer.bounds.unit)

    def _add_first_rows(self, sums: tuple[Sums, Sums], needs: Needs) -> None:
        """Every input has its rows, all inputs of a cluster with the same activations."""
        needs = (needs[0][self.groups], needs[1][self.groups])
        if len(self.sets) == 1:
            self._add_rows(self.steps[0].of_lines(self.groups), sums, needs)
            return
        assert self.norms is not None
        for name, around in zip(("box", "ball"), self.sets, strict=True):
            way = Steps.add(self.program, self.layers[0], self.n_lines, sets=name)
            self._add_rows(way, self.norms.sums(around), needs)
            self.ways.append(way)
        # What is sure if a box or a ball says so: u <= u' + u'', v >= v' + v'' - 1.
        on = [*(way.u for way in self.ways), self.steps[0].u]
        possible = [*(way.possible for way in self.ways), self.steps[0].possible]
        for name, columns, side in (
            ("either_on", on, {"lower": 0.0}),
            ("either_off", possible, {"upper": 1.0}),
        ):
            self.program.add_rows(name, np.stack(columns, axis=-1), [1.0, 1.0, -1.0], **side)

    def _add_rows(self, steps: Steps, sums: tuple[Sums, Sums], needs: Needs) -> None:
        steps.add_rows(self.program, *sums, needs_active=needs[0], needs_inactive=needs[1])

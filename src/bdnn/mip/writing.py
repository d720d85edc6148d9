"""The one loop over layers: weights, switches, products and rows of a network in a program.

A layer's sums have four forms: given inputs times free weights are coefficients on W, free inputs
times given weights are coefficients on u, free times free are products, and what is given on both
sides is never written down. Lines may be points or sets of inputs, see `layers`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bdnn.blocks.bounds import LayerBounds, layer_bounds, value_range
from bdnn.blocks.input_sets import DualNorms, InputSets
from bdnn.blocks.layers import Needs, Products, Steps, Sums
from bdnn.blocks.weights import GivenWeights, LayerWeights, weight_range
from bdnn.problem.losses.base import OutputLayer
from bdnn.problem.problem import Problem
from bdnn.program import IndexArray

if TYPE_CHECKING:
    from bdnn.mip.model import NetworkModel


class LayerWriter(OutputLayer):
    """Adds to a model's program what the lines of a problem lack, and weights if there are none."""

    def __init__(
        self,
        model: NetworkModel[Any],  # as it is so far: empty, or of the first lines
        problem: Problem[Any],
        groups: IndexArray,  # (n_inputs,)
        *,
        # Whether the model has these lines as regions, and points are wanted beside them.
        is_beside: bool = False,
        takes_squares: bool = True,
    ) -> None:
        self.is_beside, self.takes_squares = is_beside, takes_squares
        self.model, self.problem, self.groups = model, problem, groups
        self.program, self.reductions, self.given = model.program, model.reductions, model.given
        self.eps, self.earlier = model.eps, model.loss
        self.shape = problem.architecture
        self.sets = model.input_sets(problem)
        self.n_lines = int(groups.max(initial=-1)) + 1
        self.layers: list[Any] = []
        self.steps: list[Steps] = []
        self.ways: list[Steps] = []
        self.products: list[Products] = []
        self.norms: DualNorms | None = None

    def write(self) -> NetworkModel[Any]:
        """Go through the layers; the last one is written as the loss asks for it."""
        for k in range(self.shape.n_layers - 1):
            self.layers.append(self._weights(k))
            self._add_switches(k)
        self.layers.append(self._weights(self.shape.n_layers - 1))
        block = self.problem.loss.block(self)
        return replace(
            self.model,
            problem=self.problem,
            loss=block,
            groups=self.groups,
            layers=tuple(self.layers),
            steps=tuple(self.steps),
            ways=tuple(self.ways),
            products=tuple(self.products),
            dual_norms=self.norms,
        )

    @property
    def layer(self) -> LayerWeights:
        found: LayerWeights = self.layers[-1]
        return found

    @property
    def below(self) -> Steps:
        return self.steps[-1]

    def sums(self) -> tuple[Sums, Sums]:
        return self._sums(self.shape.n_layers - 1)

    def switches(self, needs: Needs | None = None, had: Needs | None = None) -> Steps:
        outputs = self.given.outputs
        if outputs is not None:
            needs = (outputs, ~outputs)
        self._add_switches(self.shape.n_layers - 1, needs, had)
        return self.steps[-1]

    def _add_switches(self, k: int, needs: Needs | None = None, had: Needs | None = None) -> None:
        """Add the activations of a layer, and the rows that lines need and did not have."""
        self.steps.append(self._switches(k))
        size, known = self.steps[k].u.shape, len(self.model.steps[k].u) if self.model.steps else 0
        all_needed = (np.ones(size, dtype=bool), np.ones(size, dtype=bool))
        needs = needs or all_needed
        for part, earlier in zip(needs, had or all_needed, strict=True):
            part[:known] &= ~earlier[:known]
        sums = self._sums(k, needs)
        if k == 0:
            self._add_first_rows(sums, needs)
        else:
            self._add_rows(self.steps[k], sums, needs)

    def _sums(self, k: int, needs: Needs | None = None) -> tuple[Sums, Sums]:
        return self._first_sums() if k == 0 else self._upper_sums(k, needs)

    def _weights(self, k: int) -> LayerWeights | GivenWeights:
        shape, model = self.shape, self.model
        weights, rule = shape.weights[k], shape.activation_of(k)
        if k in self.given.layers:
            numbers, below = self.given.layers[k], shape.activation_of(k - 1)
            return GivenWeights.of(k + 1, *numbers, weights, below, rule, eps=self.eps)
        if self.is_beside:
            return self._beside(model.layers[k])
        bounds = self.bounds(k)
        if model.layers:
            return replace(model.layers[k], bounds=bounds)
        is_last = k == shape.n_layers - 1
        return LayerWeights.add(
            self.program,
            k + 1,
            (shape.widths[k + 1] - (is_last and self.reductions.one_output), shape.widths[k]),
            weights,
            shape.thresholds,
            bounds,
            signed=is_last and self.reductions.signed,
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
        wanted = problem.loss.output_bounds(problem, self.eps) if is_last else None
        if wanted is not None:
            found: LayerBounds = wanted
            return found
        box = weight_range(weights, signed=is_last and self.reductions.signed)
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
            eps=self.eps,
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
            kept=self.given.outputs if is_last else None,
        )
        return steps if earlier is None else replace(steps, u=np.concatenate([earlier, steps.u]))

    def _first_sums(self) -> tuple[Sums, Sums]:
        self.norms = DualNorms.add(self.program, self.layers[0], self.sets)
        return self.norms.sums(self.sets[0])

    def _upper_sums(self, k: int, needs: Needs | None) -> tuple[Sums, Sums]:
        layer, model = self.layers[k], self.model
        if k in self.given.layers:
            sums = Sums(self.steps[k - 1].u[:, None, :], layer.coefficients[None])
            return sums, sums
        upper, lower = needs or np.ones((2, self.n_lines, len(layer.W)), dtype=bool)
        n_levels = 1 if needs is None else layer.rule.n_thresholds
        product = Products.add(
            self.program,
            layer,
            self.steps[k - 1],
            needs_upper=upper[:, ::n_levels],
            needs_lower=lower[:, ::n_levels],
            earlier=model.products[len(self.products)] if model.products else None,
        )
        self.products.append(product)
        return product.sums(layer.bounds.unit)

    def _add_first_rows(self, sums: tuple[Sums, Sums], needs: Needs) -> None:
        """Every input has its rows, all inputs of a cluster with the same activations."""
        groups = self.sets[0].groups(self.groups)
        needs = (needs[0][groups], needs[1][groups])
        if len(self.sets) == 1:
            self._add_rows(self.steps[0].of_lines(groups), sums, needs)
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

"""The exact model of Lemma 1: a whole network and its training samples as one program.

Legend: W^k, t^k weights and thresholds of layer k (the paper's lambda_k, or biases); u^{i,k}
activations of sample i; s^{i,k} products W^k u^{i,k-1}; M big-M values; eps the strictness margin.

A layer's sums have four forms: given inputs times free weights are coefficients on W, free inputs
times given weights are coefficients on u, free times free are products, and what is given on both
sides is never written down. Lines may be points or sets of inputs, see `layers`.

Growing data: further samples bring activations, products and rows of their own, and change costs.
Rows that are there already stay right as long as they say the same: the grid and the margin of the
inputs and the range of the thresholds, from which the big-M values follow, must not change. Where
the preferred answer to an earlier sample changes, one-sided outputs get the row they did without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from bdnn.mip.bounds import LayerBounds, layer_bounds, value_range
from bdnn.mip.certified import Leads
from bdnn.mip.layers import Products, Steps, Sums, switches_of, turn_round
from bdnn.mip.loss import OutputObjective, unmerged
from bdnn.mip.reductions import Reductions
from bdnn.mip.regression import DistanceObjective
from bdnn.mip.robust import DualNorms, InputSets, Robust
from bdnn.mip.terms import TermBuilder
from bdnn.mip.weights import GivenWeights, LayerWeights, weight_range
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.network import Network
from bdnn.problem.create import led_by
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.problem.terms.builder import Block
from bdnn.program import IndexArray, Program

DEFAULT_EPS = 1e-4

AnyObjective = TypeVar("AnyObjective", bound=OutputObjective | DistanceObjective)


@dataclass(frozen=True)
class Given:
    """What is not to be found.

    Parameters
    ----------
    layers : mapping of layer numbers from 0 to weights and thresholds
        Of layers above the first.
    outputs : array of shape (n_lines, outputs), optional
        What the outputs must be, in place of a loss.
    units : array of int, optional
        Outputs that are there; by default all.
    """

    layers: Mapping[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    outputs: BoolArray | None = None
    units: IndexArray | None = None

    def costs(self, loss: OutputObjective) -> OutputObjective:
        """What is left of a loss."""
        if self.outputs is not None:
            return OutputObjective(*np.zeros((2, *self.outputs.shape)))
        if self.units is None:
            return loss
        return replace(
            loss, cost_on=loss.cost_on[:, self.units], cost_off=loss.cost_off[:, self.units]
        )


@dataclass(frozen=True)
class NetworkModel(Generic[AnyObjective]):
    """A training problem as a mixed-integer program, with the way to and from networks.

    Build one with :meth:`build`.

    Attributes
    ----------
    problem : Problem
    reductions : Reductions
        Those in use.
    program : Program
    eps : float
    robust : Robust or None
        Balls around the inputs in which no first-layer activation may change.
    given : Given
    loss : OutputObjective or DistanceObjective
    groups : array of shape (n_inputs,)
        Number of the activation pattern that every input follows.
    layers : tuple of LayerWeights
        Or GivenWeights, for layers that are not to be found.
    steps : tuple of Steps
        Of all layers, but for outputs that are numbers or leads.
    ways : tuple of Steps
        What boxes and balls alone say of the first layer, where both are there.
    products : tuple of Products
        One per layer of free weights but the first.
    dual_norms : DualNorms or None
        Of the first layer, where lines are sets of inputs.
    blocks : tuple of Block
        What terms have added.
    """

    problem: Problem[Any]
    reductions: Reductions
    program: Program
    eps: float
    robust: Robust | None
    given: Given
    loss: AnyObjective
    groups: IndexArray
    layers: tuple[LayerWeights, ...] = ()
    steps: tuple[Steps, ...] = ()
    ways: tuple[Steps, ...] = ()
    products: tuple[Products, ...] = ()
    dual_norms: DualNorms | None = None
    blocks: tuple[Block, ...] = ()

    @classmethod
    def build(
        cls,
        problem: Problem[Any],
        *,
        groups: IndexArray | None = None,
        reductions: Reductions | None = None,
        eps: float = DEFAULT_EPS,
        robust: Robust | None = None,
        tangents: bool = False,
        given: Given | None = None,
    ) -> NetworkModel[Any]:
        """Write down the program of a training problem.

        Parameters
        ----------
        problem : Problem
        groups : array of shape (n_inputs,), optional
            Numbers 0, 1, ... of clusters: inputs of the same number must have the same activations
            in every layer (the paper's problem 5). By default every input is its own cluster.
        reductions : Reductions, optional
            Exact reductions to use where they are valid; by default all.
        eps : float
            Distance that inactive units keep from their threshold, relative to the largest input.
            Integer weights on integer data need none: there it is one unit of the data's grid.
        robust : Robust, optional
            Balls around the inputs in which no first-layer activation may change.
        tangents : bool
            Whether squares are held from below by tangents, for solvers that take none.
        given : Given, optional
            Layers and outputs that are not to be found.
        """
        architecture, kind = problem.architecture, problem.loss.kind
        reductions = reductions or Reductions()
        reductions = reductions.without(problem.invalidated)
        reductions = reductions.valid_for(architecture, counts_outputs=kind == "output")
        if groups is None:
            if not reductions.merge and robust is None and not problem.terms and kind == "output":
                problem = unmerged(problem)
            groups = np.arange(len(problem.inputs))
        if not architecture.hidden and (robust is not None or len(groups) > groups.max() + 1):
            # Outputs that cost nothing more would be free to differ within a cluster or a ball.
            reductions = replace(reductions, one_sided=False)
        nothing: Any = None
        empty = cls(
            problem, reductions, Program(), eps, robust, given or Given(), nothing, groups[:0]
        )
        model = empty._with_lines(problem, groups, tangents=tangents)
        if not problem.terms:
            return model
        terms = TermBuilder(
            model.program, problem, groups, model.layers, model.steps, model.products
        )
        return replace(model, blocks=terms.add())

    def append(self, problem: Problem[OutputLoss]) -> NetworkModel[OutputObjective] | None:
        """Append the variables and rows of further inputs; this model must not be used any more.

        The model's inputs come first, in the same order; weights of samples may differ. None, and
        nothing is changed, where rows that are there already would have to change.
        """
        earlier, total = self.problem, len(problem.inputs)
        known = len(earlier.inputs)
        is_continued = (
            self.robust is None
            and self.problem.loss.kind == problem.loss.kind == "output"
            and not problem.terms
            and not self.blocks
            and self.reductions.merge
            and np.array_equal(self.groups, np.arange(known))
            and problem.architecture == earlier.architecture
            and np.array_equal(problem.inputs[:known], earlier.inputs)
        )
        if not is_continued:
            return None
        bounds = [self._bounds(problem, k, total) for k in range(len(self.layers))]
        if not all(b.leaves(old.bounds) for b, old in zip(bounds, self.layers, strict=True)):
            return None
        return self._with_lines(problem, np.arange(total))

    def _with_lines(
        self, problem: Problem[Any], groups: IndexArray, *, tangents: bool = False
    ) -> NetworkModel[Any]:
        """Go through the layers and add what lines lack; without layers also weights."""
        shape, program, reductions = problem.architecture, self.program, self.reductions
        n_lines = int(groups.max(initial=-1)) + 1
        known = len(self.steps[0].u) if self.steps else 0
        counts = problem.loss.kind == "output"
        regions = problem.loss.input_regions
        objective: Any = None
        if counts:
            objective = self.given.costs(OutputObjective.of(problem, groups, reductions))
        widths = list(shape.widths)
        widths[-1] -= reductions.one_output
        sets = self.input_sets(problem)
        layers: list[Any] = []
        steps: list[Steps] = []
        ways: list[Steps] = []
        products: list[Products] = []
        norms: DualNorms | None = None
        sums = (Sums(np.zeros((1, 1, 1), dtype=np.int64), np.zeros((1, 1, 1))),) * 2
        for k, weights in enumerate(shape.weights):
            is_last, rule = k == shape.n_layers - 1, shape.activation_of(k)
            layer: Any
            if k in self.given.layers:
                below = shape.activation_of(k - 1)
                numbers = self.given.layers[k]
                layer = GivenWeights.of(k + 1, *numbers, weights, below, rule, eps=self.eps)
            else:
                bounds = self._bounds(problem, k, n_lines)
                signed = is_last and reductions.signed
                size = (widths[k + 1], widths[k])
                layer = (
                    replace(self.layers[k], bounds=bounds)
                    if self.layers
                    else LayerWeights.add(
                        program, k + 1, size, weights, shape.thresholds, bounds,
                        signed=signed, rule=rule,
                    )
                )  # fmt: skip
            layers.append(layer)
            if is_last and regions is not None:
                objective = Leads.add_leads(program, problem, layer, steps[-1], eps=self.eps)
                break
            has_steps = not is_last or counts
            kept = self.given.outputs if is_last else None
            if has_steps:
                name = None if regions is None else ""
                step = Steps.add(program, layer, n_lines - known, sets=name, kept=kept)
                if self.steps:
                    step = replace(step, u=np.concatenate([self.steps[k].u, step.u]))
                steps.append(step)
            needs = self._needs(k, objective, (n_lines, len(layer.W) * rule.n_thresholds))
            if k == 0:
                norms = DualNorms.add(program, layer, sets)
                sums = norms.sums(sets[0])
                # Every input has its rows, all inputs of a cluster with the same activations.
                needs = (needs[0][groups], needs[1][groups])
                rows = steps[0].of_lines(groups) if steps else None
                if len(sets) > 1:
                    ways = [
                        Steps.add(program, layer, n_lines, sets=name) for name in ("box", "ball")
                    ]
                    for way, around in zip(ways, sets, strict=True):
                        _add_rows(program, way, norms.sums(around), needs)
                    _add_either(program, steps[0], ways)
                    continue
            elif k in self.given.layers:
                values = Sums(steps[k - 1].u[:, None, :], layer.coefficients[None])
                sums, rows = (values, values), steps[k]
            else:
                n_levels = rule.n_thresholds
                product = Products.add(
                    program,
                    layer,
                    steps[k - 1],
                    needs_upper=needs[0][:, ::n_levels],
                    needs_lower=needs[1][:, ::n_levels],
                    earlier=self.products[len(products)] if self.products else None,
                )
                products.append(product)
                sums, rows = product.sums(layer.bounds.unit), steps[-1]
            if has_steps and rows is not None:
                _add_rows(program, rows, sums, needs)
        if counts:
            objective.add(program, steps[-1].u, self.loss)
        elif regions is None:
            objective = DistanceObjective.add(
                program, problem, layers[-1], sums[0], tangents=tangents
            )
        return replace(
            self,
            problem=problem,
            loss=objective,
            groups=groups,
            layers=tuple(layers),
            steps=tuple(steps),
            ways=tuple(ways),
            products=tuple(products),
            dual_norms=norms,
        )

    def input_sets(self, problem: Problem[Any]) -> list[InputSets]:
        """What first-layer sums are of: points, balls around them, or regions."""
        if problem.loss.input_regions is not None:
            return InputSets.of_regions(problem.loss.input_regions)
        if self.robust is None:
            return [InputSets(problem.inputs)]
        return [InputSets(problem.inputs, radius=self.robust.radius, norm=self.robust.norm)]

    def _bounds(self, problem: Problem[Any], k: int, n_lines: int) -> LayerBounds:
        """Bounds of a layer's sums over the box of its weights."""
        shape = problem.architecture
        is_last, weights = k == shape.n_layers - 1, shape.weights[k]
        if is_last and problem.loss.kind != "output":
            kind = DistanceObjective if problem.loss.input_regions is None else Leads
            return kind.bounds(problem)
        box = weight_range(weights, signed=is_last and self.reductions.signed)
        if k == 0:
            sets = self.input_sets(problem)
            units = [around.unit(weights) for around in sets]
            unit, exact = min(unit for unit, _ in units), all(exact for _, exact in units)
            if len(sets) > 1 and not exact:
                unit = float(max(np.abs(around.centre).max() for around in sets)) or 1.0
            sides = np.array([around.box_bounds(unit, weights, box) for around in sets])
            lowest, highest = sides[:, 0].min(axis=0), sides[:, 1].max(axis=0)
        else:
            unit, exact = 1.0, weights.integer
            low, high = value_range(box, shape.activation_of(k - 1).values)
            width = shape.widths[k]
            lowest, highest = np.full(n_lines, width * low), np.full(n_lines, width * high)
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

    def _needs(self, k: int, objective: Any, size: tuple[int, int]) -> tuple[BoolArray, BoolArray]:
        """Which activations need the row of an active and of an inactive unit, and lack it."""
        needs = [np.ones(size, dtype=bool) for _ in range(2)]
        if k == self.problem.architecture.n_layers - 1:
            one_sided = objective is not None and self.reductions.one_sided
            if self.given.outputs is not None:
                needs = [self.given.outputs, ~self.given.outputs]
            elif one_sided:
                needs = list(objective.needs)
            if self.steps and one_sided:
                before: Any = self.loss
                for part, had in zip(needs, before.needs, strict=True):
                    part[: len(had)] &= ~had
                return needs[0], needs[1]
        if self.steps:
            for part in needs:
                part[: len(self.steps[k].u)] = False
        return needs[0], needs[1]

    @property
    def margin(self) -> float:
        """Largest margin that the model asks of inactive units and the data do not give."""
        free = [layer.bounds for k, layer in enumerate(self.layers) if k not in self.given.layers]
        margins = [bounds.margin for bounds in free if not bounds.exact]
        loss: Any = self.loss
        if self.problem.loss.input_regions is not None and not self.layers[-1].bounds.exact:
            margins.append(loss.least_lead)
        return max(margins, default=0.0)

    def keeps_promises(self, network: Network) -> bool:
        """Tell whether perturbations leave a network's first-layer activations as they must."""
        return self.robust is None or bool(self.robust.holds(network, self.problem.inputs).all())

    def read(self, x: FloatArray) -> Network:
        """Turn a solution into a network."""
        parts = [layer.read(x) for layer in self.layers]
        weights, thresholds = [W for W, _ in parts], [t for _, t in parts]
        for block in self.blocks:
            block.read(x, weights)
        if self.reductions.one_output:
            exact = self.layers[-1].bounds.exact
            weights[-1], thresholds[-1] = _complement_pair(weights[-1], thresholds[-1], exact=exact)
        return Network(self.problem.architecture, tuple(weights), tuple(thresholds))

    def lift(self, network: Network, *, may_break_rules: bool = False) -> FloatArray | None:
        """Turn a network into a start, None if it cannot keep the model's margin or groups.

        Nor if it breaks rows of the user's own, unless that is wanted: the part of a start that is
        fixed may keep them with another rest.
        """
        x = np.full(self.program.n_variables, math.nan)
        weights, thresholds = list(network.weights), list(network.thresholds)
        is_set = self.problem.loss.input_regions is not None
        if not (self._lift_sets if is_set else self._lift_points)(x, network, weights, thresholds):
            return None
        if len(self.steps) < len(self.layers):
            # Outputs that are compared with each other, or with targets, keep their size.
            self.layers[-1].lift(x, weights[-1], thresholds[-1], rigid=True)
            if len(self.products) == len(self.steps) > 0:
                self.products[-1].lift(x)
        if not self.loss.lift(x, weights[-1], thresholds[-1]):
            return None
        are_kept = [block.lift(x) for block in self.blocks]
        if is_set and self.program.violation(x) > 1e-6:
            return None
        return x if may_break_rules or all(are_kept) else None

    def _lift_points(
        self,
        x: FloatArray,
        network: Network,
        weights: list[FloatArray],
        thresholds: list[FloatArray],
    ) -> bool:
        """Fill in layers that keep the network's activations with the full margin."""
        on = switches_of(network, self.problem.inputs)
        first = np.unique(self.groups, return_index=True)[1]
        if not (on[0] == on[0][first][self.groups]).all():
            return False
        on = [layer[first] for layer in on]
        if self.reductions.one_output:
            weights[-1], thresholds[-1], on[-1] = _better_output(self.loss, network, on[-1])
        if self.reductions.signed:
            rule = self.problem.architecture.activation_of(len(self.layers) - 2)
            on[-2] = turn_round(weights, thresholds, on[-2], rule)
        (inputs,) = self.input_sets(self.problem)
        rigid, products = self.problem.scale_dependent, iter(self.products)
        for k, (layer, step) in enumerate(zip(self.layers, self.steps, strict=False)):
            if k not in self.given.layers:
                sums = inputs.sums(weights[k])
                kept = on[k][self.groups] if k == 0 else on[k]
                if not layer.lift(x, weights[k], thresholds[k], sums, kept, rigid=rigid):
                    return False
            inputs = InputSets(step.lift(x, on[k]))
            if k == 0 and self.dual_norms is not None:
                self.dual_norms.lift(x)
            elif k not in self.given.layers:
                next(products).lift(x)
        return True

    def _lift_sets(
        self,
        x: FloatArray,
        network: Network,
        weights: list[FloatArray],
        thresholds: list[FloatArray],
    ) -> bool:
        """Fill in layers, and what is sure of their activations at the program's thresholds."""
        del network
        rigid = self.problem.scale_dependent
        for k, (layer, step) in enumerate(zip(self.layers, self.steps, strict=False)):
            if not layer.lift(x, weights[k], thresholds[k], rigid=rigid):
                return False
            if k > 0:
                product = self.products[k - 1]
                product.lift(x)
                sums = [
                    (x[s.columns] * s.coefficients).sum(axis=-1)
                    for s in product.sums(layer.bounds.unit)
                ]
                step.lift(x, *layer.certain(x, *sums))
                continue
            assert self.dual_norms is not None
            self.dual_norms.lift(x)
            found = []
            for way, around in zip(
                self.ways or (step,), self.input_sets(self.problem), strict=True
            ):
                sums = [part / layer.bounds.unit for part in around.sums(x[layer.W])]
                found.append(layer.certain(x, *sums))
                way.lift(x, *found[-1])
            on, possible = (np.stack(part) for part in zip(*found, strict=True))
            step.lift(x, np.logical_or.reduce(on), np.logical_and.reduce(possible))
        return True


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
            grown = last.append(led_by(problem, last.problem.samples))
        self.model = grown or NetworkModel.build(
            problem, reductions=reductions, eps=eps, robust=robust
        )
        self._settings = (reductions, eps)
        return self.model


def _add_rows(
    program: Program, steps: Steps, sums: tuple[Sums, Sums], needs: tuple[BoolArray, BoolArray]
) -> None:
    steps.add_rows(program, *sums, needs_active=needs[0], needs_inactive=needs[1])


def _add_either(program: Program, steps: Steps, ways: list[Steps]) -> None:
    """What is sure if a box or a ball says so: ``u <= u' + u''``, ``v >= v' + v'' - 1``."""
    for name, columns, side in (
        ("either_on", [*(way.u for way in ways), steps.u], {"lower": 0.0}),
        ("either_off", [*(way.possible for way in ways), steps.possible], {"upper": 1.0}),
    ):
        program.add_rows(name, np.stack(columns, axis=-1), [1.0, 1.0, -1.0], **side)


def _better_output(
    loss: Any, network: Network, on: BoolArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Of two outputs keep the second, or the first turned round if that costs less."""
    W, t = network.weights[-1], network.thresholds[-1]
    on_second, on_first = on[:, 1:], ~on[:, :1]
    if loss.value(on_second) <= loss.value(on_first):
        return W[1:], t[1:], on_second
    return -W[:1], -t[:1], on_first


def _complement_pair(W: FloatArray, t: FloatArray, *, exact: bool) -> tuple[FloatArray, FloatArray]:
    """Two outputs of which exactly one is on: ``a >= t`` and ``-a >= -t'`` with t' just below t.

    An exact layer's sums never equal its thresholds, which lie half-way between integers.
    """
    below = t if exact else np.nextafter(t, -np.inf)
    return np.vstack([-W, W]), np.concatenate([-below, t])

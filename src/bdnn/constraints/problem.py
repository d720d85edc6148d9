"""A training problem whose networks must keep rules and pay penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdnn.activation import BoolArray, FloatArray
from bdnn.architecture import Architecture
from bdnn.constraints.base import AbstractConstraint
from bdnn.constraints.context import Context, sequence
from bdnn.constraints.penalty import Penalty
from bdnn.constraints.regularizer import Regularizer
from bdnn.constraints.rules import AbstractRule, Count, QuantityRows, WeightBounds
from bdnn.constraints.sparsity import Sparsity
from bdnn.errors import ModelError
from bdnn.network import Network
from bdnn.problem import TrainingProblem

# Solvers keep objectives to about this much, relative to their size.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class ConstrainedProblem(TrainingProblem):
    """Minimise loss plus penalty over the networks that keep all rules.

    Parameters
    ----------
    architecture, inputs, mass
        See :class:`~bdnn.problem.TrainingProblem`.
    rules : tuple of AbstractRule
    penalty : Penalty
    """

    rules: tuple[AbstractRule, ...]
    penalty: Penalty

    def allows(self, network: Network) -> bool:
        """Tell whether a network keeps all rules."""
        return all(rule.holds(network, self) for rule in self.rules)

    def objective(self, network: Network) -> float:
        """Loss plus penalty."""
        return self.loss(network) + self.penalty.of(network, self)

    @property
    def has_penalty(self) -> bool:
        """Whether loss and objective differ."""
        return not self.penalty.is_zero

    @property
    def sees_scale(self) -> bool:
        """Whether multiplying a unit by a number may break a rule or change the penalty."""
        return self.penalty.sees_scale or any(
            isinstance(rule, QuantityRows) or (isinstance(rule, WeightBounds) and is_fixed(rule))
            for rule in self.rules
        )

    @property
    def undoes(self) -> frozenset[str]:
        """Reductions of the program that do not keep the optimum."""
        found = frozenset[str]().union(*(rule.undoes for rule in self.rules))
        if self.has_penalty:
            # A pair of outputs pays twice, and a better output may have more weights.
            found |= {"one_output"}
        if self.penalty.saturated or self.penalty.maximal:
            found |= {"one_sided"}
        return found

    @property
    def demands(self) -> str:
        """What is asked for, in words for messages."""
        names = list(dict.fromkeys(rule.name for rule in self.rules))
        if self.penalty.weight:
            names.append(f"Sparsity(price={self.penalty.weight:g})")
        if self.penalty.sees_scale:
            names.append("the regularizer")
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    def round_bound(self, bound: float) -> float:
        """Raise a lower bound to the next value the objective can take, if these are known."""
        return bound if self.has_penalty else super().round_bound(bound)

    def is_met(self, loss: float, bound: float) -> bool:
        """Tell whether an objective equals a bound, up to the solvers' rounding of penalties."""
        if not self.has_penalty:
            return super().is_met(loss, bound)
        return loss <= bound + _ROUNDING * max(1.0, abs(loss))

    def weighed_in(self, unit: float) -> ConstrainedProblem:
        """Measure loss and penalty in another unit."""
        scaled = super().weighed_in(unit)
        assert isinstance(scaled, ConstrainedProblem)
        return replace(scaled, penalty=self.penalty.in_units(unit))

    def of_lines(
        self, lines: NDArray[np.integer], mass: FloatArray | None = None
    ) -> ConstrainedProblem:
        """The problem of some of the inputs: what rules say of them, and their share of prices."""
        part = super().of_lines(lines, mass)
        total, kept = float(self.mass.sum()), float(part.mass.sum())
        return replace(
            part,
            rules=tuple(rule.of_lines(lines, self) for rule in self.rules),
            penalty=self.penalty.in_units(total / kept) if kept > 0 else self.penalty,
        )

    @cached_property
    def needed_lines(self) -> NDArray[np.intp]:
        """Inputs without which a part of the problem does not show a rule."""
        found = [rule.needed_lines(self) for rule in self.rules]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *found]))

    @cached_property
    def weight_box(self) -> list[tuple[FloatArray, FloatArray]]:
        """Least and largest weight of every layer that the rules about single weights leave."""
        return weight_box(self.architecture, self.rules)

    def constant_network(self) -> Network:
        """Make a network that says the same for every input and keeps the rules, if one does.

        Without one this is the cheapest constant network, which is then not allowed.
        """
        cheapest = super().constant_network()
        candidates = [cheapest]
        for output in range(self.architecture.n_outputs):
            mass = np.zeros_like(self.mass)
            mass[:, output] = 1.0
            candidates.append(
                TrainingProblem(self.architecture, self.inputs, mass).constant_network()
            )
        candidates += [self._in_box(network) for network in candidates]
        allowed = [network for network in candidates if self.allows(network)]
        return min(allowed, key=self.objective, default=cheapest)

    def _in_box(self, network: Network) -> Network:
        """Weights as near as the rules allow; outputs stay constant where thresholds are free."""
        weights = [
            np.clip(W, *box) for W, box in zip(network.weights, self.weight_box, strict=True)
        ]
        thresholds = list(network.thresholds)
        if self.architecture.thresholds == "neuron":
            reach = np.abs(weights[-1]).sum(axis=1)
            hidden = len(self.architecture.hidden)
            values = self.architecture.activation_of(hidden - 1).values if hidden else self.inputs
            reach *= np.abs(values).max(initial=1.0)
            thresholds[-1] = np.where(thresholds[-1] < 0, -1.0, 1.0) * (reach + 0.5)
        return Network(self.architecture, tuple(weights), tuple(thresholds))

    def finished(self, network: Network) -> Network:
        """Remove units that nothing listens to, where their number was limited.

        Rules that name units by number keep all of them.
        """
        is_limited = any(isinstance(rule, Count) and rule.kind == "units" for rule in self.rules)
        if not is_limited or any(
            isinstance(rule, QuantityRows) or (isinstance(rule, WeightBounds) and is_fixed(rule))
            for rule in self.rules
        ):
            return network
        narrow = without_unused(network)
        same = np.array_equal(narrow.outputs(self.inputs), network.outputs(self.inputs))
        return narrow if same else network

    def certificate(self) -> dict[str, Any]:
        """Names of the constraints, and prices, for a model file."""
        found: dict[str, Any] = {"constraints": [rule.name for rule in self.rules]}
        return found | ({"penalty": asdict(self.penalty)} if self.has_penalty else {})

    def promises(self) -> list[dict[str, Any]]:
        """What a model file promises of the rules."""
        return [rule.promise() for rule in self.rules]


def constrain(
    problem: TrainingProblem,
    context: Context | None = None,
    *,
    sparsity: Sparsity | None = None,
    regularizer: Regularizer | None = None,
    constraints: AbstractConstraint | Sequence[AbstractConstraint] = (),
) -> TrainingProblem:
    """Put constraints on a problem, which stays as it is where there are none.

    Parameters
    ----------
    problem : TrainingProblem
    context : Context, optional
        Names of features and classes, and where the samples are in the problem.
    sparsity, regularizer, constraints
        As for :class:`~bdnn.estimators.BDNNClassifier`.
    """
    context = context or Context.of_problem(problem)
    check_sparsity(sparsity)
    if regularizer is not None and not isinstance(regularizer, Regularizer):
        raise ModelError(
            f"regularizer must be a Regularizer or None, got {regularizer!r}: give for example "
            "Regularizer(l1=0.1)."
        )
    given = () if constraints is None else sequence(constraints)
    for constraint in given:
        if not isinstance(constraint, AbstractConstraint):
            raise ModelError(
                f"constraints must be constraints such as Forbid('age'), got {constraint!r}: see "
                "bdnn.constraints."
            )
        if constraint.is_about_samples and (context.lines < 0).all():
            raise ModelError(
                f"{constraint.name} is about single samples, which robust_loss='average' replaces "
                "by moved copies: use robust_loss='pattern', or leave one of the two out."
            )
    rules = [] if sparsity is None else sparsity.resolve(context)
    for constraint in given:
        rules += constraint.resolve(context)
    penalty = Penalty() if regularizer is None else regularizer.penalty
    if sparsity is not None:
        penalty = replace(penalty, weight=sparsity.penalty.weight)
    constrained = ConstrainedProblem(
        problem.architecture, problem.inputs, problem.mass, tuple(rules), penalty
    )
    if not rules and not constrained.has_penalty:
        return problem
    _check_activations(constrained)
    weight_box(problem.architecture, rules)  # says which constraints contradict each other
    return constrained


def check_sparsity(sparsity: object) -> None:
    """Refuse what is no record of limits."""
    if sparsity is not None and not isinstance(sparsity, Sparsity):
        raise ModelError(
            f"sparsity must be a Sparsity or None, got {sparsity!r}: give for example "
            "Sparsity(per_unit=3)."
        )


def _check_activations(problem: ConstrainedProblem) -> None:
    """Refuse what is written for thresholds and activations of steps only."""
    shape, penalty = problem.architecture, problem.penalty
    if not shape.activations:
        return
    names = [
        rule.name
        for rule in problem.rules
        if isinstance(rule, QuantityRows) or (isinstance(rule, Count) and rule.kind == "units")
    ]
    names += ["Regularizer(biases=True)"] if penalty.biases else []
    names += ["the margin terms of Regularizer"] if penalty.saturated or penalty.maximal else []
    if names:
        raise ModelError(
            f"{names[0]} cannot be combined with activation '{shape.activations[0].name}': use "
            "activation='step'."
        )


def weight_box(
    shape: Architecture, rules: Sequence[AbstractRule]
) -> list[tuple[FloatArray, FloatArray]]:
    """Put the bounds of single weights together; rules that contradict each other are named."""
    boxes = []
    for k, kind in enumerate(shape.weights):
        size = (shape.widths[k + 1], shape.widths[k])
        low, high = np.full(size, -float(kind.limit)), np.full(size, float(kind.limit))
        known: list[WeightBounds] = []
        for rule in rules:
            if not isinstance(rule, WeightBounds) or rule.layer != k:
                continue
            low, high = np.maximum(low, rule.low), np.minimum(high, rule.high)
            if (low > high).any():
                crossed = low > high
                opposed = (r for r in known if _cross(r, rule)[crossed].any())
                other = next(opposed, rule)
                raise ModelError(
                    f"{other.name} and {rule.name} contradict each other: leave one out."
                )
            known.append(rule)
        boxes.append((low, high))
    return boxes


def _cross(one: WeightBounds, two: WeightBounds) -> BoolArray:
    return np.asarray((one.low > two.high) | (one.high < two.low))


def is_fixed(rule: WeightBounds) -> bool:
    """Whether a rule gives a weight a value other than 0."""
    return bool(((rule.low == rule.high) & (rule.low != 0.0)).any())


def without_unused(network: Network) -> Network:
    """Remove hidden units without a weight to the layer above; one per layer stays."""
    weights, thresholds = list(network.weights), list(network.thresholds)
    for k in range(len(weights) - 1, 0, -1):
        keep = (weights[k] != 0.0).any(axis=0)
        if not keep.any():
            keep[0] = True
        weights[k] = weights[k][:, keep]
        weights[k - 1], thresholds[k - 1] = weights[k - 1][keep], thresholds[k - 1][keep]
    hidden = tuple(len(W) for W in weights[:-1])
    shape = replace(network.architecture, hidden=hidden)
    return Network(shape, tuple(weights), tuple(thresholds))

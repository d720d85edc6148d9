"""A regression problem whose networks must keep rules about their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from bdnn.activation import FloatArray
from bdnn.constraints.base import AbstractConstraint
from bdnn.constraints.context import Context, sequence
from bdnn.constraints.problem import check_sparsity, is_fixed, weight_box, without_unused
from bdnn.constraints.rules import AbstractRule, Count, WeightBounds
from bdnn.constraints.sparsity import Sparsity
from bdnn.constraints.weights import FixedWeight, Forbid
from bdnn.errors import InfeasibleError, UnsupportedFeatureError
from bdnn.network import Network
from bdnn.regression_problem import RegressionProblem


@dataclass(frozen=True, eq=False)
class ConstrainedRegression(RegressionProblem):
    """Minimise the loss over the networks that keep all rules: counts and bounds of weights."""

    rules: tuple[AbstractRule, ...] = ()

    def allows(self, network: Network) -> bool:
        """Tell whether a network keeps all rules."""
        return all(rule.holds(network, self) for rule in self.rules)

    @property
    def demands(self) -> str:
        """What is asked for, in words for messages."""
        return " and ".join(dict.fromkeys(rule.name for rule in self.rules))

    @cached_property
    def weight_box(self) -> list[tuple[FloatArray, FloatArray]]:
        """Least and largest weight of every layer that the rules about single weights leave."""
        return weight_box(self.architecture, self.rules)

    @property
    def has_fixed_weights(self) -> bool:
        """Whether a unit has a weight that must keep its size and sign."""
        return any(isinstance(rule, WeightBounds) and is_fixed(rule) for rule in self.rules)

    def constant_weights(self) -> list[FloatArray]:
        """Weights of the constant network, as near as the rules allow.

        No network has fewer weights, so that there is none to be found if this one has too many.
        """
        plain = super().constant_weights()
        return [np.clip(W, *box) for W, box in zip(plain, self.weight_box, strict=True)]

    def finished(self, network: Network) -> Network:
        """Remove units that nothing listens to, where their number was limited.

        Rules that name units by number keep all of them.
        """
        is_limited = any(isinstance(rule, Count) and rule.kind == "units" for rule in self.rules)
        if not is_limited or self.has_fixed_weights:
            return network
        narrow = without_unused(network)
        same = np.array_equal(narrow.values(self.inputs), network.values(self.inputs))
        return narrow if same else network


def constrain_regression(
    problem: RegressionProblem,
    names: tuple[str, ...] | None,
    *,
    sparsity: Sparsity | None = None,
    constraints: AbstractConstraint | Sequence[AbstractConstraint] | None = None,
) -> RegressionProblem:
    """Put constraints on a problem, which stays as it is where there are none.

    Parameters
    ----------
    problem : RegressionProblem
    names : tuple of str or None
        Of the features.
    sparsity, constraints
        As for :class:`~bdnn.estimators.BDNNRegressor`.
    """
    check_sparsity(sparsity)
    given = () if constraints is None else sequence(constraints)
    for constraint in given:
        if not isinstance(constraint, Forbid | FixedWeight):
            name = getattr(constraint, "name", repr(constraint))
            raise UnsupportedFeatureError(
                f"{name} is no constraint of a regressor: give Sparsity, Forbid and FixedWeight."
            )
    if sparsity is not None and sparsity.penalty.weight:
        raise UnsupportedFeatureError(
            f"Sparsity(price={sparsity.price:g}) is for classifiers: limit the number of weights, "
            "or give a ridge."
        )
    shape, n_lines = problem.architecture, len(problem.inputs)
    nothing = np.zeros(n_lines, dtype=np.intp)
    context = Context(shape, names, (), problem.inputs, nothing, np.arange(n_lines))
    rules = [] if sparsity is None else sparsity.resolve(context)
    for constraint in given:
        rules += constraint.resolve(context)
    if not rules:
        return problem
    for rule in rules:
        if isinstance(rule, WeightBounds) and rule.layer == shape.n_layers - 1 and is_fixed(rule):
            raise UnsupportedFeatureError(
                f"{rule.name} is for hidden layers of a regressor, whose outputs are fitted: fix "
                "other weights, or this one at 0."
            )
    known = {field.name: getattr(problem, field.name) for field in fields(problem)}
    constrained = ConstrainedRegression(**known, rules=tuple(rules))
    if not constrained.allows(constrained.constant_network()):
        raise InfeasibleError(f"no network keeps {constrained.demands}: ask for less.")
    return constrained

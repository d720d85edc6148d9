"""Training problems from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bdnn.errors import InfeasibleError, ModelError
from bdnn.network.activation import FloatArray
from bdnn.network.architecture import Architecture
from bdnn.network.network import Network
from bdnn.problem.losses.base import idle_layers
from bdnn.problem.losses.distance import DistanceLoss, distance_loss
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.pattern import Pattern
from bdnn.problem.problem import AnyLoss, Problem
from bdnn.problem.regions import Regions
from bdnn.problem.samples import Samples
from bdnn.problem.terms.base import AbstractTerm
from bdnn.problem.terms.context import AbstractConstraint, Context, sequence
from bdnn.problem.terms.weight_box import check_boxes

MovableLoss = TypeVar("MovableLoss", OutputLoss, DistanceLoss)

# What a model file says of prices that nobody asked for.
_NO_PRICES = {
    "weight": 0.0,
    "l1": 0.0,
    "l2": 0.0,
    "biases": False,
    "saturated": 0.0,
    "maximal": 0.0,
    "wanted": 1.0,
}


def regression(
    architecture: Architecture,
    X: FloatArray,
    targets: FloatArray,
    sample_weight: FloatArray | None = None,
    *,
    unit: FloatArray | None = None,
    kind: str = "squared",
    ridge: float = 0.0,
    tolerance: float = 1e-6,
) -> Problem[DistanceLoss]:
    """Minimise the distance of a network's values from targets.

    ``unit`` is the number of standard deviations that a value of 1 stands for.
    """
    if architecture.output != "identity":
        raise ModelError("regression needs identity outputs: use output='identity'.")
    make, samples = distance_loss(kind), Samples.merge(X, sample_weight)
    loss = make.of(samples, targets, unit=unit, ridge=ridge, tolerance=tolerance)
    return Problem(architecture, samples, loss)


def constrain(
    problem: Problem[AnyLoss],
    constraints: AbstractConstraint | Sequence[AbstractConstraint] = (),
    # Names of features and classes, and where the samples are in the problem.
    context: Context | None = None,
) -> Problem[AnyLoss]:
    """Put constraints and prices on a problem."""
    context = context or Context.of_problem(problem)
    terms: list[AbstractTerm] = []
    for constraint in sequence(constraints):
        if not isinstance(constraint, AbstractConstraint):
            raise ModelError(
                f"constraints must be constraints such as Forbid('age'), got {constraint!r}: see "
                "bdnn.constraints."
            )
        terms += constraint.resolve(context)
    for term in terms:
        refusal = term.refusal(problem.architecture)
        if refusal is not None:
            raise ModelError(refusal)
    if not terms:
        return problem
    check_boxes(problem.architecture, terms)
    # Prices are the user's; the problem measures losses in its own unit.
    scaled = [term.rescaled(1.0 / problem.samples.unit) for term in terms]
    found = problem.with_terms([*problem.terms, *scaled])
    _check_fewest(found)
    return found


def _check_fewest(problem: Problem[Any]) -> None:
    """Say at once that not even the fewest weights are few enough."""
    shape = problem.architecture
    weights, thresholds, _ = idle_layers(shape, problem.inputs, problem.weight_limits)
    fewest = Network(shape, tuple(weights), tuple(thresholds))
    asked = [term for term in problem.terms if term.wants_few_weights]
    if not all(term.is_feasible(fewest, problem) for term in asked):
        raise InfeasibleError(
            f"no network keeps {problem.with_terms(asked).term_names}: ask for less."
        )


def with_pattern(
    problem: Problem[MovableLoss], radius: ArrayLike, norm: str = "linf"
) -> Problem[MovableLoss]:
    """Ask that no perturbation of an input changes a first-layer activation.

    There is one radius for all, or one per distinct input, in units of scaled inputs.
    """
    return _with_pattern(problem, Pattern.create(radius, norm, len(problem.inputs)))


def with_pattern_in(problem: Problem[MovableLoss], regions: Regions) -> Problem[MovableLoss]:
    """Ask the same of what the rows that count may become."""
    line = problem.samples.line[problem.samples.rows]
    return _with_pattern(problem, Pattern.of_rows(regions, line, len(problem.inputs)))


def _with_pattern(problem: Problem[MovableLoss], pattern: Pattern) -> Problem[MovableLoss]:
    if not pattern.radius.any():
        return problem
    return problem.with_loss(replace(problem.loss, pattern=pattern))


def led_by(problem: Problem[MovableLoss], before: Samples) -> Problem[MovableLoss]:
    """Put the lines of earlier samples first, in their order; those that are gone cost nothing."""
    samples, moved = problem.samples.led_by(before)
    loss = problem.loss.moved(moved, samples.n_lines)
    return Problem(problem.architecture, samples, loss, problem.terms)


def unmerged(problem: Problem[OutputLoss]) -> Problem[OutputLoss]:
    """One line per sample again; what has a fractional weight stays one line per class."""
    loss = problem.loss
    lines, labels = np.nonzero(loss.counts)
    weight = loss.counts[lines, labels]
    copies = weight.astype(np.int64) if loss.is_integral else np.ones(len(lines), np.int64)
    counts = np.zeros((len(lines), loss.counts.shape[1]), dtype=loss.counts.dtype)
    counts[np.arange(len(lines)), labels] = weight // copies
    rows = np.repeat(np.arange(len(lines)), copies)
    samples = Samples.merge(problem.inputs[lines[rows]], apart=True)
    return Problem(problem.architecture, samples, OutputLoss(counts[rows], loss.grain))


def describe_terms(problem: Problem[Any]) -> dict[str, Any]:
    """Names of the constraints, and prices, for a model file."""
    if not problem.terms:
        return {}
    found: dict[str, Any] = {"constraints": [term.name for term in problem.constraints]}
    prices = [term.rescaled(problem.samples.unit) for term in problem.terms if term.is_price]
    if prices:
        found["penalty"] = _NO_PRICES | {k: v for term in prices for k, v in term.claim().items()}
    return found


def claims(problem: Problem[Any]) -> list[dict[str, Any]]:
    """What a model file says of the terms of a problem, each thing once."""
    found: list[dict[str, Any]] = []
    for term in problem.terms:
        if not term.is_price and term.claim() not in found:
            found.append(term.claim())
    return found

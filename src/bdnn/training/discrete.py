"""Training of units of two values by way of steps, which all methods know."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bdnn.bounds.previous import PreviousFit
from bdnn.errors import UnsupportedFeatureError
from bdnn.network.expansion import from_twin, to_twin
from bdnn.problem.losses.output import OutputLoss
from bdnn.problem.problem import Problem
from bdnn.training.result import Trained

if TYPE_CHECKING:
    from bdnn.network.network import Network
    from bdnn.training.base import AbstractMethod


def check_levels(problem: Problem[OutputLoss], method: str) -> None:
    """Refuse activations that a method was not made for, before it does anything."""
    shape = problem.architecture
    if shape.has_levels:
        raise UnsupportedFeatureError(
            f"method '{method}' cannot train activation '{shape.activation_names}' with thresholds="
            f"'{shape.thresholds}': use method 'auto', 'descent' or 'exact' without a robust "
            "radius, or two values and thresholds='neuron'."
        )


def train_twin(
    method: AbstractMethod,
    problem: Problem[OutputLoss],
    *,
    validation: Problem[OutputLoss] | None,
    training_part: Problem[OutputLoss] | None,
    start: Network | None,
    earlier: PreviousFit | None,
    **options: Any,
) -> Trained:
    """Train the problem's twin of steps; what is reported is computed from the network itself.

    Every network of the problem has a twin of the same answers and the other way round, so that a
    bound for one is a bound for the other. Only sums of continuous weights can round differently.
    """
    shape = problem.architecture
    trained = method.train(
        _of_steps(problem),
        validation=None if validation is None else _of_steps(validation),
        training_part=None if training_part is None else _of_steps(training_part),
        start=None if start is None else to_twin(start),
        earlier=None if earlier is None else _twin_of_earlier(earlier),
        **options,
    )
    # Units that nothing listens to may have been removed.
    shape = replace(shape, hidden=trained.network.architecture.hidden)
    network, result = from_twin(trained.network, shape), trained.result
    loss = float(problem.value(network)) * problem.samples.unit
    result = replace(result, loss=loss, error=problem.error(network))
    if loss != trained.result.loss:
        proof = replace(result.proof, value=min(result.proof.value, Fraction(loss)))
        result = replace(result, proof=proof, status="feasible")
    return Trained(network, result)


def _of_steps(problem: Problem[OutputLoss]) -> Problem[OutputLoss]:
    return replace(problem, architecture=replace(problem.architecture, activations=()))


def _twin_of_earlier(earlier: PreviousFit) -> PreviousFit:
    return replace(earlier, problem=_of_steps(earlier.problem), network=to_twin(earlier.network))

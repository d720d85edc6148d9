"""Training of units of two values by way of steps, which all methods know."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bdnn.errors import UnsupportedFeatureError
from bdnn.problem import TrainingProblem
from bdnn.stepwise import from_twin, to_twin
from bdnn.training.result import Trained

if TYPE_CHECKING:
    from bdnn.network import Network
    from bdnn.training.base import AbstractMethod
    from bdnn.training.incremental import Earlier


def check_levels(problem: TrainingProblem, method: str) -> None:
    """Refuse activations that a method was not made for, before it does anything."""
    shape = problem.architecture
    if shape.activations:
        names = "', '".join(dict.fromkeys(rule.name for rule in shape.activations))
        raise UnsupportedFeatureError(
            f"method '{method}' cannot train activation '{names}' with thresholds="
            f"'{shape.thresholds}': use method 'auto', 'descent' or 'exact' without a robust "
            "radius, or two values and thresholds='neuron'."
        )


def train_twin(
    method: AbstractMethod,
    problem: TrainingProblem,
    *,
    validation: TrainingProblem | None,
    training_part: TrainingProblem | None,
    start: Network | None,
    earlier: Earlier | None,
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
    network, result = from_twin(trained.network, shape), trained.result
    loss = problem.loss(network)
    result = replace(result, loss=loss, error=problem.error(network))
    if loss != trained.result.loss:
        bound = min(result.bound, loss)
        status = "optimal" if problem.is_met(loss, bound) else "feasible"
        result = replace(result, bound=bound, status=status)
    return Trained(network, result)


def _of_steps(problem: TrainingProblem) -> TrainingProblem:
    return replace(problem, architecture=replace(problem.architecture, activations=()))


def _twin_of_earlier(earlier: Earlier) -> Earlier:
    return replace(earlier, problem=_of_steps(earlier.problem), network=to_twin(earlier.network))

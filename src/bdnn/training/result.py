"""What training returns besides the network: how good it is and how that is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, NamedTuple

from bdnn.errors import ModelFileError
from bdnn.learning.held_out import HeldOut
from bdnn.network.network import Network
from bdnn.problem.bound import Bound, Condition


class Progress(NamedTuple):
    """A moment of a training run."""

    seconds: float
    phase: str
    loss: float
    bound: float

    @property
    def gap(self) -> float:
        """Relative distance of loss and bound."""
        return _gap(self.loss, self.bound)

    @property
    def text(self) -> str:
        """The moment in one line."""
        if math.isinf(self.loss):  # nothing of this is looked at on the way
            return self.phase
        share = f"{100 * self.gap:.2f} %".replace(".00 %", " %")
        gap = share if math.isfinite(self.gap) else "unknown"
        return f"{self.phase:<8}  loss {self.loss:.6g}  bound {self.bound:.6g}  gap {gap}"

    def in_units(self, unit: float) -> Progress:
        """Loss and bound times a unit of the samples' weights."""
        return self._replace(loss=self.loss * unit, bound=self.bound * unit)


@dataclass(frozen=True)
class TrainingResult:
    """The end of a training run; every number is recomputed from the returned network.

    Attributes
    ----------
    status : str
        ``optimal`` only where what was minimised and its bound are equal and the bound holds for
        all networks; where it takes something for granted the status says what, as in ``optimal
        among networks that keep a margin of 0.0001``. Else why the run ended: ``gap limit``,
        ``loss limit``, ``time limit``, ``node limit`` or ``interrupted``, or ``feasible`` where the
        method has nothing more to try; ``selected`` where held-out rows chose and no loss was
        minimised.
    loss : float
        The loss of the network on the (weighted) training samples.
    proof : Bound
        The lower bound with what proves it and what it takes for granted.
    error : float
        Share of the training samples' weight that is put into a wrong class.
    seconds : float
    method, solver : str
        What trained the network; the solver is empty if none was needed.
    message : str
        What else a user should know.
    history : tuple of Progress
        Loss and bound over time.
    steps : tuple of dict
        What the method did, one plain record per subproblem (``local_search``) or epoch
        (``data_splitting``); empty for the other methods.
    held_out : HeldOut or None
        What is known of rows that networks had not seen, where the way to learn was chosen by them;
        a model file does not hold it.
    objective : float or None
        Loss plus prices and regularizer, which the bound, the status and the history are about;
        None where the loss is all that is minimised.
    """

    status: str
    loss: float
    proof: Bound
    error: float
    seconds: float
    method: str
    solver: str = ""
    message: str = ""
    history: tuple[Progress, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    objective: float | None = None
    held_out: HeldOut | None = None

    def __repr__(self) -> str:
        bound = f"bound {self.bound:g} ({self.bound_origin})"
        if self.held_out is not None:
            bound = f"expected accuracy {self.held_out.accuracy:.4f} +- {self.held_out.error:.4f}"
        return (
            f"<TrainingResult: {self.status}, loss {self.loss:g}, {bound}, "
            f"{self.seconds:.1f} s, {self.method}>"
        )

    @property
    def bound(self) -> float:
        """No network, or none that :attr:`condition` speaks of, has a smaller loss than this."""
        return float(self.proof.value)

    @property
    def bound_origin(self) -> str:
        """What proves the bound: ``zero``, ``data conflicts``, another argument, or a solver.

        What it takes for granted, if anything, follows.
        """
        return ", ".join(filter(None, (self.proof.origin, str(self.condition))))

    @property
    def condition(self) -> Condition:
        """What the bound takes for granted."""
        return self.proof.condition

    @property
    def is_proven(self) -> bool:
        """Whether no network does better, of those that :attr:`condition` speaks of."""
        return self.status.startswith("optimal")

    @property
    def gap(self) -> float:
        """Distance of what was minimised from its bound, relative to it; 0 where they are equal."""
        return _gap(self.minimised, self.bound)

    @property
    def minimised(self) -> float:
        """What training minimised: the objective, or the loss where that is all."""
        return self.loss if self.objective is None else self.objective

    def in_units(self, unit: float) -> TrainingResult:
        """Loss, bound, history and steps times a unit of the samples' weights."""
        history = tuple(moment.in_units(unit) for moment in self.history)
        scaled = {"loss": unit, "bound": unit}
        steps = tuple(
            {key: value * scaled[key] if key in scaled else value for key, value in step.items()}
            for step in self.steps
        )
        objective = None if self.objective is None else self.objective * unit
        proof = self.proof.in_units(Fraction(unit))
        return replace(
            self,
            status=optimal(proof) if self.is_proven else self.status,
            loss=self.loss * unit,
            proof=proof,
            history=history,
            steps=steps,
            objective=objective,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a model file; the history becomes a list of lists."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["held_out"] = None if self.held_out is None else self.held_out.to_dict()
        bound, condition = data.pop("proof"), self.condition
        data |= {"bound": _rounded_down(bound.value), "bound_origin": bound.origin}
        if condition:
            tolerance = float(condition.tolerance)
            data["condition"] = {"margin": condition.margin, "tolerance": tolerance}
        if bound.certificate is not None:
            data["certificate"] = bound.certificate
        data["history"] = [list(moment) for moment in self.history]
        return data | {"steps": [dict(step) for step in self.steps]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrainingResult:
        """Inverse of :meth:`to_dict`.

        Raises
        ------
        ModelFileError
            If it is not what :meth:`to_dict` makes.
        """
        try:
            data = dict(data)
            history = tuple(Progress(*moment) for moment in data.pop("history"))
            steps = tuple(dict(step) for step in data.pop("steps", ()))
            proof, known = _read_bound(data), data.pop("held_out", None)
            held_out = None if known is None else HeldOut.from_dict(known)
            result = cls(**data, proof=proof, history=history, steps=steps, held_out=held_out)
            _check_types(result)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelFileError(
                f"the model file holds a result that cannot be read ({error}): save the model "
                "again."
            ) from error
        return result


def optimal(proof: Bound) -> str:
    """What is said of a network that meets a bound."""
    return " ".join(filter(None, ("optimal", str(proof.condition))))


def _read_bound(data: dict[str, Any]) -> Bound:
    """Take a bound out of what :meth:`TrainingResult.to_dict` makes."""
    value, origin = data.pop("bound"), data.pop("bound_origin")
    condition = dict(data.pop("condition", {"margin": 0.0, "tolerance": 0.0}))
    margin, tolerance = condition["margin"], condition["tolerance"]
    _check([value, margin, tolerance], [origin])
    certificate = data.pop("certificate", None)
    return Bound(Fraction(value), origin, Condition(margin, Fraction(tolerance)), certificate)


def _check_types(result: TrainingResult) -> None:
    numbers = [result.loss, result.error, result.seconds, result.objective or 0]
    texts = [result.status, result.method, result.solver, result.message]
    if result.held_out is not None:
        numbers += [result.held_out.accuracy, result.held_out.error, result.held_out.bytes]
        texts += [result.held_out.chosen, *result.held_out.teachers]
    for moment in result.history:
        numbers += [moment.seconds, moment.loss, moment.bound]
        texts.append(moment.phase)
    _check(numbers, texts)


def _check(numbers: list[Any], texts: list[Any]) -> None:
    wrong = [n for n in numbers if type(n) not in (int, float)]
    wrong += [text for text in texts if not isinstance(text, str)]
    if wrong:
        raise TypeError(f"of type {type(wrong[0]).__name__} is no number or text")


def _gap(objective: float, bound: float) -> float:
    if objective == bound:
        return 0.0
    if objective == 0.0 or not math.isfinite(objective):
        return math.inf
    return abs(objective - bound) / abs(objective)


def _rounded_down(value: Fraction) -> float:
    """The largest float that is no larger, so that a bound stays one."""
    nearest = float(value)
    return nearest if nearest <= value else math.nextafter(nearest, -math.inf)


class Trained(NamedTuple):
    """A network and the result that belongs to it."""

    network: Network
    result: TrainingResult

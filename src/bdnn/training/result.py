"""What training returns besides the network: how good it is and how that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from bdnn.network import Network
from bdnn.solvers.result import relative_gap


class Progress(NamedTuple):
    """A moment of a training run."""

    seconds: float
    phase: str
    loss: float
    bound: float

    @property
    def gap(self) -> float:
        """Relative distance of loss and bound."""
        return relative_gap(self.loss, self.bound)

    def in_units(self, unit: float) -> Progress:
        """Loss and bound times a unit of the samples' weights."""
        return self._replace(loss=self.loss * unit, bound=self.bound * unit)


@dataclass(frozen=True)
class TrainingResult:
    """The end of a training run; every number is recomputed from the returned network.

    Attributes
    ----------
    status : str
        ``optimal`` only where loss and bound are equal, else why the run ended: ``gap limit``,
        ``loss limit``, ``time limit``, ``node limit`` or ``interrupted``, or ``feasible`` where the
        method has nothing more to try.
    loss : float
        The paper's output loss of the network on the (weighted) training samples.
    bound : float
        A proven lower bound on the loss of every network of this architecture; of every one whose
        units keep a margin, where the origin says so (a solver's bound with continuous weights).
    bound_origin : str
        What proves the bound: ``zero``, ``data conflicts``, another argument, or a solver.
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
    objective : float or None
        Loss plus prices and regularizer, which the bound, the status and the history are about;
        None where the loss is all that is minimised.
    """

    status: str
    loss: float
    bound: float
    bound_origin: str
    error: float
    seconds: float
    method: str
    solver: str = ""
    message: str = ""
    history: tuple[Progress, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    objective: float | None = None

    @property
    def gap(self) -> float:
        """Relative distance of loss and bound, 0 where the network is proven optimal."""
        return relative_gap(self.minimised, self.bound)

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
        loss, bound = self.loss * unit, self.bound * unit
        objective = None if self.objective is None else self.objective * unit
        return replace(
            self, loss=loss, bound=bound, history=history, steps=steps, objective=objective
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a model file; the history becomes a list of lists."""
        history = [list(moment) for moment in self.history]
        return {**asdict(self), "history": history, "steps": [dict(step) for step in self.steps]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrainingResult:
        """Inverse of :meth:`to_dict`."""
        history = tuple(Progress(*moment) for moment in data["history"])
        return cls(**{**data, "history": history, "steps": tuple(data.get("steps", ()))})


class Trained(NamedTuple):
    """A network and the result that belongs to it."""

    network: Network
    result: TrainingResult

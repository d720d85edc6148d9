"""When a command has to stop, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from typer import Option

from bdnn.errors import ModelError


@dataclass(frozen=True)
class Effort:
    """Time and threads."""

    panel: ClassVar[str] = "Limits"

    seconds: Annotated[float, Option(help="Time after which the best so far has to do.")] = 60.0
    jobs: Annotated[int, Option(help="Threads; -1 for all cores.")] = 1

    def __post_init__(self) -> None:
        if self.jobs == 0:
            raise ModelError(
                "--jobs must be 1 or more, or -1 for all cores, got 0: give one of these."
            )


@dataclass(frozen=True)
class SeededEffort(Effort):
    """Time, threads, and what chance begins with."""

    seed: Annotated[int, Option(help="Of all random choices.")] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.seed < 2**32:
            raise ModelError(
                f"--seed must be from 0 to {2**32 - 1}, got {self.seed}: give such a number."
            )


@dataclass(frozen=True)
class Limits(SeededEffort):
    """When training stops."""

    gap: Annotated[float, Option(help="Relative gap that is good enough.")] = 0.0
    loss_limit: Annotated[
        float | None, Option(help="Loss that is good enough.", show_default="none")
    ] = None
    nodes: Annotated[
        int | None, Option(help="Branch-and-bound nodes of the solver.", show_default="none")
    ] = None

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        from bdnn.training.limits import Limits

        limits = Limits(self.seconds, self.gap, self.nodes, self.loss_limit)
        return {"limits": limits, "random_state": self.seed, "n_jobs": self.jobs}

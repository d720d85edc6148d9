"""When a command has to stop, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bdnn.cli.options import option
from bdnn.errors import ModelError


@dataclass(frozen=True)
class Effort:
    """Time and threads."""

    panel: ClassVar[str] = "Limits"

    seconds: float = option("Time after which the best so far has to do.", 60.0)
    jobs: int = option("Threads; -1 for all cores.", 1)

    def __post_init__(self) -> None:
        if self.jobs == 0:
            raise ModelError(
                "--jobs must be 1 or more, or -1 for all cores, got 0: give one of these."
            )


@dataclass(frozen=True)
class SeededEffort(Effort):
    """Time, threads, and what chance begins with."""

    seed: int = option("Of all random choices.", 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.seed < 2**32:
            raise ModelError(
                f"--seed must be from 0 to {2**32 - 1}, got {self.seed}: give such a number."
            )


@dataclass(frozen=True)
class Limits(SeededEffort):
    """When training stops."""

    gap: float = option("Relative gap that is good enough.", 0.0)
    loss_limit: float | None = option("Loss that is good enough.", shown="none")
    nodes: int | None = option("Branch-and-bound nodes of the solver.", shown="none")

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        from bdnn.training.limits import Limits

        limits = Limits(self.seconds, self.gap, self.nodes, self.loss_limit)
        return {"limits": limits, "random_state": self.seed, "n_jobs": self.jobs}

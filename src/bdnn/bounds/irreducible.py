"""What no function of the inputs avoids, whatever the network.

Samples with equal inputs and different classes or targets cost something with any answer, and of
balls of different classes that meet no classifier keeps both. Each loss knows its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bdnn.bounds.argument import Upper
from bdnn.clock import Slot
from bdnn.problem.bound import Bound
from bdnn.problem.problem import Problem


@dataclass(frozen=True)
class Irreducible:
    """The loss of the best function of the inputs."""

    def applies(self, problem: Problem[Any]) -> bool:
        """Tell that there always is one."""
        del problem
        return True

    def bounds(self, problem: Problem[Any], slot: Slot, upper: Upper = math.inf) -> Iterator[Bound]:
        """Yield it."""
        del slot, upper
        yield problem.irreducible

"""What all constraints that a user may give have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

from bdnn.constraints.context import Context
from bdnn.constraints.rules import AbstractRule


@dataclass(frozen=True, eq=False)
class AbstractConstraint(ABC):
    """A demand on the trained network; a frozen record, so that it can be part of a parameter."""

    is_about_samples: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """What messages call it."""
        given = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"{type(self).__name__}({given})"

    @abstractmethod
    def resolve(self, context: Context) -> list[AbstractRule]:
        """Turn names into numbers and check them; one sentence where they make no sense."""

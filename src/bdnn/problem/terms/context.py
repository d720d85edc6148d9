"""From a user's words to terms: constraints, and the names and numbers that they speak of.

Equal samples are one line of the training problem, and inputs are scaled by positive factors, so
that signs of weights mean the same for scaled and raw features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdnn.errors import DataError, ModelError
from bdnn.network.activation import BoolArray, FloatArray
from bdnn.network.architecture import Architecture
from bdnn.problem.problem import Problem
from bdnn.problem.terms.base import AbstractTerm

# A column of more values is a measurement and no grouping.
_MOST_GROUPS = 20


@dataclass(frozen=True, eq=False)
class Features:
    """The raw columns that a user speaks of, where they are not the inputs of the network."""

    names: tuple[str, ...]
    column_of: NDArray[np.intp]  # (n_inputs,): column that an input looks at
    is_ascending: BoolArray  # (n_inputs,): whether it grows with the column's value


@dataclass(frozen=True, eq=False)
class Context:
    """Names and samples of a training run."""

    architecture: Architecture
    names: tuple[str, ...] | None  # of the inputs
    classes: tuple[Any, ...]  # labels in the order of the outputs
    X: FloatArray  # (n_samples, n_features): features before scaling
    labels: NDArray[np.intp]  # (n_samples,): index of every sample's class
    # (n_samples,): line of the training problem that a sample is part of, -1 for samples
    # that are left out.
    lines: NDArray[np.intp]
    # (n_samples,): group of every sample, for fairness.
    group_of: NDArray[Any] | None = None
    total: int | None = None  # number of lines, where there are more than those of the samples
    features: Features | None = None  # None where inputs are the features

    @classmethod
    def of_problem(cls, problem: Problem[Any]) -> Context:
        """Features and outputs by number, one sample per line, of its leading class."""
        n_lines = problem.samples.n_lines
        return cls(
            problem.architecture,
            None,
            tuple(range(problem.architecture.n_outputs)),
            problem.inputs,
            problem.loss.as_classes(problem.architecture)[1].leading,
            np.arange(n_lines),
        )

    @property
    def n_lines(self) -> int:
        """Number of lines of the training problem."""
        return int(self.lines.max(initial=-1)) + 1 if self.total is None else self.total

    def feature(self, feature: object, option: str) -> int:
        """Number of a feature that is given by name or number."""
        if self.features is None:
            return self.input(feature, option)
        return _number(feature, option, self.features.names, len(self.features.names))

    def input(self, feature: object, option: str) -> int:
        """Number of an input of the network that is given by name or number."""
        return _number(feature, option, self.names, self.architecture.n_features)

    def inputs_of(self, feature: object, option: str) -> tuple[int | None, list[int]]:
        """Number of a feature and of its inputs; of one input of several no feature."""
        features = self.features
        if features is None:
            j = self.input(feature, option)
            return j, [j]
        if isinstance(feature, str) and feature in (self.names or ()):
            i = self.input(feature, option)
            if feature not in features.names:
                own = np.count_nonzero(features.column_of == features.column_of[i])
                return (int(features.column_of[i]) if own == 1 else None), [i]
        j = self.feature(feature, option)
        return j, np.flatnonzero(features.column_of == j).tolist()

    def output(self, label: object, option: str) -> int:
        """Output of a class; of two classes the second by default, and the only one."""
        if label is None:
            if len(self.classes) <= 2:
                return len(self.classes) - 1
            raise ModelError(
                f"{option} needs to know for which of the {len(self.classes)} classes: give label."
            )
        matches = [i for i, known in enumerate(self.classes) if known == label]
        if not matches:
            raise ModelError(
                f"{option} names the class {label!r}, which is not there: give one of "
                f"{', '.join(map(repr, self.classes))}."
            )
        return matches[0]

    def groups(self, group: object, option: str) -> dict[str, BoolArray]:
        """Members of every group: by the values of a feature, or by one value per sample."""
        group = self.group_of if group is None else group
        if group is None:
            raise DataError(
                f"{option} needs to know the groups of samples: give groups to fit, or name a "
                "feature."
            )
        if isinstance(group, str) or is_whole(group):
            values = self.X[:, self.feature(group, option)]
        else:
            values = np.asarray(group)
            if values.shape != (len(self.X),):
                raise DataError(
                    f"{option}: group must be a feature or one value per sample, got "
                    f"{_shape(values)} for {len(self.X)} samples: check it."
                )
        found = {
            str(value): (values == value) & (self.lines >= 0)
            for value in np.unique(values).tolist()
        }
        found = {value: members for value, members in found.items() if members.any()}
        if not 2 <= len(found) <= _MOST_GROUPS:
            raise DataError(
                f"{option}: group must have 2 to {_MOST_GROUPS} values among the training samples, "
                f"got {len(found)}: choose another feature or other groups."
            )
        return found

    def samples(self, samples: ArrayLike, option: str) -> NDArray[np.intp]:
        """Row numbers of samples that are given by number or by a mask."""
        try:
            chosen = np.asarray(samples)
            if chosen.dtype == bool and chosen.shape == (len(self.X),):
                chosen = np.flatnonzero(chosen)
            rows = np.asarray(chosen, dtype=np.intp)
            fits = rows.ndim == 1 and (rows == chosen).all() and rows.size > 0
            fits = bool(fits) and bool(((rows >= 0) & (rows < len(self.X))).all())
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise DataError(
                f"{option}: samples must be row numbers from 0 to {len(self.X) - 1} or a mask, got "
                f"{_short(samples)}: check them."
            )
        if (self.lines[rows] < 0).any():
            raise DataError(
                f"{option}: sample {rows[self.lines[rows] < 0][0]} has no weight or is kept for "
                "validation, so that nothing is trained on it: leave it out."
            )
        return rows


@dataclass(frozen=True, eq=False)
class AbstractConstraint(ABC):
    """A demand on the trained network; a frozen record, so that it can be part of a parameter."""

    @property
    def name(self) -> str:
        """What messages call it."""
        given = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"{type(self).__name__}({given})"

    @abstractmethod
    def resolve(self, context: Context) -> list[AbstractTerm]:
        """Turn names into numbers and check them; one sentence where they make no sense."""


def whole(value: Any, what: str, low: int, high: int) -> int:
    """Check a whole number of a range; True and False are none."""
    if is_whole(value) and low <= value <= high:
        return int(value)
    raise ModelError(
        f"{what} must be a whole number from {low} to {high}, got {value!r}: give such a number."
    )


def is_whole(value: Any) -> bool:
    """Tell whole numbers from what a user may give by mistake, True and False included."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def amount(value: Any, what: str, *, at_most: float = np.inf) -> float:
    """Check a number that must not be negative."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if is_number and not isinstance(value, bool) and 0 <= value <= at_most and value < np.inf:
        return float(value)
    upper = "or more" if at_most == np.inf else f"to {at_most:g}"
    raise ModelError(f"{what} must be a number from 0 {upper}, got {value!r}: give such a number.")


def sequence(value: object) -> Sequence[Any]:
    """One item or several as a sequence; text is one item."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        return (value,)
    return tuple(value)


def _shape(values: NDArray[Any]) -> str:
    return "one value" if values.ndim == 0 else f"shape {values.shape}"


def _short(value: object) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."


def _number(feature: object, option: str, names: tuple[str, ...] | None, count: int) -> int:
    """Place of something that is given by name or number."""
    if isinstance(feature, str):
        if names is not None and feature in names:
            return names.index(feature)
        known = "the features have no names" if names is None else ", ".join(names)
        if len(known) > 200:
            known = known[:200] + " ..."
        raise ModelError(
            f"{option} names the feature {feature!r}, which is not there: give one of the "
            f"features ({known}) or a number from 0 to {count - 1}."
        )
    return whole(feature, f"{option}: a feature", 0, count - 1)

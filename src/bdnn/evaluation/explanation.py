"""Why a row got its class: which column alone would change it, and the smallest change of all.

Both are questions to the exact verification of :mod:`bdnn.robustness`: what it finds is an input
that the forward pass puts into another class, and what it rules out is proven.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bdnn.model import Model
from bdnn.network.activation import FloatArray
from bdnn.robustness import PerturbationSet, verify
from bdnn.robustness.domain import Domain
from bdnn.robustness.exact_verifier import TOLERANCE
from bdnn.robustness.words import short_number

# What another text or truth value costs beside a number's move, in its standard deviations.
_CHANGE = 1.0

Cell = float | str | None


@dataclass(frozen=True)
class Change:
    """Raw values that change the class.

    Attributes
    ----------
    values : dict
        Names of columns with the value before and after; None is missing.
    becomes : class label
    size : float
        In scaled units, standard deviations as a rule, added up over the columns; another text
        counts 1.
    is_smallest : bool
        Whether that is proven.
    """

    values: Mapping[str, tuple[Cell, Cell]]
    becomes: object
    size: float
    is_smallest: bool

    def __str__(self) -> str:
        moves = ", ".join(
            f"{name} {_shown(before)} -> {_shown(after)}"
            for name, (before, after) in self.values.items()
        )
        return f"{moves} gives {self.becomes}"


@dataclass(frozen=True)
class Explanation:
    """Why a row got its class.

    Attributes
    ----------
    label : class label
    probability : float or None
    single : tuple of Change
        Changes of one column each, the nearest for every column that can, the smallest first.
    without_effect : tuple of str
        Columns of which no value alone changes the class, which is proven.
    smallest : Change or None
        The smallest change of all columns together, if one was found.
    """

    label: object
    probability: float | None
    single: tuple[Change, ...]
    without_effect: tuple[str, ...]
    smallest: Change | None

    def __str__(self) -> str:
        likely = "" if self.probability is None else f" ({100 * self.probability:.0f} %)"
        lines = [f"class {self.label}{likely}"]
        if self.smallest is not None:
            proven = "the smallest change" if self.smallest.is_smallest else "a small change"
            lines.append(f"{proven} of values to another class: {self.smallest}")
        if self.single:
            lines.append("one column alone would change the class:")
            lines += [f"  {change}" for change in self.single]
        if self.without_effect:
            names = ", ".join(self.without_effect)
            lines.append(f"whatever one of these columns alone is, the class stays: {names}")
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""

        def plain(change: Change) -> dict[str, Any]:
            values = {name: list(pair) for name, pair in change.values.items()}
            return {**vars(change), "values": values}

        return {
            **vars(self),
            "single": [plain(change) for change in self.single],
            "without_effect": list(self.without_effect),
            "smallest": None if self.smallest is None else plain(self.smallest),
        }


def explain(
    model: Model,
    codes: FloatArray,
    *,
    data: Mapping[str, Any] | None = None,
    time_limit: float = 10.0,
) -> Explanation:
    """Tell why a row got its class, and what would change it.

    Parameters
    ----------
    model : Model
    codes : array of shape (n_columns,)
        The row.
    data : mapping, optional
        What a model file's certificate says of the training rows: columns stay in their range, and
        in whole numbers where these were.
    time_limit : float
        Seconds; what is not settled by then is told as found, not as proven.
    """
    model.require_classifier("an explanation")
    began, X = time.perf_counter(), np.asarray(codes, dtype=float)[None]
    label = model.predict(X)[0]
    probability = None
    if model.calibration is not None:
        probability = float(model.probabilities(X).max())
    listed = [j for j, column in enumerate(model.encoder.columns) if column.kind != "number"]
    domain = _domain(model, X, data or {}, dict.fromkeys(listed, _CHANGE))
    used = sorted(set(model.encoder.column_of[model.network.weights[0].any(axis=0)].tolist()))
    single, without = [], [n for j, n in enumerate(model.feature_names) if j not in used]
    for place, j in enumerate(used):
        left = max(0.01, time_limit / 2 - (time.perf_counter() - began))
        alone = _domain(
            model,
            X,
            data or {},
            {j: _CHANGE} if j in listed else {},
            fixed=[i for i in range(X.shape[1]) if i != j],
        )
        change, is_settled = _nearest(model, X, alone, left / (len(used) - place))
        if change is not None:
            single.append(change)
        elif is_settled:
            without.append(model.feature_names[j])
    left = max(0.01, time_limit - (time.perf_counter() - began))
    smallest, _ = _nearest(model, X, domain, left)
    single.sort(key=lambda change: change.size)
    label = label.item() if hasattr(label, "item") else label
    return Explanation(label, probability, tuple(single), tuple(without), smallest)


def _domain(
    model: Model,
    X: FloatArray,
    data: Mapping[str, Any],
    change: Mapping[int | str, float],
    fixed: list[int] | None = None,
) -> Domain:
    """What a row may become: columns as they were in training, others that stand still."""
    is_number = np.array([column.kind == "number" for column in model.encoder.columns])
    known: dict[str, Any] = {}
    if len(data.get("low", ())) == len(is_number):  # older files have ranges of other inputs
        known = {
            "lower": np.where(is_number, data["low"], -np.inf),
            "upper": np.where(is_number, data["high"], np.inf),
            "integer": [
                j
                for j in np.flatnonzero(is_number & (np.rint(X[0]) == X[0])).tolist()
                if data["per_unit"][j] == 1
            ],
        }
    return Domain.create(X.shape[1], change=change, fixed=fixed or [], **known)


def _nearest(
    model: Model, X: FloatArray, domain: Domain, seconds: float
) -> tuple[Change | None, bool]:
    """The nearest row of another class, if any, and whether nothing is left open."""
    around = PerturbationSet.create(model, X, norm="l1", domain=domain)
    (answer,) = verify(around, time_limit=seconds).answers
    if answer.counter_example is None:
        return None, bool(np.isinf(answer.lower))
    moved = answer.counter_example[None]
    before, after = (model.encoder.cells(rows)[0] for rows in (X, moved))
    names = model.feature_names
    values = {
        names[j]: (_cell(before[j]), _cell(after[j]))
        for j in np.flatnonzero(~((X[0] == moved[0]) | (np.isnan(X[0]) & np.isnan(moved[0]))))
    }
    becomes = model.predict(moved)[0]
    becomes = becomes.item() if hasattr(becomes, "item") else becomes
    is_smallest = answer.upper <= answer.lower + TOLERANCE
    return Change(values, becomes, answer.upper, bool(is_smallest)), bool(is_smallest)


def _cell(value: float | str) -> Cell:
    return None if value == "" else value


def _shown(value: Cell) -> str:
    if value is None:
        return "missing or other"
    return value if isinstance(value, str) else short_number(value)

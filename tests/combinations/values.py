"""The dimensions and their values: how each is asked for, and what must then be true.

Two values of different dimensions make a combination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from bdnn import Robust
from bdnn.constraints import (
    DemographicParity,
    EqualOpportunity,
    FixedWeight,
    Forbid,
    LinearRows,
    Monotone,
    Regularizer,
    Sparsity,
)
from tests.combinations.case import LABELS, MUST, RADIUS, WEIGHT, Case, X
from tests.combinations.checks import (
    Check,
    first_layer_holds,
    has_objective,
    in_set,
    nonzero,
    on,
    pays,
    rises,
    shared_thresholds,
    shares,
    zero_thresholds,
)


@dataclass(frozen=True, eq=False)
class Value:
    """One value of one dimension.

    Parameters
    ----------
    dimension, name : str
    change : callable
        Makes a case that asks for the value of one that does not.
    holds : callable
        Whether a fitted model has it.
    is_default : bool
        Whether a plain fit has it already.
    """

    dimension: str
    name: str
    change: Callable[[Case], Case] = lambda case: case
    holds: Check = lambda fitted: True
    is_default: bool = False

    def __str__(self) -> str:
        return f"{self.dimension} {self.name}"


def _asks(**parameters: Any) -> Callable[[Case], Case]:
    return lambda case: replace(case, parameters={**case.parameters, **parameters})


def _fits(**arguments: Any) -> Callable[[Case], Case]:
    return lambda case: replace(case, fit={**case.fit, **arguments})


def _predicts_numbers(loss: str) -> Callable[[Case], Case]:
    return lambda case: replace(_asks(loss=loss)(case), numbers=True)


def _extends(case: Case) -> Case:
    return replace(case, extends=True)


def _few_weights(v: Any) -> Any:
    return v.weights[0][0].sum() <= 1


def _some_on(v: Any) -> Any:
    return v.activations[0][:, 0].sum() >= 3


def _term(name: str, constraint: Any, holds: Check) -> Value:
    return Value("term", name, _asks(constraints=[constraint]), holds)


ROBUST = [
    Value(
        "robust",
        f"{loss} {norm}",
        _asks(robust=Robust(RADIUS, norm, loss)),
        first_layer_holds(norm) if loss == "pattern" else lambda fitted: True,
    )
    for loss in ("pattern", "certified", "average")
    for norm in ("linf", "l1", "l2")
]

TERMS = [
    _term(
        "Sparsity(per_unit)",
        Sparsity(per_unit=1),
        lambda f: all(b.sum(axis=1).max() <= 1 for b in nonzero(f)),
    ),
    _term(
        "Sparsity(per_layer)",
        Sparsity(per_layer=2),
        lambda f: all(b.sum() <= 2 for b in nonzero(f)),
    ),
    _term("Sparsity(total)", Sparsity(total=4), lambda f: sum(b.sum() for b in nonzero(f)) <= 4),
    _term(
        "Sparsity(units)",
        Sparsity(units=1),
        lambda f: sum(b.any(axis=0).sum() for b in nonzero(f)[1:]) <= 1,
    ),
    _term(
        "Sparsity(features)",
        Sparsity(features=1),
        lambda f: nonzero(f)[0].any(axis=0).sum() <= 1,
    ),
    _term("Sparsity(price)", Sparsity(price=0.125), pays(0.125, lambda W: W != 0)),
    _term("Forbid", Forbid(2), lambda f: not f.model.network_.weights[0][:, 2].any()),
    _term(
        "FixedWeight",
        FixedWeight(0, 0, 0, 1),
        lambda f: f.model.network_.weights[0][0, 0] == 1,
    ),
    _term("Monotone", Monotone(0), rises),
    _term(
        "DemographicParity",
        DemographicParity(2, 0.5),
        lambda f: shares(f, np.ones(len(X), dtype=bool)),
    ),
    _term("EqualOpportunity", EqualOpportunity(2, 0.5), lambda f: shares(f, LABELS == 1)),
    _term(
        "LinearRows of weights",
        LinearRows(_few_weights),
        lambda f: f.model.network_.weights[0][0].sum() <= 1 + 1e-6,
    ),
    _term("LinearRows of activations", LinearRows(_some_on), on),
    _term("Regularizer(l1)", Regularizer(l1=0.125), pays(0.125, np.abs)),
    _term("Regularizer(l2)", Regularizer(l2=0.125), pays(0.125, np.square)),
    _term("Regularizer(saturated_margin)", Regularizer(saturated_margin=0.1), has_objective),
    _term("Regularizer(max_margin)", Regularizer(max_margin=0.1), has_objective),
    Value(
        "term",
        "must",
        _fits(must=MUST),
        lambda f: bool((f.model.predict(X[MUST]) == LABELS[MUST]).all()),
    ),
]

VALUES: list[Value] = [
    Value("weights", "ternary", holds=in_set, is_default=True),
    *(
        Value("weights", name, _asks(weights=name), in_set)
        for name in ("continuous", "binary", "int:2", "mixed")
    ),
    Value("thresholds", "neuron", is_default=True),
    Value("thresholds", "layer", _asks(thresholds="layer"), shared_thresholds),
    Value("thresholds", "zero", _asks(thresholds="zero"), zero_thresholds),
    Value("activation", "step", is_default=True),
    *(
        Value("activation", name, _asks(activation=name))
        for name in ("sign", "ternary", "levels:4", "values:-1/0/1@-0.5/0.5")
    ),
    Value("loss", "output", is_default=True),
    Value("loss", "squared", _predicts_numbers("squared")),
    Value("loss", "absolute", _predicts_numbers("absolute")),
    Value("robust", "none", is_default=True),
    *ROBUST,
    Value("term", "none", is_default=True),
    *TERMS,
    Value("method", "auto", is_default=True),
    *(
        Value("method", name, _asks(method=name))
        for name in ("exact", "descent", "gradients", "local_search", "data_splitting")
    ),
    Value("rows", "at once", is_default=True),
    Value("rows", "extend", _extends),
    Value("held-out rows", "none", is_default=True),
    Value("held-out rows", "a quarter", _asks(validation_fraction=0.25)),
    Value("sample weights", "equal", is_default=True),
    Value("sample weights", "given", _fits(sample_weight=WEIGHT)),
    Value("hidden layers", "one", is_default=True),
    Value("hidden layers", "none", _asks(hidden=())),
    Value("hidden layers", "two", _asks(hidden=(2, 2))),
    Value("ties", "score", is_default=True),
    Value("ties", "first", _asks(ties="first")),
]


def pairs() -> Iterator[tuple[Value, Value]]:
    """All pairs of values of two dimensions."""
    for a, b in combinations(VALUES, 2):
        if a.dimension != b.dimension:
            yield a, b

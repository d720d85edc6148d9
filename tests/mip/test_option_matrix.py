"""Options together: a selection in which every value of an option meets every value of another.

``OPTIONS`` is the table: a further option is one more entry, whose values are parameters of the
classifier. A greedy choice covers all pairs that can be combined; ``refusal`` says which cannot,
and these have to be refused in one sentence. Every case is compared with enumeration where that can
tell; with method ``exact`` it is solved by every installed solver, and all have to agree.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from bdnn import BDNNClassifier, Inputs, Limits, Robust
from bdnn.constraints import Monotone, Regularizer, Sparsity
from bdnn.errors import BDNNError, InfeasibleError, NoSolutionError, UnsupportedFeatureError
from bdnn.problem.losses.output import classification
from bdnn.solvers.registry import available_solvers
from bdnn.training import Auto, Budget, Descent, Exact
from tests.oracle import smallest_loss, smallest_regression_loss
from tests.problems import regression_problem
from tests.sentences import assert_one_sentence
from tests.training.test_robust import survives

OPTIONS = {
    "weights": {name: {"weights": name} for name in ("ternary", "binary", "int:2", "continuous")},
    "thresholds": {kind: {"thresholds": kind} for kind in ("neuron", "layer", "zero")},
    "hidden": {
        "none": {"hidden": ()},
        "one": {"hidden": (1,)},
        "two": {"hidden": (2,)},
        "deep": {"hidden": (1, 1)},
    },
    "activation": {
        "step": {},
        "sign": {"activation": "sign"},
        "three": {"activation": "ternary"},
        "fixed": {"activation": "values:0/1/3@-1/1"},
    },
    "ties": {kind: {"ties": kind} for kind in ("score", "first")},
    "loss": {
        "equal": {},
        "whole": {"class_weight": {0: 3, 1: 1}},
        "fractional": {"class_weight": "balanced"},
    },
    "classes": {"two": {}, "three": {"n_classes": 3}},
    "radius": {
        "none": {},
        "linf": {"robust": Robust(0.25, loss="pattern")},
        "l1": {"robust": Robust(0.4, "l1", "pattern")},
        "certified": {"robust": Robust(0.25)},
    },
    "method": {
        "exact": {"method": "exact"},
        "auto": {"method": Auto(patience=30)},
        "descent": {"method": Descent(objectives=("loss",), patience=0.5)},
        "local_search": {"method": "local_search"},
    },
    "samples": {"at once": {}, "in parts": {"in_parts": True}},
    "demands": {
        "none": {},
        "per unit": {"constraints": Sparsity(per_unit=1)},
        "price": {"constraints": Sparsity(price=0.25)},
        "l1": {"constraints": Regularizer(l1=0.125)},
        "monotone": {"constraints": Monotone(0, +1, label=1)},
    },
}
REASONS = {
    "binary weights are never zero": "binary",
    "activations are for hidden layers": "activation is for hidden layers",
    "the program of guarantees needs a hidden layer and scores": "of which a solver has no program",
}


def refusal(case):
    """Why a case cannot be, None if it can."""
    method, steps = case["method"], case["activation"] == "step"
    rules = (
        (
            case["demands"] == "per unit" and case["weights"] == "binary",
            "binary weights are never zero",
        ),
        (not steps and case["hidden"] == "none", "activations are for hidden layers"),
        (
            case["radius"] == "certified"
            and method == "exact"
            and (case["hidden"] == "none" or case["ties"] == "first"),
            "the program of guarantees needs a hidden layer and scores",
        ),
    )
    return next((reason for holds, reason in rules if holds), None)


def takes_long(case):
    """Whether a search would run until its patience ends, or a program takes seconds."""
    certified = case["radius"] == "certified"
    levels = case["activation"] in ("three", "fixed")
    priced = case["demands"] == "l1" and case["weights"] == "continuous"
    judged = certified and (case["demands"] != "none" or levels) and case["method"] == "exact"
    # Repair knows neither prices nor balls: rounding may lose what a solver claimed.
    judged |= priced and case["radius"] != "none"
    return (
        judged
        or ((certified or priced) and case["method"] == "auto")
        or (
            levels
            and (
                (case["method"] == "auto" and case["samples"] == "in parts")
                or (case["method"] == "auto" and case["radius"] != "none")
                or (case["method"] == "exact" and case["hidden"] == "deep")
                or (case["weights"] == "continuous" and case["demands"] != "none")
            )
        )
    )


def solvers_of(case):
    """Installed solvers; the one that suits best where the method hardly needs any."""
    return available_solvers() if case["method"] == "exact" else ["auto"]


def pairs(case):
    return {frozenset(pair) for pair in combinations(case.items(), 2)}


def covering(options, is_left_out, *, seed=0, drawn=4000):
    """Choose cases until every pair that some case has is covered: always the one with most new."""
    rng = np.random.default_rng(seed)
    values = {name: list(entries) for name, entries in options.items()}
    cases = [
        {name: entries[rng.integers(len(entries))] for name, entries in values.items()}
        for _ in range(drawn)
    ]
    known = [(case, pairs(case)) for case in cases if not is_left_out(case)]
    missing = set().union(*(found for _, found in known))
    while missing:
        case, found = max(known, key=lambda entry: len(entry[1] & missing))
        missing -= found
        yield case


def refused_cases():
    """One case for every reason to refuse, plain otherwise."""
    plain = {name: next(iter(entries)) for name, entries in OPTIONS.items()} | {"hidden": "one"}
    # Two options against each other, or three where it takes as many.
    changes = [
        dict(zip(names, values, strict=True))
        for count in (3, 2)
        for names in combinations(OPTIONS, count)
        for values in product(*(OPTIONS[name] for name in names))
    ]
    found = {refusal(plain | change): plain | change for change in changes}
    return [(reason, case) for reason, case in found.items() if reason is not None]


def identify(case):
    return "-".join(case.values())


def in_time(case):
    """A case, for the long run where it takes seconds.

    There a search goes on until its share of the time is over, or all solvers prove one after the
    other that prices on weights of units with several values are the least.
    """
    is_long = case["demands"] != "none" and case["method"] == "auto"
    levels = case["activation"] in ("three", "fixed")
    is_long |= levels and case["demands"] == "price" and case["method"] == "exact"
    is_long |= case["radius"] == "certified" and case["method"] == "local_search"
    return pytest.param(case, marks=pytest.mark.long if is_long else ())


CASES = list(covering(OPTIONS, lambda case: refusal(case) or takes_long(case)))


def fitted(case, solver):
    options = {
        "inputs": Inputs(scale=None),
        "objective": "loss",
        "limits": Limits(seconds=100.0),
        "random_state": 0,
        "solver": solver,
    }
    for name, value in case.items():
        options |= OPTIONS[name][value]
    n_classes, in_parts = options.pop("n_classes", 2), options.pop("in_parts", False)
    rng = np.random.default_rng(len(identify(case)))
    X = rng.integers(-2, 3, (5, 2)).astype(float)
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, 5 - n_classes))
    model = BDNNClassifier(**options)
    model.fit(X[:3], y[:3]) if in_parts else model.fit(X, y)
    return model.extend(X[3:], y[3:]) if in_parts else model


def problem_of(model):
    samples = model._memory.samples
    shape = model.network_.architecture
    return classification(shape, samples.values, samples.labels, samples.weight)


def can_enumerate(case):
    is_simple = case["activation"] == "step" or (
        case["thresholds"] == "neuron" and case["activation"] != "fixed"
    )
    return case["radius"] == case["demands"] == "none" and (
        case["weights"] != "continuous" or is_simple
    )


def check(case, model):
    """What must hold of any result; return what solvers have to agree on."""
    result, problem = model.result_, problem_of(model)
    assert result.bound <= result.minimised
    if case["radius"] != "certified":
        assert result.loss == pytest.approx(problem.value(model.network_), abs=1e-9)
    if case["radius"] in ("linf", "l1"):
        radius = np.full(len(problem.inputs), model.robust.radius)
        assert survives(model.network_, problem.inputs, radius, case["radius"])
    if case["demands"] == "per unit":
        assert all((W != 0).sum(axis=1).max() <= 1 for W in model.network_.weights)
    if can_enumerate(case):
        best = smallest_loss(problem)
        assert result.bound - 1e-9 <= best <= result.loss + 1e-9
        if case["method"] in ("exact", "auto"):
            assert result.loss == pytest.approx(best, abs=1e-9)
    if case["method"] in ("exact", "auto"):
        assert result.is_proven
        return result.minimised
    return None


@pytest.mark.parametrize("case", [in_time(case) for case in CASES], ids=identify)
def test_options_together(case):
    losses = set()
    for solver in solvers_of(case):
        try:
            found = check(case, fitted(case, solver))
        except (NoSolutionError, InfeasibleError):
            found = "none"
        except UnsupportedFeatureError as error:
            assert solver == "cpsat"
            assert case["weights"] == "continuous" or case["radius"] != "none"
            assert_one_sentence(error)
            continue
        losses.add(found if not isinstance(found, float) else round(found, 6))
    assert len(losses) == 1


@pytest.mark.parametrize(("reason", "case"), refused_cases(), ids=lambda value: str(value)[:40])
def test_what_cannot_be_combined_is_refused(reason, case):
    for solver in available_solvers():
        with pytest.raises(BDNNError, match=REASONS[reason]) as caught:
            fitted(case, solver)
        assert_one_sentence(caught.value)


REGRESSION = {
    "weights": {
        "ternary": {"weights": ["ternary", "int:2"]},
        "binary": {"weights": ["binary", "ternary"]},
        "int:2": {"weights": ["int:2", "binary"]},
        "continuous": {"weights": ["continuous", "ternary"]},
    },
    "thresholds": OPTIONS["thresholds"],
    "hidden": {"one": {"hidden": (1,)}, "two": {"hidden": (2,)}},
    "loss": {"squared": {}, "absolute": {"kind": "absolute"}, "ridge": {"ridge": 0.5}},
    "outputs": {"one": {}, "two": {"n_outputs": 2}},
    "samples": {"equal": {}, "weighted": {"weighted": True}},
}
REGRESSION_CASES = list(covering(REGRESSION, lambda case: False, drawn=1000))


@pytest.mark.parametrize("case", REGRESSION_CASES, ids=identify)
def test_options_of_regression_together(case):
    options = {}
    for name, value in case.items():
        options |= REGRESSION[name][value]
    problem = regression_problem(len(identify(case)), n_samples=5, **options)
    results = {
        solver: Exact().train(problem, budget=Budget(seconds=100), solver=solver).result
        for solver in available_solvers()
        if solver != "cpsat"
    }
    wanted = next(iter(results.values())).loss
    # Outputs with a bias in common are not enumerated one by one.
    shares_bias = case["thresholds"] == "layer" and case["outputs"] == "two"
    if case["weights"] != "continuous" and not shares_bias:
        wanted = smallest_regression_loss(problem)
    for result in results.values():
        assert result.is_proven
        assert result.loss == pytest.approx(wanted, abs=2 * float(problem.loss.tolerance))


def test_the_selection_is_small_and_every_refusal_is_tried():
    assert len(CASES) < 45
    assert {reason for reason, _ in refused_cases()} == set(REASONS)

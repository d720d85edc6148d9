"""Certificates of bounds: repeated to the same number, and never more than the truth if forged."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction

import numpy as np
import pytest

from bdnn.bounds.benders import Benders
from bdnn.bounds.enumeration import Enumeration
from bdnn.bounds.half_spaces import HalfSpaces
from bdnn.bounds.listed.units import ListedUnits
from bdnn.bounds.one_plane import OnePlane
from bdnn.checker.claims import Deadline, OutOfTimeError
from bdnn.checker.conflicts import hulls_meet, tree_bound
from bdnn.checker.report import NoProofError, proven_bound
from tests.bounds.cases import best, make
from tests.checker.test_evaluation import masses_of, tiny_model
from tests.oracle import smallest_loss


def tiny_problem(seed, hidden, *, n_classes=2, **options):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (9, 2)) / 4
    weight = rng.integers(1, 4, len(X)).astype(float)
    labels = np.append(np.arange(n_classes), rng.integers(0, n_classes, len(X) - n_classes))
    return make(X, labels, hidden, sample_weight=weight, **options)


CASES = [
    (HalfSpaces(), (), {"n_classes": 3}),
    (HalfSpaces(), (1,), {}),
    (HalfSpaces(), (1, 2), {}),
    (Benders(), (2,), {}),
    (Benders(), (3,), {}),
    (Benders(), (3,), {"weights": "ternary"}),
    (ListedUnits(), (), {"weights": "ternary"}),
    (ListedUnits(), (2,), {"weights": "ternary"}),
    (ListedUnits(), (3,), {"weights": "binary"}),
    (ListedUnits(), (2,), {"weights": "int:2"}),
    (OnePlane(), (), {"n_classes": 3}),
    (OnePlane(), (1,), {}),
    (OnePlane(), (1, 2), {"n_classes": 3}),
    (Enumeration(), (), {"weights": "int:2", "n_classes": 3}),
    (Enumeration(), (1,), {"weights": "ternary"}),
    (Enumeration(), (1,), {"weights": "binary", "n_classes": 3}),
]


def repeat(model, problem, certificate):
    """What the checker proves by a certificate as a file holds it."""
    model.content["result"] = {"bound": {"certificate": json.loads(json.dumps(certificate))}}
    return proven_bound(model, masses_of(problem), Deadline(30))


@pytest.mark.parametrize(("argument", "hidden", "options"), CASES)
def test_proofs_are_repeated_to_the_same_number(tmp_path, argument, hidden, options):
    for seed in range(4):
        problem = tiny_problem(seed, hidden, **options)
        bound = best(argument, problem)
        model = tiny_model(problem, tmp_path / "model.json")
        if bound.value > problem.irreducible.value:
            assert repeat(model, problem, bound.certificate) == bound.value


def numbers_in(value, place=()):
    """Places of all numbers in plain data."""
    if isinstance(value, int):
        yield place
    elif isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers_in(part, (*place, key))


def changed(certificate, place, change):
    forged = copy.deepcopy(certificate)
    holder = forged
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = change(holder[place[-1]])
    return forged


CHANGES = [
    lambda v: v + 1,
    lambda v: v - 1,
    lambda v: 2 * v + 1,
    lambda v: -v,
    lambda v: ~v,
    lambda v: v << 30,
    lambda v: 0,
    lambda v: v / 2,
    lambda v: True,
    lambda v: [v],
    lambda v: None,
]


@pytest.mark.parametrize(("argument", "hidden", "options"), CASES[:10])
def test_no_forged_number_proves_more_than_the_truth(tmp_path, argument, hidden, options):
    """The bound is the least loss itself, so that whatever proves more is wrong."""
    draw = random.Random(0)
    for seed in range(3):
        problem = tiny_problem(seed, hidden, **options)
        certificate = best(argument, problem).certificate
        if certificate is None:
            continue
        truth = Fraction(smallest_loss(problem))
        model = tiny_model(problem, tmp_path / "model.json")
        places = list(numbers_in(certificate))
        for place in draw.sample(places, min(len(places), 60)):
            for change in CHANGES:
                try:
                    found = repeat(model, problem, changed(certificate, place, change))
                except NoProofError:
                    continue
                assert found <= truth, (place, change)


def test_a_proof_of_one_shape_proves_nothing_of_a_wider_one(tmp_path):
    """Two units do what one cannot."""
    narrow, wide = (tiny_problem(1, (n_units,)) for n_units in (1, 2))
    certificate = best(HalfSpaces(), narrow).certificate
    model = tiny_model(wide, tmp_path / "model.json")
    with pytest.raises(NoProofError, match="function"):
        repeat(model, wide, certificate)


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [
        (None, "no proof"),
        ({"kind": "word of honour"}, "unknown kind"),
        ({"kind": []}, "unknown kind"),
        ([], "unknown kind"),
        ({"kind": "conflicts"}, "cannot be followed"),
        ({"kind": "weights"}, "cannot be followed"),
    ],
)
def test_what_is_no_proof(tmp_path, certificate, reason):
    problem = tiny_problem(0, (1,))
    with pytest.raises(NoProofError, match=reason):
        repeat(tiny_model(problem, tmp_path / "model.json"), problem, certificate)


def test_hulls_meet_in_exact_arithmetic():
    cross = [(0.0, 0.0), (1.0, 1.0)], [(0.0, 1.0), (1.0, 0.0)]
    assert hulls_meet(*cross, Deadline())
    apart = [(0.0, 0.0), (1.0, 0.0)], [(0.5, 2.0**-60)]
    assert not hulls_meet(*apart, Deadline())
    touching = [(0.1, 0.3), (0.3, 0.1)], [(0.2, 0.2)]
    assert not hulls_meet(*touching, Deadline())  # 0.1 + 0.3 is not twice the double 0.2


COSTS = [3, 2, 2, 0]
ROWS = [[0, 1], [1, 2], [0, 2], [0, ~3], [3]]


def prove(tree, denominator=2):
    return tree_bound(tree, denominator, COSTS.__getitem__, ROWS.__getitem__, Deadline())


def test_trees_of_a_small_covering_problem():
    assert prove([[]]) == 0
    assert prove([[0, 3, 1, 1, 2, 3]]) == 4  # half of 3 + 1 + 3, rounded up
    # Whoever covers all rows takes the first variable, because of the fourth.
    assert prove([[3, 6, 4, 6]]) == 3
    assert prove([0, [3, 20, 4, 20], [1, 4]]) == 5
    assert prove([3, [4, 20], 0, [3, 20], [1, 4]]) == 5


@pytest.mark.parametrize(
    "tree", [[], [0], [0, []], [[], []], [0, 0, [], [], []], [[0]], [[0, -1]], [["0", 1]], [None]]
)
def test_what_is_no_tree(tree):
    with pytest.raises(ValueError, match=r"tree|leaf|multiplier|variable"):
        prove(tree)


def test_time_ends_a_proof():
    with pytest.raises(OutOfTimeError):
        tree_bound([[0, 1]], 1, COSTS.__getitem__, ROWS.__getitem__, Deadline(-1))

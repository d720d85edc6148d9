"""What half-spaces cost: equal to enumeration of all directions, for any number of classes."""

from __future__ import annotations

import numpy as np
import pytest

from bdnn.bounds.half_spaces import HalfSpaces, packed
from bdnn.bounds.separation import Conflict, Separator, hulls_meet
from bdnn.clock import Slot, Ticks
from tests.bounds.cases import best, make
from tests.oracle import smallest_loss


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_bound_is_the_smallest_loss_of_any_number_of_classes(seed, n_classes):
    rng = np.random.default_rng(seed)
    X = np.unique(rng.integers(0, 4, (9, 2)), axis=0)
    weight = rng.integers(1, 4, len(X)).astype(float)
    problem = make(X, rng.integers(0, n_classes, len(X)), (), sample_weight=weight)
    assert best(HalfSpaces(), problem).value == smallest_loss(problem)


def test_bound_is_exact_on_larger_sets():
    rng = np.random.default_rng(0)
    for _ in range(5):
        X = np.unique(rng.integers(0, 5, (20, 2)), axis=0).astype(float)
        wanted = rng.integers(0, 2, len(X))
        weight = rng.choice([1.0, 2.0], len(X))
        least = np.inf
        for angle in np.linspace(0, 2 * np.pi, 2881) + 1e-4:
            sums = X @ np.array([np.cos(angle), np.sin(angle)])
            for level in np.append(np.unique(sums), np.inf):
                least = min(least, weight[(sums >= level) != wanted].sum())
        assert best(HalfSpaces(), make(X, wanted, (1,), sample_weight=weight)).value == 2 * least


def test_packings_are_made_feasible():
    conflicts = [Conflict((0,), (1,)), Conflict((0,), (2,)), Conflict((3,), (4,))]
    costs = np.array([2, 1, 1, 1, 1])
    assert packed(conflicts, np.ones(3), costs)[0] == 3
    # Input 0 would be charged three times what it costs, and rounding up to integers is allowed.
    assert packed(conflicts, np.array([3.0, 3.0, 0.0]), costs)[0] == 2
    assert packed(conflicts, np.array([np.nan, -1.0, 0.5]), costs)[0] == 1
    assert packed(conflicts, np.zeros(3), costs)[0] == 0


def test_time_ends_the_run_with_what_is_proven():
    rng = np.random.default_rng(0)
    problem = make(rng.normal(size=(24, 2)), rng.integers(0, 2, 24), ())
    values = []
    for ticks in (3, 40):
        found = [b.value for b in HalfSpaces().bounds(problem, Slot.of(ticks, clock=Ticks()))]
        values.append(max(found, default=0))
    assert values[0] <= values[1] <= best(HalfSpaces(), problem).value


def test_no_work_begins_after_the_end(monkeypatch):
    """Of many classes and rows the first step of each output takes long."""
    monkeypatch.setattr(Separator, "hulls", lambda *_: pytest.fail("begun too late"))
    rng = np.random.default_rng(0)
    problem = make(rng.normal(size=(24, 2)), rng.integers(0, 3, 24), ())
    assert list(HalfSpaces().bounds(problem, Slot.of(0, clock=Ticks()))) == []


def test_certificates_are_exact():
    square = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    on = np.array([True, True, False, False])
    assert hulls_meet(square, on)
    apart = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0**-40], [1.0, 2.0**-40]])
    assert not hulls_meet(apart, on)

"""Limits of training, and what a run may use of them."""

import math

import pytest

from bdnn import Limits
from bdnn.errors import ModelError
from bdnn.training import Budget
from tests.sentences import assert_one_sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seconds", value) for value in (0, -1, math.nan, "60", None, True)),
        *(("gap", value) for value in (-0.1, math.nan, math.inf, "0", None)),
        *(("nodes", value) for value in (0, -5, 2.5, math.nan, "9", True)),
        *(("loss", value) for value in (-1.0, math.nan, math.inf, "9", True)),
        *(("tolerance", value) for value in (0.0, 1.0, math.nan, "0", None)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [Limits, Budget])
def test_bad_limits_are_refused(kind, name, value):
    with pytest.raises(ModelError, match=f"limits: {name} must be") as caught:
        kind(**{name: value})
    assert_one_sentence(caught.value)


def test_a_budget_is_limits_with_what_a_run_may_use():
    limits = Limits(seconds=5, gap=0.1, nodes=3, loss=2.0, tolerance=1e-3)
    assert Budget.of(limits, threads=2, seed=7) == Budget(5, 0.1, 3, 2.0, 1e-3, threads=2, seed=7)
    assert (Limits().seconds, Budget().seconds) == (60.0, math.inf)


@pytest.mark.parametrize(("gone", "left"), [(0.0, 10.0), (4.0, 6.0), (9.9, 1.0), (50.0, 1.0)])
def test_what_comes_before_a_training_takes_of_its_time_but_not_all(gone, left):
    budget = Budget(seconds=10.0, seed=3).after(gone)
    assert (budget.seconds, budget.seed) == (pytest.approx(left), 3)
    assert Budget().after(gone).seconds == math.inf

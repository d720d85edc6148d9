from fractions import Fraction

import pytest

from bdnn.problem.bound import Bound, Condition


def test_a_bound_holds_for_every_network_unless_it_says_otherwise():
    bound = Bound(Fraction(3), "data conflicts")
    assert not bound.condition
    assert str(bound) == "3"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition(), ""),
        (Condition(margin=1e-4), "among networks that keep a margin of 0.0001"),
        (Condition(tolerance=Fraction(1e-9)), "within a tolerance of 1e-09"),
        (
            Condition(0.5, Fraction(1, 8)),
            "among networks that keep a margin of 0.5 within a tolerance of 0.125",
        ),
    ],
)
def test_a_condition_is_said_in_words(condition, words):
    assert str(condition) == words
    assert bool(condition) == bool(words)


def test_two_arguments_take_for_granted_what_either_does():
    both = Condition(margin=0.1) | Condition(0.2, Fraction(1, 8))
    assert both == Condition(0.2, Fraction(1, 8))
    assert not (Condition() | Condition())

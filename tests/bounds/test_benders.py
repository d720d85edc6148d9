"""Benders cuts: never above the truth, equal to it for continuous weights, proofs checked."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdnn.bounds import FirstOf
from bdnn.bounds.benders import Benders
from bdnn.bounds.half_spaces import HalfSpaces
from bdnn.clock import Slot
from bdnn.network.architecture import Architecture
from bdnn.problem.losses.output import classification
from tests.bounds.cases import CROSS, best, make, tiny
from tests.grids import examples
from tests.oracle import smallest_loss


def conflicts(offer=None):
    return FirstOf((Benders(offer=offer), HalfSpaces(offer=offer)))


@examples(25)
@given(tiny(), st.sampled_from([(), (1,), (2,)]))
def test_bound_is_the_smallest_loss_of_continuous_weights(samples, hidden):
    problem, networks = make(*samples, hidden), []
    bound = best(conflicts(networks.append), problem)
    assert bound.value == smallest_loss(problem)
    assert [problem.value(network) for network in networks] in ([bound.value], [])
    assert networks or bound.value == problem.irreducible.value


@examples(8)
@given(tiny(most=6))
def test_three_units(samples):
    problem, networks = make(*samples, (3,)), []
    bound = best(Benders(offer=networks.append), problem)
    assert bound.value == smallest_loss(problem)
    assert all(problem.value(network) == bound.value for network in networks)


@examples(10)
@given(
    tiny(most=6),
    st.sampled_from([(), (1,), (2,)]),
    st.sampled_from(["ternary", "binary", "int:2"]),
    st.sampled_from(["neuron", "zero"]),
)
def test_bound_is_valid_for_integer_weights(samples, hidden, weights, thresholds):
    problem, networks = make(*samples, hidden, weights=weights, thresholds=thresholds), []
    assert best(conflicts(networks.append), problem).value <= smallest_loss(problem)
    assert not networks


@examples(10)
@given(tiny(most=6), st.sampled_from([(), (2,)]), st.randoms(use_true_random=False))
def test_weights_that_are_multiples_of_a_fraction_lose_nothing(samples, hidden, random):
    X, labels = samples
    weight = np.array([random.choice([0.25, 0.75, 1.5]) for _ in labels])
    problem = make(X, labels, hidden, sample_weight=weight)
    assert best(conflicts(), problem).value == smallest_loss(problem)


@examples(10)
@given(tiny(most=6), st.sampled_from([(), (2,)]), st.randoms(use_true_random=False))
def test_weights_of_many_digits_are_rounded_down(samples, hidden, random):
    X, labels = samples
    weight = np.array([random.choice([0.1, 0.7, 1.3, 1e-9, 1e6]) for _ in labels])
    problem = make(X, labels, hidden, sample_weight=weight)
    value, truth = best(conflicts(), problem).value, smallest_loss(problem)
    assert value <= truth
    assert float(value) == pytest.approx(float(truth), abs=1e-10 * problem.loss.total)


def test_merged_samples_count_with_their_weight():
    X = np.vstack([CROSS, CROSS[:2], CROSS[:2]])
    labels = [1, 1, 0, 0, 1, 1, 1, 0]  # (1, 1) also once with the other class
    problem = make(X, labels, ())
    assert problem.irreducible.value == 2
    assert best(HalfSpaces(), problem).value == smallest_loss(problem) == 4


def test_two_units_separate_the_cross_and_one_does_not():
    labels = [1, 1, 0, 0]
    assert best(HalfSpaces(), make(CROSS, labels, (1,))).value == 2
    networks = []
    problem = make(CROSS, labels, (2,))
    assert best(Benders(offer=networks.append), problem).value == 0
    assert [problem.value(network) for network in networks] == [0]


def test_run_ends_at_a_known_loss_and_when_told():
    rng = np.random.default_rng(0)
    problem = make(rng.normal(size=(40, 2)), rng.integers(0, 2, 40), (2,))
    found = list(Benders().bounds(problem, Slot.of(60), 4))
    assert [bound.value for bound in found] == [2, 4]
    assert "certified conflicts" in found[-1].origin
    assert not list(Benders().bounds(problem, Slot.of(60, is_stopped=lambda: True)))


def test_one_class_and_balanced_inputs_need_no_proof():
    for hidden, label in product([(), (1,), (2,), (3,)], [0, 1]):
        problem, networks = make(CROSS, [label] * 4, hidden), []
        assert best(conflicts(networks.append), problem).value == 0
        assert [problem.value(network) for network in networks] == [0]
    balanced = make(np.zeros((2, 2)), [0, 1], (2,))
    assert best(conflicts(), balanced).value == 2


def test_hulls_that_meet_only_by_rounding_prove_nothing():
    # In the numbers that the decimals stand for, the third point is beside the line of the others.
    X = np.array([[0.1, 1.0], [0.3, 3.0], [0.2, 2.0]])
    assert best(HalfSpaces(), make(X, [1, 1, 0], (1,))).value == 0


def test_what_it_applies_to():
    def applies(n_classes=2, **options):
        shape = Architecture.create(2, n_classes, **options)
        return Benders().applies(classification(shape, CROSS, np.array([0, 1, 0, 1])))

    assert applies(hidden=(2,))
    assert applies(hidden=(3,), weights="int:3")
    assert not applies(hidden=())
    assert not applies(hidden=(1,))
    assert not applies(hidden=(4,))
    assert not applies(hidden=(1, 1))
    assert not applies(hidden=(2,), n_classes=3)
    assert not applies(hidden=(2,), activation="ternary")

"""Rules are all threshold functions of their units, and know what they need."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bdnn.bounds.rules import output_rules, threshold_rules
from bdnn.network.architecture import Architecture


@pytest.mark.parametrize(("units", "count"), [(1, 1), (2, 2), (3, 5)])
def test_rules_are_all_threshold_functions(units, count):
    rules = threshold_rules(units)
    assert len(rules) == count
    for rule in rules:
        for on in product([0, 1], repeat=units):
            value = np.dot(rule.weights, on) >= rule.threshold
            assert value == any(all(on[j] for j in s) for s in rule.implicants)
            assert value == all(any(on[j] for j in s) for s in rule.implicates)


def test_outputs_of_small_weights_follow_fewer_rules():
    ternary = Architecture.create(2, 2, hidden=(3,), weights="ternary")
    free = Architecture.create(2, 2, hidden=(3,), weights="continuous")
    assert len(output_rules(ternary)) == 3
    assert len(output_rules(free)) == 5
    assert output_rules(Architecture.create(2, 2, hidden=())) == threshold_rules(1)

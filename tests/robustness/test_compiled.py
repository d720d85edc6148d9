"""The compiled search over boxes against the one that is not."""

import numpy as np
import pytest

from bdnn.robustness import Certificate
from bdnn.robustness.branching import Branching
from bdnn.robustness.compiled_branching import CompiledBranching
from tests.robustness.cases import NORMS, as_length, enumerated, random_case


@pytest.mark.parametrize("norm", NORMS)
def test_both_searches_agree_and_prove_it(norm):
    compared = 0
    for seed in range(20):
        around = random_case(seed, norm=norm, units=("raw", "scaled")[seed % 2])
        for i in range(len(around.X)):
            one = around.rows(np.array([i]))
            if not CompiledBranching.suits(one):
                continue
            plain, fast = Branching(one, 0.9), CompiledBranching(one, 0.9)
            plain.run()
            fast.run()
            assert fast.is_complete
            np.testing.assert_allclose(fast.lower, plain.lower, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(fast.upper, plain.upper, rtol=1e-9, atol=1e-12)
            exact = as_length(around, enumerated(around, i))
            assert fast.lower <= exact + 1e-12
            proof = fast.proof()
            assert Certificate.guarantee(one, fast.lower, proof).check(around.model)
            compared += 1
    assert compared > 20


def test_a_search_that_is_cut_off_goes_on():
    compared = 0
    for seed in range(30):
        one = random_case(seed, n_features=3, samples=1)
        if not CompiledBranching.suits(one):
            continue
        whole, parts = CompiledBranching(one, 0.9), CompiledBranching(one, 0.9)
        whole.run()
        before, boxes = 0.0, 0
        while not parts.is_complete:
            boxes += 1
            parts.run(boxes=boxes)
            assert before - 1e-12 <= parts.lower <= whole.lower + 1e-12
            before = parts.lower
        assert parts.lower == whole.lower
        compared += 1
    assert compared > 10
